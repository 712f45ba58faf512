//! What a cassette keeps of an answer besides its canonical parts.
//!
//! ```json
//! {
//!   "message": {"id": "…", "type": "message", "role": "assistant", "model": "…", "content": [], "stop_reason": null,
//!               "stop_sequence": null, "usage": {"output_tokens": 1}},
//!   "end":     {"delta": {"stop_sequence": null}, "usage": true},
//!   "tool":    {"caller": {"type": "direct"}}
//! }
//! ```
//!
//! of a stream: the message that it starts with (`null` when it starts with none; its `usage` has only the members
//! that the final one has otherwise), and the event that ends it (its `usage` is `true` when it repeats the usual
//! counts, else their names). `usage_late` names members that only the end has. `text`, `thinking` and `tool` are the members that blocks have besides the canonical ones; `error` is the
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

/// A template to render from; none, or one of another protocol, says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template<'a> {
    pub(super) json: Option<&'a Json>,
}

impl<'a> Template<'a> {
    pub(super) fn of(answer: &Answer<'a>) -> Self {
        let is_ours = |json: &&Json| {
            ["message", "body", "error"]
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
        let names: Vec<&str> = match self.members("end")?.get("usage")? {
            Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
            _ => usual_names(&wire, &names(self.json, "usage_late")),
        };
        let mut end = Object::new();
        for name in names {
            if let Some(value) = wire.get(name) {
                end.push(name, value.clone());
            }
        }
        Some(end)
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
