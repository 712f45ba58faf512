//! Each finished call of a recording, appended to a file beside the cassette at once: a killed recording loses at
//! most the call in flight. The journal is also the lock: whoever records holds it.
//!
//! A line is a call, or an exchange that nobody has read yet. The body of an exchange follows its line as it came, and is
//! followed by the end of a line.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::decode::call_of;
use super::encode::call_members;
use super::file::parser;
use super::heard::Heard;
use super::save::sweep;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, compact, parse};
use crate::model::Call;

/// An open, locked journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// The length of all whole lines.
    length: u64,
}

/// What ended while a take was recorded.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Call(Box<Call>),
    Heard(Box<Heard>),
}

/// What an interrupted recording left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) trace_id: String,
    /// In the order in which they ended; never empty.
    pub(crate) entries: Vec<Entry>,
}

/// Shorter bodies are copied behind their line, because one write costs less than two.
const COPIED: usize = 16 << 10;

impl Journal {
    /// `a.json` has its journal in `a.journal.jsonl`.
    pub(crate) fn path_of(cassette: &Path) -> PathBuf {
        cassette.with_extension("journal.jsonl")
    }

    /// Opens and locks the journal of a cassette, creating the directory where needed, and returns what an
    /// interrupted recording left in it. That stays in the file until [`begin`](Self::begin).
    ///
    /// # Errors
    /// `Busy` when another recording holds it, `Io`.
    pub(crate) fn open(cassette: &Path) -> Result<(Self, Option<Left>)> {
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
        self.write(&[format!("{{\"trace_id\":\"{trace_id}\"}}\n").as_bytes()])
    }

    /// A finished call as a line of the journal.
    pub(crate) fn entry(call: &Call) -> String {
        let mut line = compact(&Json::Object(call_members(call)));
        line.push('\n');
        line
    }

    /// An exchange as a line of the journal, without its body; `None` for one that has no such form.
    pub(crate) fn heard_entry(heard: &Heard) -> Option<String> {
        let body = heard.body.len();
        heard.line(if body > COPIED { 0 } else { body + 1 })
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an [`entry`](Self::entry); it is in the page cache when this returns. An entry that does not fit is taken out
    /// again, so that others may follow.
    pub(crate) fn append(&mut self, entry: &str) -> Result<()> {
        self.write(&[entry.as_bytes()])
    }

    /// The same with a [`heard_entry`](Self::heard_entry), whose line is in `entry`, and its body.
    pub(crate) fn append_heard(&mut self, mut entry: String, body: &[u8]) -> Result<()> {
        if body.len() > COPIED {
            return self.write(&[entry.as_bytes(), body, b"\n"]);
        }
        entry.reserve(body.len() + 1);
        let mut entry = entry.into_bytes();
        entry.extend_from_slice(body);
        entry.push(b'\n');
        self.write(&[&entry])
    }

    fn write(&mut self, parts: &[&[u8]]) -> Result<()> {
        match parts.iter().try_for_each(|part| self.file.write_all(part)) {
            Ok(()) => {
                self.length += parts.iter().map(|part| part.len() as u64).sum::<u64>();
                Ok(())
            }
            Err(error) => {
                // Should this fail too, the half entry hides what comes behind it, and what stands before it is safe.
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

/// What an interrupted recording left; a last entry that was cut is the call in flight and is dropped.
fn interrupted(bytes: &[u8]) -> Option<Left> {
    let (head, mut rest) = first_line(bytes);
    let head = parse(&String::from_utf8_lossy(head)).ok()?;
    let trace_id = head.get("trace_id")?.as_str()?.to_owned();
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let (line, behind) = first_line(rest);
        // The cut may go through a character, too.
        let line = String::from_utf8_lossy(line);
        rest = behind;
        if Heard::is_line(&line) {
            let Some(heard) = Heard::read(&line, behind) else {
                break;
            };
            rest = behind.get(heard.body.len() + 1..).unwrap_or_default();
            entries.push(Entry::Heard(Box::new(heard)));
        } else if let Some(call) = whole_call(&line) {
            entries.push(Entry::Call(Box::new(call)));
        } else {
            break;
        }
    }
    (!entries.is_empty()).then_some(Left { trace_id, entries })
}

fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// A line that was cut is no call.
fn whole_call(line: &str) -> Option<Call> {
    let mut parser = parser(line);
    let call = call_of(&mut parser).ok()?;
    parser.end().is_ok().then_some(call)
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
        journal.append("{\"request_context\":{\"mod").unwrap();
        // Cut inside a character.
        journal.file.write_all(b"\xc3").unwrap();
        drop(journal);
        // Until a new take begins nothing is lost, however often it is opened.
        drop(Journal::open(&cassette).unwrap());
        let (mut journal, left) = Journal::open(&cassette).unwrap();
        let left = left.unwrap();
        let models = left.entries.iter().map(|entry| match entry {
            Entry::Call(call) => call.request.model.as_deref(),
            Entry::Heard(heard) => panic!("{heard:?}"),
        });
        assert_eq!(left.trace_id, "one");
        assert_eq!(models.collect::<Vec<_>>(), [Some("y"), Some("x")]);
        journal.begin("two").unwrap();
        drop(journal);
        let (journal, left) = Journal::open(&cassette).unwrap();
        assert!(left.is_none());
        journal.remove().unwrap();
        assert!(!Journal::path_of(&cassette).exists());
    }

    #[test]
    fn an_exchange_is_found_again_as_it_was_heard() {
        let request = crate::json::parse(
            r#"{"protocol":"p","model":"m\"","provider":"","messages":[{"heard":{"x":1}},"é"],"parameters":{"stream":true,"n":1.50}}"#,
        )
        .unwrap();
        let words = |name: &str| request.get(name).and_then(Json::as_str).unwrap().to_owned();
        let heard = |body: &[u8], head: bool| Heard {
            request: crate::model::CanonicalRequest {
                protocol: words("protocol"),
                model: words("model"),
                provider: words("provider"),
                messages: request.get("messages").and_then(Json::as_array).unwrap().to_vec(),
                parameters: request
                    .get("parameters")
                    .and_then(Json::as_object)
                    .unwrap()
                    .clone(),
            },
            hash: head.then(|| "sha256:0".to_owned()),
            started_us: 1_234_567,
            tick_us: 100_000,
            include_raw: crate::config::IncludeRaw::Never,
            head: head.then(|| crate::model::HttpHead {
                status: 200,
                headers: [("a", "b\n"), ("c", "d")]
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .to_vec(),
            }),
            framing: head.then_some(crate::model::Framing::Ndjson),
            body: body.to_vec(),
            cuts: if body.is_empty() {
                Vec::new()
            } else {
                vec![(0, 1), (u64::MAX, body.len() - 1)]
            },
            last_us: 9,
            is_cut: head,
            total_us: 10,
            end: if head {
                crate::model::End::Complete
            } else {
                crate::model::End::Cancelled
            },
        };
        // Lines of the body are no lines of the journal, and a body may be larger than what is written at once.
        let all = [
            heard(b"{\"a\":1}\n\n{\"heard\":{}}\n\xc3", true),
            heard(b"", false),
            heard(&vec![b'\n'; COPIED + 1], true),
        ];
        let directory = tempfile::tempdir().unwrap();
        let cassette = directory.path().join("a.json");
        let (mut journal, _) = Journal::open(&cassette).unwrap();
        journal.begin("one").unwrap();
        for heard in &all {
            journal
                .append_heard(Journal::heard_entry(heard).unwrap(), &heard.body)
                .unwrap();
            journal.append(&Journal::entry(&call("x"))).unwrap();
        }
        drop(journal);
        let path = Journal::path_of(&cassette);
        let bytes = std::fs::read(&path).unwrap();
        let found: Vec<Heard> = interrupted(&bytes)
            .unwrap()
            .entries
            .into_iter()
            .enumerate()
            .filter_map(|(index, entry)| match entry {
                Entry::Heard(heard) => Some(*heard),
                Entry::Call(_) => {
                    assert_eq!(index % 2, 1);
                    None
                }
            })
            .collect();
        assert_eq!(found, all);
        // Wherever it was cut, what stands whole before is found, and nothing else.
        let head = first_line(&bytes).0.len() + 1;
        let first = head + Journal::heard_entry(&all[0]).unwrap().len() + all[0].body.len();
        let second = first + 1 + Journal::entry(&call("x")).trim_end().len();
        for cut in 0..=second {
            let whole = usize::from(cut >= first) + usize::from(cut >= second);
            let left = interrupted(&bytes[..cut]).map_or(0, |left| left.entries.len());
            assert_eq!(left, whole, "{cut}");
        }
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
