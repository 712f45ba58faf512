//! One cassette inside a session: what is played from it and what is recorded onto it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::recorder::Slot;
use super::taking::{Taking, leak, leave_out_transient};
use crate::canon::IgnorePaths;
use crate::cassette::{self, Head, Journal, Saved};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Call, CanonicalRequest, Take};
use crate::redact::Redactor;
use crate::source::{Answer, Ask, Comparison, How, NotTaken, Recorded, Remedy, Source, Where, count};

/// What a tape is for. `auto` is decided when the tape is opened, so it is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Replay,
    Record,
    /// Plays what matches and records the misses as a new take.
    New,
}

/// What identifies the recording in the file.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) scenario: String,
    /// The full path of the test.
    pub(crate) test: Option<String>,
    /// See [`Place`](crate::identity::Place).
    pub(crate) made_of: Option<&'static str>,
    pub(crate) remedy: Remedy,
}

/// An open cassette.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) path: PathBuf,
    pub(crate) role: Role,
    label: Label,
    redactor: Arc<Redactor>,
    ignore: Arc<IgnorePaths>,
    id: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    source: Option<Box<dyn Source>>,
    recording: Option<Taking>,
    /// The verdict is being made: no call is answered from here on.
    closed: bool,
}

/// What a tape has for a request.
#[derive(Debug)]
pub(crate) enum Found {
    Play(Answer),
    Record(Slot),
}

/// What became of a recording at the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Nothing was recorded.
    Nothing,
    /// The cassette has a new take with that many calls.
    Saved(usize),
    /// The recording says the same as the newest take.
    Unchanged,
    /// The test failed: the take stands in the side file.
    Side(PathBuf, usize),
}

impl Tape {
    /// Opens a cassette's place in a session: what is played there, and the recording, which locks the cassette at `path`.
    pub(crate) fn open(
        path: PathBuf,
        role: Role,
        source: Option<Box<dyn Source>>,
        label: Label,
        comparison: Comparison,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let recording = match role {
            Role::Replay => None,
            Role::Record | Role::New => Some(Taking::open(&path, &label, &comparison.redactor, notes)?),
        };
        let id = match (&source, &recording) {
            (Some(source), _) => source.id().to_owned(),
            (None, Some(recording)) => recording.trace_id.clone(),
            (None, None) => String::new(),
        };
        Ok(Self {
            path,
            role,
            label,
            redactor: comparison.redactor,
            ignore: comparison.ignore,
            id,
            state: Mutex::new(State {
                source,
                recording,
                closed: false,
            }),
        })
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The id of what is played, or of the take that is recorded when nothing is.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way through a change; a poisoned lock only means that some caller panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for the call that answers `request`; where none does, a recording tape reserves a place for it. `factor` is how
    /// long the call takes when it is played, in parts of what it took live.
    pub(crate) fn find(
        &self,
        request: &CanonicalRequest,
        how: How<'_>,
        factor: f64,
        servable: &dyn Fn(&Call) -> Result<()>,
    ) -> std::result::Result<Found, NotTaken> {
        let key = self.key(request);
        let ask = Ask {
            request: key.as_ref().unwrap_or(request),
            how,
            servable,
        };
        let mut state = self.state();
        let State {
            source,
            recording,
            closed,
        } = &mut *state;
        if *closed {
            return Err(NotTaken::Late);
        }
        let taken = match source {
            Some(source) => match source.take(&ask) {
                Ok(found) => Some(found),
                Err(not_taken) if recording.is_none() => return Err(not_taken),
                Err(_) => None,
            },
            None => None,
        };
        Ok(match (taken, recording) {
            (Some(answer), recording) => {
                let recorded = match &answer.recorded {
                    Recorded::Itself => Some(&answer.call),
                    Recorded::Other(call) => Some(call),
                    Recorded::Nothing => None,
                };
                if let (Some(recording), Some(call)) = (recording, recorded) {
                    recording.copy(call, factor, &self.redactor);
                }
                Found::Play(answer)
            }
            (None, Some(recording)) => Found::Record(recording.reserve()),
            (None, None) => return Err(NotTaken::Unknown),
        })
    }

    /// The request as it is compared; `None` when it is compared as it is.
    fn key(&self, request: &CanonicalRequest) -> Option<CanonicalRequest> {
        (!self.ignore.is_empty()).then(|| {
            let mut key = request.clone();
            self.ignore.apply(&mut key);
            key
        })
    }

    /// The hash that the file stores for a request.
    pub(crate) fn hash(&self, request: &CanonicalRequest) -> String {
        crate::canon::request_hash(self.key(request).as_ref().unwrap_or(request))
    }

    /// Takes a finished call.
    pub(crate) fn record(&self, index: usize, call: Call) {
        let entry = Journal::entry(&call);
        // Without a recording the take has been written: a call that ends after its test is too late.
        if let Some(recording) = &mut self.state().recording {
            recording.finish(index, call, entry, &self.redactor);
        }
    }

    /// Answers no call from here on. What is being recorded may still end.
    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    /// Forgets a recording that no call has come to, and its journal.
    pub(crate) fn abandon(&self) -> Result<()> {
        match self.state().recording.take() {
            Some(recording) => recording.journal.remove(),
            None => Ok(()),
        }
    }

    /// The error for a request that was not taken.
    pub(crate) fn explain(&self, live: &CanonicalRequest, why: NotTaken, place: Where<'_>) -> Error {
        match &self.state().source {
            Some(source) => source.explain(live, why, place),
            None => Error::new(
                ErrorKind::Miss,
                "nothing is recorded that could answer this request",
                "",
            ),
        }
    }

    /// Runs `look` over what is played, where anything is.
    pub(crate) fn with_source<T>(&self, look: impl FnOnce(&dyn Source) -> T) -> Option<T> {
        self.state().source.as_deref().map(look)
    }

    /// Whether calls went live onto this tape: then its next take is another one than the one that is played.
    pub(crate) fn has_recorded(&self) -> bool {
        self.state()
            .recording
            .as_ref()
            .is_some_and(|recording| recording.live > 0)
    }

    /// Calls that were started and have not ended.
    pub(crate) fn unfinished(&self) -> usize {
        let state = self.state();
        state.recording.as_ref().map_or(0, Taking::unfinished)
    }

    /// Ends the recording: into the cassette when the test passed, else into the side file.
    /// Without `keep_transient` the refusals that a retry overcame are left out; `notes` says so.
    pub(crate) fn keep(&self, passed: bool, keep_transient: bool, notes: &mut Vec<String>) -> Result<Kept> {
        let Some(mut recording) = self.state().recording.take() else {
            return Ok(Kept::Nothing);
        };
        let nothing_new = self.role == Role::New && recording.live == 0;
        let fault = recording.fault.take();
        let trace_id = std::mem::take(&mut recording.trace_id);
        let (mut calls, journal) = recording.into_parts();
        if !keep_transient {
            self.leave_out(&mut calls, notes);
        }
        if nothing_new || (!passed && calls.is_empty()) {
            journal.remove()?;
            return Ok(Kept::Nothing);
        }
        let take = Take { trace_id, calls };
        let kept = self
            .write(passed, &take, notes)
            .map_err(|error| error.and_advise(&still_there(&journal, fault.as_ref())))?;
        journal.remove()?;
        if let Some(fault) = fault {
            notes.push(format!(
                "the recording is complete, but an interruption would have lost calls of it: {}",
                fault.message()
            ));
        }
        Ok(kept)
    }

    fn leave_out(&self, calls: &mut Vec<Call>, notes: &mut Vec<String>) {
        let all = calls.len();
        leave_out_transient(calls);
        if calls.len() < all {
            notes.push(format!(
                "{} left out of {}, because a retry of the same request succeeded (`keep_transient = false`)",
                count(all - calls.len(), "refused call"),
                self.path.display()
            ));
        }
    }

    fn write(&self, passed: bool, take: &Take, notes: &mut Vec<String>) -> Result<Kept> {
        let count = take.calls.len();
        let side = cassette::side_path(&self.path);
        if !passed {
            self.write_to(&side, take)?;
            return Ok(Kept::Side(side, count));
        }
        let saved = self.write_to(&self.path, take)?;
        // A good recording says what the one that failed was to say.
        if std::fs::remove_file(&side).is_ok() {
            notes.push(format!(
                "removed {}, which a recording that failed had left: this one takes its place",
                side.display()
            ));
        }
        Ok(match saved {
            Saved::Written => Kept::Saved(count),
            Saved::Unchanged => Kept::Unchanged,
        })
    }

    fn write_to(&self, target: &Path, take: &Take) -> Result<Saved> {
        let head = Head {
            scenario: &self.label.scenario,
            test: self.label.test.as_deref(),
        };
        cassette::save(&self.path, target, head, take, &|text| leak(&self.redactor, text))
    }
}

/// Where the calls of a take are that could not be saved.
fn still_there(journal: &Journal, fault: Option<&Error>) -> String {
    let what = match fault {
        None => "until then the calls of this one stay in",
        Some(_) => "until then those calls of this one that there was room for stay in",
    };
    format!(
        "{what} {}, and the next recording puts them into a file beside the cassette",
        journal.path().display()
    )
}

#[cfg(test)]
#[path = "tape_tests.rs"]
mod tests;
