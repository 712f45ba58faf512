//! Why a file of frozen answers is refused: a closed set of rules, each with its own name.

use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::source::confined::{Unfit, Unreadable};

/// A rule that a file broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Unreadable(Unreadable),
    Empty,
    TooLarge,
    InvalidJson,
    EntryNotAnObject,
    UnknownEntryKey,
    SchemaVersionInvalid,
    RequestHashInvalid,
    ResponseAmbiguous,
    ResponsesInvalid,
    ResponseMissing,
    ResponseTooLarge,
    DuplicateEntry,
    EntryLimitExceeded,
}

impl From<Unfit> for Reason {
    fn from(why: Unfit) -> Self {
        match why {
            Unfit::Unreadable(why) => Self::Unreadable(why),
            Unfit::TooLarge => Self::TooLarge,
        }
    }
}

impl Reason {
    /// The rule's name, as every report has it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unreadable(_) => "replay_fixtures_unreadable",
            Self::Empty => "replay_fixtures_empty",
            Self::TooLarge => "replay_fixtures_too_large",
            Self::InvalidJson => "invalid_json",
            Self::EntryNotAnObject => "entry_not_an_object",
            Self::UnknownEntryKey => "unknown_entry_key",
            Self::SchemaVersionInvalid => "schema_version_invalid",
            Self::RequestHashInvalid => "request_hash_invalid",
            Self::ResponseAmbiguous => "response_ambiguous",
            Self::ResponsesInvalid => "responses_invalid",
            Self::ResponseMissing => "response_missing",
            Self::ResponseTooLarge => "response_too_large",
            Self::DuplicateEntry => "duplicate_entry",
            Self::EntryLimitExceeded => "entry_limit_exceeded",
        }
    }

    const fn says(self) -> &'static str {
        match self {
            Self::Unreadable(why) => why.says(),
            Self::Empty => "it has no entry",
            Self::TooLarge => "it is larger than its ceiling",
            Self::InvalidJson => {
                "the line is no JSON document, or names a key twice, or is nested too deeply, or has too many values"
            }
            Self::EntryNotAnObject => "the line is no JSON object",
            Self::UnknownEntryKey => {
                "the entry has another key than `schema_version`, `request_hash`, `response` and `responses`"
            }
            Self::SchemaVersionInvalid => "`schema_version` must be the integer 1",
            Self::RequestHashInvalid => {
                "`request_hash` must be `sha256:` and 64 lower-case hexadecimal digits"
            }
            Self::ResponseAmbiguous => "the entry has both `response` and `responses`",
            Self::ResponsesInvalid => {
                "`response` must be one object, `responses` a list of 1 to 1024 objects, or fewer where the ceiling is lower"
            }
            Self::ResponseMissing => "the entry has neither `response` nor `responses`",
            Self::ResponseTooLarge => "a response is larger than its ceiling",
            Self::DuplicateEntry => "an earlier line has the same `request_hash`",
            Self::EntryLimitExceeded => "the file has more entries than its ceiling",
        }
    }

    /// The error about the file `path`. Nothing of a line's bytes is in it.
    pub(super) fn error(self, path: &Path, line: Option<usize>) -> Error {
        let place = line.map_or_else(String::new, |line| format!(" line {line}"));
        let kind = match self {
            Self::Unreadable(Unreadable::Missing) => ErrorKind::CassetteMissing,
            _ => ErrorKind::CassetteBroken,
        };
        let message = format!(
            "{}{place} is refused by the rule `{}`: {}",
            path.display(),
            self.name(),
            self.says()
        );
        let advice = match (self, line) {
            (Self::Unreadable(Unreadable::Missing), _) => {
                "write it with one entry for each request, or name another file in `source`"
            }
            (Self::Unreadable(Unreadable::Changed), _) => "run the test again once nothing writes the file",
            (_, Some(_)) => "correct the line",
            (_, None) => "correct the file, or name another one in `source`",
        };
        let error = Error::new(kind, message, advice).at(path);
        match line {
            Some(line) => error.at_line(line, 1),
            None => error,
        }
    }
}
