//! Unary answers. The template of one is `{"converse": …}`, the body with `"$content"`, `"$stop_reason"` and `"$usage"`
//! in the places of these; `usage_rest` has members of the usage that the counts do not give back, `usage_late` names
//! such as it has not.

use crate::json::{Json, Object};
use crate::protocol::anthropic;
use crate::protocol::rules::Reader;
use crate::protocol::{Answer, Event, Tail};

use super::content::{from_messages, object, to_messages, wrong_type};
use super::words::{RULES, native_reason, write_usage};

const BODY: &str = "converse";
const ERROR: &str = "converse_error";
const CONTENT: &str = "$content";
const STOP_REASON: &str = "$stop_reason";
const USAGE: &str = "$usage";

/// Reads a unary body, an error body included.
pub(super) fn read(status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let mut template = Object::new();
    if status >= 400 {
        out.push(Event::Error(RULES.error(Some(status), body)));
        template.push(ERROR, body.clone());
        return tail(template, None);
    }
    let mut slots = body.clone();
    let odd = match content_of(&mut slots) {
        Some(content @ Json::Array(_)) => {
            let blocks = content.as_array().unwrap_or_default();
            let odd = blocks.iter().find_map(wrong_type);
            let blocks: Vec<Json> = blocks.iter().map(to_messages).collect();
            anthropic::read_content(&blocks, &mut template, out);
            *content = CONTENT.into();
            odd
        }
        _ => Some("has no content".to_owned()),
    };
    let mut reader = Reader::new(&RULES);
    let reading = reader.body(status, body, out);
    if let Some(members) = slots.as_object_mut() {
        if let Some(reason @ Json::String(_)) = members.get_mut("stopReason") {
            *reason = STOP_REASON.into();
        }
        if let (Some(slot @ Json::Object(_)), Some(usage)) = (members.get_mut("usage"), reader.usage()) {
            let wire = slot.as_object().cloned().unwrap_or_default();
            anthropic::note_usage(&wire, &write_usage(usage, false), &mut template);
            *slot = USAGE.into();
        }
    }
    template.push(BODY, slots);
    let odd = reading.odd.or(odd);
    tail(template, odd.map(|odd| format!("the body {odd}")))
}

fn tail(template: Object, odd: Option<String>) -> Tail {
    Tail {
        template: Some(Json::Object(template)),
        complete: true,
        odd,
    }
}

fn content_of(body: &mut Json) -> Option<&mut Json> {
    let output = body.as_object_mut()?.get_mut("output")?;
    let message = output.as_object_mut()?.get_mut("message")?;
    message.as_object_mut()?.get_mut("content")
}

/// The unary body of an answer.
pub(super) fn render(answer: &Answer<'_>) -> Json {
    let template = |name: &str| answer.template.and_then(|template| template.get(name));
    if let Some(body) = template(BODY) {
        return fill(body.clone(), answer);
    }
    match (template(ERROR), answer.boundary) {
        (Some(body), Some(boundary)) if RULES.error(None, body).message != boundary.message => {
            let mut body = body.clone();
            if let Some(members) = body.as_object_mut() {
                let name = if members.get("Message").is_some() {
                    "Message"
                } else {
                    "message"
                };
                members.set(name, boundary.message.as_str());
            }
            body
        }
        (Some(body), _) => body.clone(),
        (None, Some(boundary)) => object(vec![("message", boundary.message.as_str().into())]),
        (None, None) => usual(answer),
    }
}

fn fill(mut body: Json, answer: &Answer<'_>) -> Json {
    if let Some(slot) = content_of(&mut body).filter(|slot| slot.as_str() == Some(CONTENT)) {
        *slot = content(answer, true);
    }
    let Some(members) = body.as_object_mut() else {
        return body;
    };
    let reason = reason(answer, true);
    let is_slot = members.get("stopReason").and_then(Json::as_str) == Some(STOP_REASON);
    if is_slot || !reason.is_null() {
        members.set("stopReason", reason);
    }
    if let Some(slot) = members
        .get_mut("usage")
        .filter(|slot| slot.as_str() == Some(USAGE))
    {
        let written = answer.usage.map(|usage| write_usage(usage, false));
        *slot = written
            .map(|written| anthropic::noted_usage(written, answer.template))
            .into();
    }
    body
}

/// The body of an answer that was recorded elsewhere, or written by hand.
fn usual(answer: &Answer<'_>) -> Json {
    let message = object(vec![
        ("role", "assistant".into()),
        ("content", content(answer, false)),
    ]);
    let usage = answer.usage.cloned().unwrap_or_default();
    object(vec![
        ("output", object(vec![("message", message)])),
        ("stopReason", reason(answer, false)),
        ("usage", Json::Object(write_usage(&usage, true))),
        ("metrics", object(vec![("latencyMs", 0_u64.into())])),
    ])
}

fn content(answer: &Answer<'_>, own: bool) -> Json {
    let blocks = anthropic::content(answer.frames, answer.template.filter(|_| own), own);
    Json::Array(blocks.into_iter().filter_map(from_messages).collect())
}

fn reason(answer: &Answer<'_>, own: bool) -> Json {
    let mut frames = answer.frames.iter().rev();
    frames.find_map(|frame| native_reason(frame, own)).into()
}
