//! Frames as parts.

use std::collections::{BTreeMap, VecDeque};

use crate::json::{Json, Object};
use crate::model::{Frame, ToolCall};
use crate::protocol::common::{append, arguments_document, is_synthetic, object};

use super::template::{Origin, PARTIAL, SIGNATURES, Template};
use super::words::{CALLS_HERE, FUNCTION_CALL, SIGNATURE};

/// Writes the parts of an answer, frame after frame.
#[derive(Debug)]
pub(super) struct PartWriter<'a> {
    /// Blocks and signatures of another protocol mean nothing to this one's clients.
    is_own: bool,
    /// The calls stand in native parts.
    has_native_calls: bool,
    /// On which parts the signatures to come stand.
    places: BTreeMap<u32, VecDeque<String>>,
    /// Signatures of calls to come.
    signed: BTreeMap<(u32, u32), String>,
    /// How many calls of each choice are written.
    calls: BTreeMap<u32, u32>,
    /// The calls of each choice that are not written yet. A marker stands before the frame that holds its calls.
    to_come: BTreeMap<u32, VecDeque<&'a ToolCall>>,
    /// Calls that a marker has had written and whose frame is still to come.
    ahead: BTreeMap<u32, usize>,
}

/// The parts of one frame.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) said: Vec<Json>,
    pub(super) calls: Vec<Json>,
}

impl<'a> PartWriter<'a> {
    pub(super) fn new(template: Template<'_>, frames: &'a [Frame]) -> Self {
        let mut to_come: BTreeMap<u32, VecDeque<&ToolCall>> = BTreeMap::new();
        for frame in frames {
            to_come.entry(frame.choice).or_default().extend(&frame.tool_calls);
        }
        let places = template.any(SIGNATURES).and_then(Json::as_object);
        let places = places
            .into_iter()
            .flat_map(Object::iter)
            .filter_map(|(choice, places)| {
                let places = places.as_array()?.iter().filter_map(Json::as_str);
                Some((choice.parse().ok()?, places.map(str::to_owned).collect()))
            });
        Self {
            is_own: template.origin != Origin::Nowhere,
            has_native_calls: template.says(PARTIAL),
            places: places.collect(),
            signed: BTreeMap::new(),
            calls: BTreeMap::new(),
            to_come,
            ahead: BTreeMap::new(),
        }
    }

    pub(super) fn frame(&mut self, frame: &Frame) -> Parts {
        let mut parts = Parts::default();
        let signature = frame.reasoning_signature.as_deref().filter(|_| self.is_own);
        let place = signature.and_then(|_| self.places.get_mut(&frame.choice)?.pop_front());
        let place = place.as_deref().unwrap_or("empty");
        let signed = |wanted: &str| signature.filter(|_| place == wanted);
        if let Some(text) = frame.reasoning.as_deref().filter(|text| !text.is_empty()) {
            parts.said.push(text_part(text, true, signed("thought")));
        }
        if let Some(signature) = signature {
            match place.strip_prefix("call ").map(str::parse) {
                Some(Ok(call)) => {
                    self.signed.insert((frame.choice, call), signature.to_owned());
                }
                _ if place.starts_with("empty") => {
                    parts
                        .said
                        .push(text_part("", place == "empty thought", Some(signature)));
                }
                _ => {}
            }
        }
        for text in [Some(&frame.chunk), frame.refusal.as_ref()].into_iter().flatten() {
            if !text.is_empty() {
                parts.said.push(text_part(text, false, signed("text")));
            }
        }
        let native = frame.native.as_ref().filter(|_| self.is_own);
        let marked = native.and_then(calls_here);
        parts.said.extend(native.filter(|_| marked.is_none()).cloned());
        if !self.has_native_calls {
            parts.calls = self.calls_of(frame, marked.unwrap_or_default());
        }
        parts
    }

    /// The calls that a marker puts here, and those of the frame that no marker has put elsewhere.
    fn calls_of(&mut self, frame: &Frame, marked: usize) -> Vec<Json> {
        let ahead = self.ahead.entry(frame.choice).or_default();
        *ahead = ahead.saturating_add(marked);
        let known = frame.tool_calls.len().min(*ahead);
        *ahead -= known;
        let count = marked.saturating_add(frame.tool_calls.len() - known);
        let to_come = self.to_come.entry(frame.choice).or_default();
        let calls: Vec<&ToolCall> = to_come.drain(..count.min(to_come.len())).collect();
        calls
            .into_iter()
            .map(|call| self.call(frame.choice, call))
            .collect()
    }

    fn call(&mut self, choice: u32, call: &ToolCall) -> Json {
        let count = self.calls.entry(choice).or_default();
        let signature = self.signed.remove(&(choice, *count));
        *count += 1;
        let mut members = Object::new();
        if !is_synthetic(&call.id) {
            members.push("id", call.id.as_str());
        }
        members.push("name", call.function.name.as_str());
        if let Some(arguments) = arguments_document(&call.function.arguments) {
            members.push("args", arguments);
        }
        let mut part = object([(FUNCTION_CALL, members.into())]);
        if let Some(signature) = signature {
            part.push(SIGNATURE, signature);
        }
        part.into()
    }
}

/// How many calls stand at the place of a marker.
fn calls_here(block: &Json) -> Option<usize> {
    usize::try_from(block.get(CALLS_HERE)?.as_u64()?).ok()
}

fn text_part(text: &str, thought: bool, signature: Option<&str>) -> Json {
    let mut part = object([("text", text.into())]);
    if thought {
        part.push("thought", true);
    }
    if let Some(signature) = signature {
        part.push(SIGNATURE, signature);
    }
    part.into()
}

/// Appends a part; text goes on where unsigned text of its kind ended.
pub(super) fn push_part(parts: &mut Vec<Json>, part: &Json) {
    if let (Some(last), Some((more, thought))) = (parts.last_mut(), plain_text(part))
        && plain_text(last).is_some_and(|(_, known)| known == thought)
        && let Some(Json::String(text)) = last.as_object_mut().and_then(|last| last.get_mut("text"))
    {
        // In place: streams have thousands of parts.
        append(text, more);
        return;
    }
    parts.push(part.clone());
}

/// The text of a part that has nothing else, and what it says of thought.
fn plain_text(part: &Json) -> Option<(&str, Option<bool>)> {
    let members = part.as_object()?;
    let is_plain = members
        .iter()
        .all(|(name, _)| name == "text" || name == "thought");
    let text = members.get("text")?.as_str().filter(|_| is_plain)?;
    Some((text, members.get("thought").and_then(Json::as_bool)))
}
