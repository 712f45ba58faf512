use std::collections::BTreeMap;

use crate::json::{Json, Object};
use crate::protocol::common::object;
use crate::protocol::paths::{Step, follow};
use crate::protocol::rules::{Field, Reader, Reading};
use crate::protocol::{Answer, Event, Tail};

use super::decode::Teller;
use super::parts::{PartWriter, push_part};
use super::render::reason;
use super::shape::{Signatures, number_of, parts_of};
use super::template::{
    BLOCKED, CLOSE, FINISH_SLOT, FIRST, LAST, Origin, PARTS_SLOT, SIGNATURES, Template, USAGE_LACKS,
    USAGE_SLOT,
};
use super::words::{
    CANDIDATES, CONTENT, ERROR, FINISH_REASON, PARTS, RULES, USAGE, lacking, with_message, write_error,
    write_usage,
};

/// Reads a body; an error body is its own template.
pub(super) fn read(status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let mut reader = Reader::new(&RULES);
    let mut said = Vec::new();
    // A stream that is an array of one error is an error.
    let told = match body {
        Json::Array(items) if items.len() == 1 => &items[0],
        body => body,
    };
    let mut template = body.clone();
    let reading = reader.body(status, told, &mut said);
    let mut odd = reading.odd.as_ref().map(|odd| format!("the body {odd}"));
    Teller::default().tell(&mut told.clone(), &reading, said, out);
    if !reader.has_failed() {
        take(&mut template, &reading);
        if body.get(CANDIDATES).is_none() && body.get("promptFeedback").is_none() {
            odd.get_or_insert_with(|| "the body has no candidates".to_owned());
        }
    }
    Tail {
        template: Some(template),
        complete: true,
        odd,
    }
}

/// Puts slots in the places of what was read.
fn take(template: &mut Json, reading: &Reading) {
    let mut signatures = Signatures::default();
    signatures.note(template, reading);
    for hit in &reading.hits {
        let slot = match hit.field {
            Field::Finish if hit.node.name() != Some(BLOCKED) => FINISH_SLOT.into(),
            Field::Usage => {
                let lacks = follow(template, &hit.steps)
                    .map(|usage| lacking(usage))
                    .unwrap_or_default();
                if lacks.is_empty() {
                    USAGE_SLOT.into()
                } else {
                    Json::Array(lacks)
                }
            }
            _ => continue,
        };
        if let Some(place) = follow(template, &hit.steps) {
            *place = slot;
        }
    }
    let count = template
        .get(CANDIDATES)
        .and_then(Json::as_array)
        .map_or(0, <[Json]>::len);
    for position in 0..count {
        let steps = [
            Step::Key(CANDIDATES),
            Step::Index(position),
            Step::Key(CONTENT),
            Step::Key(PARTS),
        ];
        if reading.says(&steps)
            && let Some(parts) = follow(template, &steps)
        {
            *parts = PARTS_SLOT.into();
        }
    }
    let places = signatures.members();
    if let Some(members) = template.as_object_mut().filter(|_| !places.is_empty()) {
        members.set(SIGNATURES, places);
    }
}

/// The unary body of an answer.
pub(super) fn render(answer: &Answer<'_>) -> Json {
    let template = Template::of(answer);
    match (template.origin, template.json, answer.boundary) {
        (Origin::Unary, Some(body), Some(boundary)) => with_message(body.clone(), boundary),
        (Origin::Unary, Some(body), None) => filled(body.clone(), answer),
        // A failure in the middle of a stream is, told in one piece, a failure.
        (_, _, Some(boundary)) => match template.get(ERROR) {
            Some(payload) => with_message(payload.clone(), boundary),
            None => write_error(boundary),
        },
        _ => filled(usual(template, answer).into(), answer),
    }
}

/// The body around the candidates and the usage.
fn usual(template: Template<'_>, answer: &Answer<'_>) -> Object {
    let mut body = Object::new();
    if !template.says(BLOCKED) {
        body.push(CANDIDATES, Vec::new());
    }
    body.0.extend(template.chunk(answer));
    for name in [FIRST, LAST] {
        for (name, value) in template.members(name) {
            body.set(name, value);
        }
    }
    if answer.usage.is_some() {
        body.push(
            USAGE,
            template
                .get(USAGE_LACKS)
                .cloned()
                .unwrap_or_else(|| USAGE_SLOT.into()),
        );
    }
    body
}

/// What the frames say of one candidate.
#[derive(Debug, Default)]
struct Said<'a> {
    parts: Vec<Json>,
    finish: Option<&'a str>,
}

fn said<'a>(template: Template<'_>, answer: &Answer<'a>) -> BTreeMap<u32, Said<'a>> {
    let mut writer = PartWriter::new(template, answer.frames);
    let mut choices: BTreeMap<u32, Said<'a>> = BTreeMap::new();
    for frame in answer.frames {
        let parts = writer.frame(frame);
        let said = choices.entry(frame.choice).or_default();
        for part in parts.said.iter().chain(&parts.calls) {
            push_part(&mut said.parts, part);
        }
        said.finish = reason(template, frame).or(said.finish);
    }
    choices
}

fn filled(mut body: Json, answer: &Answer<'_>) -> Json {
    let template = Template::of(answer);
    let Some(members) = body.as_object_mut() else {
        return body;
    };
    members.remove(SIGNATURES);
    if let Some(Json::Array(candidates)) = members.get_mut(CANDIDATES) {
        fill_candidates(candidates, template, said(template, answer));
    }
    let lacks = match members.get(USAGE) {
        Some(Json::Array(lacks)) => Some(Json::Array(lacks.clone())),
        Some(Json::String(slot)) if slot == USAGE_SLOT => None,
        _ => return body,
    };
    let is_own = template.origin != Origin::Nowhere;
    let counts = answer
        .usage
        .map(|usage| write_usage(usage, is_own, lacks.as_ref()));
    members.set(USAGE, counts);
    body
}

fn fill_candidates(candidates: &mut Vec<Json>, template: Template<'_>, mut choices: BTreeMap<u32, Said<'_>>) {
    for (position, candidate) in candidates.iter_mut().enumerate() {
        let said = choices
            .remove(&number_of(position, candidate))
            .unwrap_or_default();
        fill_candidate(candidate, said);
    }
    if choices.is_empty() && candidates.is_empty() && template.origin == Origin::Nowhere {
        choices.insert(0, Said::default());
    }
    for (choice, said) in choices {
        let finish = said
            .finish
            .or((template.origin == Origin::Nowhere).then_some("STOP"));
        let content = if said.parts.is_empty() {
            super::shape::content_of(template.get(CLOSE)).flatten()
        } else {
            let mut content = object([(PARTS, said.parts.into())]);
            content.0.extend(template.content());
            Some(content)
        };
        candidates.push(template.candidate(choice, content, finish).into());
    }
}

fn fill_candidate(candidate: &mut Json, said: Said<'_>) {
    let has_slot = parts_of(candidate).and_then(Json::as_str) == Some(PARTS_SLOT);
    let Some(members) = candidate.as_object_mut() else {
        return;
    };
    if members.get(FINISH_REASON).and_then(Json::as_str) == Some(FINISH_SLOT) {
        members.set(FINISH_REASON, said.finish);
    }
    if !has_slot && said.parts.is_empty() {
        return;
    }
    match members.get_mut(CONTENT) {
        Some(Json::Object(content)) => content.set(PARTS, said.parts),
        // Only text that a person has added has no place yet.
        _ => members.set(
            CONTENT,
            object([(PARTS, said.parts.into()), ("role", "model".into())]),
        ),
    }
}
