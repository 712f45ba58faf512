//! The template of a streamed answer: what a cassette keeps of the chunks besides their canonical parts.
//!
//! ```json
//! {
//!   "chunk":  {"id": "…", "object": "chat.completion.chunk", "created": 1, "model": "…", "usage": null},
//!   "choice": {"logprobs": null},
//!   "open":   {"delta": {"role": "assistant", "content": ""}},
//!   "tail":   {},
//!   "usage_on": ["tail"]
//! }
//! ```
//!
//! `chunk`, `choice` and `delta` are the members of every chunk, of its choice, of its delta. A place adds to them or
//! overrides them: `prelude` (a chunk before any choice), `open` (a choice's first chunk), `reasoning`, `text`,
//! `refusal`, `tool` (chunks that carry these), `close` (the chunk with the finish reason), `tail` (the chunk after
//! that; with a `delta` it has a choice). `usage_on` tells which places carry the usage, `usage_lacks` which of its
//! three counts are not stated. `reasoning_key` names the member that carries reasoning unless it is `reasoning_content`,
//! `reasoning_details` is the form of a list that repeats it. `native_finish_reason` says that choices have that
//! member; `tool_call` what tool calls have besides index, id and function, unless it is `"type": "function"`;
//! `error` is the payload of an error event, `"error_event": true` says that it was named so; `"done": false` says that no `[DONE]` came.

use crate::json::{Json, Object};
use crate::protocol::Answer;

use super::assemble::is_padding;

/// The member that says that an error came as an event named `error`, as Groq sends it.
pub(super) const ERROR_EVENT: &str = "error_event";

/// What a chunk is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Prelude,
    Open,
    Reasoning,
    Text,
    Refusal,
    Tool,
    Close,
    Tail,
    Error,
}

impl Place {
    /// Without `Error`, whose payload is kept whole.
    pub(super) const ALL: [Self; 8] = [
        Self::Prelude,
        Self::Open,
        Self::Reasoning,
        Self::Text,
        Self::Refusal,
        Self::Tool,
        Self::Close,
        Self::Tail,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Prelude => "prelude",
            Self::Open => "open",
            Self::Reasoning => "reasoning",
            Self::Text => "text",
            Self::Refusal => "refusal",
            Self::Tool => "tool",
            Self::Close => "close",
            Self::Tail => "tail",
            Self::Error => "error",
        }
    }

    /// Places that decide what is common to all chunks.
    pub(super) fn is_ordinary(self) -> bool {
        !self.is_explicit() && self != Self::Error
    }

    /// Chunks that exist only if the template says so.
    pub(super) fn is_explicit(self) -> bool {
        matches!(self, Self::Prelude | Self::Tail)
    }
}

/// Where in a chunk a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Chunk,
    Choice,
    Delta,
}

impl Level {
    pub(super) const ALL: [Self; 3] = [Self::Chunk, Self::Choice, Self::Delta];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chunk => "chunk",
            Self::Choice => "choice",
            Self::Delta => "delta",
        }
    }
}

/// Where the template of an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// None, or one that is no template of ours.
    Nowhere,
    Stream,
    Unary,
}

/// A template to render from.
#[derive(Debug)]
pub(super) struct Template<'a> {
    pub(super) origin: Origin,
    pub(super) json: Option<&'a Json>,
}

impl<'a> Template<'a> {
    pub(super) fn of(answer: &Answer<'a>) -> Self {
        let json = answer.template;
        let has = |name| json.and_then(|json| json.get(name));
        let origin = match (has("chunk"), has("choices")) {
            (Some(Json::Object(_)), None) => Origin::Stream,
            (_, Some(Json::Array(_))) => Origin::Unary,
            _ => Origin::Nowhere,
        };
        Self { origin, json }
    }

    /// The members of a level in a place: the common ones, overridden by the place's own.
    pub(super) fn level(&self, place: Place, level: Level) -> Object {
        let stream = self.stream();
        let part = |json: Option<&Json>| json.and_then(Json::as_object).cloned().unwrap_or_default();
        let mut members = part(stream.and_then(|json| json.get(level.name())));
        for (name, value) in part(stream.and_then(|json| json.get(place.name())?.get(level.name()))) {
            members.set(name, value);
        }
        members
    }

    /// The member of that name, if the template is one of a stream.
    pub(super) fn get(&self, name: &str) -> Option<&'a Json> {
        self.stream()?.get(name)
    }

    fn stream(&self) -> Option<&'a Json> {
        self.json.filter(|_| self.origin == Origin::Stream)
    }

    pub(super) fn usage_on(&self, place: Place) -> bool {
        let places = self.get("usage_on").and_then(Json::as_array).unwrap_or_default();
        places.iter().any(|name| name.as_str() == Some(place.name()))
    }

    pub(super) fn tool_call(&self) -> Object {
        let members = self.get("tool_call").and_then(Json::as_object);
        members.cloned().unwrap_or_else(usual_tool_call)
    }

    /// Identity for chunks or bodies of an answer whose template is none of the kind asked for.
    pub(super) fn identity(&self, answer: &Answer<'_>, object: &str) -> Object {
        let mut members = match (self.origin, self.json) {
            (Origin::Stream, _) => self.level(Place::Close, Level::Chunk),
            (Origin::Unary, Some(Json::Object(body))) => body
                .iter()
                .filter(|(name, value)| {
                    !is_padding(name) && !matches!(value, Json::Array(_) | Json::Object(_)) && name != "usage"
                })
                .cloned()
                .collect(),
            _ => [("id".to_owned(), answer.id.into())].into_iter().collect(),
        };
        members.remove("usage");
        members.set("object", object);
        if members.get("created").is_none() {
            members.push("created", 0_u64);
        }
        if members.get("model").is_none() {
            members.push("model", answer.model);
        }
        members
    }
}

pub(super) fn usual_tool_call() -> Object {
    [("type".to_owned(), "function".into())].into_iter().collect()
}
