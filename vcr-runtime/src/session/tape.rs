//! One cassette inside a session: what is played from it and what is recorded onto it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::recorder::{Slot, micros};
use crate::canon::IgnorePaths;
use crate::cassette::{self, Head, Journal, Saved};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Call, CanonicalRequest, Take};
use crate::redact::Redactor;
use crate::source::{Answer, Ask, Comparison, How, NotTaken, Remedy, Source, Where, count};

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
    recording: Option<TapeRecording>,
}

#[derive(Debug)]
struct TapeRecording {
    trace_id: String,
    clock: Instant,
    slots: Vec<Option<Call>>,
    journal: Journal,
    /// Calls that went live, as opposed to those copied from the take that is played.
    live: usize,
    /// The first fault of the journal; recording goes on without it.
    fault: Option<Error>,
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
            Role::Record | Role::New => {
                Some(TapeRecording::open(&path, &label, &comparison.redactor, notes)?)
            }
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
            state: Mutex::new(State { source, recording }),
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

    /// Looks for the call that answers `request`; where none does, a recording tape reserves a place for it.
    pub(crate) fn find(
        &self,
        request: &CanonicalRequest,
        how: How,
        servable: &dyn Fn(&Call) -> Result<()>,
    ) -> std::result::Result<Found, NotTaken> {
        let key = self.key(request);
        let ask = Ask {
            request: key.as_ref().unwrap_or(request),
            how,
            servable,
        };
        let mut state = self.state();
        let State { source, recording } = &mut *state;
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
                if let Some(recording) = recording {
                    recording.copy(&answer.call);
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
        // A call that still holds a secret fails the save, so it must not reach the disk by this way either.
        let entry = Some(Journal::entry(&call)).filter(|entry| self.redactor.scan(entry).is_none());
        let mut state = self.state();
        let Some(recording) = &mut state.recording else {
            // The take has been written: a call that ends after its test is too late.
            return;
        };
        if recording.fault.is_none()
            && let Some(entry) = entry
            && let Err(fault) = recording.journal.append(&entry)
        {
            recording.fault = Some(fault);
        }
        if let Some(slot) = recording.slots.get_mut(index) {
            *slot = Some(call);
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
        state.recording.as_ref().map_or(0, |recording| {
            recording.slots.iter().filter(|slot| slot.is_none()).count()
        })
    }

    /// Ends the recording: into the cassette when the test passed, else into the side file.
    /// Without `keep_transient` the refusals that a retry overcame are left out; `notes` says so.
    pub(crate) fn keep(&self, passed: bool, keep_transient: bool, notes: &mut Vec<String>) -> Result<Kept> {
        let Some(recording) = self.state().recording.take() else {
            return Ok(Kept::Nothing);
        };
        if self.role == Role::New && recording.live == 0 {
            recording.journal.remove()?;
            return Ok(Kept::Nothing);
        }
        let mut calls: Vec<Call> = recording.slots.into_iter().flatten().collect();
        if !keep_transient {
            let all = calls.len();
            leave_out_transient(&mut calls);
            if calls.len() < all {
                notes.push(format!(
                    "{} left out of {}, because a retry of the same request succeeded (`keep_transient = false`)",
                    count(all - calls.len(), "refused call"),
                    self.path.display()
                ));
            }
        }
        if !passed && calls.is_empty() {
            recording.journal.remove()?;
            return Ok(Kept::Nothing);
        }
        let take = Take {
            trace_id: recording.trace_id,
            calls,
        };
        let count = take.calls.len();
        let kept = if passed {
            match self.write(&self.path, &take)? {
                Saved::Written => Kept::Saved(count),
                Saved::Unchanged => Kept::Unchanged,
            }
        } else {
            let side = cassette::side_path(&self.path);
            self.write(&side, &take)?;
            Kept::Side(side, count)
        };
        recording.journal.remove()?;
        match recording.fault {
            Some(fault) => Err(fault),
            None => Ok(kept),
        }
    }

    fn write(&self, target: &Path, take: &Take) -> Result<Saved> {
        let head = Head {
            scenario: &self.label.scenario,
            test: self.label.test.as_deref(),
        };
        cassette::save(&self.path, target, head, take, &|text| leak(&self.redactor, text))
    }
}

/// Drops the refusals that a later call of the same request overcame.
fn leave_out_transient(calls: &mut Vec<Call>) {
    let status = |call: &Call| {
        let of_boundary = || call.boundary.as_ref()?.status;
        call.http.as_ref().map(|head| head.status).or_else(of_boundary)
    };
    let mut later = HashSet::new();
    let mut index = calls.len();
    while index > 0 {
        index -= 1;
        let call = &calls[index];
        let Some(hash) = call.request.hash.clone() else {
            continue;
        };
        if call.boundary.is_none() {
            later.insert(hash);
        } else if later.contains(&hash) && matches!(status(call), Some(429 | 500..=599)) {
            calls.remove(index);
        }
    }
}

/// What is left of secrets in a text that is to be written.
fn leak(redactor: &Redactor, text: &str) -> Option<String> {
    redactor
        .scan(text)
        .map(|hit| format!("line {} column {} still holds {}", hit.line, hit.column, hit.rule))
}

impl TapeRecording {
    fn open(path: &Path, label: &Label, redactor: &Redactor, notes: &mut Vec<String>) -> Result<Self> {
        refuse_another_test(path, label)?;
        let trace_id = uuid::Uuid::now_v7().simple().to_string();
        let (mut journal, left) = Journal::open(path)?;
        if let Some(left) = left {
            notes.push(set_interrupted_aside(path, label, redactor, left)?);
        }
        // Only now: what an interrupted recording left behind stands in a file of its own.
        journal.begin(&trace_id)?;
        Ok(Self {
            trace_id,
            clock: Instant::now(),
            slots: Vec::new(),
            journal,
            live: 0,
            fault: None,
        })
    }

    /// Places are given out when calls start, so the file's order does not depend on which call ends first.
    fn reserve(&mut self) -> Slot {
        self.slots.push(None);
        self.live += 1;
        let started = Instant::now();
        Slot {
            index: self.slots.len() - 1,
            started_us: micros(started.duration_since(self.clock)),
            started,
        }
    }

    /// A call that was played belongs to the new take as well.
    fn copy(&mut self, call: &Call) {
        let mut call = call.clone();
        let now = micros(self.clock.elapsed());
        call.started_us = Some(now);
        self.slots.push(Some(call));
    }
}

/// Saves what an interrupted recording left in the journal, by the redaction rules of today, and says where.
fn set_interrupted_aside(path: &Path, label: &Label, redactor: &Redactor, mut left: Take) -> Result<String> {
    for call in &mut left.calls {
        redactor.recorded(Arc::make_mut(&mut call.request));
        redactor.call(call);
    }
    let target = path.with_extension("interrupted.json");
    let head = Head {
        scenario: &label.scenario,
        test: label.test.as_deref(),
    };
    cassette::save(path, &target, head, &left, &|text| leak(redactor, text))?;
    Ok(format!(
        "an interrupted recording left {}, now in {}; rename it to {} to replay from it",
        count(left.calls.len(), "finished call"),
        target.display(),
        path.file_name().unwrap_or_default().to_string_lossy()
    ))
}

/// A cassette belongs to one test: another one's recording would take its place.
fn refuse_another_test(path: &Path, label: &Label) -> Result<()> {
    let Some(test) = &label.test else {
        return Ok(());
    };
    // Whatever else is wrong with the file is said when it is saved.
    let Ok(Some(owner)) = cassette::owner(path) else {
        return Ok(());
    };
    if owner == *test {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Collision,
        format!(
            "{} belongs to the test `{owner}`, and `{test}` would record over it",
            path.display()
        ),
        "give one of them a scenario or filename of its own; if the test was renamed, delete the file first",
    )
    .at(path))
}

/// Tapes of a session by file and role.
pub(crate) type Tapes = HashMap<(PathBuf, Role), Arc<Tape>>;

#[cfg(test)]
#[path = "tape_tests.rs"]
mod tests;
