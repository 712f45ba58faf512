//! The cassettes that a session has opened. Each is read outside the lock, so that a big one holds up nobody but the calls
//! that want it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use once_cell::sync::OnceCell;

use super::tape::{Role, Tape};
use crate::config::Mode;
use crate::error::Result;

/// Opened tapes and places for those that are being opened, until the verdict.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Content>);

#[derive(Debug, Default)]
struct Content {
    places: HashMap<(PathBuf, Role), Place>,
    closed: bool,
}

/// Where one tape stands once it is open.
type Place = Arc<OnceCell<Arc<Tape>>>;

impl Shelf {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tape of a cassette in a mode, opened by `open` if it is not yet; a replay reads `played`, which is the cassette
    /// unless other answers stand in for it. `None` once the shelf is closed: what was opened meanwhile is put back.
    pub(super) fn tape(
        &self,
        cassette: &Path,
        played: &Path,
        mode: Mode,
        open: impl FnOnce(Role, &Path) -> Result<Tape>,
    ) -> Result<Option<Arc<Tape>>> {
        let (key, place) = {
            let mut content = self.content();
            let role = content.role(cassette, played, mode);
            let path = if role == Role::Replay { played } else { cassette };
            let key = (path.to_owned(), role);
            let place = match content.places.get(&key) {
                Some(place) => Arc::clone(place),
                None if content.closed => return Ok(None),
                None => Arc::clone(content.places.entry(key.clone()).or_default()),
            };
            (key, place)
        };
        let tape = Arc::clone(place.get_or_try_init(|| open(key.1, &key.0).map(Arc::new))?);
        let stands = self
            .content()
            .places
            .get(&key)
            .is_some_and(|other| Arc::ptr_eq(other, &place));
        if !stands {
            tape.close();
            tape.abandon()?;
            return Ok(None);
        }
        Ok(Some(tape))
    }

    /// Whether a cassette was opened, for whatever.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.content()
            .places
            .iter()
            .any(|((open, _), place)| open == path && place.get().is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content().places.values().all(|place| place.get().is_none())
    }

    /// Opens nothing and answers nothing from here on. Returns what is open, by path.
    pub(super) fn close(&self) -> Vec<Arc<Tape>> {
        let mut content = self.content();
        content.closed = true;
        content.places.retain(|_, place| place.get().is_some());
        drop(content);
        let tapes = self.open();
        tapes.iter().for_each(|tape| tape.close());
        tapes
    }

    /// What is open, by path.
    pub(super) fn open(&self) -> Vec<Arc<Tape>> {
        let content = self.content();
        let open = content.places.values().filter_map(|place| place.get().cloned());
        let mut tapes: Vec<Arc<Tape>> = open.collect();
        drop(content);
        tapes.sort_by(|a, b| a.path.cmp(&b.path));
        tapes
    }
}

impl Content {
    fn role(&self, cassette: &Path, played: &Path, mode: Mode) -> Role {
        let records = || self.places.contains_key(&(cassette.to_owned(), Role::Record));
        match mode {
            Mode::Record => Role::Record,
            Mode::New => Role::New,
            // Decided once: the file that an `auto` run creates must not turn its later calls into replays.
            Mode::Auto if records() || !played.exists() => Role::Record,
            _ => Role::Replay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tape::Label;
    use super::*;
    use crate::cassette::Journal;
    use crate::redact::Redactor;
    use crate::source::Comparison;

    fn open(role: Role, path: &Path) -> Result<Tape> {
        let label = Label {
            scenario: "s".to_owned(),
            test: None,
            made_of: None,
            remedy: crate::source::Remedy::Test(String::new()),
        };
        let comparison = Comparison {
            redactor: Arc::new(Redactor::none()),
            ignore: Arc::default(),
            cross: None,
        };
        Tape::open(path.to_owned(), role, None, label, comparison, &mut Vec::new())
    }

    #[test]
    fn a_tape_is_opened_once_and_none_after_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("a.json"), directory.path().join("b.json"));
        let shelf = Shelf::default();
        let first = shelf.tape(&path, &path, Mode::Auto, open).unwrap().unwrap();
        std::fs::write(&path, "{}").unwrap();
        let again = shelf
            .tape(&path, &path, Mode::Auto, |_, _| unreachable!())
            .unwrap()
            .unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!(first.role, Role::Record);
        assert_eq!(shelf.close().len(), 1);
        let late = shelf.tape(&other, &other, Mode::Record, open).unwrap();
        assert!(late.is_none() && !Journal::path_of(&other).exists());
    }

    #[test]
    fn a_tape_that_opens_while_the_verdict_is_made_is_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let shelf = Shelf::default();
        let late = shelf.tape(&path, &path, Mode::Record, |role, path| {
            assert!(shelf.close().is_empty());
            open(role, path)
        });
        assert!(late.unwrap().is_none());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn opening_one_holds_up_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("a.json"), directory.path().join("b.json"));
        let shelf = Shelf::default();
        let tape = shelf.tape(&path, &path, Mode::Record, |role, path| {
            // Were the lock held, this would never come back.
            assert!(!shelf.has(path));
            shelf.tape(&other, &other, Mode::Record, open)?;
            assert!(shelf.has(&other));
            open(role, path)
        });
        assert!(tape.unwrap().is_some() && !shelf.is_empty());
        assert_eq!(shelf.close().len(), 2);
    }
}
