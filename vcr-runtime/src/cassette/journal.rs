//! Each finished call of a recording, appended to a file beside the cassette at once: a killed recording loses at
//! most the call in flight. The journal is also the lock: whoever records holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::decode::call_of;
use super::encode::call_members;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, compact, parse};
use crate::model::{Call, Take};

/// An open, locked journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// `a.json` has its journal in `a.journal.jsonl`.
    pub(crate) fn path_of(cassette: &Path) -> PathBuf {
        cassette.with_extension("journal.jsonl")
    }

    /// Opens and locks the journal of a cassette, creating the directory where needed, and returns the take that an
    /// interrupted recording left in it.
    ///
    /// # Errors
    /// `Busy` when another recording holds it, `Io`.
    pub(crate) fn open(cassette: &Path, trace_id: &str) -> Result<(Self, Option<Take>)> {
        if let Some(directory) = cassette.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|error| Error::io("create the fixture directory", directory, &error))?;
        }
        let path = Self::path_of(cassette);
        let io = |error: &std::io::Error| Error::io("open the journal", &path, error);
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
            let mut text = String::new();
            let left = match file.read_to_string(&mut text) {
                Ok(_) => interrupted(&text),
                Err(error) => return Err(io(&error)),
            };
            file.set_len(0)
                .and_then(|()| file.seek(SeekFrom::Start(0)))
                .map_err(|error| io(&error))?;
            let mut journal = Self { path, file };
            journal.line(&format!("{{\"trace_id\":\"{trace_id}\"}}\n"))?;
            return Ok((journal, left));
        }
    }

    /// Appends one finished call; its text is in the page cache when this returns.
    pub(crate) fn append(&mut self, call: &Call) -> Result<()> {
        let mut line = compact(&Json::Object(call_members(call)));
        line.push('\n');
        self.line(&line)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| Error::io("write the journal", &self.path, &error))
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
fn interrupted(text: &str) -> Option<Take> {
    let mut lines = text.lines();
    let head = parse(lines.next()?).ok()?;
    let trace_id = head.get("trace_id")?.as_str()?.to_owned();
    let calls: Vec<Call> = lines
        .map_while(|line| match parse(line) {
            Ok(Json::Object(members)) => call_of(members).ok(),
            _ => None,
        })
        .collect();
    (!calls.is_empty()).then_some(Take { trace_id, calls })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(model: &str) -> Call {
        let mut call = Call::default();
        call.request.model = Some(model.to_owned());
        call
    }

    #[test]
    fn an_interrupted_recording_is_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let cassette = directory.path().join("deep/a.json");
        let (mut journal, left) = Journal::open(&cassette, "one").unwrap();
        assert!(left.is_none());
        journal.append(&call("x")).unwrap();
        journal.append(&call("y")).unwrap();
        journal.line("{\"request_context\":{\"mod").unwrap();
        drop(journal);
        let (journal, left) = Journal::open(&cassette, "two").unwrap();
        let left = left.unwrap();
        assert_eq!((left.trace_id.as_str(), left.calls.len()), ("one", 2));
        assert_eq!(left.calls[1].request.model.as_deref(), Some("y"));
        journal.remove().unwrap();
        assert!(!Journal::path_of(&cassette).exists());
    }

    #[test]
    fn one_recording_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let cassette = directory.path().join("a.json");
        let (journal, _) = Journal::open(&cassette, "one").unwrap();
        let error = Journal::open(&cassette, "two").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        journal.remove().unwrap();
        assert!(Journal::open(&cassette, "two").unwrap().1.is_none());
    }
}
