use std::collections::BTreeMap;

use crate::json::{Json, Object};
use crate::model::{Boundary, Frame, ToolCall};
use crate::protocol::Answer;
use crate::protocol::common::is_told;

use super::details::{self, DETAILS};
use super::error;
use super::template::{Level, Origin, Place, Template};
use super::words::{wire_reason, write_usage};

/// The chunks of an answer, each with the frame that it belongs to.
pub(super) fn stream(answer: &Answer<'_>) -> Vec<(usize, Json)> {
    let mut painter = Painter::new(answer);
    painter.prelude();
    for (number, frame) in answer.frames.iter().enumerate() {
        painter.at = number;
        painter.frame(frame);
    }
    painter.usage();
    if let Some(boundary) = answer.boundary {
        painter.error(boundary);
    }
    painter.out
}

struct Painter<'a> {
    answer: &'a Answer<'a>,
    template: Template<'a>,
    /// The number of tool calls of each choice that has been opened.
    choices: BTreeMap<u32, u32>,
    at: usize,
    /// The last chunk with a finish reason.
    close: Option<usize>,
    /// The form of the details of reasoning, by choice, where it is not the template's.
    forms: BTreeMap<u32, &'a Json>,
    out: Vec<(usize, Json)>,
}

impl<'a> Painter<'a> {
    fn new(answer: &'a Answer<'a>) -> Self {
        Self {
            answer,
            template: Template::of(answer),
            choices: BTreeMap::new(),
            at: 0,
            close: None,
            forms: BTreeMap::new(),
            out: Vec::new(),
        }
    }

    fn prelude(&mut self) {
        if self.template.get(Place::Prelude.name()).is_some() {
            self.chunk(Place::Prelude, None);
        }
    }

    fn frame(&mut self, frame: &'a Frame) {
        self.open(frame.choice);
        if let Some(text) = frame.reasoning.as_deref().filter(|text| !text.is_empty()) {
            self.reasoning(frame.choice, text);
        }
        if !frame.chunk.is_empty() {
            self.member(Place::Text, frame.choice, "content", frame.chunk.as_str().into());
        }
        // A block of another protocol means nothing to this one's clients.
        if let Some(block) = frame
            .native
            .as_ref()
            .filter(|_| self.template.origin != Origin::Nowhere)
        {
            self.native(frame.choice, block);
        }
        if let Some(text) = frame.refusal.as_deref().filter(|text| !text.is_empty()) {
            self.member(Place::Refusal, frame.choice, "refusal", text.into());
        }
        for call in &frame.tool_calls {
            self.tool(frame, call);
        }
        if let Some(reason) = frame.finish_reason.as_deref() {
            self.finish(frame, reason);
        }
    }

    fn open(&mut self, choice: u32) {
        if self.choices.contains_key(&choice) {
            return;
        }
        self.choices.insert(choice, 0);
        let mut delta = self.template.level(Place::Open, Level::Delta);
        if self.template.origin != Origin::Stream {
            let frames = self.answer.frames;
            let only_tools = frames.iter().all(|frame| frame.chunk.is_empty())
                && frames.iter().any(|frame| !frame.tool_calls.is_empty());
            delta.set("role", "assistant");
            delta.set("content", (!only_tools).then_some(""));
        }
        // Some servers begin with the text itself.
        if !delta.is_empty() || self.template.get(Place::Open.name()).is_some() {
            self.delta(Place::Open, choice, delta, Json::Null);
        }
    }

    fn reasoning(&mut self, choice: u32, text: &str) {
        match self.template.get("reasoning_key").and_then(Json::as_str) {
            Some("thinking") => {
                let part = object([("type", "text".into()), ("text", text.into())]);
                let thinking = object([("type", "thinking".into()), ("thinking", vec![part].into())]);
                self.member(Place::Reasoning, choice, "content", vec![thinking].into());
            }
            key => {
                let mut delta = self.template.level(Place::Reasoning, Level::Delta);
                delta.set(key.unwrap_or("reasoning_content"), text);
                if let Some(form) = self.forms.get(&choice).copied().or(self.template.get(DETAILS)) {
                    delta.set(DETAILS, details::filled(form, text));
                }
                self.delta(Place::Reasoning, choice, delta, Json::Null);
            }
        }
    }

    fn native(&mut self, choice: u32, block: &'a Json) {
        let Some(told) = details::details_of(block) else {
            self.member(Place::Text, choice, "content", vec![block.clone()].into());
            return;
        };
        match details::form_of(told) {
            Some(form) => drop(self.forms.insert(choice, form)),
            None => self.member(Place::Text, choice, DETAILS, told.to_vec().into()),
        }
    }

    fn tool(&mut self, frame: &Frame, call: &ToolCall) {
        let function = object([
            ("name", call.function.name.as_str().into()),
            ("arguments", call.function.arguments.as_str().into()),
        ]);
        let is_old = self.template.origin != Origin::Nowhere
            && call.id.is_empty()
            && frame.native_finish_reason.as_deref() == Some("function_call");
        if is_old {
            self.member(Place::Tool, frame.choice, "function_call", function);
            return;
        }
        let count = self.choices.entry(frame.choice).or_default();
        let mut members = Object::new();
        members.push("index", *count);
        *count += 1;
        members.push("id", call.id.as_str());
        for (name, value) in self.template.tool_call() {
            members.set(name, value);
        }
        members.push("function", function);
        let calls = vec![Json::Object(members)];
        self.member(Place::Tool, frame.choice, "tool_calls", calls.into());
    }

    fn finish(&mut self, frame: &Frame, reason: &str) {
        let delta = self.template.level(Place::Close, Level::Delta);
        let word = match (&frame.native_finish_reason, self.template.origin) {
            (_, Origin::Nowhere) => wire_reason(reason),
            (Some(native), _) if !self.has_native_reason() => native,
            _ => reason,
        };
        self.close = Some(self.out.len());
        self.delta(Place::Close, frame.choice, delta, word.into());
        if self.has_native_reason() {
            let native = frame.native_finish_reason.as_deref().unwrap_or(reason);
            if let Some(choice) = self.out.last_mut().and_then(|(_, chunk)| first_choice(chunk)) {
                choice.set("native_finish_reason", native);
            }
        }
    }

    fn has_native_reason(&self) -> bool {
        self.template.get("native_finish_reason").is_some()
    }

    /// A chunk whose delta has one telling member.
    fn member(&mut self, place: Place, choice: u32, name: &str, value: Json) {
        let mut delta = self.template.level(place, Level::Delta);
        delta.set(name, value);
        self.delta(place, choice, delta, Json::Null);
    }

    fn delta(&mut self, place: Place, choice: u32, delta: Object, finish: Json) {
        let mut members = Object::new();
        members.push("index", choice);
        members.push("delta", delta);
        for (name, value) in self.template.level(place, Level::Choice) {
            members.push(name, value);
        }
        members.push("finish_reason", finish);
        if self.has_native_reason() {
            members.push("native_finish_reason", Json::Null);
        }
        self.chunk(place, Some(members));
    }

    fn chunk(&mut self, place: Place, choice: Option<Object>) {
        let mut members = match self.template.origin {
            Origin::Stream => self.template.level(place, Level::Chunk),
            _ => self.template.identity(self.answer, "chat.completion.chunk"),
        };
        let usage = members.remove("usage");
        members.push(
            "choices",
            choice.into_iter().map(Json::Object).collect::<Vec<_>>(),
        );
        if let Some(usage) = usage {
            members.push("usage", usage);
        }
        self.out.push((self.at, Json::Object(members)));
    }

    fn usage(&mut self) {
        if self.template.usage_on(Place::Close)
            && let Some(close) = self.close
        {
            self.set_usage(close);
        }
        let has_tail = match self.template.origin {
            Origin::Stream => {
                let told = self.template.get(Place::Tail.name()).is_some();
                told && (self.answer.usage.is_some() || !self.template.usage_on(Place::Tail))
            }
            // By the seed's rule no usage follows where the answer failed.
            _ => self.answer.usage.is_some() && self.answer.boundary.is_none(),
        };
        if !has_tail {
            return;
        }
        let has_choice = self
            .template
            .get(Place::Tail.name())
            .is_some_and(|tail| tail.get(Level::Delta.name()).is_some());
        if has_choice {
            let choice = self.choices.keys().next().copied().unwrap_or(0);
            let delta = self.template.level(Place::Tail, Level::Delta);
            self.delta(Place::Tail, choice, delta, Json::Null);
        } else {
            self.chunk(Place::Tail, None);
        }
        if self.template.origin != Origin::Stream || self.template.usage_on(Place::Tail) {
            self.set_usage(self.out.len() - 1);
        }
    }

    fn error(&mut self, boundary: &Boundary) {
        let payload = match (self.template.get("error"), self.template.origin) {
            (Some(payload), _) => error::with_message(payload.clone(), boundary),
            (None, Origin::Stream) => return,
            (None, _) if !is_told(boundary) => return,
            (None, _) => error::write(boundary),
        };
        self.out.push((self.at, payload));
        if self.template.usage_on(Place::Error) {
            self.set_usage(self.out.len() - 1);
        }
    }

    fn set_usage(&mut self, chunk: usize) {
        let Some(usage) = self.answer.usage else { return };
        let mut members = write_usage(usage);
        let lacking = self
            .template
            .get("usage_lacks")
            .and_then(Json::as_array)
            .unwrap_or_default();
        members
            .0
            .retain(|(name, _)| lacking.iter().all(|lacks| lacks.as_str() != Some(name)));
        if let Some(chunk) = self
            .out
            .get_mut(chunk)
            .and_then(|(_, chunk)| chunk.as_object_mut())
        {
            chunk.set("usage", members);
        }
    }
}

fn first_choice(chunk: &mut Json) -> Option<&mut Object> {
    match chunk.as_object_mut()?.get_mut("choices")? {
        Json::Array(choices) => choices.first_mut()?.as_object_mut(),
        _ => None,
    }
}

pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect::<Object>()
        .into()
}
