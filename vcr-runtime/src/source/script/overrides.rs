//! The override document: entries instead of recorded calls, in front of one, or behind the last. One grammar for session
//! scripts and for cassettes.

use std::collections::BTreeSet;

use super::chunk::Chunk;
use super::fault::Fault;
use super::fields::{Fields, shown};
use super::log::document;
use crate::json::Json;
use crate::source::miss::count;

/// What a call does that was written by hand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    Chunks(Vec<Chunk>),
    /// Fails after what it says.
    Throw {
        said: Said,
        failure: Thrown,
    },
    /// Says a little and does not end. The file is made once that has been read.
    Hang {
        /// So many frames of the recorded call, instead of the usual word.
        frames: Option<usize>,
        ready_file: Option<String>,
    },
    /// The recorded call, whose connection breaks off behind so many frames.
    Cut {
        frames: usize,
    },
}

/// What is said before a failure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    Chunks(Vec<Chunk>),
    /// The first frames of the recorded call.
    Frames(usize),
}

/// How a call fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thrown {
    pub(super) message: String,
    pub(super) code: String,
    /// The HTTP status; where it is not said, the one that fits code and message.
    pub(super) status: Option<u16>,
    /// How long the provider asks the caller to wait.
    pub(super) retry_after_ms: Option<u64>,
    /// Whether the provider had accepted the request: then the failure comes behind the head of the answer.
    pub(super) accepted: bool,
}

/// An override document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Overrides {
    /// All the entries there are.
    Replace(Vec<Entry>),
    Patch(Vec<Patch>),
}

/// An entry and the recorded call that it has to do with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Patch {
    pub(super) place: Place,
    pub(super) entry: Entry,
}

/// Which call, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In front of a call, which is still to be asked for.
    Before(usize),
    /// Instead of a call; behind the last one where it is the number of calls.
    At(usize),
}

impl Entry {
    /// Its word in the document.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Chunks(_) => "chunks",
            Self::Throw { .. } => "throw",
            Self::Hang { .. } => "hang",
            Self::Cut { .. } => "cut",
        }
    }

    /// How many frames of the recorded call it plays, where it plays any.
    const fn frames(&self) -> Option<usize> {
        match self {
            Self::Chunks(_) => None,
            Self::Throw { said, .. } => match said {
                Said::Chunks(_) => None,
                Said::Frames(frames) => Some(*frames),
            },
            Self::Hang { frames, .. } => *frames,
            Self::Cut { frames } => Some(*frames),
        }
    }
}

const CORRECT: &str = "correct the override file";

impl Overrides {
    pub(super) fn read(text: &str) -> Result<Self, Fault> {
        let refuse = |says: String| Fault::file(says, CORRECT);
        let value = document(text).map_err(refuse)?;
        if let Some(list) = value.as_array() {
            let entries = list.iter().enumerate();
            let entries = entries.map(|(index, entry)| Entry::read(entry, &format!("entry {index}")));
            return entries
                .collect::<Result<_, _>>()
                .map(Self::Replace)
                .map_err(refuse);
        }
        let shape = || refuse("is neither a list of entries nor `{\"patches\": […]}`".to_owned());
        let fields = Fields::of(&value).map_err(|_| shape())?;
        fields.only(&["patches"]).map_err(|_| shape())?;
        let list = fields.list("patches").map_err(|_| shape())?;
        let patches = list.iter().enumerate();
        let patches = patches.map(|(index, patch)| read_patch(patch, &format!("patch {index}")));
        let patches: Vec<_> = patches.collect::<Result<_, _>>().map_err(refuse)?;
        let mut seen = BTreeSet::new();
        let twice = patches.iter().find_map(|patch| match patch.place {
            Place::At(at) => (!seen.insert(at)).then_some(at),
            // One failure in front of a call may follow another.
            Place::Before(_) => None,
        });
        match twice {
            Some(at) => Err(refuse(format!("has two patches at {at}"))),
            None => Ok(Self::Patch(patches)),
        }
    }

    /// That every call it names is there: `frames` has how many frames each of them has, and `of` is what has them.
    pub(super) fn check(&self, of: &str, calls: usize, frames: impl Fn(usize) -> usize) -> Result<(), Fault> {
        let patches = match self {
            Self::Replace(entries) => {
                let mut entries = entries.iter().enumerate();
                return match entries.find(|(_, entry)| entry.frames().is_some()) {
                    None => Ok(()),
                    Some((index, _)) => {
                        Err(no_frames(&format!("entry {index}"), "a list replaces all calls"))
                    }
                };
            }
            Self::Patch(patches) => patches,
        };
        for (index, Patch { place, entry }) in patches.iter().enumerate() {
            let (word, number, most) = match *place {
                Place::At(at) => ("at", at, calls),
                Place::Before(at) => ("before", at, calls.saturating_sub(1)),
            };
            if number > most || calls == 0 && word == "before" {
                let calls = count(calls, "call");
                return Err(Fault::file(
                    format!("has a patch {word} {number}, and the {of} has {calls}"),
                    "patch a call that is there, counted from 0, or append by `at` with the number of calls",
                ));
            }
            let Some(wanted) = entry.frames() else { continue };
            let place = format!("patch {index}.entry");
            if number == calls {
                return Err(no_frames(&place, "it stands behind the last call"));
            }
            let there = frames(number);
            if wanted > there {
                let there = count(there, "frame");
                return Err(Fault::file(
                    format!(
                        "has {place}, which plays {wanted} frames, and call {number} of the {of} has {there}"
                    ),
                    "play as many frames as the call has, or fewer",
                ));
            }
        }
        Ok(())
    }
}

fn no_frames(place: &str, why: &str) -> Fault {
    Fault::file(
        format!("has {place}, which plays frames of a recorded call, and {why}"),
        "say by `chunks` what is said, or leave `frames` out",
    )
}

fn read_patch(value: &Json, place: &str) -> Result<Patch, String> {
    let at = |problem: String| format!("has {place}, which {problem}");
    let fields = Fields::of(value).map_err(at)?;
    fields.only(&["at", "before", "entry"]).map_err(at)?;
    let index = match (fields.get("at"), fields.get("before")) {
        (Some(_), Some(_)) => return Err(at("has both `at` and `before`".to_owned())),
        (None, Some(_)) => Place::Before(fields.whole("before").map_err(at)?),
        _ => Place::At(fields.whole("at").map_err(at)?),
    };
    let entry = fields.must("entry").map_err(at)?;
    Ok(Patch {
        place: index,
        entry: Entry::read(entry, &format!("{place}.entry"))?,
    })
}

impl Entry {
    fn read(value: &Json, place: &str) -> Result<Self, String> {
        let at = |problem: String| format!("has {place}, which {problem}");
        let fields = Fields::of(value).map_err(at)?;
        match fields.text("kind").map_err(at)? {
            "chunks" => {
                fields.only(&["kind", "chunks"]).map_err(at)?;
                let list = fields.list("chunks").map_err(at)?;
                read_chunks(list, place).map(Self::Chunks)
            }
            "throw" => {
                let said = read_said(fields, place)?;
                let failure = read_thrown(fields, &said).map_err(at)?;
                Ok(Self::Throw { said, failure })
            }
            "hang" => {
                fields.only(&["kind", "frames", "readyFile"]).map_err(at)?;
                let ready_file = fields.get("readyFile").map(|_| fields.said("readyFile"));
                Ok(Self::Hang {
                    frames: fields.maybe_whole("frames").map_err(at)?,
                    ready_file: ready_file.transpose().map_err(at)?.map(str::to_owned),
                })
            }
            "cut" => {
                fields.only(&["kind", "frames"]).map_err(at)?;
                let frames = fields.whole("frames").map_err(at)?;
                Ok(Self::Cut { frames })
            }
            other => Err(at(format!("is of the unknown kind `{}`", shown(other)))),
        }
    }
}

/// What is said before a failure; nothing where nothing is said about it.
fn read_said(fields: Fields<'_>, place: &str) -> Result<Said, String> {
    let at = |problem: String| format!("has {place}, which {problem}");
    match (fields.get("chunks"), fields.get("frames")) {
        (Some(_), Some(_)) => Err(at("has both `chunks` and `frames`".to_owned())),
        (None, None) => Ok(Said::Chunks(Vec::new())),
        (None, Some(_)) => fields.whole("frames").map(Said::Frames).map_err(at),
        (Some(_), None) => {
            let chunks = read_chunks(fields.list("chunks").map_err(at)?, place)?;
            match chunks.iter().any(|chunk| matches!(chunk, Chunk::Finish(_))) {
                true => Err(at("throws, and has a `finish` among its chunks".to_owned())),
                false => Ok(Said::Chunks(chunks)),
            }
        }
    }
}

fn read_thrown(fields: Fields<'_>, said: &Said) -> Result<Thrown, String> {
    fields.only(&[
        "kind",
        "chunks",
        "frames",
        "message",
        "code",
        "accepted",
        "status",
        "retryAfterMs",
    ])?;
    let accepted = fields.get("accepted").map(|value| {
        let accepted = value.as_bool();
        accepted.ok_or("has an `accepted` that is neither `true` nor `false`")
    });
    let says_nothing = match said {
        Said::Chunks(chunks) => chunks.is_empty(),
        Said::Frames(frames) => *frames == 0,
    };
    let accepted = accepted.transpose()?.unwrap_or(!says_nothing);
    let status = fields.maybe_whole::<u16>("status")?;
    if status.is_some_and(|status| !(400..=599).contains(&status)) {
        return Err("has a `status` that is no failure, which is from 400 to 599".to_owned());
    }
    let retry_after_ms = fields.maybe_whole("retryAfterMs")?;
    if retry_after_ms.is_some() && (status.is_none() || accepted) {
        return Err(
            "has a `retryAfterMs`, which goes with the `status` of a call that was not accepted".to_owned(),
        );
    }
    Ok(Thrown {
        message: fields.said("message")?.to_owned(),
        code: fields.said("code")?.to_owned(),
        status,
        retry_after_ms,
        accepted,
    })
}

fn read_chunks(list: &[Json], place: &str) -> Result<Vec<Chunk>, String> {
    let mut chunks = Vec::with_capacity(list.len());
    let (mut counted, mut over) = (false, false);
    for (index, value) in list.iter().enumerate() {
        let at = |problem: String| format!("has {place}.chunks[{index}], which {problem}");
        let chunk = Chunk::read(value).map_err(at)?;
        let finishes = matches!(chunk, Chunk::Finish(_));
        if over || (counted && !finishes) {
            return Err(at(
                "comes too late: only `finish` may follow `usage`, and nothing follows `finish`".to_owned(),
            ));
        }
        over |= finishes;
        counted |= matches!(chunk, Chunk::Usage(_));
        chunks.push(chunk);
    }
    Ok(chunks)
}

#[cfg(test)]
#[path = "overrides_tests.rs"]
mod tests;
