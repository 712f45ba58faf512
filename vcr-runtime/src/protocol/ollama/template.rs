//! What a cassette keeps of an answer besides its canonical parts.
//!
//! The template of a stream:
//!
//! ```json
//! {
//!   "line":    {"model": "…", "created_at": "…"},
//!   "message": {"role": "assistant"},
//!   "last":    {"context": [1, 2]},
//!   "tool_call": {"function": {"name": "$name", "arguments": "$arguments"}}
//! }
//! ```
//!
//! `line` are the members of every line, with the values of the last one; `message` those of every message; `last` what only the last line
//! has. `tool_call` is the form of a tool call where it is not the usual one, with its id and index. `"done_reason": false`
//! says that the last line gave no reason, `usage_lacks` names the counts that it did not state; `error` is the payload
//! of an error line.
//!
//! The template of a unary body is the body with a word such as `$text` where a canonical part was, and without its
//! counters.

use crate::json::{Json, Object};
use crate::model::{Frame, ToolCall, Usage};
use crate::protocol::common::{arguments_document, is_synthetic, object, synthetic_id};
use crate::protocol::paths::follow;
use crate::protocol::rules::{Field, Reading};
use crate::protocol::{Answer, Event};

use super::endpoint::Endpoint;
use super::words::{
    DONE, DONE_REASON, MESSAGE, THINKING, TOOL_CALLS, is_counter, lacking, wire_reason, write_usage,
};

/// The number of a tool call in its form, beside the slots of the rules engine.
const INDEX: &str = "$index";

pub(super) const LINE: &str = "line";
pub(super) const LAST: &str = "last";
pub(super) const TOOL_CALL: &str = "tool_call";
pub(super) const USAGE_LACKS: &str = "usage_lacks";

/// Clients in strict languages refuse a line without a time.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// Learns the template of a stream.
#[derive(Debug, Default)]
pub(super) struct Shape {
    line: Option<Object>,
    message: Option<Object>,
    last: Object,
    tool_call: Option<Json>,
    unreasoned: bool,
    usage_lacks: Vec<Json>,
    error: Option<Json>,
}

impl Shape {
    /// Takes a line that is no error.
    pub(super) fn note(&mut self, endpoint: &Endpoint, members: &Object) {
        let done = members.get(DONE).and_then(Json::as_bool) == Some(true);
        let counts = done && lacking(members).len() < 2;
        let rest: Object = members
            .iter()
            .filter(|(name, _)| !is_canonical(endpoint, name, counts))
            .cloned()
            .collect();
        if done {
            self.unreasoned = members.get(DONE_REASON).is_none();
            self.usage_lacks = lacking(members);
            let known = |name: &str| self.line.as_ref().is_none_or(|line| line.get(name).is_some());
            self.last = rest.iter().filter(|(name, _)| !known(name)).cloned().collect();
        }
        retain(&mut self.line, rest);
        if let Some(Json::Object(message)) = members.get(MESSAGE).filter(|_| endpoint.has_message) {
            let rest = message
                .iter()
                .filter(|(name, _)| ![endpoint.text, THINKING, TOOL_CALLS].contains(&name.as_str()));
            retain(&mut self.message, rest.cloned().collect());
        }
    }

    pub(super) fn note_tool_call(&mut self, form: Json) {
        self.tool_call = Some(form);
    }

    pub(super) fn note_error(&mut self, payload: Json) {
        self.error = Some(payload);
    }

    /// The template; `None` when nothing came.
    pub(super) fn finish(&mut self) -> Option<Json> {
        if self.line.is_none() && self.error.is_none() {
            return None;
        }
        // The member `line` is what tells this template from a unary one.
        let mut template = object([(LINE, self.line.take().unwrap_or_default().into())]);
        let mut push = |name: &str, members: Object| {
            if !members.is_empty() {
                template.push(name, members);
            }
        };
        push(MESSAGE, self.message.take().unwrap_or_default());
        push(LAST, std::mem::take(&mut self.last));
        if let Some(form) = self.tool_call.take().filter(|form| *form != usual_tool_call()) {
            template.push(TOOL_CALL, form);
        }
        if self.unreasoned {
            template.push(DONE_REASON, false);
        }
        // Without a usage there is nothing to lack.
        if self.usage_lacks.len() == 1 {
            template.push(USAGE_LACKS, std::mem::take(&mut self.usage_lacks));
        }
        if let Some(error) = self.error.take() {
            template.push(super::words::ERROR, error);
        }
        Some(Json::Object(template))
    }
}

/// Whether a member of a line has a canonical form, or is rebuilt from one.
fn is_canonical(endpoint: &Endpoint, name: &str, counts: bool) -> bool {
    let told = if endpoint.has_message {
        name == MESSAGE
    } else {
        name == endpoint.text || name == THINKING || name == TOOL_CALLS
    };
    told || name == DONE || name == DONE_REASON || (counts && is_counter(name))
}

/// Keeps the members that all have, with the newest values.
fn retain(known: &mut Option<Object>, seen: Object) {
    if let Some(known) = known {
        known.0.retain_mut(|(name, value)| match seen.get(name) {
            Some(newer) => {
                value.clone_from(newer);
                true
            }
            None => false,
        });
    } else {
        *known = Some(seen);
    }
}

/// Where the template of an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// None: written by hand, or of another protocol.
    Nowhere,
    Stream,
    Unary,
}

pub(super) fn origin(answer: &Answer<'_>) -> Origin {
    match answer.template {
        None => Origin::Nowhere,
        Some(template) if matches!(template.get(LINE), Some(Json::Object(_))) => Origin::Stream,
        Some(_) => Origin::Unary,
    }
}

/// The member of that name, if the template is one of a stream.
pub(super) fn of_stream<'a>(answer: &Answer<'a>, name: &str) -> Option<&'a Json> {
    answer
        .template
        .filter(|_| origin(answer) == Origin::Stream)?
        .get(name)
}

/// What every line of the answer has, whatever the template.
pub(super) fn line(endpoint: &Endpoint, answer: &Answer<'_>) -> Object {
    let mut members = match origin(answer) {
        Origin::Stream => return members_of(of_stream(answer, LINE)),
        Origin::Nowhere => Object::new(),
        Origin::Unary => members_of(answer.template)
            .into_iter()
            .filter(|(name, value)| {
                !is_canonical(endpoint, name, true) && !matches!(value, Json::Array(_) | Json::Object(_))
            })
            .collect(),
    };
    for (name, usual) in [("model", answer.model), ("created_at", EPOCH)] {
        if members.get(name).is_none() {
            members.push(name, usual);
        }
    }
    members
}

/// What every message of the answer has.
pub(super) fn message(answer: &Answer<'_>) -> Object {
    match of_stream(answer, MESSAGE) {
        Some(Json::Object(members)) => members.clone(),
        _ if origin(answer) == Origin::Stream => Object::new(),
        _ => object([("role", "assistant".into())]),
    }
}

pub(super) fn members_of(json: Option<&Json>) -> Object {
    json.and_then(Json::as_object).cloned().unwrap_or_default()
}

/// A tool call as Ollama spells it today.
pub(super) fn usual_tool_call() -> Json {
    let function = object([
        ("index", INDEX.into()),
        ("name", Field::ToolName.slot().into()),
        ("arguments", Field::ToolArguments.slot().into()),
    ]);
    object([("id", Field::ToolId.slot().into()), ("function", function.into())]).into()
}

/// Puts slots in the places of what was read, and gives the forms of the tool calls.
pub(super) fn put_slots(payload: &mut Json, reading: &Reading) -> Vec<Json> {
    const SLOTS: [Field; 6] = [
        Field::Text,
        Field::Reasoning,
        Field::ToolId,
        Field::ToolName,
        Field::ToolArguments,
        Field::Finish,
    ];
    reading.put_slots(payload, &SLOTS);
    let calls = reading.hits.iter().filter(|hit| hit.field == Field::Tool);
    let mut forms = Vec::new();
    for hit in calls {
        if let Some(call) = follow(payload, &hit.steps) {
            let function = call.as_object_mut().and_then(|call| call.get_mut("function"));
            if let Some(index) = function
                .and_then(Json::as_object_mut)
                .and_then(|function| function.get_mut("index"))
            {
                *index = INDEX.into();
            }
            forms.push(call.clone());
        }
    }
    forms
}

/// Gives calls without an id one of ours.
pub(super) fn name_calls(events: &mut [Event]) {
    for event in events {
        if let Event::Tool {
            index,
            id: id @ None,
            name,
            arguments,
            ..
        } = event
        {
            *id = Some(synthetic_id(
                *index,
                name.as_deref().unwrap_or_default(),
                arguments,
            ));
        }
    }
}

/// A tool call in that form; what has no place in it is left out, what it has no value for too.
pub(super) fn fill_tool_call(form: &Json, index: u32, call: &ToolCall) -> Json {
    let mut filled = members_of(Some(form));
    if is_slot(filled.get("id"), Field::ToolId) {
        if is_synthetic(&call.id) {
            filled.remove("id");
        } else {
            filled.set("id", call.id.as_str());
        }
    }
    if let Some(Json::Object(function)) = filled.get_mut("function") {
        if function.get("index").and_then(Json::as_str) == Some(INDEX) {
            function.set("index", index);
        }
        if is_slot(function.get("name"), Field::ToolName) || !call.function.name.is_empty() {
            function.set("name", call.function.name.as_str());
        }
        // Clients refuse a call without arguments, where other protocols have an empty text.
        let empty = function.get("arguments").map(|_| Object::new().into());
        if let Some(arguments) = arguments_document(&call.function.arguments).or(empty) {
            function.set("arguments", arguments);
        }
    }
    filled.into()
}

pub(super) fn is_slot(value: Option<&Json>, field: Field) -> bool {
    value.and_then(Json::as_str) == Some(field.slot())
}

/// What the frames say. Ollama gives one answer: of several choices only the first can be told.
#[derive(Debug, Default)]
pub(super) struct Said<'a> {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) tools: Vec<&'a ToolCall>,
    pub(super) finish: Option<&'a Frame>,
}

pub(super) fn said<'a>(frames: &'a [Frame]) -> Said<'a> {
    let mut said = Said::default();
    let told = told_choice(frames);
    for frame in frames.iter().filter(|frame| frame.choice == told) {
        said.thinking
            .push_str(frame.reasoning.as_deref().unwrap_or_default());
        said.text.push_str(&frame.chunk);
        said.text.push_str(frame.refusal.as_deref().unwrap_or_default());
        said.tools.extend(&frame.tool_calls);
        if frame.finish_reason.is_some() {
            said.finish = Some(frame);
        }
    }
    said
}

/// The choice that is told.
pub(super) fn told_choice(frames: &[Frame]) -> u32 {
    frames.iter().map(|frame| frame.choice).min().unwrap_or(0)
}

/// The reason of a last line or body.
pub(super) fn reason<'a>(answer: &Answer<'_>, finish: Option<&'a Frame>) -> &'a str {
    let Some((frame, reason)) = finish.and_then(|frame| Some((frame, frame.finish_reason.as_deref()?)))
    else {
        return "stop";
    };
    if origin(answer) == Origin::Nowhere {
        return wire_reason(reason);
    }
    frame.native_finish_reason.as_deref().unwrap_or(reason)
}

/// The members of a last line or body that tell the usage.
pub(super) fn usage_members(answer: &Answer<'_>, usage: &Usage) -> Object {
    let lacks = answer.template.and_then(|template| template.get(USAGE_LACKS));
    write_usage(usage, answer.template.is_some(), lacks)
}
