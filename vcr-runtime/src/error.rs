use std::fmt;
use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and one sentence on what to do about it.
///
/// The text of every error names the thing at fault (a variable, a file with line and column, a test) and the
/// remedy. [`kind`](Self::kind) tells the classes apart in code.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    advice: String,
    path: Option<PathBuf>,
    line: Option<usize>,
    column: Option<usize>,
}

/// The class of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting has a value outside its set.
    Config,
    /// A scenario, invoker, file name or directory cannot be used.
    Identity,
    /// Two tests would share one cassette.
    Collision,
    /// Replay asks for a cassette that does not exist.
    CassetteMissing,
    /// The cassette is no readable cassette.
    CassetteBroken,
    /// The cassette was written by another version of the format.
    CassetteVersion,
    /// A pinned take is not in the cassette.
    TakeMissing,
    /// Nothing recorded answers the call.
    Miss,
    /// The code runs outside every session.
    NoSession,
    /// The session has ended.
    Ended,
    /// A proxy variable would capture the loopback gateway.
    Proxy,
    /// A paused clock and the loopback gateway exclude each other.
    PausedClock,
    /// The gateway could not be started.
    Gateway,
    /// A secret is left in what would be written.
    Secret,
    /// Another process or test is recording this cassette.
    Busy,
    /// The test passed although recorded calls were not asked for, or were asked for in vain.
    Verdict,
    /// The file system refused.
    Io,
}

impl ErrorKind {
    /// Every kind, for those who have something to say about each of them.
    pub const ALL: [Self; 17] = [
        Self::Config,
        Self::Identity,
        Self::Collision,
        Self::CassetteMissing,
        Self::CassetteBroken,
        Self::CassetteVersion,
        Self::TakeMissing,
        Self::Miss,
        Self::NoSession,
        Self::Ended,
        Self::Proxy,
        Self::PausedClock,
        Self::Gateway,
        Self::Secret,
        Self::Busy,
        Self::Verdict,
        Self::Io,
    ];

    /// The word for it: `config`, `cassette-missing`, …
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Identity => "identity",
            Self::Collision => "collision",
            Self::CassetteMissing => "cassette-missing",
            Self::CassetteBroken => "cassette-broken",
            Self::CassetteVersion => "cassette-version",
            Self::TakeMissing => "take-missing",
            Self::Miss => "miss",
            Self::NoSession => "no-session",
            Self::Ended => "ended",
            Self::Proxy => "proxy",
            Self::PausedClock => "paused-clock",
            Self::Gateway => "gateway",
            Self::Secret => "secret",
            Self::Busy => "busy",
            Self::Verdict => "verdict",
            Self::Io => "io",
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            advice: advice.into(),
            path: None,
            line: None,
            column: None,
        }))
    }

    pub(crate) fn io(action: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(
            ErrorKind::Io,
            format!("failed to {action} {}: {error}", path.display()),
            remedy(error),
        )
        .at(path)
    }

    #[must_use]
    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.0.path = Some(path.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn at_line(mut self, line: usize, column: usize) -> Self {
        self.0.line = Some(line);
        self.0.column = Some(column);
        self
    }

    /// With more text after its message; all else stays.
    #[must_use]
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.0.message.push_str(more);
        self
    }

    /// With more advice after its own.
    #[must_use]
    pub(crate) fn and_advise(mut self, more: &str) -> Self {
        if !self.0.advice.is_empty() {
            self.0.advice.push_str("; ");
        }
        self.0.advice.push_str(more);
        self
    }

    /// The class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What went wrong, without the advice.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &str {
        &self.0.advice
    }

    /// The file concerned.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line of that file, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.0.line
    }

    /// The column of that line in characters, counted from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.0.column
    }
}

/// What helps against a refusal of the file system.
fn remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Io;
    match error.kind() {
        Io::StorageFull | Io::QuotaExceeded => "free some space there, then run it again",
        Io::FileTooLarge => "raise the limit on the size of files (`ulimit -f`), then run it again",
        Io::ReadOnlyFilesystem => "that file system is read-only: record where it can be written",
        _ => "check that the path exists and may be accessed",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)?;
        if self.0.advice.is_empty() {
            return Ok(());
        }
        // A report of several lines gets its advice on a line of its own.
        let joint = if self.0.message.contains('\n') { "\n" } else { "; " };
        write!(formatter, "{joint}{}", self.0.advice)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `unwrap` and `main` print Debug: show the sentence, not the struct.
        write!(formatter, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Error>();
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_listed_and_have_words_of_their_own() {
        for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
        // The last one; a kind behind it belongs into the list and here.
        assert_eq!(ErrorKind::ALL.len(), ErrorKind::Io as usize + 1);
        let words: std::collections::BTreeSet<_> = ErrorKind::ALL.map(ErrorKind::as_str).into();
        assert_eq!(words.len(), ErrorKind::ALL.len());
    }
}
