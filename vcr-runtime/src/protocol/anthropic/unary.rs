use crate::json::{Json, Object};
use crate::model::Usage;
use crate::protocol::rules::Reader;
use crate::protocol::{Answer, Event, Tail};

use super::blocks::Blocks;
use super::template::{CONTENT, ERROR_BODY, STOP_REASON, Template, USAGE, note_usage};
use super::words::{RULES, event, native_reason, write_usage};
use super::{assemble, error, render};

/// Reads a unary body, an error body included.
pub(super) fn read(status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let mut template = Object::new();
    if status >= 400 || body.get("type").and_then(Json::as_str) == Some(event::ERROR) {
        out.push(Event::Error(RULES.error((status >= 400).then_some(status), body)));
        template.push(ERROR_BODY, body.clone());
        return tail(template, None);
    }
    let mut reading = Reading::new();
    reading.body(body, out);
    let mut slots = body.clone();
    if let Some(members) = slots.as_object_mut() {
        put_slots(members, reading.reader.usage(), &mut template);
    }
    template.push("body", slots);
    reading.blocks.shapes().write(&mut template);
    let odd = reading.odd;
    tail(template, odd.map(|odd| format!("the body {odd}")))
}

fn tail(template: Object, odd: Option<String>) -> Tail {
    Tail {
        template: Some(Json::Object(template)),
        complete: true,
        odd,
    }
}

/// Reads content blocks; the shapes of blocks go to the template.
pub(crate) fn read_content(content: &[Json], template: &mut Object, out: &mut Vec<Event>) {
    let mut reading = Reading::new();
    reading.content(content, out);
    reading.blocks.shapes().write(template);
}

/// A unary answer, read as the stream that it would have been.
struct Reading {
    reader: Reader,
    blocks: Blocks,
    odd: Option<String>,
}

impl Reading {
    fn new() -> Self {
        Self {
            reader: Reader::new(&RULES),
            blocks: Blocks::default(),
            odd: None,
        }
    }

    fn body(&mut self, body: &Json, out: &mut Vec<Event>) {
        match body.get("content").and_then(Json::as_array) {
            Some(content) => self.content(content, out),
            None => self.odd = Some("has no content".to_owned()),
        }
        let mut end = Vec::new();
        if let Some(reason) = body.get("stop_reason") {
            let delta = [("stop_reason".to_owned(), reason.clone())];
            end.push(("delta", Json::Object(delta.into_iter().collect())));
        }
        end.extend(body.get("usage").map(|usage| ("usage", usage.clone())));
        self.event(event::MESSAGE_DELTA, end, out);
    }

    fn content(&mut self, content: &[Json], out: &mut Vec<Event>) {
        for (index, block) in (0_u64..).zip(content) {
            let members = vec![("index", index.into()), ("content_block", block.clone())];
            self.event(event::BLOCK_START, members, out);
            self.event(event::BLOCK_STOP, vec![("index", index.into())], out);
        }
    }

    fn event(&mut self, word: &str, members: Vec<(&str, Json)>, out: &mut Vec<Event>) {
        let members = [("type", Json::from(word))].into_iter().chain(members);
        let payload = Json::Object(members.map(|(name, value)| (name.to_owned(), value)).collect());
        let mut said = Vec::new();
        let odd = self.reader.event(None, &payload, &mut said).odd;
        self.odd = self.odd.take().or(odd);
        self.blocks.take(&payload, said, out);
    }
}

fn put_slots(body: &mut Object, usage: Option<&Usage>, template: &mut Object) {
    if let Some(content @ Json::Array(_)) = body.get_mut("content") {
        *content = CONTENT.into();
    }
    if let Some(reason @ Json::String(_)) = body.get_mut("stop_reason") {
        *reason = STOP_REASON.into();
    }
    if let (Some(slot), Some(usage)) = (body.get_mut("usage"), usage)
        && let Some(wire) = slot.as_object()
    {
        note_usage(wire, &write_usage(usage, false), template);
        *slot = USAGE.into();
    }
}

/// The unary body of an answer.
pub(super) fn render(answer: &Answer<'_>) -> Json {
    let template = Template::of(answer);
    if let Some(body) = template.get("body") {
        return fill(body.clone(), answer, template);
    }
    let failure = template.get(ERROR_BODY).or_else(|| template.get("error"));
    match (failure, answer.boundary) {
        (Some(body), Some(boundary)) => error::with_message(body.clone(), boundary),
        (Some(body), None) => body.clone(),
        // A failure in the middle of a stream is, told in one piece, a failure.
        (None, Some(boundary)) => error::write(boundary),
        (None, None) => {
            let payloads: Vec<Json> = render::stream(answer)
                .into_iter()
                .map(|(_, payload)| payload)
                .collect();
            Json::Object(assemble::message(&payloads))
        }
    }
}

fn fill(mut body: Json, answer: &Answer<'_>, template: Template<'_>) -> Json {
    let Some(members) = body.as_object_mut() else {
        return body;
    };
    let is_slot =
        |members: &Object, name: &str, slot: &str| members.get(name).and_then(Json::as_str) == Some(slot);
    if is_slot(members, "content", CONTENT) {
        members.set("content", render::content(answer.frames, template.json, true));
    }
    let reason = answer
        .frames
        .iter()
        .rev()
        .find_map(|frame| native_reason(frame, true));
    if is_slot(members, "stop_reason", STOP_REASON) || reason.is_some() {
        members.set("stop_reason", reason);
    }
    if is_slot(members, "usage", USAGE) {
        let usage = answer.usage.map(|usage| template.unary_usage(usage));
        members.set("usage", usage);
    }
    body
}
