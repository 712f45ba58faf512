//! Renders unary bodies from the templates that [`body`](super::body) makes: the slots are filled, so that nearly every body renders back to exactly what it was, whatever else the server put into it.

use crate::json::{Json, Object};
use crate::model::{FrameRef, ToolCall, Usage};
use crate::protocol::Answer;

use super::error;
use super::render::object;
use super::template::{Level, Origin, Place, Template};
use super::words::{REASONING_KEYS, wire_reason, write_usage};
use crate::protocol::rules::index;

pub(super) const TEXT: &str = "$text";
pub(super) const REASONING: &str = "$reasoning";
pub(super) const REFUSAL: &str = "$refusal";
pub(super) const TOOL_CALLS: &str = "$tool_calls";
const ID: &str = "$id";
const NAME: &str = "$name";
const ARGUMENTS: &str = "$arguments";
pub(super) const FINISH: &str = "$finish_reason";
pub(super) const NATIVE: &str = "$native_finish_reason";
pub(super) const USAGE: &str = "$usage";

fn number_of(position: usize, choice: &Json) -> u32 {
    index(choice.get("index"))
        .or(u32::try_from(position).ok())
        .unwrap_or(0)
}

/// Where the text of a part stands, if in one place.
fn part_slot(part: &mut Json) -> Option<&mut String> {
    let members = part.as_object_mut()?;
    let key = if members.get("thinking").is_some() {
        "thinking"
    } else {
        "text"
    };
    match members.get_mut(key)? {
        Json::String(text) => Some(text),
        Json::Array(inner) => match inner.as_mut_slice() {
            [Json::Object(inner)] => match inner.get_mut("text")? {
                Json::String(text) => Some(text),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// A tool call as OpenAI spells it.
pub(super) fn usual_tool_slot() -> Json {
    let function = object([("name", NAME.into()), ("arguments", ARGUMENTS.into())]);
    object([
        ("id", ID.into()),
        ("type", "function".into()),
        ("function", function),
    ])
}

/// The unary body of an answer.
pub(super) fn render(answer: &Answer<'_>) -> Json {
    let template = Template::of(answer);
    match (template.origin, answer.template, answer.boundary) {
        (Origin::Unary, Some(body), _) => fill(body.clone(), answer),
        (Origin::Nowhere, Some(body), Some(boundary)) => error::with_message(body.clone(), boundary),
        (Origin::Nowhere, Some(body), None) => body.clone(),
        // A failure in the middle of a stream is, told in one piece, a failure.
        (_, _, Some(boundary)) => match template.get("error") {
            Some(payload) => {
                let error = payload
                    .get("error")
                    .map(|error| object([("error", error.clone())]));
                error::with_message(error.unwrap_or_else(|| payload.clone()), boundary)
            }
            None => error::write(boundary),
        },
        _ => fill(usual_body(&template, answer), answer),
    }
}

/// The body that `OpenAI` would send, with its slots.
fn usual_body(template: &Template<'_>, answer: &Answer<'_>) -> Json {
    let mut body = template.identity(answer, "chat.completion");
    body.push("choices", Vec::new());
    if answer.usage.is_some() {
        body.push("usage", USAGE);
    }
    Json::Object(body)
}

/// What the frames say of one choice.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) refusal: String,
    pub(super) tools: Vec<&'a ToolCall>,
    pub(super) finish: Option<&'a str>,
    pub(super) native: Option<&'a str>,
}

pub(super) fn said<'a>(frames: impl Iterator<Item = FrameRef<'a>>, choice: u32) -> Said<'a> {
    let mut said = Said::default();
    for FrameRef { chunk, rest } in frames {
        if rest.map_or(0, |frame| frame.choice) != choice {
            continue;
        }
        said.text.push_str(chunk);
        let Some(frame) = rest else {
            continue;
        };
        said.reasoning
            .push_str(frame.reasoning.as_deref().unwrap_or_default());
        said.refusal
            .push_str(frame.refusal.as_deref().unwrap_or_default());
        said.tools.extend(&frame.tool_calls);
        if let Some(finish) = frame.finish_reason.as_deref() {
            said.finish = Some(finish);
            said.native = frame.native_finish_reason.as_deref();
        }
    }
    said
}

fn fill(mut body: Json, answer: &Answer<'_>) -> Json {
    let template = Template::of(answer);
    let Some(members) = body.as_object_mut() else {
        return body;
    };
    let frames = || answer.frames.iter().map(FrameRef::from);
    if let Some(Json::Array(choices)) = members.get_mut("choices") {
        let mut filled = Vec::new();
        for (position, choice) in choices.iter_mut().enumerate() {
            let number = number_of(position, choice);
            filled.push(number);
            fill_choice(choice, &said(frames(), number));
        }
        let mut missing: Vec<u32> = answer.frames.iter().map(|frame| frame.choice).collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|number| !filled.contains(number));
        if filled.is_empty() && missing.is_empty() && template.origin != Origin::Unary {
            missing.push(0);
        }
        for number in missing {
            choices.push(usual_choice(&template, number, &said(frames(), number)));
        }
    }
    if let Some(slot) = members.get_mut("usage") {
        fill_usage(slot, answer.usage);
    }
    body
}

pub(super) fn fill_usage(slot: &mut Json, usage: Option<&Usage>) {
    let counts = usage.map(write_usage);
    match slot {
        Json::String(word) if word == USAGE => *slot = counts.into(),
        Json::Array(names) => {
            let counts = counts.unwrap_or_default();
            let names = names.iter().filter_map(Json::as_str);
            let members = names.filter_map(|name| Some((name.to_owned(), counts.get(name)?.clone())));
            *slot = Json::Object(members.collect());
        }
        _ => {}
    }
}

fn fill_choice(choice: &mut Json, said: &Said<'_>) {
    let Some(members) = choice.as_object_mut() else {
        return;
    };
    let has_native = members.get("native_finish_reason").and_then(Json::as_str) == Some(NATIVE);
    if has_native {
        members.set("native_finish_reason", said.native.or(said.finish));
    }
    if members.get("finish_reason").and_then(Json::as_str) == Some(FINISH) || said.finish.is_some() {
        let native = said.native.filter(|_| !has_native);
        members.set("finish_reason", native.or(said.finish));
    }
    if let Some(Json::Object(message)) = members.get_mut("message") {
        fill_message(message, said);
    }
}

fn fill_message(message: &mut Object, said: &Said<'_>) {
    match message.get_mut("content") {
        Some(Json::Array(parts)) => fill_parts(parts, said),
        _ => {
            fill_string(message, "content", TEXT, &said.text);
            let key = REASONING_KEYS
                .into_iter()
                .find(|key| is_slot(message.get(key), REASONING));
            let key = key.or_else(|| REASONING_KEYS.into_iter().find(|key| message.get(key).is_some()));
            fill_string(
                message,
                key.unwrap_or(REASONING_KEYS[0]),
                REASONING,
                &said.reasoning,
            );
        }
    }
    fill_string(message, "refusal", REFUSAL, &said.refusal);
    if let (Some(Json::Object(function)), Some(call)) = (message.get_mut("function_call"), said.tools.first())
    {
        fill_function(function, call);
        return;
    }
    fill_tools(message, said);
}

pub(super) fn fill_tools(message: &mut Object, said: &Said<'_>) {
    match message.get_mut("tool_calls") {
        Some(Json::Array(slots)) if !slots.is_empty() => {
            slots.truncate(said.tools.len());
            slots.resize(said.tools.len(), usual_tool_slot());
            slots
                .iter_mut()
                .zip(&said.tools)
                .for_each(|(slot, call)| fill_tool(slot, call));
        }
        slot => {
            if !said.tools.is_empty() || is_slot(slot.as_deref(), TOOL_CALLS) {
                let calls = said.tools.iter().map(|call| tool(call));
                message.set("tool_calls", calls.collect::<Vec<_>>());
            }
        }
    }
}

fn is_slot(value: Option<&Json>, word: &str) -> bool {
    value.and_then(Json::as_str) == Some(word)
}

/// Fills the slot; without one only text that a person has added makes a difference.
fn fill_string(message: &mut Object, key: &str, word: &str, text: &str) {
    if is_slot(message.get(key), word) || !text.is_empty() {
        message.set(key, text);
    }
}

pub(super) fn fill_parts(parts: &mut [Json], said: &Said<'_>) {
    for part in parts {
        if let Some(slot) = part_slot(part) {
            match slot.as_str() {
                TEXT => slot.clone_from(&said.text),
                REASONING => slot.clone_from(&said.reasoning),
                _ => {}
            }
        }
    }
}

fn tool(call: &ToolCall) -> Json {
    let mut slot = usual_tool_slot();
    fill_tool(&mut slot, call);
    slot
}

fn fill_tool(slot: &mut Json, call: &ToolCall) {
    let Some(members) = slot.as_object_mut() else {
        return;
    };
    if is_slot(members.get("id"), ID) {
        members.set("id", call.id.as_str());
    }
    if let Some(Json::Object(function)) = members.get_mut("function") {
        fill_function(function, call);
    }
}

fn fill_function(function: &mut Object, call: &ToolCall) {
    if is_slot(function.get("name"), NAME) {
        function.set("name", call.function.name.as_str());
    }
    if is_slot(function.get("arguments"), ARGUMENTS) {
        function.set("arguments", call.function.arguments.as_str());
    }
}

/// A choice that the template does not know.
fn usual_choice(template: &Template<'_>, number: u32, said: &Said<'_>) -> Json {
    let only_tools = said.text.is_empty() && !said.tools.is_empty();
    let mut message = Object::new();
    message.push("role", "assistant");
    message.push("content", (!only_tools).then_some(TEXT));
    if !said.reasoning.is_empty() {
        message.push(reasoning_key(template), REASONING);
    }
    message.push("refusal", (!said.refusal.is_empty()).then_some(REFUSAL));
    let mut choice = Object::new();
    choice.push("index", number);
    choice.push("message", message);
    for (name, value) in template.level(Place::Close, Level::Choice) {
        choice.push(name, value);
    }
    choice.push("finish_reason", FINISH);
    let mut choice = Json::Object(choice);
    let finish = match template.origin {
        Origin::Nowhere => said.finish.map(wire_reason),
        _ => said.finish,
    };
    let native = said.native.filter(|_| template.origin != Origin::Nowhere);
    let said = Said {
        text: said.text.clone(),
        reasoning: said.reasoning.clone(),
        refusal: said.refusal.clone(),
        tools: said.tools.clone(),
        finish,
        native,
    };
    fill_choice(&mut choice, &said);
    choice
}

fn reasoning_key(template: &Template<'_>) -> &'static str {
    let key = template.get("reasoning_key").and_then(Json::as_str);
    REASONING_KEYS
        .into_iter()
        .find(|known| Some(*known) == key)
        .unwrap_or(REASONING_KEYS[0])
}
