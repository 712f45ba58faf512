use crate::json::{Json, Object};
use crate::protocol::{Answer, Event, Tail};

use super::blocks::Blocks;
use super::decode::finish;
use super::template::{CONTENT, STOP_REASON, Template, USAGE};
use super::words::{lacking, native_reason, read_usage};
use super::{assemble, error, render};

/// Reads a unary body, an error body included.
pub(super) fn read(status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let mut template = Object::new();
    if status >= 400 || body.get("type").and_then(Json::as_str) == Some("error") {
        out.push(Event::Error(error::read((status >= 400).then_some(status), body)));
        template.push("error", body.clone());
    } else {
        message(body, &mut template, out);
    }
    Tail {
        template: Some(Json::Object(template)),
        complete: true,
        odd: None,
    }
}

fn message(body: &Json, template: &mut Object, out: &mut Vec<Event>) {
    let mut slots = body.clone();
    let mut blocks = Blocks::default();
    let mut lacks = Vec::new();
    if let Some(members) = slots.as_object_mut() {
        if let Some(Json::Array(items)) = members.get("content") {
            for (index, block) in (0..).zip(items) {
                blocks.start(index, block, out);
                blocks.stop(index, out);
            }
            members.set("content", CONTENT);
        }
        if let Some(Json::String(native)) = members.get("stop_reason") {
            out.push(finish(native));
            members.set("stop_reason", STOP_REASON);
        }
        if let Some(Json::Object(wire)) = members.get("usage")
            && let Some(usage) = read_usage(wire)
        {
            lacks = lacking(wire);
            out.push(Event::Usage(usage));
            members.set("usage", USAGE);
        }
    }
    template.push("body", slots);
    if !lacks.is_empty() {
        template.push("usage_lacks", lacks);
    }
    blocks.shapes().write(template);
}

/// The unary body of an answer.
pub(super) fn render(answer: &Answer<'_>) -> Json {
    let template = Template::of(answer);
    if let Some(body) = template.get("body") {
        return fill(body.clone(), answer, template);
    }
    match (template.get("error"), answer.boundary) {
        (Some(body), Some(boundary)) => error::with_message(body.clone(), boundary),
        (Some(body), None) => body.clone(),
        // A failure in the middle of a stream is, told in one piece, a failure.
        (None, Some(boundary)) => error::write(boundary),
        (None, None) => {
            let payloads: Vec<Json> = render::stream(answer).into_iter().map(|(_, payload)| payload).collect();
            Json::Object(assemble::message(&payloads))
        }
    }
}

fn fill(mut body: Json, answer: &Answer<'_>, template: Template<'_>) -> Json {
    let Some(members) = body.as_object_mut() else {
        return body;
    };
    let is_slot = |members: &Object, name: &str, slot: &str| members.get(name).and_then(Json::as_str) == Some(slot);
    if is_slot(members, "content", CONTENT) {
        members.set("content", render::content(answer.frames, template.json, true));
    }
    let reason = answer.frames.iter().rev().find_map(|frame| native_reason(frame, true));
    if is_slot(members, "stop_reason", STOP_REASON) || reason.is_some() {
        members.set("stop_reason", reason);
    }
    if is_slot(members, "usage", USAGE) {
        let usage = answer.usage.map(|usage| template.usage(usage));
        members.set("usage", usage);
    }
    body
}
