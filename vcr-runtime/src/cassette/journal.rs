//! Each finished call of a recording, appended to a file beside the cassette at once: a killed recording loses at
//! most the call in flight. The journal is also the lock: whoever records holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::decode::call_of;
use super::encode::call_members;
use super::file::parser;
use super::save::sweep;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, compact, parse};
use crate::model::{Call, Take};

/// An open, locked journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// The length of all whole lines.
    length: u64,
}

impl Journal {
    /// `a.json` has its journal in `a.journal.jsonl`.
    pub(crate) fn path_of(cassette: &Path) -> PathBuf {
        cassette.with_extension("journal.jsonl")
    }

    /// Opens and locks the journal of a cassette, creating the directory where needed, and returns the take that an
    /// interrupted recording left in it. That stays in the file until [`begin`](Self::begin).
    ///
    /// # Errors
    /// `Busy` when another recording holds it, `Io`.
    pub(crate) fn open(cassette: &Path) -> Result<(Self, Option<Take>)> {
        if let Some(directory) = cassette.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|error| Error::io("create the fixture directory", directory, &error))?;
        }
        let path = Self::path_of(cassette);
        let io = |error: &std::io::Error| Error::io("open the journal", &path, error);
        if path.is_symlink() {
            // It is emptied, so it must be nothing but a journal.
            return Err(Error::new(
                ErrorKind::Identity,
                format!("the journal {} is a link", path.display()),
                "remove the link",
            )
            .at(&path));
        }
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .open(&path)
                .map_err(|error| io(&error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(busy(cassette)),
                Err(TryLockError::Error(error)) => return Err(io(&error)),
            }
            if !is_still_there(&file, &path) {
                // The recording that held it has just finished and removed it: start over with a new file.
                continue;
            }
            // Whoever saves this cassette holds its journal.
            sweep(cassette);
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(|error| io(&error))?;
            let journal = Self {
                path,
                file,
                length: bytes.len() as u64,
            };
            return Ok((journal, interrupted(&bytes)));
        }
    }

    /// Starts the journal of a new take, over whatever it held.
    pub(crate) fn begin(&mut self, trace_id: &str) -> Result<()> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .map_err(|error| Error::io("empty the journal", &self.path, &error))?;
        self.length = 0;
        self.line(&format!("{{\"trace_id\":\"{trace_id}\"}}\n"))
    }

    /// A finished call as a line of the journal.
    pub(crate) fn entry(call: &Call) -> String {
        let mut line = compact(&Json::Object(call_members(call)));
        line.push('\n');
        line
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an [`entry`](Self::entry); it is in the page cache when this returns. An entry that does not fit is taken out
    /// again, so that others may follow.
    pub(crate) fn append(&mut self, entry: &str) -> Result<()> {
        self.line(entry)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        match self.file.write_all(line.as_bytes()) {
            Ok(()) => {
                self.length += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Should this fail too, the half line hides what comes behind it, and what stands before it is safe.
                let _ = self.file.set_len(self.length);
                Err(Error::io("write the journal", &self.path, &error))
            }
        }
    }

    /// Removes the journal: its calls stand in a cassette now.
    pub(crate) fn remove(self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove the journal", &self.path, &error))
            }
            _ => Ok(()),
        }
    }
}

fn busy(cassette: &Path) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!(
            "another test or process is recording {} right now",
            cassette.display()
        ),
        "give the tests scenarios of their own, or record them one after the other",
    )
    .at(cassette)
}

/// Whether the path still names the file that is locked.
fn is_still_there(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        match (file.metadata(), std::fs::metadata(path)) {
            (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        // An open file cannot be removed there.
        let _ = file;
        path.exists()
    }
}

/// The calls of an interrupted recording; a last line that was cut is the call in flight and is dropped.
fn interrupted(bytes: &[u8]) -> Option<Take> {
    // The cut may go through a character, too.
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let head = parse(lines.next()?).ok()?;
    let trace_id = head.get("trace_id")?.as_str()?.to_owned();
    let mut calls: Vec<Call> = lines
        .map_while(|line| {
            let mut parser = parser(line);
            let call = call_of(&mut parser).ok()?;
            // A line that was cut is no call.
            parser.end().is_ok().then_some(call)
        })
        .collect();
    // They stand there in the order in which they ended.
    calls.sort_by_key(|call| call.started_us);
    (!calls.is_empty()).then_some(Take { trace_id, calls })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn call(model: &str) -> Call {
        let mut call = Call::default();
        Arc::make_mut(&mut call.request).model = Some(model.to_owned());
        call
    }

    #[test]
    fn an_interrupted_recording_is_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let cassette = directory.path().join("deep/a.json");
        let (mut journal, left) = Journal::open(&cassette).unwrap();
        assert!(left.is_none());
        journal.begin("one").unwrap();
        let mut later = call("y");
        later.started_us = Some(7);
        journal.append(&Journal::entry(&later)).unwrap();
        journal.append(&Journal::entry(&call("x"))).unwrap();
        journal.line("{\"request_context\":{\"mod").unwrap();
        // Cut inside a character.
        journal.file.write_all(b"\xc3").unwrap();
        drop(journal);
        // Until a new take begins nothing is lost, however often it is opened.
        drop(Journal::open(&cassette).unwrap());
        let (mut journal, left) = Journal::open(&cassette).unwrap();
        let left = left.unwrap();
        assert_eq!((left.trace_id.as_str(), left.calls.len()), ("one", 2));
        assert_eq!(left.calls[1].request.model.as_deref(), Some("y"));
        journal.begin("two").unwrap();
        drop(journal);
        let (journal, left) = Journal::open(&cassette).unwrap();
        assert!(left.is_none());
        journal.remove().unwrap();
        assert!(!Journal::path_of(&cassette).exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_journal_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious");
        std::fs::write(&precious, "x").unwrap();
        let cassette = directory.path().join("a.json");
        std::os::unix::fs::symlink(&precious, Journal::path_of(&cassette)).unwrap();
        assert_eq!(Journal::open(&cassette).unwrap_err().kind(), ErrorKind::Identity);
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");
    }

    #[test]
    fn one_recording_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let cassette = directory.path().join("a.json");
        let (journal, _) = Journal::open(&cassette).unwrap();
        let error = Journal::open(&cassette).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        journal.remove().unwrap();
        assert!(Journal::open(&cassette).unwrap().1.is_none());
    }
}
