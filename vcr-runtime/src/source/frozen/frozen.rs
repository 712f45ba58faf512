//! A file of frozen answers as a source: one run's cursors over what all runs share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::answer;
use super::entry::Key;
use super::fixtures::Fixtures;
use super::neutral::{self, NoHash};
use super::private::PrivateRecord;
use super::report;
use crate::canon::{IgnorePaths, hex};
use crate::config::Ceilings;
use crate::error::{Error, Result};
use crate::model::CanonicalRequest;
use crate::protocol::Providers;
use crate::source::{
    Answer, Ask, Comparison, LISTED, Left, Leftovers, Manner, NotTaken, Recorded, Source, Where,
};

/// One run of a file of frozen answers.
#[derive(Debug)]
pub(crate) struct FrozenSource {
    pub(super) path: PathBuf,
    id: String,
    pub(super) fixtures: Arc<Fixtures>,
    pub(super) ceilings: Ceilings,
    pub(super) providers: Providers,
    pub(super) ignore: Arc<IgnorePaths>,
    /// How many answers of an entry this run has had; an entry that nobody asked for has no cursor.
    cursors: HashMap<Key, usize>,
    pub(super) served: usize,
    pub(super) private: RefCell<PrivateRecord>,
}

impl FrozenSource {
    /// Opens the file `relative` below `directory`.
    ///
    /// # Errors
    /// The first rule that the file breaks, with its line.
    pub(crate) fn open(
        directory: &Path,
        relative: &str,
        ceilings: Ceilings,
        providers: Providers,
        comparison: &Comparison,
    ) -> Result<Self> {
        let fixtures = Fixtures::open(directory, relative, ceilings)?;
        Ok(Self {
            path: directory.join(relative),
            id: hex(&fixtures.set_hash),
            fixtures,
            ceilings,
            providers,
            ignore: Arc::clone(&comparison.ignore),
            cursors: HashMap::new(),
            served: 0,
            private: RefCell::default(),
        })
    }

    /// The hash of a request as it is compared.
    pub(super) fn key(&self, compared: &CanonicalRequest) -> Result<Key, NoHash> {
        neutral::key(compared, &self.providers, self.ceilings.request)
    }
}

impl Source for FrozenSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &str {
        &self.id
    }

    /// By the hash alone: `ask.how` is about recordings. Frozen answers have no order but within an entry, and none is ever given
    /// twice.
    fn take(&mut self, ask: &Ask<'_>) -> Result<Answer, NotTaken> {
        let refuse = |error: Error| NotTaken::Refused(error);
        if self.served >= self.ceilings.calls {
            return Err(refuse(report::too_many(self.ceilings.calls)));
        }
        let key = self.key(ask.request);
        let key = key.map_err(|why| refuse(report::no_hash(why, self.ceilings.request)))?;
        let lines = self.fixtures.get(&key).ok_or(NotTaken::Unknown)?;
        let number = self.cursors.get(&key).copied().unwrap_or(0);
        let exhausted = NotTaken::Exhausted {
            call: lines.line as usize,
            by: self.served,
            equal: lines.len(),
        };
        let response = self.fixtures.answer(lines, number).ok_or(exhausted)?;
        let call = answer::call(response, ask.request, &self.providers)
            .map_err(|why| refuse(report::malformed(lines.line, number, &why)))?;
        (ask.servable)(&call).map_err(refuse)?;
        self.cursors.insert(key, number + 1);
        self.served += 1;
        Ok(Answer {
            index: lines.before as usize + number,
            call: Arc::new(call),
            manner: Manner::default(),
            recorded: Recorded::Itself,
        })
    }

    fn explain(&self, live: &CanonicalRequest, why: NotTaken, place: Where<'_>) -> Error {
        let mut compared = live.clone();
        self.ignore.apply(&mut compared);
        report::report(self, live, &compared, why, place)
    }

    fn leftovers(&self) -> Leftovers {
        let mut left = Vec::new();
        for (key, lines) in self.fixtures.in_order() {
            let used = self.cursors.get(key).copied().unwrap_or(0);
            left.extend((used..lines.len()).map(|number| Left {
                name: if lines.len() == 1 {
                    format!("line {}", lines.line)
                } else {
                    format!("line {}, response {}", lines.line, number + 1)
                },
                about: neutral::text(key),
                answers: 1,
            }));
        }
        Leftovers {
            noun: "frozen",
            unit: "frozen response",
            remedy: Some(
                "remove what the program is right not to ask for, or set `allow_unused` where several tests share the file",
            ),
            all: self.fixtures.responses,
            besides: None,
            left,
            listed: LISTED,
        }
    }
}

#[cfg(test)]
#[path = "frozen_tests.rs"]
mod tests;
