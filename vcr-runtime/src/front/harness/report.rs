//! What a harness did.

use std::sync::{Mutex, PoisonError};

use super::error::HarnessError;

/// How many faults are kept; the rest is counted.
const KEPT: usize = 100;

/// What a harness did until its shutdown.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct HarnessReport {
    /// Calls answered from the cassette.
    pub served: u64,
    /// Calls whose answer was kept.
    pub recorded: u64,
    /// Calls that nothing recorded answers.
    pub mismatches: u64,
    /// Calls that were forwarded and whose answer was not kept: the upstream failed, the caller left, or the request was no
    /// JSON.
    pub not_recorded: u64,
    /// Answers that were cut off by the shutdown.
    pub aborted: usize,
    /// Interactions that nobody asked for. They are no error.
    pub leftovers: Vec<Leftover>,
    /// The first hundred faults of calls, in their order: [`HarnessError::RequestMismatch`] and
    /// [`HarnessError::UpstreamRequestFailed`].
    pub faults: Vec<HarnessError>,
}

/// An interaction that nobody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// Its place in the cassette: `interaction 0`.
    pub name: String,
    /// What it answers, in short: `POST /v1/chat/completions 79f1cbf0`.
    pub summary: String,
}

/// The report while the harness runs.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<HarnessReport>);

impl Counts {
    pub(super) fn note(&self, what: impl FnOnce(&mut HarnessReport)) {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn fault(&self, fault: HarnessError) {
        self.note(|report| {
            if report.faults.len() < KEPT {
                report.faults.push(fault);
            }
        });
    }

    pub(super) fn take(&self) -> HarnessReport {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
