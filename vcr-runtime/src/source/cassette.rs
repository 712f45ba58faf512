//! A cassette as a source.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cursor::Cursor;
use super::miss::{self, describe};
use super::{Answer, Ask, LISTED, Left, Leftovers, Manner, NotTaken, Recorded, Remedy, Source, Where};
use crate::canon::IgnorePaths;
use crate::cassette::{Cassette, Chosen, Journal};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Call, CanonicalRequest};
use crate::protocol::Providers;
use crate::redact::Redactor;

/// How requests are compared.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) ignore: Arc<IgnorePaths>,
    /// The protocols whose requests may answer one another; `None` where each answers its own.
    pub(crate) cross: Option<Providers>,
}

/// A take of a cassette, being played.
#[derive(Debug)]
pub(crate) struct CassetteSource {
    pub(super) path: PathBuf,
    pub(super) trace_id: String,
    pub(super) ignore: Arc<IgnorePaths>,
    pub(super) cursor: Cursor,
}

impl CassetteSource {
    /// Opens the pinned take, or the latest. `remedy` is for advice.
    ///
    /// # Errors
    /// As [`Cassette::open`]; a missing file with what to do about it.
    pub(crate) fn open(
        path: &Path,
        pin: Option<&str>,
        remedy: &Remedy,
        comparison: &Comparison,
    ) -> Result<Self> {
        let cassette = open(path, pin, remedy)?;
        let trace_id = cassette.take.trace_id.clone();
        let mut cursor = Cursor::new(cassette.take, &comparison.redactor, &comparison.ignore);
        if let Some(providers) = &comparison.cross {
            cursor.cross(providers.clone());
        }
        Ok(Self {
            path: path.to_owned(),
            trace_id,
            ignore: Arc::clone(&comparison.ignore),
            cursor,
        })
    }
}

impl CassetteSource {
    /// Takes the call that answers a request; `servable` looks at it and its number first.
    pub(super) fn take_where(
        &mut self,
        ask: &Ask<'_>,
        servable: impl Fn(usize, &Call) -> Result<()>,
    ) -> Result<Answer, NotTaken> {
        let (index, call) = self.cursor.take(ask.request, ask.how, servable)?;
        Ok(Answer {
            index,
            call,
            manner: Manner::default(),
            recorded: Recorded::Itself,
        })
    }

    /// How many frames each call has.
    pub(super) fn frames(&self) -> Vec<usize> {
        self.cursor.frames()
    }
}

impl Source for CassetteSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &str {
        &self.trace_id
    }

    fn take(&mut self, ask: &Ask<'_>) -> Result<Answer, NotTaken> {
        self.take_where(ask, |_, call| (ask.servable)(call))
    }

    fn explain(&self, live: &CanonicalRequest, why: NotTaken, place: Where<'_>) -> Error {
        miss::report(self, live, why, place)
    }

    fn leftovers(&self) -> Leftovers {
        let left = self.cursor.leftovers().map(|index| Left {
            name: format!("call {}", index + 1),
            about: describe(&self.cursor.key(index)),
            answers: 1,
        });
        Leftovers {
            noun: "cassette",
            unit: "recorded call",
            remedy: None,
            all: self.cursor.len(),
            besides: None,
            left: left.collect(),
            listed: LISTED,
        }
    }
}

fn open(path: &Path, pin: Option<&str>, remedy: &Remedy) -> Result<Cassette> {
    let chosen = pin.map_or(Chosen::Latest, Chosen::Pinned);
    Cassette::open(path, chosen).map_err(|error| {
        if error.kind() != ErrorKind::CassetteMissing {
            return error;
        }
        let command = remedy.record();
        let journal = Journal::path_of(path);
        let (message, advice) = if journal.exists() {
            (
                format!(
                    "{}, but an interrupted recording left {} behind",
                    error.message(),
                    journal.display()
                ),
                format!("record it again with {command}, which keeps those calls in a side file"),
            )
        } else {
            (
                error.message().to_owned(),
                format!("record it once with {command} and a key"),
            )
        };
        Error::new(ErrorKind::CassetteMissing, message, advice).at(path)
    })
}
