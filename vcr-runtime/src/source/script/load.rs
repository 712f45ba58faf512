//! The scripts of a run out of their files: the primary's, with its override, and those of its children.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::chunk::Timed;
use super::derive::Log;
use super::fault::{Fault, unread};
use super::log::Header;
use super::overrides::{Entry, Overrides};
use crate::canon::hex;
use crate::config::SessionFiles;
use crate::error::{Error, Result};
use crate::source::confined::{self, Unfit, Unreadable};

/// What a file of a script may hold, in bytes.
const MOST: usize = 64_000_000;

/// The calls of one session, and how far this run is with them.
#[derive(Debug)]
pub(super) struct Script {
    /// Its file, as it is named in the source.
    pub(super) name: String,
    /// How many calls stand before its own in the scripts of the run.
    pub(super) before: usize,
    /// The next call.
    pub(super) next: usize,
    /// The live session that it is bound to; within, its key, where it has one.
    pub(super) live: Option<Option<String>>,
    /// It was bound by its order, while others that may run beside it were free.
    pub(super) guessed: bool,
    /// The key of the live session that it is kept for: another session's request said that it was started.
    pub(super) announced: Option<String>,
    log: Option<Log>,
    /// Entries written by hand, by the index of their call.
    written: BTreeMap<usize, Entry>,
}

impl Script {
    fn new(name: &str, log: Option<Log>, written: BTreeMap<usize, Entry>) -> Self {
        Self {
            name: name.to_owned(),
            before: 0,
            next: 0,
            live: None,
            guessed: false,
            announced: None,
            log,
            written,
        }
    }

    /// How many calls it has.
    pub(super) fn len(&self) -> usize {
        let written = self.written.last_key_value().map_or(0, |(last, _)| last + 1);
        self.log.as_ref().map_or(0, Log::len).max(written)
    }

    /// The key of its live session, bound or announced.
    pub(super) fn key(&self) -> Option<&str> {
        let bound = self.live.as_ref().and_then(Option::as_deref);
        bound.or(self.announced.as_deref())
    }

    /// What its log says of itself.
    pub(super) fn header(&self) -> Option<&Header> {
        self.log.as_ref().map(|log| &log.header)
    }

    /// When it ran, where its log tells.
    pub(super) fn ran(&self) -> Option<(u64, u64)> {
        self.log.as_ref()?.ran
    }

    pub(super) fn written(&self, number: usize) -> Option<&Entry> {
        self.written.get(&number)
    }

    pub(super) fn recorded(&self, number: usize) -> Option<Timed> {
        self.log.as_ref()?.call(number)
    }
}

const RECORD: &str = "put the log of a recorded session there, or name another file in `source`; every call may also be written by hand, in an override file";
const RECORD_CHILD: &str = "record the session with its children again, or leave the file out of `source`";

/// The scripts in the order in which live sessions take them, and the digits of what tells them from others.
pub(super) fn load(directory: &Path, files: &SessionFiles) -> Result<(Vec<Script>, String)> {
    let mut digest = Sha256::new();
    let mut scripts = vec![primary(directory, files, &mut digest)?];
    let mut children = Vec::with_capacity(files.children.len());
    for name in &files.children {
        let text = read(directory, name, RECORD_CHILD)?;
        let log = log(directory, name, text, true, &mut digest)?;
        let order = (log.header.created_at, log.header.id.clone());
        children.push((order, Script::new(name, Some(log), BTreeMap::new())));
    }
    children.sort_by(|(a, _), (b, _)| a.cmp(b));
    scripts.extend(children.into_iter().map(|(_, script)| script));
    let mut before = 0;
    for script in &mut scripts {
        script.before = before;
        before += script.len();
    }
    Ok((scripts, hex(&digest.finalize())))
}

fn primary(directory: &Path, files: &SessionFiles, digest: &mut Sha256) -> Result<Script> {
    let overrides = files.override_file.as_deref();
    let overrides = overrides
        .map(|name| overriding(directory, name, digest))
        .transpose()?
        .flatten();
    if let Some((_, Overrides::Replace(entries))) = overrides {
        let written = entries.into_iter().enumerate().collect();
        return Ok(Script::new(&files.path, None, written));
    }
    let text = read(directory, &files.path, RECORD)?;
    let log = log(directory, &files.path, text, false, digest)?;
    let written = match overrides {
        Some((name, patch)) => {
            patch
                .check(log.len())
                .map_err(|fault| fault.error(&directory.join(name)))?;
            match patch {
                Overrides::Patch(patches) => patches.into_iter().collect(),
                Overrides::Replace(_) => BTreeMap::new(),
            }
        }
        None => BTreeMap::new(),
    };
    Ok(Script::new(&files.path, Some(log), written))
}

/// The override document; `None` where its file is not there.
fn overriding<'a>(
    directory: &Path,
    name: &'a str,
    digest: &mut Sha256,
) -> Result<Option<(&'a str, Overrides)>> {
    let path = directory.join(name);
    let bytes = match confined::read(directory, name, MOST) {
        Err(Unfit::Unreadable(Unreadable::Missing)) => return Ok(None),
        Err(why) => return Err(unread(why, &path, MOST, RECORD)),
        Ok(bytes) => bytes,
    };
    let text = utf8(bytes, &path)?;
    digest.update(text.as_bytes());
    let overrides = Overrides::read(&text).map_err(|fault: Fault| fault.error(&path))?;
    Ok(Some((name, overrides)))
}

fn read(directory: &Path, name: &str, missing: &'static str) -> Result<String> {
    let path = directory.join(name);
    let bytes = confined::read(directory, name, MOST).map_err(|why| unread(why, &path, MOST, missing))?;
    utf8(bytes, &path)
}

fn utf8(bytes: Vec<u8>, path: &Path) -> Result<String, Error> {
    let why = Unfit::Unreadable(Unreadable::NotUtf8);
    String::from_utf8(bytes).map_err(|_| unread(why, path, MOST, RECORD))
}

fn log(directory: &Path, name: &str, text: String, is_child: bool, digest: &mut Sha256) -> Result<Log> {
    let log = Log::read(text, is_child).map_err(|fault| fault.error(&directory.join(name)))?;
    digest.update(log.text().as_bytes());
    Ok(log)
}
