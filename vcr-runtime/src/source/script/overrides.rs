//! The override document: entries instead of those of the log, or in the place of some of them.

use std::collections::BTreeSet;

use super::chunk::Chunk;
use super::fault::Fault;
use super::fields::{Fields, shown};
use super::log::document;
use crate::json::Json;

/// What a call does that was written by hand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    Chunks(Vec<Chunk>),
    /// Fails after its chunks.
    Throw {
        chunks: Vec<Chunk>,
        message: String,
        code: String,
        /// Whether the provider had accepted the request: then the failure comes behind the head of the answer.
        accepted: bool,
    },
    /// Says a little and does not end. The file is made once that has been read.
    Hang {
        ready_file: Option<String>,
    },
}

/// An override document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Overrides {
    /// All the entries there are.
    Replace(Vec<Entry>),
    /// Entries by the index of the call, counted from 0.
    Patch(Vec<(usize, Entry)>),
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
        match patches.iter().find(|(at, _)| !seen.insert(*at)) {
            Some((at, _)) => Err(refuse(format!("has two patches at {at}"))),
            None => Ok(Self::Patch(patches)),
        }
    }

    /// The patches by the index of the call, where all of them lie within a log of `calls`, or right behind it.
    pub(super) fn check(&self, calls: usize) -> Result<(), Fault> {
        let Self::Patch(patches) = self else {
            return Ok(());
        };
        match patches.iter().find(|(at, _)| *at > calls) {
            None => Ok(()),
            Some((at, _)) => Err(Fault::file(
                format!(
                    "has a patch at {at}, and the log has {}",
                    crate::source::miss::count(calls, "call")
                ),
                "patch a call that is there, counted from 0, or append with the number of calls",
            )),
        }
    }
}

fn read_patch(value: &Json, place: &str) -> Result<(usize, Entry), String> {
    let at = |problem: String| format!("has {place}, which {problem}");
    let fields = Fields::of(value).map_err(at)?;
    fields.only(&["at", "entry"]).map_err(at)?;
    let index = fields.whole("at").map_err(at)?;
    let entry = fields.must("entry").map_err(at)?;
    Ok((index, Entry::read(entry, &format!("{place}.entry"))?))
}

impl Entry {
    fn read(value: &Json, place: &str) -> Result<Self, String> {
        let at = |problem: String| format!("has {place}, which {problem}");
        let fields = Fields::of(value).map_err(at)?;
        let chunks = || -> Result<Vec<Chunk>, String> {
            let list = fields.list("chunks").map_err(at)?;
            read_chunks(list, place)
        };
        match fields.text("kind").map_err(at)? {
            "chunks" => {
                fields.only(&["kind", "chunks"]).map_err(at)?;
                chunks().map(Self::Chunks)
            }
            "throw" => {
                let names = ["kind", "chunks", "message", "code", "accepted"];
                fields.only(&names).map_err(at)?;
                let chunks = chunks()?;
                if chunks.iter().any(|chunk| matches!(chunk, Chunk::Finish(_))) {
                    return Err(at("throws, and has a `finish` among its chunks".to_owned()));
                }
                let accepted = fields.get("accepted").map(|value| {
                    let accepted = value.as_bool();
                    accepted
                        .ok_or_else(|| at("has an `accepted` that is neither `true` nor `false`".to_owned()))
                });
                Ok(Self::Throw {
                    message: fields.said("message").map_err(at)?.to_owned(),
                    code: fields.said("code").map_err(at)?.to_owned(),
                    accepted: accepted.transpose()?.unwrap_or(!chunks.is_empty()),
                    chunks,
                })
            }
            "hang" => {
                fields.only(&["kind", "readyFile"]).map_err(at)?;
                let ready_file = fields.get("readyFile").map(|_| fields.said("readyFile"));
                Ok(Self::Hang {
                    ready_file: ready_file.transpose().map_err(at)?.map(str::to_owned),
                })
            }
            other => Err(at(format!("is of the unknown kind `{}`", shown(other)))),
        }
    }
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
mod tests {
    use super::*;
    use std::path::Path;

    fn problem(text: &str) -> String {
        let error = Overrides::read(text).unwrap_err().error(Path::new("o.json"));
        assert_eq!(
            (error.kind(), error.advice()),
            (crate::ErrorKind::CassetteBroken, CORRECT)
        );
        error
            .message()
            .strip_prefix("the session script o.json ")
            .unwrap()
            .to_owned()
    }

    #[test]
    fn each_rule_names_the_place() {
        for (text, expected) in [
            (
                "[",
                "is no JSON document: the document ends in the middle (was the file cut?) (column 2)",
            ),
            ("1", "is neither a list of entries nor `{\"patches\": […]}`"),
            (
                "{\"patches\":[],\"x\":1}",
                "is neither a list of entries nor `{\"patches\": […]}`",
            ),
            (
                "{\"patches\":{}}",
                "is neither a list of entries nor `{\"patches\": […]}`",
            ),
            ("{}", "is neither a list of entries nor `{\"patches\": […]}`"),
            (
                "{\"patches\":[],\"patches\":[]}",
                "is no JSON document: the object names this key twice (column 28)",
            ),
            ("[{\"kind\":\"hang\"},1]", "has entry 1, which is no object"),
            ("[{}]", "has entry 0, which has no `kind`"),
            (
                "[{\"kind\":1}]",
                "has entry 0, which has a `kind` that is no text",
            ),
            (
                "[{\"kind\":\"chunks\",\"chunks\":{}}]",
                "has entry 0, which has a `chunks` that is no list",
            ),
            (
                "[{\"kind\":\"chunks\",\"chunks\":[1]}]",
                "has entry 0.chunks[0], which is no object",
            ),
            (
                "[{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"text\"}]}]",
                "has entry 0.chunks[0], which has the unknown type `text`",
            ),
            (
                "[{\"kind\":\"throw\",\"message\":\"m\",\"code\":\"c\"}]",
                "has entry 0, which has no `chunks`",
            ),
            (
                "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\",\"code\":\"\"}]",
                "has entry 0, which has an empty `code`",
            ),
            (
                "[{\"kind\":\"throw\",\"chunks\":[],\"message\":1,\"code\":\"c\"}]",
                "has entry 0, which has a `message` that is no text",
            ),
            (
                "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\",\"code\":\"c\",\"status\":429}]",
                "has entry 0, which has the member `status`, which has no place there",
            ),
            (
                "[{\"kind\":\"hang\",\"readyFile\":1}]",
                "has entry 0, which has a `readyFile` that is no text",
            ),
            (
                "[{\"kind\":\"hang\",\"chunks\":[]}]",
                "has entry 0, which has the member `chunks`, which has no place there",
            ),
            ("{\"patches\":[1]}", "has patch 0, which is no object"),
            (
                "{\"patches\":[{\"entry\":{\"kind\":\"hang\"}}]}",
                "has patch 0, which has no `at`",
            ),
            (
                "{\"patches\":[{\"at\":0.5,\"entry\":{}}]}",
                "has patch 0, which has an `at` that is no whole number in its range",
            ),
            (
                "{\"patches\":[{\"at\":9007199254740992,\"entry\":{}}]}",
                "has patch 0, which has an `at` that is no whole number in its range",
            ),
            (
                "{\"patches\":[{\"at\":0,\"entry\":1}]}",
                "has patch 0.entry, which is no object",
            ),
            (
                "{\"patches\":[{\"at\":0,\"entry\":{\"kind\":\"hang\"}},{\"at\":1,\"entry\":{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}},{\"type\":\"usage\"}]}}]}",
                "has patch 1.entry.chunks[1], which has no `usage`",
            ),
            (
                "[{\"kind\":\"wait\"}]",
                "has entry 0, which is of the unknown kind `wait`",
            ),
            ("[{\"kind\":\"chunks\"}]", "has entry 0, which has no `chunks`"),
            (
                "[{\"kind\":\"chunks\",\"chunks\":[],\"code\":\"x\"}]",
                "has entry 0, which has the member `code`, which has no place there",
            ),
            (
                "[{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"text-delta\",\"index\":0}]}]",
                "has entry 0.chunks[0], which has no `text`",
            ),
            (
                "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"\",\"code\":\"c\"}]",
                "has entry 0, which has an empty `message`",
            ),
            (
                "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\"}]",
                "has entry 0, which has no `code`",
            ),
            (
                "[{\"kind\":\"throw\",\"chunks\":[],\"message\":\"m\",\"code\":\"c\",\"accepted\":1}]",
                "has entry 0, which has an `accepted` that is neither `true` nor `false`",
            ),
            (
                "[{\"kind\":\"throw\",\"chunks\":[{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}}],\"message\":\"m\",\"code\":\"c\"}]",
                "has entry 0, which throws, and has a `finish` among its chunks",
            ),
            (
                "[{\"kind\":\"hang\",\"readyFile\":\"\"}]",
                "has entry 0, which has an empty `readyFile`",
            ),
            ("{\"patches\":[{\"at\":0}]}", "has patch 0, which has no `entry`"),
            (
                "{\"patches\":[{\"at\":-1,\"entry\":{}}]}",
                "has patch 0, which has an `at` that is no whole number in its range",
            ),
            (
                "{\"patches\":[{\"at\":0,\"entry\":{\"kind\":\"hang\"},\"x\":0}]}",
                "has patch 0, which has the member `x`, which has no place there",
            ),
            (
                "{\"patches\":[{\"at\":0,\"entry\":{\"kind\":\"hang\",\"code\":0}}]}",
                "has patch 0.entry, which has the member `code`, which has no place there",
            ),
            (
                "{\"patches\":[{\"at\":1,\"entry\":{\"kind\":\"hang\"}},{\"at\":1,\"entry\":{\"kind\":\"hang\"}}]}",
                "has two patches at 1",
            ),
            (
                "[{\"kind\":\"chunks\",\"chunks\":[{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\"}},{\"type\":\"text-delta\",\"index\":0,\"text\":\"\"}]}]",
                "has entry 0.chunks[1], which comes too late: only `finish` may follow `usage`, and nothing follows `finish`",
            ),
        ] {
            assert_eq!(problem(text), expected, "{text}");
        }
        let deep = problem(&"[".repeat(100_000));
        assert!(
            deep.starts_with("is no JSON document: the document is nested too deeply (column 65"),
            "{deep}"
        );
    }

    #[test]
    fn a_patch_may_append_and_not_lie_beyond() {
        let patch = Overrides::read("{\"patches\":[{\"at\":2,\"entry\":{\"kind\":\"hang\"}}]}").unwrap();
        assert_eq!((patch.check(2), patch.check(3)), (Ok(()), Ok(())));
        let error = patch.check(1).unwrap_err().error(Path::new("o.json"));
        assert_eq!(
            error.to_string(),
            "the session script o.json has a patch at 2, and the log has 1 call; patch a call that is there, counted from 0, or append with the number of calls"
        );
    }

    #[test]
    fn a_throw_behind_chunks_was_accepted() {
        let accepted = |rest: &str| {
            let text = format!("[{{\"kind\":\"throw\",\"message\":\"m\",\"code\":\"c\",{rest}}}]");
            match Overrides::read(&text).unwrap() {
                Overrides::Replace(entries) => match &entries[..] {
                    [Entry::Throw { accepted, .. }] => *accepted,
                    other => panic!("{other:?}"),
                },
                Overrides::Patch(_) => panic!("a list replaces"),
            }
        };
        assert!(!accepted("\"chunks\":[]"));
        assert!(accepted("\"chunks\":[],\"accepted\":true"));
        assert!(accepted(
            "\"chunks\":[{\"type\":\"text-delta\",\"index\":0,\"text\":\"a\"}]"
        ));
    }
}
