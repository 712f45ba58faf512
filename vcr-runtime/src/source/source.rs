//! The trait that every replayable form implements, and what passes through it.

use std::fmt;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::Matching;
use crate::error::{Error, Result};
use crate::model::{Call, CanonicalRequest};
use crate::observe::Reason;

use super::Remedy;

/// One open source with the cursors of one run.
///
/// A session asks it under a lock of its own, so every method is one step that nothing interrupts: of concurrent calls
/// each gets another answer. What is shared between runs (a parsed file) is the source's own affair. Dropping a source ends
/// its cursors.
pub(crate) trait Source: Send + fmt::Debug {
    /// The file, for reports.
    fn path(&self) -> &Path;

    /// What tells this content from another's: the id of the take, or the digits of a hash. For reports, and for answers
    /// that have no id of their own.
    fn id(&self) -> &str;

    /// Takes the answer to a request. What `ask.servable` refuses stays where it is.
    fn take(&mut self, ask: &Ask<'_>) -> Result<Answer, NotTaken>;

    /// The error for a request that was not taken: the nearest answer, what is used up, and the next command; without
    /// anything of the request where the place is private. `live` is the request as it came, redacted.
    fn explain(&self, live: &CanonicalRequest, why: NotTaken, place: Where<'_>) -> Error;

    /// The answers that nobody asked for.
    fn leftovers(&self) -> Leftovers;

    /// What of an override document was never applied, with the document; `None` where all of it was.
    fn unapplied(&self) -> Option<(&Path, Leftovers)> {
        None
    }
}

/// A request to a source.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    /// As it is compared: redacted, without the members that are ignored.
    pub(crate) request: &'a CanonicalRequest,
    pub(crate) how: How<'a>,
    /// Whether an answer has a form in which the caller can read it. Asked before it is taken.
    pub(crate) servable: &'a dyn Fn(&Call) -> Result<()>,
}

/// How a request looks for its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How<'a> {
    pub(crate) matching: Matching,
    /// Whether the last of equal answers is given again when all have been used.
    pub(crate) repeat: bool,
    /// The key of the live session that asks, where the call itself says it.
    pub(crate) session: Option<&'a str>,
    /// The same by the handle, the scope or the address that the call came through; what the call says counts more.
    pub(crate) scope: Option<&'a str>,
}

/// What a source hands out.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Its number in the source, counted from 0.
    pub(crate) index: usize,
    /// What is said, when, and how it ends.
    pub(crate) call: Arc<Call>,
    pub(crate) manner: Manner,
    pub(crate) recorded: Recorded,
}

/// What a new take keeps of an answer that was played.
#[derive(Clone, Debug, Default)]
pub(crate) enum Recorded {
    #[default]
    Itself,
    /// What it was played instead of.
    Other(Arc<Call>),
    /// It was never recorded.
    Nothing,
}

/// How an answer is delivered, as far as that is its own and no setting's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manner {
    /// Its times are waited for as they stand, whatever the speed.
    pub(crate) timed: bool,
    /// It does not end.
    pub(crate) hang: Option<Hang>,
}

/// An answer that stays open behind its last frame until its caller leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hang {
    /// Made once everything before it has been read, for whoever waits to cancel the call.
    pub(crate) ready: Option<PathBuf>,
}

impl Hang {
    /// Makes the file. One that is there stays what it is.
    pub(crate) fn begin(&self) -> Result<()> {
        let Some(path) = &self.ready else {
            return Ok(());
        };
        let made = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        made.map(drop)
            .map_err(|error| Error::io("make the ready file", path, &error))
    }
}

/// Why no answer was taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// Nothing is equal to the request.
    Unknown,
    /// Every equal answer has been used; the first of them, and the request that took it.
    Exhausted { call: usize, by: usize, equal: usize },
    /// Every answer has been used, and which one would fit was never asked.
    Over,
    /// An equal answer is there, but an earlier one has not been asked for yet.
    Early { call: usize, waits_for: usize },
    /// The test has ended, and its verdict is being made.
    Late,
    /// The answer in turn cannot serve this request; it was not taken.
    Refused(Error),
    /// The first request of a live session, of that hash, may belong to any of these scripts.
    Unclear { scripts: Vec<usize>, hash: String },
}

impl NotTaken {
    /// The same for metrics; a call that came too late is no miss.
    pub(crate) const fn reason(&self) -> Option<Reason> {
        Some(match self {
            Self::Unknown | Self::Unclear { .. } => Reason::NoMatch,
            Self::Exhausted { .. } => Reason::Consumed,
            Self::Over => Reason::Exhausted,
            Self::Early { .. } => Reason::OutOfOrder,
            Self::Refused(_) => Reason::Shape,
            Self::Late => return None,
        })
    }
}

/// What the report of a miss says about its surroundings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Where<'a> {
    /// The full path of the test, or of the invoker.
    pub(crate) test: &'a str,
    pub(crate) remedy: &'a Remedy,
    pub(crate) matching: Matching,
    /// Hide everything that comes from the request.
    pub(crate) private: bool,
}

/// What a run did not ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftovers {
    /// How people call such a source, in lower case: `cassette`.
    pub(crate) noun: &'static str,
    /// What one answer is called: `recorded call`.
    pub(crate) unit: &'static str,
    /// What to do about them; `None` where recording again is the remedy.
    pub(crate) remedy: Option<&'static str>,
    /// How many answers the source has in all.
    pub(crate) all: usize,
    /// What else there is to say about them, in a few words.
    pub(crate) besides: Option<String>,
    pub(crate) left: Vec<Left>,
    /// How many of them are worth a line each in a report, at most.
    pub(crate) listed: usize,
}

/// As many recorded calls as a reader looks through.
pub(crate) const LISTED: usize = 8;

/// One answer that nobody asked for, or several of one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Where it stands: `call 3`.
    pub(crate) name: String,
    /// Of which request; never shown where the session is private.
    pub(crate) about: String,
    /// How many answers it stands for.
    pub(crate) answers: usize,
}
