//! The end of a session, and what of it can be asked for before: its own file, and what is open.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::names::played;
use super::session::Session;
use super::tape::Tape;
use crate::config::Mode;
use crate::error::Result;
use crate::identity::Identity;

impl Session {
    /// The session's own cassette; `None` when each call has an automatic one.
    pub(crate) fn cassette_path(&self) -> Option<PathBuf> {
        let identity = Identity::resolve(&self.place, &self.settings, self.around.environment).ok()?;
        if identity.scenario.is_none() && identity.filename.is_none() {
            return None;
        }
        identity.path("").ok()
    }

    /// The file that answers instead of the cassette.
    fn source_path(&self) -> Option<PathBuf> {
        let identity = Identity::resolve(&self.place, &self.settings, self.around.environment).ok()?;
        played(&self.settings, &identity)
    }

    /// The session's own file, where it is replayed and no call has opened it.
    fn unopened(&self) -> Option<PathBuf> {
        let mode = self.settings.effective_mode();
        let own = match (self.source_path(), mode) {
            (Some(path), Mode::Replay) => Some(path),
            (Some(path), Mode::Auto) if path.exists() => Some(path),
            // A document that nothing came to is told, whether or not there is a cassette to it.
            (_, Mode::Replay)
                if self
                    .settings
                    .override_file
                    .as_ref()
                    .is_some_and(|file| file.required) =>
            {
                self.cassette_path()
            }
            (_, Mode::Replay | Mode::Auto | Mode::New) => self.cassette_path().filter(|path| path.exists()),
            _ => None,
        };
        own.filter(|path| !self.shelf.has(path))
    }

    /// Every cassette that was opened, and the session's own one if it exists though no call opened it. None is opened and
    /// no call is answered from here on.
    pub(crate) fn close(&self) -> Vec<Arc<Tape>> {
        if self.unopened().is_some() {
            // The test no longer makes these calls: what was recorded is left over.
            if let Err(error) = self.tape(&self.settings, None) {
                self.fault(error);
            }
        }
        self.shelf.close()
    }

    /// The same, and the session goes on.
    pub(super) fn opened(&self) -> Result<Vec<Arc<Tape>>> {
        if self.unopened().is_some() {
            self.tape(&self.settings, None)
                .map_err(|error| self.fault(error))?;
        }
        Ok(self.shelf.open())
    }

    /// A recording test that made no call still has a cassette, so that its replay knows that there is nothing to ask. One
    /// whose calls have all moved to other cassettes empties the one that it had, for the same reason.
    pub(crate) fn open_own_for_recording(&self) -> Result<()> {
        if self.settings.effective_mode() != Mode::Record {
            return Ok(());
        }
        let none = self.shelf.is_empty();
        let own = self.cassette_path();
        if own.is_some_and(|path| none || (path.exists() && !self.shelf.has(&path))) {
            self.tape(&self.settings, None)?;
        }
        Ok(())
    }

    /// Whether any call opened a cassette.
    pub(crate) fn is_used(&self) -> bool {
        !self.shelf.is_empty()
    }

    /// Gives the session up: what nobody asked for is no fault of it any more.
    pub(crate) fn dispose(&self) {
        self.disposed.store(true, Ordering::Release);
        self.end();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(super) fn is_disposed(&self) -> bool {
        self.disposed.load(Ordering::Acquire)
    }

    /// No call is accepted from here on. False when it had ended before.
    pub(crate) fn end(&self) -> bool {
        !self.ended.swap(true, Ordering::AcqRel)
    }
}
