//! The scripts of a run out of their files: the primary's, with its override, and those of its children.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::answer::{self, Ending};
use super::chunk::Timed;
use super::derive::Log;
use super::fault::{DOCUMENT, Fault, SCRIPT, unread};
use super::log::Header;
use super::overrides::{Entry, Overrides, Patch, Place};
use crate::canon::hex;
use crate::config::{OverrideFile, SessionFiles};
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
    /// What each call does, where that is not what the log has, call by call.
    steps: Option<Vec<Written>>,
}

/// A call of a script that an override document has to do with.
#[derive(Debug)]
enum Written {
    Recorded(usize),
    Entry { entry: Entry, base: Option<usize> },
}

/// What a call of a script does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// A call of the log.
    Recorded(usize),
    /// An entry, in the place of that call of the log, or in front of it.
    Written { entry: &'a Entry, base: Option<usize> },
}

impl Script {
    fn new(name: &str, log: Option<Log>, steps: Option<Vec<Written>>) -> Self {
        Self {
            name: name.to_owned(),
            before: 0,
            next: 0,
            live: None,
            guessed: false,
            announced: None,
            log,
            steps,
        }
    }

    /// How many calls it has.
    pub(super) fn len(&self) -> usize {
        let logged = || self.log.as_ref().map_or(0, Log::len);
        self.steps.as_ref().map_or_else(logged, Vec::len)
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

    pub(super) fn step(&self, number: usize) -> Step<'_> {
        match self.steps.as_ref().and_then(|steps| steps.get(number)) {
            Some(Written::Entry { entry, base }) => Step::Written { entry, base: *base },
            Some(Written::Recorded(number)) => Step::Recorded(*number),
            None => Step::Recorded(number),
        }
    }

    /// The chunks of a call of the log.
    pub(super) fn recorded(&self, number: usize) -> Option<Timed> {
        self.log.as_ref()?.call(number)
    }
}

const RECORD: &str = "put the log of a recorded session there, or name another file in `source`; every call may also be written by hand, in an override file";
const RECORD_CHILD: &str =
    "record the session with its children again, or leave the file out of `child_files`";

/// The scripts in the order in which live sessions take them, and the digits of what tells them from others.
pub(super) fn load(
    directory: &Path,
    files: &SessionFiles,
    overrides: Option<&OverrideFile>,
) -> Result<(Vec<Script>, String)> {
    let mut digest = Sha256::new();
    let mut scripts = vec![primary(directory, files, overrides, &mut digest)?];
    let mut children = Vec::with_capacity(files.children.len());
    for name in &files.children {
        let text = read(directory, name, RECORD_CHILD)?;
        let log = log(directory, name, text, true, &mut digest)?;
        let order = (log.header.created_at, log.header.id.clone());
        children.push((order, Script::new(name, Some(log), None)));
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

fn primary(
    directory: &Path,
    files: &SessionFiles,
    overrides: Option<&OverrideFile>,
    digest: &mut Sha256,
) -> Result<Script> {
    let overrides = overrides
        .map(|file| overriding(directory, file, digest))
        .transpose()?
        .flatten();
    if let Some((path, list @ Overrides::Replace(_))) = &overrides {
        list.check("log", 0, |_| 0).map_err(|fault| unfit(fault, path))?;
    }
    if let Some((_, Overrides::Replace(entries))) = overrides {
        let entries = entries.into_iter();
        let steps = entries
            .map(|entry| Written::Entry { entry, base: None })
            .collect();
        return Ok(Script::new(&files.path, None, Some(steps)));
    }
    let text = read(directory, &files.path, RECORD)?;
    let log = log(directory, &files.path, text, false, digest)?;
    let Some((path, overrides)) = overrides else {
        return Ok(Script::new(&files.path, Some(log), None));
    };
    let frames = |number| {
        let chunks = log.call(number).unwrap_or_default();
        answer::call(chunks, Ending::Said).frames.len()
    };
    let checked = overrides.check("log", log.len(), frames);
    checked.map_err(|fault| unfit(fault, &path))?;
    let steps = match overrides {
        Overrides::Patch(patches) => Some(patched(log.len(), patches)),
        Overrides::Replace(_) => None,
    };
    Ok(Script::new(&files.path, Some(log), steps))
}

/// The calls of a log with what is patched into them.
fn patched(calls: usize, mut patches: Vec<Patch>) -> Vec<Written> {
    // Those in front of a call stay in the order in which they are written.
    patches.sort_by_key(|patch| match patch.place {
        Place::Before(number) => (number, false),
        Place::At(number) => (number, true),
    });
    let mut patches = patches.into_iter().peekable();
    let mut steps = Vec::with_capacity(calls + patches.len());
    for number in 0..=calls {
        let mut replaced = false;
        while let Some(Patch { place, entry }) =
            patches.next_if(|patch| matches!(patch.place, Place::Before(at) | Place::At(at) if at == number))
        {
            replaced = matches!(place, Place::At(_));
            let base = (number < calls).then_some(number);
            steps.push(Written::Entry { entry, base });
        }
        if !replaced && number < calls {
            steps.push(Written::Recorded(number));
        }
    }
    steps
}

const MISSING: &str = "put the document there, or leave `override_file` out";

/// The override document; `None` where its file is not there and need not.
fn overriding(
    directory: &Path,
    file: &OverrideFile,
    digest: &mut Sha256,
) -> Result<Option<(PathBuf, Overrides)>> {
    let path = directory.join(&file.path);
    let bytes = match confined::read(directory, inside(directory, &file.path), MOST) {
        Err(Unfit::Unreadable(Unreadable::Missing)) if !file.required => return Ok(None),
        Err(why) => return Err(unread(DOCUMENT, why, &path, MOST, MISSING)),
        Ok(bytes) => bytes,
    };
    let text = utf8(DOCUMENT, bytes, &path)?;
    digest.update(text.as_bytes());
    let overrides = Overrides::read(&text).map_err(|fault| unfit(fault, &path))?;
    Ok(Some((path, overrides)))
}

/// The override document of a cassette, and the digits of what tells it from others.
pub(super) fn document(
    directory: &Path,
    file: &OverrideFile,
) -> Result<Option<(PathBuf, Overrides, String)>> {
    let mut digest = Sha256::new();
    let read = overriding(directory, file, &mut digest)?;
    Ok(read.map(|(path, overrides)| (path, overrides, hex(&digest.finalize()))))
}

/// The error of a document that does not fit what it is to override.
pub(super) fn unfit(fault: Fault, path: &Path) -> Error {
    fault.error_of(DOCUMENT, path)
}

fn read(directory: &Path, name: &str, missing: &'static str) -> Result<String> {
    let path = directory.join(name);
    let bytes = confined::read(directory, inside(directory, name), MOST);
    let bytes = bytes.map_err(|why| unread(SCRIPT, why, &path, MOST, missing))?;
    utf8(SCRIPT, bytes, &path)
}

/// A file as it is named below the directory: variables tend to name files by their whole path.
fn inside<'n>(directory: &Path, name: &'n str) -> &'n str {
    let below = |directory: &Path| Path::new(name).strip_prefix(directory).ok()?.to_str();
    let below = below(directory).or_else(|| below(&directory.canonicalize().ok()?));
    below.unwrap_or(name)
}

fn utf8(noun: &str, bytes: Vec<u8>, path: &Path) -> Result<String, Error> {
    let why = Unfit::Unreadable(Unreadable::NotUtf8);
    String::from_utf8(bytes).map_err(|_| unread(noun, why, path, MOST, RECORD))
}

fn log(directory: &Path, name: &str, text: String, is_child: bool, digest: &mut Sha256) -> Result<Log> {
    let log = Log::read(text, is_child).map_err(|fault| fault.error(&directory.join(name)))?;
    digest.update(log.text().as_bytes());
    Ok(log)
}
