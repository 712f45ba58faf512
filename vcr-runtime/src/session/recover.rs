//! What interrupted recordings left in journals, put into files that can be looked at.

use std::path::{Path, PathBuf};

use super::taking::{set_aside, unsaved};
use crate::cassette::{self, Head, Journal};
use crate::error::{Error, ErrorKind, Result};
use crate::source::Project;

/// Directories in directories, at most.
const MAX_DEPTH: usize = 32;
const JOURNAL: &str = ".journal.jsonl";

/// The finished calls of an interrupted recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The cassette that was being recorded. It stays as it was.
    pub cassette: PathBuf,
    /// Where the calls are now; renamed to the cassette it replays them.
    pub file: PathBuf,
    /// How many there are.
    pub calls: usize,
}

/// Puts the finished calls of interrupted recordings beside their cassettes, into `….interrupted.json`, as the next recording
/// would do by itself. `path` is a cassette, its journal, or a directory whose journals are looked for in all of it.
///
/// # Errors
/// [`ErrorKind::CassetteMissing`](crate::ErrorKind::CassetteMissing) when a cassette has no journal,
/// [`ErrorKind::Busy`](crate::ErrorKind::Busy) when it is being recorded right now (in a directory such are passed over), and
/// whatever keeps the file from being written.
pub fn recover(path: impl AsRef<Path>) -> Result<Vec<Recovered>> {
    let path = path.as_ref();
    if !path.is_dir() {
        let cassette = cassette_of(path);
        let journal = Journal::path_of(&cassette);
        if !journal.exists() {
            return Err(Error::new(
                ErrorKind::CassetteMissing,
                format!("there is no journal {}", journal.display()),
                "name a cassette whose recording was interrupted, or the directory that holds it",
            )
            .at(&journal));
        }
        return Ok(recover_one(cassette)?.into_iter().collect());
    }
    let mut cassettes = Vec::new();
    gather(path, 0, &mut cassettes)?;
    cassettes.sort();
    let mut all = Vec::new();
    for cassette in cassettes {
        match recover_one(cassette) {
            Ok(recovered) => all.extend(recovered),
            Err(error) if error.kind() == ErrorKind::Busy => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// `a.json` of `a.journal.jsonl`; every other path is taken for a cassette.
fn cassette_of(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str());
    match name.and_then(|name| name.strip_suffix(JOURNAL)) {
        Some(stem) => path.with_file_name(format!("{stem}.json")),
        None => path.to_owned(),
    }
}

fn gather(directory: &Path, depth: usize, cassettes: &mut Vec<PathBuf>) -> Result<()> {
    let list = |error: &std::io::Error| Error::io("list", directory, error);
    for entry in std::fs::read_dir(directory).map_err(|error| list(&error))? {
        let entry = entry.map_err(|error| list(&error))?;
        let kind = entry.file_type().map_err(|error| list(&error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() && !name.starts_with('.') && depth < MAX_DEPTH {
            gather(&entry.path(), depth + 1, cassettes)?;
        } else if kind.is_file() && name.ends_with(JOURNAL) {
            cassettes.push(cassette_of(&entry.path()));
        }
    }
    Ok(())
}

/// `None` when its journal holds nothing that is not in a cassette; it is removed in either case.
fn recover_one(cassette: PathBuf) -> Result<Option<Recovered>> {
    let (journal, left) = Journal::open(&cassette)?;
    let project = Project::of(&cassette, &[])?;
    let Some(left) = unsaved(&cassette, left, &project.redactor) else {
        journal.remove()?;
        return Ok(None);
    };
    let summary = cassette::summary(&cassette).ok();
    let stem = cassette
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let scenario = summary
        .as_ref()
        .and_then(|summary| summary.scenario.clone())
        .unwrap_or(stem);
    let head = Head {
        scenario: &scenario,
        test: summary.as_ref().and_then(|summary| summary.test.as_deref()),
    };
    let calls = left.calls.len();
    let file = set_aside(&cassette, head, &project.redactor, left)?;
    journal.remove()?;
    Ok(Some(Recovered {
        cassette,
        file,
        calls,
    }))
}
