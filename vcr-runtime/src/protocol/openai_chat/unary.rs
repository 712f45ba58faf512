//! Renders unary bodies from the templates that [`body`](super::body) makes: the slots are filled, so that nearly every body renders back to exactly what it was, whatever else the server put into it.

use std::borrow::Cow;

use crate::json::{Json, Members, Object, View};
use crate::model::{Frame, FrameRef, Frames, ToolCall, Usage};
use crate::protocol::Answer;

use super::error;
use super::render::object;
use super::template::{Level, Origin, Place, Template};
use super::words::{REASONING_KEYS, wire_reason, write_usage};
use crate::protocol::rules::index;

const TEXT: &str = "$text";
const REASONING: &str = "$reasoning";
const REFUSAL: &str = "$refusal";
pub(super) const TOOL_CALLS: &str = "$tool_calls";
const ID: &str = "$id";
const NAME: &str = "$name";
const ARGUMENTS: &str = "$arguments";
const FINISH: &str = "$finish_reason";
const NATIVE: &str = "$native_finish_reason";
const USAGE: &str = "$usage";

fn number_of(position: usize, index_of: Option<&Json>) -> u32 {
    index(index_of)
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
pub(super) fn view<'a>(answer: &Answer<'a>) -> View<'a> {
    let template = Template::of(answer);
    match (template.origin, answer.template, answer.boundary) {
        (Origin::Unary, Some(body), _) => filled(View::Kept(body), answer.into(), &template),
        (Origin::Nowhere, Some(body), Some(boundary)) => {
            View::Made(error::with_message(body.clone(), boundary))
        }
        (Origin::Nowhere, Some(body), None) => View::Kept(body),
        // A failure in the middle of a stream is, told in one piece, a failure.
        (_, _, Some(boundary)) => View::Made(match template.get("error") {
            Some(payload) => {
                let error = payload
                    .get("error")
                    .map(|error| object([("error", error.clone())]));
                error::with_message(error.unwrap_or_else(|| payload.clone()), boundary)
            }
            None => error::write(boundary),
        }),
        _ => filled(View::Made(usual_body(&template, answer)), answer.into(), &template),
    }
}

/// The unary body by the text of its template, without a tree of it; `None` where it is the template of something else.
pub(super) fn kept<'a>(template: &'a str, frames: &'a Frames, usage: Option<&'a Usage>) -> Option<View<'a>> {
    let mut body = View::Raw(template);
    let members = body.members()?;
    let is_stream = members.get("chunk").is_some_and(View::is_object);
    let is_unary = members.get("choices").is_some_and(View::is_list);
    if is_stream || !is_unary {
        return None;
    }
    let filling = Filling {
        frames: Views::Kept(frames),
        usage,
    };
    let template = Template {
        origin: Origin::Unary,
        json: None,
    };
    Some(filled(body, filling, &template))
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
#[derive(Clone, Default)]
struct Said<'a> {
    text: Cow<'a, str>,
    reasoning: Cow<'a, str>,
    refusal: Cow<'a, str>,
    tools: Vec<&'a ToolCall>,
    finish: Option<&'a str>,
    native: Option<&'a str>,
}

/// What fills a body.
#[derive(Clone, Copy)]
struct Filling<'a> {
    frames: Views<'a>,
    usage: Option<&'a Usage>,
}

impl<'a> From<&Answer<'a>> for Filling<'a> {
    fn from(answer: &Answer<'a>) -> Self {
        Self {
            frames: Views::Made(answer.frames),
            usage: answer.usage,
        }
    }
}

/// Frames, made or not.
#[derive(Clone, Copy)]
enum Views<'a> {
    Made(&'a [Frame]),
    Kept(&'a Frames),
}

impl<'a> Views<'a> {
    fn views(self) -> impl Iterator<Item = FrameRef<'a>> {
        let (made, kept) = match self {
            Self::Made(frames) => (frames, None),
            Self::Kept(frames) => (&[][..], Some(frames.views())),
        };
        made.iter().map(FrameRef::from).chain(kept.into_iter().flatten())
    }
}

fn choice_of(frame: FrameRef<'_>) -> u32 {
    frame.rest.map_or(0, |frame| frame.choice)
}

fn said(frames: Views<'_>, choice: u32) -> Said<'_> {
    let mut said = Said::default();
    for FrameRef { chunk, rest } in frames.views().filter(|frame| choice_of(*frame) == choice) {
        append(&mut said.text, chunk);
        let Some(frame) = rest else {
            continue;
        };
        append(&mut said.reasoning, frame.reasoning.as_deref().unwrap_or_default());
        append(&mut said.refusal, frame.refusal.as_deref().unwrap_or_default());
        said.tools.extend(&frame.tool_calls);
        if let Some(finish) = frame.finish_reason.as_deref() {
            said.finish = Some(finish);
            said.native = frame.native_finish_reason.as_deref();
        }
    }
    said
}

/// Appends a text without copying the first.
fn append<'a>(whole: &mut Cow<'a, str>, text: &'a str) {
    if whole.is_empty() {
        *whole = Cow::Borrowed(text);
    } else if !text.is_empty() {
        whole.to_mut().push_str(text);
    }
}

fn filled<'a>(mut body: View<'a>, filling: Filling<'a>, template: &Template<'_>) -> View<'a> {
    let Filling { frames, usage } = filling;
    let Some(members) = body.members() else {
        return body;
    };
    if let Some(choices) = members.get_mut("choices").and_then(View::list) {
        let mut filled = Vec::new();
        for (position, choice) in choices.iter_mut().enumerate() {
            let members = choice.members();
            let index = members.as_ref().and_then(|members| members.get("index"));
            let number = number_of(position, index.map(View::tree).as_deref());
            filled.push(number);
            if let Some(members) = members {
                fill_choice(members, &said(frames, number));
            }
        }
        let mut missing = Vec::new();
        for number in frames.views().map(choice_of) {
            if !filled.contains(&number) && !missing.contains(&number) {
                missing.push(number);
            }
        }
        missing.sort_unstable();
        if filled.is_empty() && missing.is_empty() && template.origin != Origin::Unary {
            missing.push(0);
        }
        for number in missing {
            choices.push(usual_choice(template, number, &said(frames, number)));
        }
    }
    if let Some(slot) = members.get_mut("usage") {
        fill_usage(slot, usage);
    }
    body
}

fn fill_usage(slot: &mut View<'_>, usage: Option<&Usage>) {
    let counts = || usage.map(write_usage);
    let filled = if slot.is_word(USAGE) {
        counts().into()
    } else if slot.is_list() {
        let (names, counts) = (slot.tree(), counts().unwrap_or_default());
        let names = names.as_array().into_iter().flatten().filter_map(Json::as_str);
        let members = names.filter_map(|name| Some((name.to_owned(), counts.get(name)?.clone())));
        Json::Object(members.collect())
    } else {
        return;
    };
    *slot = View::Made(filled);
}

fn fill_choice<'a>(members: &mut Members<'a>, said: &Said<'a>) {
    let has_native = is_slot(members.get("native_finish_reason"), NATIVE);
    if has_native {
        members.set("native_finish_reason", said.native.or(said.finish).into());
    }
    if is_slot(members.get("finish_reason"), FINISH) || said.finish.is_some() {
        let native = said.native.filter(|_| !has_native);
        members.set("finish_reason", native.or(said.finish).into());
    }
    if let Some(message) = members.get_mut("message").and_then(View::members) {
        fill_message(message, said);
    }
}

fn fill_message<'a>(message: &mut Members<'a>, said: &Said<'a>) {
    match message.get_mut("content") {
        Some(content) if content.is_list() => content.change(|content| {
            if let Json::Array(parts) = content {
                fill_parts(parts, said);
            }
        }),
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
    if let (Some(slot), Some(call)) = (message.get_mut("function_call"), said.tools.first())
        && slot.is_object()
    {
        slot.change(|function| fill_function(function, call));
        return;
    }
    let slot = message.get_mut("tool_calls");
    let is_wanted = !said.tools.is_empty() || is_slot(slot.as_deref(), TOOL_CALLS);
    if let Some(slot) = slot
        && slot.list().is_some_and(|slots| !slots.is_empty())
    {
        slot.change(|slots| fill_tools(slots, &said.tools));
    } else if is_wanted {
        let calls = said.tools.iter().map(|call| View::Made(tool(call)));
        message.set("tool_calls", View::List(calls.collect()));
    }
}

fn is_slot(value: Option<&View<'_>>, word: &str) -> bool {
    value.is_some_and(|value| value.is_word(word))
}

fn is_word(value: Option<&Json>, word: &str) -> bool {
    value.and_then(Json::as_str) == Some(word)
}

/// Fills the slot; without one only text that a person has added makes a difference.
fn fill_string<'a>(message: &mut Members<'a>, key: &'static str, word: &str, text: &Cow<'a, str>) {
    if is_slot(message.get(key), word) || !text.is_empty() {
        message.set(key, View::Text(text.clone()));
    }
}

fn fill_parts(parts: &mut [Json], said: &Said<'_>) {
    for part in parts {
        if let Some(slot) = part_slot(part) {
            match slot.as_str() {
                TEXT => *slot = said.text.to_string(),
                REASONING => *slot = said.reasoning.to_string(),
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

fn fill_tools(slots: &mut Json, tools: &[&ToolCall]) {
    let Json::Array(slots) = slots else {
        return;
    };
    slots.truncate(tools.len());
    slots.resize(tools.len(), usual_tool_slot());
    for (slot, call) in slots.iter_mut().zip(tools) {
        fill_tool(slot, call);
    }
}

fn fill_tool(slot: &mut Json, call: &ToolCall) {
    let Some(members) = slot.as_object_mut() else {
        return;
    };
    if is_word(members.get("id"), ID) {
        members.set("id", call.id.as_str());
    }
    if let Some(function) = members.get_mut("function") {
        fill_function(function, call);
    }
}

fn fill_function(function: &mut Json, call: &ToolCall) {
    let Some(function) = function.as_object_mut() else {
        return;
    };
    if is_word(function.get("name"), NAME) {
        function.set("name", call.function.name.as_str());
    }
    if is_word(function.get("arguments"), ARGUMENTS) {
        function.set("arguments", call.function.arguments.as_str());
    }
}

/// A choice that the template does not know.
fn usual_choice<'a>(template: &Template<'_>, number: u32, said: &Said<'a>) -> View<'a> {
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
    let mut choice = Members::from(choice);
    let finish = match template.origin {
        Origin::Nowhere => said.finish.map(wire_reason),
        _ => said.finish,
    };
    let native = said.native.filter(|_| template.origin != Origin::Nowhere);
    let said = Said {
        finish,
        native,
        ..said.clone()
    };
    fill_choice(&mut choice, &said);
    View::Members(choice)
}

fn reasoning_key(template: &Template<'_>) -> &'static str {
    let key = template.get("reasoning_key").and_then(Json::as_str);
    REASONING_KEYS
        .into_iter()
        .find(|known| Some(*known) == key)
        .unwrap_or(REASONING_KEYS[0])
}
