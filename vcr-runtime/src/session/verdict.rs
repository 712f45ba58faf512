//! What teardown decides: design section 11.

use std::fmt;
use std::path::{Path, PathBuf};

use super::session::Session;
use super::tape::{Kept, Role, Tape};
use crate::config::{Matching, Mode};
use crate::error::{Error, ErrorKind};
use crate::observe;
use crate::source::{Leftovers, count};

/// What a session did, once it has ended well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Calls answered from a cassette.
    pub replayed: usize,
    /// Calls that went to the upstream and were recorded.
    pub recorded: usize,
    /// Cassettes that were written. A recording that says the same as the newest take leaves its file alone.
    pub written: Vec<PathBuf>,
    /// Side files that hold what a test recorded that failed; its cassettes stay as they were.
    pub set_aside: Vec<PathBuf>,
    /// Recorded calls that nobody asked for; only where `allow_unused` let them pass.
    pub unused: usize,
    /// Remarks and warnings for people.
    pub notes: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.replayed > 0 {
            parts.push(format!("{} replayed", count(self.replayed, "call")));
        }
        if self.recorded > 0 {
            parts.push(format!("{} recorded", count(self.recorded, "call")));
        }
        if self.unused > 0 {
            parts.push(format!("{} unused", self.unused));
        }
        for path in &self.written {
            parts.push(format!("wrote {}", path.display()));
        }
        for path in &self.set_aside {
            parts.push(format!("set aside {}", path.display()));
        }
        if parts.is_empty() {
            parts.push("no calls".to_owned());
        }
        formatter.write_str(&parts.join(", "))
    }
}

/// The end of a session.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) report: Report,
    /// Why a test that passed fails after all.
    pub(crate) failure: Option<Error>,
    /// One line for a test that passed; `None` where it is to be silent.
    pub(crate) line: Option<String>,
    /// Which of the report's notes, from the end, explain a failure and are nothing to print without one.
    pub(crate) remarks: usize,
}

impl Session {
    /// Ends the session: saves what was recorded, and decides. `aborted` exchanges of the gateway were cut off.
    pub(crate) fn conclude(&self, passed: bool, aborted: usize) -> Verdict {
        self.conclude_after(passed, aborted, |_| ())
    }

    /// The same for somebody who wants to `look` at what was opened before it is decided upon.
    pub(crate) fn conclude_after(
        &self,
        passed: bool,
        aborted: usize,
        look: impl FnOnce(&[std::sync::Arc<Tape>]),
    ) -> Verdict {
        let mut failure = None;
        if passed
            && !self.is_disposed()
            && let Err(error) = self.open_own_for_recording()
        {
            failure = Some(error);
        }
        let tapes = self.close();
        look(&tapes);
        self.end();
        let mut report = Report::default();
        let mut lines = Vec::new();
        self.note_unfinished(&tapes, aborted);
        let unapplied = self.unapplied(&tapes).filter(|_| !self.is_disposed());
        let leftovers = [self.leftovers(&tapes, &mut report), unapplied];
        let leftovers: Vec<Error> = leftovers.into_iter().flatten().collect();
        // Whatever makes the test fail sends what it recorded to the side file.
        let good = passed && leftovers.is_empty() && self.ledger().fault.is_none();
        let mut notes = Vec::new();
        for tape in &tapes {
            match tape.keep(good, self.settings().keep_transient, &mut notes) {
                Ok(kept) => tell(tape, kept, &mut report, &mut lines),
                Err(error) => {
                    observe::unsaved(&tape.path, error.kind());
                    failure = Some(failure.unwrap_or(error));
                }
            }
        }
        notes.into_iter().for_each(|note| self.ledger().note(note));
        let ledger = self.ledger();
        report.replayed = ledger.served;
        report.recorded = ledger.recorded;
        report.notes.clone_from(&ledger.notes);
        if ledger.late > 0 {
            report.notes.push(format!(
                "{} came after the test had ended",
                count(ledger.late, "call")
            ));
        }
        report.notes.extend(ledger.remarks.iter().cloned());
        let remarks = ledger.remarks.len();
        // The first cause first: a miss explains the leftovers behind it, not the reverse.
        let first = ledger.fault.clone();
        let misses = ledger.misses;
        drop(ledger);
        let failure = match first {
            Some(fault) => Some(with_rest(fault, misses, &leftovers)),
            None => failure.or_else(|| together(leftovers)),
        };
        let line = (!lines.is_empty()).then(|| lines.join("\n"));
        Verdict {
            report,
            failure,
            line,
            remarks,
        }
    }

    fn note_unfinished(&self, tapes: &[std::sync::Arc<Tape>], aborted: usize) {
        let unfinished: usize = tapes.iter().map(|tape| tape.unfinished()).sum();
        let mut ledger = self.ledger();
        if unfinished > 0 {
            ledger.note(format!(
                "{} had not ended when the test did and {} not kept",
                count(unfinished, "recorded call"),
                if unfinished == 1 { "was" } else { "were" }
            ));
        }
        if aborted > 0 {
            ledger.note(format!(
                "{} through the gateway had not ended when the test did",
                count(aborted, "call")
            ));
        }
        if self.settings().matching == Matching::Order && ledger.served > 0 {
            let remark = "matching = order compared no request with its recording";
            ledger.remarks.push(remark.to_owned());
        }
    }

    /// Whether everything that was opened has been asked for so far, the session's own file included.
    ///
    /// # Errors
    /// `Verdict`, with all that was not; whatever kept the session's own file from being opened.
    pub(crate) fn assert_consumed(&self) -> crate::error::Result<()> {
        self.unasked(&self.opened()?)
            .map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The error about recorded calls that nobody asked for, unless they may be left.
    fn leftovers(&self, tapes: &[std::sync::Arc<Tape>], report: &mut Report) -> Option<Error> {
        let (unused, error) = self.unasked(tapes)?;
        if self.settings().allow_unused || self.is_disposed() {
            report.unused = unused;
            return None;
        }
        Some(error)
    }

    /// How many recorded calls nobody asked for, where there are any, and the error about them.
    fn unasked(&self, tapes: &[std::sync::Arc<Tape>]) -> Option<(usize, Error)> {
        let mut text = String::new();
        let mut all = 0;
        let mut first = None;
        for tape in tapes.iter().filter(|tape| tape.role != Role::Record) {
            let Some((leftovers, source)) =
                tape.with_source(|source| (source.leftovers(), source.path().to_owned()))
            else {
                continue;
            };
            let left = &leftovers.left;
            if left.is_empty() || tape.has_recorded() {
                continue;
            }
            let unused: usize = left.iter().map(|left| left.answers).sum();
            all += unused;
            first.get_or_insert_with(|| (source.clone(), leftovers.unit, leftovers.remedy));
            self.list(&source, &leftovers, &mut text);
        }
        let (path, unit, remedy) = first?;
        let alive = self.ledger().alive;
        if alive > 0 {
            let tasks = count(alive, "task");
            text.push_str(&format!(
                "\n  alive     {tasks} when the test ended; those of an HTTP client's connections count too"
            ));
        }
        let test = self.test();
        let verb = if all == 1 { "was" } else { "were" };
        let remedy = remedy.map_or_else(
            || {
                format!(
                    "if the program is right to ask for less, record it again with {}, or set `allow_unused`",
                    self.remedy.record()
                )
            },
            str::to_owned,
        );
        let error = Error::new(
            ErrorKind::Verdict,
            format!(
                "{} {verb} never asked for\n  test      {test}{text}",
                count(all, unit)
            ),
            format!("{remedy}; if a task was to make the call, was it dropped before it ran?"),
        );
        Some((all, error.at(&path)))
    }

    /// The error about what of an override document was never applied: then the test did not test what it says.
    fn unapplied(&self, tapes: &[std::sync::Arc<Tape>]) -> Option<Error> {
        let mut text = String::new();
        let (mut all, mut first) = (0, None);
        for tape in tapes.iter().filter(|tape| !tape.has_recorded()) {
            let unapplied = tape.with_source(|source| {
                let (path, leftovers) = source.unapplied()?;
                Some((path.to_owned(), leftovers))
            });
            let Some((path, leftovers)) = unapplied.flatten() else {
                continue;
            };
            all += leftovers.left.len();
            self.list(&path, &leftovers, &mut text);
            first.get_or_insert(path);
        }
        let verb = if all == 1 { "was" } else { "were" };
        let error = Error::new(
            ErrorKind::Verdict,
            format!(
                "{} {verb} never applied\n  test      {}{text}",
                count(all, "override"),
                self.test()
            ),
            "if the program is right not to come there, take it out of the document",
        );
        Some(error.at(&first?))
    }

    /// One file of a report with what is left of it.
    fn list(&self, path: &Path, leftovers: &Leftovers, text: &mut String) {
        let Leftovers {
            noun,
            all,
            besides,
            left,
            listed,
            ..
        } = leftovers;
        let unused: usize = left.iter().map(|left| left.answers).sum();
        let besides = besides
            .as_ref()
            .map_or_else(String::new, |more| format!(", {more}"));
        text.push_str(&format!(
            "\n  {noun:<9} {} ({unused} of {all} unused{besides})",
            path.display()
        ));
        for answer in left.iter().take(*listed) {
            text.push_str(&format!("\n    {}", answer.name));
            if !self.settings().private {
                text.push_str(&format!(": {}", answer.about));
            }
        }
        if left.len() > *listed {
            text.push_str(&format!("\n    and {} more", left.len() - listed));
        }
    }
}

/// What was left over, and with it what of an override document was never applied.
fn together(leftovers: Vec<Error>) -> Option<Error> {
    leftovers.into_iter().reduce(|first, more| {
        let message = more.message();
        let listed = message.lines().filter(|line| !line.starts_with("  test "));
        let mut text = String::new();
        for (index, line) in listed.enumerate() {
            text.push_str(if index == 0 { "\n  besides   " } else { "\n" });
            text.push_str(line);
        }
        first.and(&text)
    })
}

/// The first fault, with what else went wrong in short.
fn with_rest(fault: Error, misses: usize, leftovers: &[Error]) -> Error {
    let mut more = Vec::new();
    let others = misses - usize::from(fault.kind() == ErrorKind::Miss);
    if others > 0 {
        more.push(format!("{} more had no answer", count(others, "call")));
    }
    let firsts = leftovers.iter().filter_map(|left| left.message().lines().next());
    more.extend(firsts.map(str::to_owned));
    if more.is_empty() {
        return fault;
    }
    fault.and(&format!("\n  besides   {}", more.join("; ")))
}

fn tell(tape: &Tape, kept: Kept, report: &mut Report, lines: &mut Vec<String>) {
    match kept {
        Kept::Nothing => {}
        Kept::Saved(calls) => {
            lines.push(format!(
                "vcr: recorded {} to {}",
                count(calls, "call"),
                tape.path.display()
            ));
            report.written.push(tape.path.clone());
        }
        Kept::Unchanged => {
            lines.push(format!(
                "vcr: {} is unchanged but for ids and timings",
                tape.path.display()
            ));
        }
        Kept::Side(side, calls) => {
            lines.push(format!(
                "vcr: the test failed, so {} went to {}; to adopt them: mv {} {}",
                count(calls, "recorded call"),
                side.display(),
                side.display(),
                tape.path.display()
            ));
            report.set_aside.push(side);
        }
    }
}

/// Whether a mode writes cassettes.
pub(crate) fn writes(mode: Mode) -> bool {
    matches!(mode, Mode::Record | Mode::Auto | Mode::New)
}
