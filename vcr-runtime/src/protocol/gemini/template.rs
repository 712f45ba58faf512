//! What a cassette keeps of an answer besides its canonical parts.
//!
//! The template of a stream:
//!
//! ```json
//! {
//!   "chunk": {"modelVersion": "…", "responseId": "…"},
//!   "last":  {"createTime": "…"},
//!   "candidate": {"safetyRatings": []},
//!   "close": {"content": {"parts": [{"text": ""}], "role": "model"}, "candidate": {"finishMessage": "…"}},
//!   "signatures": {"0": ["call 0"]}
//! }
//! ```
//!
//! `chunk` are the members of every chunk, `first` and `last` what only these have besides; `candidate` and `content` the
//! same for candidates and their content (where that is not just the role). `close` tells of chunks with a finish
//! reason: members of the candidate, and the content of such chunks that say nothing else (`null`: none); without
//! `content`, or where `with_parts` is true, the reason comes with the last part of its frame. `signatures` tells on which parts of each choice the signatures stand: the `thought`
//! or `text` of their frame, an `empty` or `empty thought` part of their own, the n-th function call. `calls` tells how many
//! function calls came without another part between them and in one chunk, where it was not all. `usage_lacks` names the counts that are not
//! stated. `"index": false` says that candidates are not numbered, `"blocked": true` that the reason is the prompt's,
//! `"partial": true` that the calls stand in native parts; `error` is the payload of an error chunk.
//!
//! The template of a unary body is the body with `$parts`, `$finish_reason` and `$usage` where these were (in place of `$usage` a list
//! names the counts that are not stated), and the `signatures`.

use crate::json::{Json, Object};
use crate::protocol::Answer;
use crate::protocol::common::object;

use super::words::{CANDIDATES, CONTENT, ERROR, FINISH_REASON, INDEX, USAGE};

pub(super) const CHUNK: &str = "chunk";
pub(super) const FIRST: &str = "first";
pub(super) const LAST: &str = "last";
pub(super) const CANDIDATE: &str = "candidate";
pub(super) const CLOSE: &str = "close";
pub(super) const WITH_PARTS: &str = "with_parts";
pub(super) const SIGNATURES: &str = "signatures";
pub(super) const CALLS: &str = "calls";
pub(super) const USAGE_LACKS: &str = "usage_lacks";
pub(super) const BLOCKED: &str = "blocked";
pub(super) const PARTIAL: &str = "partial";

/// Slots of the unary template.
pub(super) const PARTS_SLOT: &str = "$parts";
pub(super) const FINISH_SLOT: &str = "$finish_reason";
pub(super) const USAGE_SLOT: &str = "$usage";

/// Where the template of an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// None: written by hand, or of another protocol.
    Nowhere,
    Stream,
    Unary,
}

/// A template to render from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template<'a> {
    pub(super) origin: Origin,
    pub(super) json: Option<&'a Json>,
}

impl<'a> Template<'a> {
    pub(super) fn of(answer: &Answer<'a>) -> Self {
        let json = answer.template;
        let origin = match json.map(|json| json.get(CHUNK)) {
            None => Origin::Nowhere,
            Some(Some(Json::Object(_))) => Origin::Stream,
            Some(_) => Origin::Unary,
        };
        Self { origin, json }
    }

    /// The member of that name, if the template is one of a stream.
    pub(super) fn get(&self, name: &str) -> Option<&'a Json> {
        self.json.filter(|_| self.origin == Origin::Stream)?.get(name)
    }

    pub(super) fn members(&self, name: &str) -> Object {
        members_of(self.get(name))
    }

    pub(super) fn says(&self, name: &str) -> bool {
        self.get(name).and_then(Json::as_bool) == Some(true)
    }

    /// A member of the template, whatever it is of.
    pub(super) fn any(&self, name: &str) -> Option<&'a Json> {
        self.json?.get(name)
    }

    /// What every chunk or the body has.
    pub(super) fn chunk(&self, answer: &Answer<'_>) -> Object {
        match self.origin {
            Origin::Stream => self.members(CHUNK),
            Origin::Unary => members_of(self.json)
                .into_iter()
                .filter(|(name, value)| {
                    let is_canonical = [CANDIDATES, USAGE, ERROR, SIGNATURES].contains(&name.as_str());
                    !is_canonical && !matches!(value, Json::Array(_))
                })
                .collect(),
            Origin::Nowhere => object([
                ("modelVersion", answer.model.into()),
                ("responseId", answer.id.into()),
            ]),
        }
    }

    /// A candidate with these parts. Without parts and without anything known of such candidates it has no content.
    pub(super) fn candidate(&self, choice: u32, content: Option<Object>, finish: Option<&str>) -> Object {
        let mut members = Object::new();
        if let Some(content) = content {
            members.push(CONTENT, content);
        }
        let mut others = self.members(CANDIDATE);
        if let Some(finish) = finish {
            members.push(FINISH_REASON, finish);
            let close = self.get(CLOSE).and_then(|close| close.get(CANDIDATE));
            others.0.extend(members_of(close));
        }
        if self.get(INDEX).is_none() {
            members.push(INDEX, choice);
        }
        members.0.extend(others);
        members
    }

    /// The members of a content besides its parts.
    pub(super) fn content(&self) -> Object {
        match self.get(CONTENT) {
            Some(Json::Object(members)) => members.clone(),
            _ => usual_content(),
        }
    }
}

pub(super) fn usual_content() -> Object {
    object([("role", "model".into())])
}

pub(super) fn members_of(json: Option<&Json>) -> Object {
    json.and_then(Json::as_object).cloned().unwrap_or_default()
}
