//! A file of frozen answers, read and checked; shared by every run of a process that reads the same bytes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sha2::{Digest as _, Sha256};

use super::entry::{self, Key};
use super::reason::Reason;
use crate::config::Ceilings;
use crate::error::Result;
use crate::json::{Json, Limits, Parser};
use crate::source::confined::{self, Unreadable};

/// The answers of a file, none of them parsed: the text itself and where in it each answer begins.
#[derive(Debug)]
pub(super) struct Fixtures {
    text: String,
    pub(super) set_hash: Key,
    entries: HashMap<Key, Lines>,
    pub(super) responses: usize,
    ceilings: Ceilings,
}

/// One entry.
#[derive(Debug)]
pub(super) struct Lines {
    /// Counted from 1, blank lines counted.
    pub(super) line: u32,
    /// How many answers stand before those of this line.
    pub(super) before: u32,
    starts: Box<[u32]>,
}

impl Lines {
    /// How many answers the entry has.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }
}

/// Files that some run of this process holds. What is equal is parsed once.
static SHARED: Mutex<Vec<Weak<Fixtures>>> = Mutex::new(Vec::new());

impl Fixtures {
    /// Reads the file `relative` below `directory`.
    ///
    /// # Errors
    /// The first rule that the file breaks, with its line.
    pub(super) fn open(directory: &Path, relative: &str, ceilings: Ceilings) -> Result<Arc<Self>> {
        let refuse = |(reason, line): (Reason, Option<usize>)| reason.error(&directory.join(relative), line);
        let bytes =
            confined::read(directory, relative, ceilings.file).map_err(|why| refuse((why.into(), None)))?;
        let set_hash: Key = Sha256::digest(&bytes).into();
        let known = |shared: &Self| shared.set_hash == set_hash && shared.ceilings == ceilings;
        if let Some(shared) = shared(known) {
            return Ok(shared);
        }
        let fixtures = Arc::new(Self::parse(bytes, set_hash, ceilings).map_err(refuse)?);
        let mut all = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|shared| shared.strong_count() > 0);
        all.push(Arc::downgrade(&fixtures));
        Ok(fixtures)
    }

    fn parse(bytes: Vec<u8>, set_hash: Key, ceilings: Ceilings) -> Result<Self, (Reason, Option<usize>)> {
        let text = String::from_utf8(bytes).map_err(|_| (Reason::Unreadable(Unreadable::NotUtf8), None))?;
        let mut entries: HashMap<Key, Lines> = HashMap::new();
        let (mut responses, mut offset) = (0, 0);
        for (index, line) in text.split('\n').enumerate() {
            let start = offset;
            offset += line.len() + 1;
            if line.trim().is_empty() {
                continue;
            }
            let refuse = |reason: Reason| (reason, Some(index + 1));
            let entry = entry::read(line, &ceilings).map_err(refuse)?;
            if entries.contains_key(&entry.key) {
                return Err(refuse(Reason::DuplicateEntry));
            }
            if entries.len() >= ceilings.entries {
                return Err(refuse(Reason::EntryLimitExceeded));
            }
            let lines = Lines {
                line: small(index + 1),
                before: small(responses),
                starts: entry.starts.iter().map(|at| small(start + at)).collect(),
            };
            responses += lines.len();
            entries.insert(entry.key, lines);
        }
        if entries.is_empty() {
            return Err((Reason::Empty, None));
        }
        Ok(Self {
            text,
            set_hash,
            entries,
            responses,
            ceilings,
        })
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Lines> {
        self.entries.get(key)
    }

    /// How many distinct requests the file answers.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries in the order of the file.
    pub(super) fn in_order(&self) -> Vec<(&Key, &Lines)> {
        let mut all: Vec<_> = self.entries.iter().collect();
        all.sort_by_key(|(_, lines)| lines.line);
        all
    }

    /// An answer of an entry; `None` beyond its last.
    pub(super) fn answer(&self, lines: &Lines, number: usize) -> Option<Json> {
        let start = *lines.starts.get(number)? as usize;
        // The line was checked when the file was read.
        Parser::new(&self.text[start..], Limits::default()).value().ok()
    }
}

fn shared(known: impl Fn(&Fixtures) -> bool) -> Option<Arc<Fixtures>> {
    let all = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter_map(Weak::upgrade).find(|shared| known(shared))
}

/// Files are far smaller than 4 GB: their ceiling cannot be raised.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn line(number: usize, answers: &str) -> String {
        format!("{{\"schema_version\":1,\"request_hash\":\"sha256:{number:064x}\",{answers}}}")
    }

    fn open(bytes: &[u8], ceilings: Ceilings) -> Result<Arc<Fixtures>> {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a.jsonl"), bytes).unwrap();
        Fixtures::open(root.path(), "a.jsonl", ceilings)
    }

    fn refused(text: &str) -> String {
        let error = open(text.as_bytes(), Ceilings::default()).unwrap_err();
        let place = error.line().map_or_else(String::new, |line| line.to_string());
        let rule = error.message().split('`').nth(1).unwrap_or_default().to_owned();
        assert_eq!(
            error.message().contains(" line "),
            error.line().is_some(),
            "{error}"
        );
        format!("{rule} {place}")
    }

    #[test]
    fn blank_lines_are_skipped_and_counted() {
        let text = format!(
            "\n \r\n{}\r\n\u{a0}\n{}\n",
            line(1, "\"response\":{\"n\":1}"),
            line(2, "\"responses\":[{\"n\":2},{\"n\":3}]")
        );
        let fixtures = open(text.as_bytes(), Ceilings::default()).unwrap();
        assert_eq!((fixtures.len(), fixtures.responses), (2, 3));
        let said: Vec<_> = fixtures
            .in_order()
            .into_iter()
            .map(|(_, lines)| {
                let answers = (0..lines.len()).map(|number| fixtures.answer(lines, number).unwrap());
                (
                    lines.line,
                    lines.before,
                    answers
                        .map(|answer| answer.get("n").unwrap().as_u64().unwrap())
                        .collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(said, [(3, 0, vec![1]), (5, 1, vec![2, 3])]);
        assert!(fixtures.answer(fixtures.in_order()[0].1, 1).is_none());
    }

    #[test]
    fn the_first_broken_rule_is_named_with_its_line_and_nothing_of_it() {
        let good = line(1, "\"response\":{}");
        for (text, expected) in [
            (format!("{good}\n\nsecret-7Qx"), "invalid_json 3"),
            (format!("{good}\n{good}"), "duplicate_entry 2"),
            ("\n\n[]\n{".to_owned(), "entry_not_an_object 3"),
            (String::new(), "replay_fixtures_empty "),
            (" \n\r\n".to_owned(), "replay_fixtures_empty "),
        ] {
            assert_eq!(refused(&text), expected, "{text}");
        }
        let secret = line(1, "\"secret-7Qx\":{}");
        let error = open(secret.as_bytes(), Ceilings::default()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret-7Qx"), "{error}");
        let error = open(b"\xff", Ceilings::default()).unwrap_err();
        assert!(
            error
                .message()
                .ends_with("`replay_fixtures_unreadable`: it is not UTF-8"),
            "{error}"
        );
        let missing = Fixtures::open(Path::new("/"), "no/such", Ceilings::default()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::CassetteMissing);
    }

    #[test]
    fn ceilings_of_the_file_are_reached_and_not_passed() {
        let lines = |count: usize| {
            let lines: Vec<String> = (0..count).map(|number| line(number, "\"response\":{}")).collect();
            lines.join("\n")
        };
        assert_eq!(
            open(lines(10_000).as_bytes(), Ceilings::default()).unwrap().len(),
            10_000
        );
        assert_eq!(refused(&lines(10_001)), "entry_limit_exceeded 10001");
        let padded = |length: usize| {
            let mut text = line(1, "\"response\":{}").into_bytes();
            text.resize(length, b' ');
            text
        };
        assert!(open(&padded(8_000_000), Ceilings::default()).is_ok());
        let error = open(&padded(8_000_001), Ceilings::default()).unwrap_err();
        assert!(error.message().contains("`replay_fixtures_too_large`"), "{error}");
        let fewer = Ceilings {
            entries: 2,
            ..Ceilings::default()
        };
        assert!(open(lines(2).as_bytes(), fewer).is_ok());
        assert_eq!(open(lines(3).as_bytes(), fewer).unwrap_err().line(), Some(3));
    }

    #[test]
    fn equal_bytes_are_parsed_once_and_other_bytes_are_another_set() {
        let text = line(77, "\"response\":{\"shared\":true}");
        let first = open(text.as_bytes(), Ceilings::default()).unwrap();
        let again = open(text.as_bytes(), Ceilings::default()).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        let other = open(format!("{text}\n").as_bytes(), Ceilings::default()).unwrap();
        assert_ne!(first.set_hash, other.set_hash);
        let lowered = Ceilings {
            calls: 1,
            ..Ceilings::default()
        };
        assert!(!Arc::ptr_eq(&first, &open(text.as_bytes(), lowered).unwrap()));
    }
}
