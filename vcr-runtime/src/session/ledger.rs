//! What a session remembers until its verdict: nothing that went wrong may be swallowed by the code under test.

use crate::error::{Error, ErrorKind};

/// The session's memory.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The first fault: a call that nothing recorded answers, or a cassette that cannot be used. The verdict shows one screen,
    /// and a program that loops over a miss must not fill the memory with the others.
    pub(crate) fault: Option<Error>,
    /// Calls that nothing recorded answers.
    pub(crate) misses: usize,
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
    /// Warnings for people.
    pub(crate) notes: Vec<String>,
    /// What explains a failure, and is of no interest without one.
    pub(crate) remarks: Vec<String>,
}

impl Ledger {
    /// Remembers a fault and gives it back for the caller.
    pub(crate) fn fault(&mut self, error: Error) -> Error {
        self.misses += usize::from(error.kind() == ErrorKind::Miss);
        self.fault.get_or_insert_with(|| error.clone());
        error
    }

    /// A remark, once.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
