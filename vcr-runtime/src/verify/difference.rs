use std::fmt;
use std::path::PathBuf;

/// One thing in a cassette that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The cassette.
    pub path: PathBuf,
    /// Where in it, such as `traces.0a1b….calls[1].response_timeline[3].chunk`.
    pub at: String,
    /// Which rule does not hold.
    pub kind: DifferenceKind,
    /// What would be right; for the timeline and the usage, what the raw layer says.
    pub expected: String,
    /// What the file has.
    pub found: String,
}

/// The rules that [`verify`](crate::verify) checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// The file is no readable cassette.
    Unreadable,
    /// The file has another version of the format.
    Version,
    /// Takes, calls, frames or raw chunks are not in the order that their ids and times tell.
    Order,
    /// The stored hash is not that of the stored request.
    RequestHash,
    /// The raw layer says something else than the frames, or how they ended.
    Timeline,
    /// The raw layer states another usage.
    Usage,
    /// Something that looks like a secret is left.
    Secret,
}

impl DifferenceKind {
    /// The word for reports: `timeline`, `request-hash`, …
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Version => "version",
            Self::Order => "order",
            Self::RequestHash => "request-hash",
            Self::Timeline => "timeline",
            Self::Usage => "usage",
            Self::Secret => "secret",
        }
    }
}

impl fmt::Display for DifferenceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {}: {}: expected {}, found {}",
            self.path.display(),
            self.kind,
            self.at,
            self.expected,
            self.found
        )
    }
}

/// Gathers the differences of one file, or of one place in it.
#[derive(Debug)]
pub(super) struct Findings<'a> {
    pub(super) all: &'a mut Vec<Difference>,
    pub(super) path: PathBuf,
    /// The place that is looked at.
    pub(super) at: String,
}

impl Findings<'_> {
    pub(super) fn add(
        &mut self,
        kind: DifferenceKind,
        below: &str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        let at = self.place(below);
        self.all.push(Difference {
            path: self.path.clone(),
            at,
            kind,
            expected: expected.into(),
            found: found.into(),
        });
    }

    /// The same for a place below this one.
    pub(super) fn below(&mut self, place: &str) -> Findings<'_> {
        let at = self.place(place);
        Findings {
            all: self.all,
            path: self.path.clone(),
            at,
        }
    }

    fn place(&self, below: &str) -> String {
        match (self.at.as_str(), below) {
            (at, "") => at.to_owned(),
            ("", below) => below.to_owned(),
            (at, below) => format!("{at}.{below}"),
        }
    }
}
