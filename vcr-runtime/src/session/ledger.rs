//! What a session remembers until its verdict: nothing that went wrong may be swallowed by the code under test.

use crate::error::{Error, ErrorKind};

/// The session's memory.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Calls that nothing recorded answers, and other faults of the session, in order.
    pub(crate) faults: Vec<Error>,
    /// Calls that came after the session had ended.
    pub(crate) late: usize,
    /// Calls answered from a cassette.
    pub(crate) served: usize,
    /// Calls that went to the upstream and are recorded.
    pub(crate) recorded: usize,
    /// Calls that passed through.
    pub(crate) live: usize,
    /// Tasks that the test's runtime still had when the test ended. Told only where calls are missing: every HTTP client with
    /// an idle connection leaves some.
    pub(crate) alive: usize,
    /// Warnings and remarks for people.
    pub(crate) notes: Vec<String>,
}

impl Ledger {
    /// Remembers a fault and gives it back for the caller.
    pub(crate) fn fault(&mut self, error: Error) -> Error {
        self.faults.push(error.clone());
        error
    }

    /// A remark, once.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The number of calls that nothing recorded answers.
    pub(crate) fn misses(&self) -> usize {
        self.faults
            .iter()
            .filter(|fault| fault.kind() == ErrorKind::Miss)
            .count()
    }
}
