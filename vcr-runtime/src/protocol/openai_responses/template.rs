//! The template of an answer: what a cassette keeps of it besides its canonical parts.
//!
//! That of a unary body is the body itself with slots: `$text`, `$reasoning`, `$refusal` (with a number, if others of
//! the kind follow: so many characters), `$signature`, `$id`, `$name`, `$arguments`, `$native`, `$usage`. A stream
//! says everything up to four times, so of one is kept what its usual events do not tell:
//!
//! ```json
//! {
//!   "response": {"id": "…", "status": "completed", "output": "$items", "usage": "$usage", …},
//!   "items":    [{"id": "msg_1", "type": "message", "content": [{"type": "output_text", "text": "$text"}], …}],
//!   "start":    {"response.created": {"service_tier": "auto"}, "response.in_progress": {}},
//!   "layout":   {"0": {"added": {…}, "parts": {"content.0": {…}}, "extra": [{"at": 2, "after": 12, "event": {…}}]}},
//!   "events":   {"response.output_text.delta": {"logprobs": []}}
//! }
//! ```
//!
//! `response` is the object of the last event, `items` are the output items as they were done. `output` names the items,
//! one by one with a patch where the last event tells them differently. `start` has the first events with what is
//! different in their response from the usual (a response in progress without output) or the one before. `layout` has,
//! by the number of the item, how it or its parts differed from the usual when they were added, and the events that only
//! this item has: after how many others of the item (`at`) and how many characters since (`after`). `events` are members
//! that every event of a type has besides the usual ones. Seldom there: `skip`, events that the server does not send;
//! `until`, after how many events that are no deltas the stream broke off; `error`, the payload of an error event;
//! `"numbered": false`.

use crate::json::{Json, Object};
use crate::model::{BoundaryKind, Usage};
use crate::protocol::Answer;
use crate::protocol::usage_slot::Counts;

use super::lay::{Laid, lay, usual_items};
use super::skeleton::patched;
use super::words::{SLOT_ITEM, SLOT_ITEMS, call_kind, finish, status};

pub(super) const COUNTS: Counts = Counts {
    prompt: "input_tokens",
    completion: Some("output_tokens"),
    total: "total_tokens",
};

/// Where the template of an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// None, or one that is no template of ours.
    Nowhere,
    Stream,
    Unary,
}

impl Origin {
    pub(super) fn of(template: Option<&Json>) -> Self {
        let has = |name| template.and_then(|template| template.get(name));
        match (has("response"), has("output")) {
            (Some(Json::Object(_)), _) => Self::Stream,
            (_, Some(Json::Array(_))) => Self::Unary,
            _ => Self::Nowhere,
        }
    }
}

/// An answer with everything in its place.
#[derive(Debug)]
pub(super) struct Filled<'a> {
    pub(super) origin: Origin,
    template: Option<&'a Json>,
    /// The response as the last event or the unary body has it.
    pub(super) response: Json,
    pub(super) items: Vec<Laid>,
}

impl<'a> Filled<'a> {
    pub(super) fn of(answer: &Answer<'a>) -> Self {
        let origin = Origin::of(answer.template);
        let template = answer.template;
        let list = |json: Option<&'a Json>| json.and_then(Json::as_array).unwrap_or_default();
        let (mut response, skeletons) = match (origin, template) {
            (Origin::Stream, Some(template)) => (
                template.get("response").cloned().unwrap_or_default(),
                list(template.get("items")).to_vec(),
            ),
            (Origin::Unary, Some(body)) => (body.clone(), list(body.get("output")).to_vec()),
            _ => (usual_response(answer), usual_items(answer.frames, answer.id)),
        };
        let items = lay(&skeletons, answer.frames, answer.id);
        if let Some(members) = response.as_object_mut() {
            if let Some(told) = members.get("output") {
                let output = output(told, origin, &items);
                members.set("output", output);
            }
            if origin != Origin::Nowhere {
                COUNTS.fill(members, answer.usage);
            }
            tell_finish(members, answer, &items);
            tell_error(members, answer);
        }
        Self {
            origin,
            template,
            response,
            items,
        }
    }

    /// A member of the template of a stream.
    pub(super) fn get(&self, name: &str) -> Option<&'a Json> {
        self.template.filter(|_| self.origin == Origin::Stream)?.get(name)
    }

    /// What is special about an item.
    pub(super) fn layout(&self, item: &Laid, name: &str) -> Option<&'a Json> {
        self.get("layout")?.get(&item.position?.to_string())?.get(name)
    }
}

fn output(told: &Json, origin: Origin, items: &[Laid]) -> Json {
    let all = || items.iter().map(|item| item.item.clone()).collect::<Vec<_>>();
    let entries = match told {
        Json::Array(entries) if origin == Origin::Stream => entries,
        other if origin == Origin::Stream && other.as_str() != Some(SLOT_ITEMS) => return other.clone(),
        _ => return all().into(),
    };
    let mut output = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        let item = items.iter().find(|item| item.position == Some(position));
        match (entry.as_str() == Some(SLOT_ITEM), entry.get(SLOT_ITEM), item) {
            (true, _, Some(item)) => output.push(item.item.clone()),
            (_, Some(patch), Some(item)) => output.push(patched(&item.item, Some(patch))),
            (true, _, None) | (_, Some(_), None) => {}
            (false, None, _) => output.push(entry.clone()),
        }
    }
    if !entries.is_empty() {
        let added = items.iter().filter(|item| item.position.is_none());
        output.extend(added.map(|item| item.item.clone()));
    }
    output.into()
}

/// The status follows the frames where a person has changed them.
fn tell_finish(response: &mut Object, answer: &Answer<'_>, items: &[Laid]) {
    let told = answer
        .frames
        .iter()
        .rev()
        .find_map(|frame| frame.finish_reason.as_deref());
    let Some(word) = told else { return };
    let calls = items.iter().any(|item| call_kind(&item.item).is_some());
    let (status, reason) = status(word);
    let known = finish(&Json::Object(response.clone()), calls).map(|(known, _)| known);
    // Which of these two it is depends on the items alone.
    let is_completed = |word: &str| ["stop", "tool_calls"].contains(&word);
    let is_same = |known: &str| known == word || (is_completed(known) && is_completed(word));
    if known.as_deref().is_some_and(is_same) {
        return;
    }
    response.set("status", status);
    if reason.is_some() || response.get("incomplete_details").is_some() {
        let details = reason.map(|reason| Object(vec![("reason".to_owned(), reason.into())]));
        response.set("incomplete_details", details);
    }
}

/// An error that the response itself tells.
fn tell_error(response: &mut Object, answer: &Answer<'_>) {
    let Some(boundary) = answer
        .boundary
        .filter(|boundary| boundary.kind == BoundaryKind::Error)
    else {
        return;
    };
    if let Some(Json::Object(error)) = response.get_mut("error") {
        error.set("message", boundary.message.as_str());
    }
}

/// The response that `OpenAI` would send, as far as the frames tell.
fn usual_response(answer: &Answer<'_>) -> Json {
    let mut response = Object::new();
    response.push("id", format!("resp_{}", answer.id));
    response.push("object", "response");
    response.push("created_at", 0_u64);
    response.push("status", "completed");
    response.push("error", Json::Null);
    response.push("incomplete_details", Json::Null);
    response.push("instructions", Json::Null);
    response.push("max_output_tokens", Json::Null);
    response.push("model", answer.model);
    response.push("output", SLOT_ITEMS);
    response.push("parallel_tool_calls", true);
    response.push("previous_response_id", Json::Null);
    response.push("temperature", Json::Null);
    response.push("tool_choice", "auto");
    response.push("tools", Vec::new());
    response.push("top_p", Json::Null);
    response.push("usage", Json::Null);
    response.push("metadata", Object::new());
    if let Some(usage) = answer.usage {
        response.set("usage", usual_usage(usage));
    }
    response.into()
}

/// The counts with the details that typed clients refuse to miss.
fn usual_usage(usage: &Usage) -> Object {
    let mut told = usage.clone();
    for (own, other, member) in [
        ("input_tokens_details", "prompt_tokens_details", "cached_tokens"),
        (
            "output_tokens_details",
            "completion_tokens_details",
            "reasoning_tokens",
        ),
    ] {
        let foreign = told.details.remove(other);
        if told.details.get(own).is_none() {
            let none = Object(vec![(member.to_owned(), 0_u64.into())]);
            told.details.push(own, foreign.unwrap_or_else(|| none.into()));
        }
    }
    COUNTS.write(&told)
}
