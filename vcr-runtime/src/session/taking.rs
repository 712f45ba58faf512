//! The take that a tape is recording: places for its calls, the journal, and what an earlier recording left.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::http_recorder::read;
use super::recorder::{Slot, micros};
use super::tape::Label;
use crate::cassette::{self, Entry, Head, Journal, Left};
use crate::error::{Error, ErrorKind, Result};
use crate::identity::is_same_test;
use crate::model::{Call, Take};
use crate::redact::Redactor;
use crate::source::count;

/// A take under way.
#[derive(Debug)]
pub(super) struct Taking {
    pub(super) trace_id: String,
    clock: Instant,
    /// No call starts before this: a microsecond is all that tells what overlaps from what does not.
    floor: u64,
    places: Vec<Place>,
    pub(super) journal: Journal,
    /// Calls that went live, as opposed to those copied from the take that is played.
    pub(super) live: usize,
    /// Whether one of them has ended. Before that nothing was paid for, and an interruption loses nothing.
    paid: bool,
    /// The first fault of the journal; recording goes on without what it refused.
    pub(super) fault: Option<Error>,
}

#[derive(Debug)]
struct Place {
    started_us: u64,
    /// `None` while the call is under way.
    ended: Option<Entry>,
    /// Of a copied call: its span in the take that it was played from, where that tells.
    played_from: Option<Span>,
}

/// When a call ran: start and end.
#[derive(Clone, Copy, Debug)]
struct Span(u64, u64);

impl Span {
    fn of(call: &Call) -> Option<Self> {
        Some(Self(call.started_us?, call.ended_us()?))
    }

    /// Whether the two ran at the same time: neither had ended before the other started.
    const fn overlaps(self, other: Self) -> bool {
        self.0 < other.1 && other.0 < self.1
    }
}

impl Taking {
    pub(super) fn open(
        path: &Path,
        label: &Label,
        redactor: &Redactor,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        refuse_another_test(path, label)?;
        let trace_id = uuid::Uuid::now_v7().simple().to_string();
        let (mut journal, left) = Journal::open(path)?;
        if let Some(left) = unsaved(path, left, redactor) {
            notes.push(set_interrupted_aside(path, label, redactor, left)?);
        }
        // Only now: what an interrupted recording left behind stands in a file of its own.
        journal.begin(&trace_id)?;
        Ok(Self {
            trace_id,
            clock: Instant::now(),
            floor: 0,
            places: Vec::new(),
            journal,
            live: 0,
            paid: false,
            fault: None,
        })
    }

    /// Places are given out when calls start, so the file's order does not depend on which call ends first.
    pub(super) fn reserve(&mut self) -> Slot {
        let started = Instant::now();
        let started_us = micros(started.duration_since(self.clock)).max(self.floor);
        self.places.push(Place {
            started_us,
            ended: None,
            played_from: None,
        });
        self.live += 1;
        Slot {
            index: self.places.len() - 1,
            started_us,
            started,
        }
    }

    /// A call that was played belongs to the new take as well. It starts now and takes `factor` times as long as it took
    /// live; what it ran beside when it was recorded stays beside it, for at full speed everything comes one after the
    /// other.
    pub(super) fn copy(&mut self, call: &Call, factor: f64, redactor: &Redactor) {
        let now = micros(self.clock.elapsed()).max(self.floor);
        let total = call.metrics.map_or(0, |metrics| metrics.total_us);
        let played_from = Span::of(call);
        if let Some(span) = played_from {
            self.keep_beside(span, now);
        }
        let mut call = call.clone();
        call.started_us = Some(now);
        call.over_us = Some(
            now + std::time::Duration::from_micros(total)
                .mul_f64(factor)
                .as_micros() as u64,
        );
        let entry = self.paid.then(|| Journal::entry(&call));
        self.places.push(Place {
            started_us: now,
            ended: Some(Entry::Call(Box::new(call))),
            played_from,
        });
        if let Some(entry) = entry {
            self.note_down(entry, None, redactor);
        }
    }

    /// Lets earlier copies that overlapped `span` overlap a call that starts now, unless something else has come after them.
    fn keep_beside(&mut self, span: Span, now: u64) {
        for index in 0..self.places.len() {
            let place = &self.places[index];
            let (Some(from), Some(over)) = (place.played_from, place.call().and_then(Call::ended_us)) else {
                continue;
            };
            let followed = self.places[index + 1..].iter().any(|other| {
                let beside = other.played_from.is_some_and(|other| other.overlaps(from));
                other.started_us >= over && !beside
            });
            if from.overlaps(span)
                && over <= now
                && !followed
                && let Some(Entry::Call(call)) = &mut self.places[index].ended
            {
                call.over_us = Some(now + 1);
                self.floor = now + 1;
            }
        }
    }

    /// Takes a call that went live and has ended; `line` is its line of the journal.
    pub(super) fn finish(&mut self, index: usize, entry: Entry, line: String, redactor: &Redactor) {
        if !self.paid {
            self.paid = true;
            let copied: Vec<String> = self
                .places
                .iter()
                .filter_map(Place::call)
                .map(Journal::entry)
                .collect();
            for line in copied {
                self.note_down(line, None, redactor);
            }
        }
        let body = match &entry {
            Entry::Heard(heard) => Some(heard.body.as_slice()),
            Entry::Call(_) => None,
        };
        self.note_down(line, body, redactor);
        if let Some(place) = self.places.get_mut(index) {
            place.ended = Some(entry);
        }
    }

    /// A call that still holds a secret fails the save, so it must not reach the disk by this way either. Bodies that come
    /// here were found to hold none.
    fn note_down(&mut self, line: String, body: Option<&[u8]>, redactor: &Redactor) {
        if redactor.scan(&line).is_some() {
            return;
        }
        let noted = match body {
            Some(body) => self.journal.append_heard(line, body),
            None => self.journal.append(&line),
        };
        if let Err(fault) = noted {
            self.fault.get_or_insert(fault);
        }
    }

    /// Calls that were started and have not ended.
    pub(super) fn unfinished(&self) -> usize {
        self.places.iter().filter(|place| place.ended.is_none()).count()
    }

    /// The calls that ended, in the order in which they started, and the journal.
    pub(super) fn into_parts(self, redactor: &Redactor) -> (Vec<Call>, Journal) {
        let entries = self.places.into_iter().filter_map(|place| place.ended);
        let calls = entries.map(|entry| call(entry, redactor));
        (calls.collect(), self.journal)
    }
}

impl Place {
    /// The call, where it has ended and was read.
    fn call(&self) -> Option<&Call> {
        match &self.ended {
            Some(Entry::Call(call)) => Some(call),
            Some(Entry::Heard(_)) | None => None,
        }
    }
}

/// The call that an entry is, or that is read of it.
fn call(entry: Entry, redactor: &Redactor) -> Call {
    match entry {
        Entry::Call(call) => *call,
        Entry::Heard(heard) => read(*heard, redactor),
    }
}

/// Drops the refusals that a later call of the same request overcame.
pub(super) fn leave_out_transient(calls: &mut Vec<Call>) {
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
pub(super) fn leak(redactor: &Redactor, text: &str) -> Option<String> {
    redactor
        .scan(text)
        .map(|hit| format!("line {} column {} still holds {}", hit.line, hit.column, hit.rule))
}

/// What an interrupted recording left in the journal. One that was killed after its last step left nothing that is not in
/// a cassette.
pub(super) fn unsaved(path: &Path, left: Option<Left>, redactor: &Redactor) -> Option<Take> {
    let side = cassette::side_path(path);
    let left = left?;
    let holds = |file: &Path| cassette::holds(file, &left.trace_id).unwrap_or(false);
    if holds(path) || holds(&side) {
        return None;
    }
    let entries = left.entries.into_iter();
    let mut calls: Vec<Call> = entries.map(|entry| call(entry, redactor)).collect();
    // They stand there in the order in which they ended.
    calls.sort_by_key(|call| call.started_us);
    Some(Take {
        trace_id: left.trace_id,
        calls,
    })
}

/// Saves such a take beside the cassette, by the redaction rules of today.
pub(super) fn set_aside(path: &Path, head: Head<'_>, redactor: &Redactor, mut left: Take) -> Result<PathBuf> {
    for call in &mut left.calls {
        redactor.recorded(Arc::make_mut(&mut call.request));
        redactor.call(call);
    }
    let target = cassette::interrupted_path(path);
    cassette::save(path, &target, head, &left, &|text| leak(redactor, text))?;
    Ok(target)
}

/// The same for a recording that begins, in words.
fn set_interrupted_aside(path: &Path, label: &Label, redactor: &Redactor, left: Take) -> Result<String> {
    let calls = left.calls.len();
    let head = Head {
        scenario: &label.scenario,
        test: label.test.as_deref(),
    };
    let target = set_aside(path, head, redactor, left)?;
    Ok(format!(
        "an interrupted recording left {}, now in {}; rename it to {} to replay from it",
        count(calls, "finished call"),
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
    if is_same_test(&owner, test, label.made_of) {
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
