//! Why a script is refused.

use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::source::confined::{Unfit, Unreadable};

/// A rule that a file broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Counted from 1, blank lines counted.
    line: Option<usize>,
    says: String,
    advice: &'static str,
}

/// How people call a log.
pub(super) const SCRIPT: &str = "session script";
/// How people call an override document.
pub(super) const DOCUMENT: &str = "override file";

const CORRECT_LINE: &str = "correct the line, or record the session again";

impl Fault {
    /// The line `says`, a predicate.
    pub(super) fn line(line: usize, says: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            says: says.into(),
            advice: CORRECT_LINE,
        }
    }

    pub(super) fn file(says: impl Into<String>, advice: &'static str) -> Self {
        Self {
            line: None,
            says: says.into(),
            advice,
        }
    }

    #[must_use]
    pub(super) fn advising(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }

    /// The error about the session script `path`.
    pub(super) fn error(self, path: &Path) -> Error {
        self.error_of(SCRIPT, path)
    }

    /// The error about the file `path`, which people call a `noun`.
    pub(super) fn error_of(self, noun: &str, path: &Path) -> Error {
        let place = self.line.map_or_else(String::new, |line| format!(" line {line}"));
        let message = format!("the {noun} {}{place} {}", path.display(), self.says);
        let error = Error::new(ErrorKind::CassetteBroken, message, self.advice).at(path);
        match self.line {
            Some(line) => error.at_line(line, 1),
            None => error,
        }
    }
}

/// The error about a file that cannot be read, which people call a `noun`. `missing` is what to do where it is not there.
pub(super) fn unread(noun: &str, why: Unfit, path: &Path, ceiling: usize, missing: &'static str) -> Error {
    let (kind, says, advice) = match why {
        Unfit::TooLarge => (
            ErrorKind::CassetteBroken,
            format!("it is larger than {ceiling} bytes"),
            match noun {
                SCRIPT => "record a shorter session",
                _ => "write a shorter one",
            },
        ),
        Unfit::Unreadable(Unreadable::Missing) => (
            ErrorKind::CassetteMissing,
            Unreadable::Missing.says().to_owned(),
            missing,
        ),
        Unfit::Unreadable(Unreadable::Changed) => (
            ErrorKind::CassetteBroken,
            Unreadable::Changed.says().to_owned(),
            "run the test again once nothing writes the file",
        ),
        Unfit::Unreadable(why) => (
            ErrorKind::CassetteBroken,
            why.says().to_owned(),
            "name another file of the fixture directory",
        ),
    };
    let message = format!("the {noun} {} cannot be read: {says}", path.display());
    Error::new(kind, message, advice).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What takes a moment that no test from outside can hit: the file changes while it is read, and the like.
    #[test]
    fn whatever_keeps_a_file_from_being_read_is_told_with_what_to_do() {
        let another = "name another file of the fixture directory";
        for (why, kind, says, advice) in [
            (
                Unfit::Unreadable(Unreadable::Changed),
                ErrorKind::CassetteBroken,
                "it was changed while it was read",
                "run the test again once nothing writes the file",
            ),
            (
                Unfit::Unreadable(Unreadable::TooManyLinks),
                ErrorKind::CassetteBroken,
                "more than 16 links lead to it",
                another,
            ),
            (
                Unfit::Unreadable(Unreadable::Refused),
                ErrorKind::CassetteBroken,
                "the system refuses to read it",
                another,
            ),
            (
                Unfit::Unreadable(Unreadable::Missing),
                ErrorKind::CassetteMissing,
                "there is no such file",
                "record it",
            ),
            (
                Unfit::TooLarge,
                ErrorKind::CassetteBroken,
                "it is larger than 7 bytes",
                "record a shorter session",
            ),
        ] {
            let error = unread(SCRIPT, why, Path::new("s.jsonl"), 7, "record it");
            let message = format!("the session script s.jsonl cannot be read: {says}");
            assert_eq!((error.kind(), error.message()), (kind, message.as_str()));
            assert_eq!(
                (error.advice(), error.path()),
                (advice, Some(Path::new("s.jsonl")))
            );
        }
    }
}
