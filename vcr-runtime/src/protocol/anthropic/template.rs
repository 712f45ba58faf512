//! What a cassette keeps of an answer besides its canonical parts.
//!
//! ```json
//! {
//!   "message": {"id": "…", "model": "…", "usage": {"output_tokens": 1}},
//!   "end":     true,
//!   "tool":    {"caller": {"type": "direct"}}
//! }
//! ```
//!
//! of a stream: the message that it starts with (`null` when it starts with none; less what every message starts with; its
//! `usage` has only the members that the final one has otherwise), and the event that ends it (its `usage` is `true` when
//! it repeats the usual counts, else their names; its `delta` is left out when it only repeats the nulls of the message). `usage_late` names members that only the end has. `text`, `thinking` and `tool` are the members that blocks have besides the canonical ones; `error` is the
//! payload of an error, event or body; `"done": false` says that no `message_stop` came, `closed` that the last block
//! had ended all the same, `open` is a block in which the stream broke off before the block said anything.
//!
//! Of a unary answer: `body` with `"$content"`, `"$stop_reason"` and `"$usage"` in the places of these; `usage_rest`
//! has members of the usage that do not follow from the canonical counts, `usage_late` names such as it has not.

use crate::json::{Json, Object};
use crate::model::Usage;
use crate::protocol::Answer;

use super::words::{CUMULATIVE, OUTPUT_TOKENS, usage_rest, write_usage};

pub(super) const CONTENT: &str = "$content";
pub(super) const STOP_REASON: &str = "$stop_reason";
pub(super) const USAGE: &str = "$usage";
/// The member that holds the whole body of an HTTP error.
pub(super) const ERROR_BODY: &str = "error_body";

/// A template to render from; none, or one of another protocol, says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template<'a> {
    pub(super) json: Option<&'a Json>,
}

impl<'a> Template<'a> {
    pub(super) fn of(answer: &Answer<'a>) -> Self {
        let is_ours = |json: &&Json| {
            ["message", "body", ERROR_BODY]
                .iter()
                .any(|name| json.get(name).is_some())
        };
        Self {
            json: answer.template.filter(is_ours),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Json> {
        self.json?.get(name)
    }

    pub(super) fn members(&self, name: &str) -> Option<&'a Object> {
        self.get(name).and_then(Json::as_object)
    }

    /// Whether this protocol recorded the answer.
    pub(super) fn is_own(&self) -> bool {
        self.json.is_some()
    }

    /// Whether the answer was recorded as a stream.
    pub(super) fn is_stream(&self) -> bool {
        self.get("message").is_some()
    }

    /// The message that the stream starts with.
    pub(super) fn message(&self) -> Option<Object> {
        self.members("message").map(whole_message)
    }

    /// The event that ends the message, less its type.
    pub(super) fn end(&self) -> Option<Object> {
        let mut end = match self.get("end")? {
            Json::Object(end) => end.clone(),
            Json::Bool(true) => [("usage".to_owned(), true.into())].into_iter().collect(),
            _ => return None,
        };
        if end.get("delta").is_none() {
            end.push("delta", nulls(&self.message().unwrap_or_default()));
        }
        Some(end)
    }

    /// A member that is `true` or `false`; absent it is `usual`.
    pub(super) fn flag(&self, name: &str, usual: bool) -> bool {
        self.get(name).and_then(Json::as_bool).unwrap_or(usual)
    }

    /// The final usage as the provider states it.
    pub(super) fn usage(&self, usage: &Usage) -> Object {
        write_usage(usage, !self.is_own())
    }

    /// The usage of a unary answer.
    pub(super) fn unary_usage(&self, usage: &Usage) -> Object {
        noted_usage(self.usage(usage), self.json)
    }

    /// The usage that a stream starts with.
    pub(super) fn start_usage(&self, usage: Option<&Usage>) -> Object {
        let mut wire = usage.map(|usage| self.usage(usage)).unwrap_or_default();
        if !self.is_stream() {
            // As real streams have it: the first tokens are counted already, the rest comes at the end.
            let count = usage.map_or(0, |usage| usage.completion_tokens.min(1));
            for (name, value) in write_usage(&Usage::new(0, count), true) {
                if name == OUTPUT_TOKENS || wire.get(&name).is_none() {
                    wire.set(name, value);
                }
            }
            return wire;
        }
        let message = self.members("message");
        let own = message
            .and_then(|message| message.get("usage"))
            .and_then(Json::as_object);
        overlaid(wire, self.json, own)
    }

    /// The usage that a stream ends with; `None` when its end has none.
    pub(super) fn end_usage(&self, usage: Option<&Usage>) -> Option<Object> {
        let wire = usage.map(|usage| self.usage(usage)).unwrap_or_default();
        if !self.is_stream() {
            let mut end = Object::new();
            end.push(OUTPUT_TOKENS, usage.map_or(0, |usage| usage.completion_tokens));
            return Some(end);
        }
        let names: Vec<String> = match self.end()?.get("usage")? {
            Json::Array(names) => names.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            _ => usual_names(&wire, &names(self.json, "usage_late"))
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        let mut end = Object::new();
        for name in names {
            if let Some(value) = wire.get(&name).cloned() {
                end.push(name, value);
            }
        }
        Some(end)
    }
}

/// What every message starts with, besides its identity and its usage.
fn beginning() -> [(&'static str, Json); 5] {
    [
        ("type", "message".into()),
        ("role", "assistant".into()),
        ("content", Vec::new().into()),
        ("stop_reason", Json::Null),
        ("stop_sequence", Json::Null),
    ]
}

/// A message without its beginning. One that begins otherwise keeps all members, which tells the two apart.
pub(super) fn short_message(mut message: Object) -> Object {
    if beginning()
        .iter()
        .all(|(name, value)| message.get(name) == Some(value))
    {
        beginning()
            .iter()
            .for_each(|(name, _)| drop(message.remove(name)));
    }
    message
}

fn whole_message(short: &Object) -> Object {
    if beginning().iter().any(|(name, _)| short.get(name).is_some()) {
        return short.clone();
    }
    let mut members: Vec<(String, Json)> = short.iter().cloned().collect();
    let beginning = beginning().map(|(name, value)| (name.to_owned(), value));
    // As the provider has it: the identity first, the usage last.
    let at = usize::from(members.first().is_some_and(|(name, _)| name == "id"));
    let until = members.len() - usize::from(members.last().is_some_and(|(name, _)| name == "usage"));
    let (head, tail) = beginning.split_at(2);
    members.splice(until.max(at)..until.max(at), tail.iter().cloned());
    members.splice(at..at, head.iter().cloned());
    Object(members)
}

/// What the end of a stream repeats of the message's beginning.
fn nulls(message: &Object) -> Object {
    let is_stop = |(name, value): &&(String, Json)| {
        value.is_null() && ["stop_sequence", "stop_details"].contains(&name.as_str())
    };
    message.iter().filter(is_stop).cloned().collect()
}

/// A stream's end without what is usual; `message` is the one it started with.
pub(super) fn short_end(mut end: Object, message: Option<&Object>) -> Json {
    let usual = nulls(message.unwrap_or(&Object::new()));
    let same = |delta: &Json| crate::canon::equivalent(delta, &Json::Object(usual.clone()));
    if end.get("delta").is_some_and(same) {
        end.remove("delta");
    }
    match end.0.as_slice() {
        [(name, Json::Bool(true))] if name == "usage" => true.into(),
        _ => end.into(),
    }
}

/// The members that the usage of a stream's end usually has.
pub(super) fn usual_names<'a>(usage: &Object, late: &[&'a str]) -> Vec<&'a str> {
    let counts = CUMULATIVE.into_iter().filter(|name| usage.get(name).is_some());
    let mut names: Vec<&str> = counts.filter(|name| !late.contains(name)).collect();
    names.extend(late);
    names
}

fn names<'a>(template: Option<&'a Json>, member: &str) -> Vec<&'a str> {
    let names = template
        .and_then(|template| template.get(member))
        .and_then(Json::as_array);
    names
        .unwrap_or_default()
        .iter()
        .filter_map(Json::as_str)
        .collect()
}

/// Notes what `written`, the usage by its canonical counts, does not tell of the one on the wire.
pub(crate) fn note_usage(wire: &Object, written: &Object, template: &mut Object) {
    let (rest, late) = usage_rest(wire, written);
    if !rest.is_empty() {
        template.push("usage_rest", rest);
    }
    if !late.is_empty() {
        template.push("usage_late", late);
    }
}

/// The usage on the wire, from the one by its counts and what [`note_usage`] has noted.
pub(crate) fn noted_usage(written: Object, template: Option<&Json>) -> Object {
    let rest = template
        .and_then(|template| template.get("usage_rest"))
        .and_then(Json::as_object);
    overlaid(written, template, rest)
}

/// The usage without late members, and with those of its own.
fn overlaid(mut wire: Object, template: Option<&Json>, own: Option<&Object>) -> Object {
    for name in names(template, "usage_late") {
        wire.remove(name);
    }
    for (name, value) in own.into_iter().flat_map(Object::iter) {
        wire.set(name.clone(), value.clone());
    }
    wire
}
