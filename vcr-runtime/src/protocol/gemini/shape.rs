//! Learns a stream's template while it is decoded.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::{Json, Object};
use crate::protocol::common::object;
use crate::protocol::paths::{Step, follow};
use crate::protocol::rules::{Field, Reading};

use super::template::{
    BLOCKED, CALLS, CANDIDATE, CHUNK, CLOSE, FIRST, LAST, PARTIAL, SIGNATURES, USAGE_LACKS, WITH_PARTS,
    members_of, usual_content,
};
use super::words::{CANDIDATES, CONTENT, ERROR, FINISH_REASON, FUNCTION_CALL, INDEX, PARTS, USAGE, lacking};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Shape {
    count: usize,
    chunk: Object,
    first: Object,
    last: Object,
    candidate: Option<Object>,
    content: Option<Object>,
    /// Members of candidates with a finish reason.
    closing: Object,
    /// The content of candidates that have a reason and say nothing else.
    close_content: Option<Option<Json>>,
    /// Whether a reason came with parts.
    closed_with_parts: bool,
    /// Whether a candidate had a number.
    numbered: bool,
    pub(super) signatures: Signatures,
    /// The runs of function calls in one chunk, by choice.
    calls: BTreeMap<u32, Vec<u32>>,
    usage_lacks: Option<Vec<Json>>,
    blocked: bool,
    pub(super) partial: bool,
    error: Option<Json>,
}

impl Shape {
    /// Takes a chunk that is no error.
    pub(super) fn note(&mut self, payload: &mut Json, reading: &Reading) {
        self.signatures.note(payload, reading);
        self.note_hits(payload, reading);
        let candidates = payload
            .get(CANDIDATES)
            .and_then(Json::as_array)
            .unwrap_or_default();
        for (position, candidate) in candidates.iter().enumerate() {
            let content = [Step::Key(CANDIDATES), Step::Index(position), Step::Key(CONTENT)];
            self.note_candidate(candidate, reading.says(&content));
        }
        let Json::Object(members) = payload else { return };
        let rest: Object = members
            .iter()
            .filter(|(name, _)| name != CANDIDATES)
            .cloned()
            .collect();
        if self.count == 0 {
            self.first = rest.clone();
            self.chunk = rest.clone();
        } else {
            retain(&mut self.chunk, &rest);
        }
        self.last = rest;
        self.count += 1;
    }

    fn note_hits(&mut self, payload: &mut Json, reading: &Reading) {
        // Choices whose latest part in this chunk is a call.
        let mut calling = BTreeSet::new();
        for hit in &reading.hits {
            match hit.field {
                Field::Usage => self.usage_lacks = follow(payload, &hit.steps).map(|usage| lacking(usage)),
                Field::Finish => self.blocked |= hit.node.name() == Some(BLOCKED),
                Field::Tool => {
                    let goes_on = !calling.insert(hit.choice);
                    let runs = self.calls.entry(hit.choice).or_default();
                    match runs.last_mut().filter(|_| goes_on) {
                        Some(run) => *run += 1,
                        None => runs.push(1),
                    }
                }
                Field::Text | Field::Reasoning | Field::Native => {
                    calling.remove(&hit.choice);
                }
                _ => {}
            }
        }
    }

    fn note_candidate(&mut self, candidate: &Json, said: bool) {
        let Some(members) = candidate.as_object() else {
            return;
        };
        let is_rest = |name: &str| ![CONTENT, FINISH_REASON, INDEX].contains(&name);
        let rest: Object = members
            .iter()
            .filter(|(name, _)| is_rest(name))
            .cloned()
            .collect();
        let finishes = members
            .get(FINISH_REASON)
            .and_then(Json::as_str)
            .is_some_and(|reason| !reason.is_empty());
        if finishes {
            self.closing.clone_from(&rest);
            self.closed_with_parts |= said;
            if !said {
                self.close_content = Some(members.get(CONTENT).cloned());
            }
        }
        note(&mut self.candidate, rest);
        self.numbered |= members.get(INDEX).is_some();
        if let Some(Json::Object(content)) = members.get(CONTENT)
            && content.get(PARTS).is_some()
        {
            let rest = content.iter().filter(|(name, _)| name != PARTS).cloned();
            note(&mut self.content, rest.collect());
        }
    }

    pub(super) fn note_error(&mut self, payload: Json) {
        self.error = Some(payload);
    }

    /// The template; `None` when nothing came.
    pub(super) fn finish(&mut self) -> Option<Json> {
        if self.count == 0 && self.error.is_none() {
            return None;
        }
        let shape = std::mem::take(self);
        // The member `chunk` is what tells this template from a unary one.
        let mut template = object([(CHUNK, shape.without_usage(&shape.chunk).into())]);
        let mut push = |name: &str, members: Object| {
            if !members.is_empty() {
                template.push(name, members);
            }
        };
        if shape.count > 1 {
            push(FIRST, less(shape.without_usage(&shape.first), &shape.chunk));
            push(LAST, less(shape.without_usage(&shape.last), &shape.chunk));
        }
        let candidate = shape.candidate.clone().unwrap_or_default();
        push(CLOSE, shape.close(&candidate));
        push(CANDIDATE, candidate);
        push(SIGNATURES, shape.signatures.members());
        push(CALLS, shape.call_groups());
        if let Some(content) = shape.content.filter(|content| *content != usual_content()) {
            template.push(CONTENT, content);
        }
        if let Some(lacks) = shape.usage_lacks.filter(|lacks| !lacks.is_empty()) {
            template.push(USAGE_LACKS, lacks);
        }
        let flags = [
            (INDEX, shape.candidate.is_some() && !shape.numbered, false),
            (BLOCKED, shape.blocked, true),
            (PARTIAL, shape.partial, true),
        ];
        for (name, _, value) in flags.into_iter().filter(|(_, is_told, _)| *is_told) {
            template.push(name, value);
        }
        if let Some(error) = shape.error {
            template.push(ERROR, error);
        }
        Some(template.into())
    }

    /// A usage that was read is written from the counts; one that says nothing of them stays where it is.
    fn without_usage(&self, members: &Object) -> Object {
        let mut members = members.clone();
        if self.usage_lacks.is_some() {
            members.remove(USAGE);
        }
        members
    }

    fn close(&self, candidate: &Object) -> Object {
        let mut close = Object::new();
        if let Some(content) = &self.close_content {
            close.push(CONTENT, content.clone());
            if self.closed_with_parts {
                close.push(WITH_PARTS, true);
            }
        }
        let closing = less(self.closing.clone(), candidate);
        if !closing.is_empty() {
            close.push(CANDIDATE, closing);
        }
        close
    }

    /// Only where the calls of a choice came in several runs.
    fn call_groups(&self) -> Object {
        let several = self.calls.iter().filter(|(_, groups)| groups.len() > 1);
        several
            .map(|(choice, groups)| {
                let groups = groups.iter().map(|count| Json::from(*count));
                (choice.to_string(), Json::Array(groups.collect()))
            })
            .collect()
    }
}

/// On which parts the signatures of each choice stand, in the words of the template.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    places: BTreeMap<u32, Vec<String>>,
    calls: BTreeMap<u32, u32>,
}

impl Signatures {
    pub(super) fn note(&mut self, payload: &mut Json, reading: &Reading) {
        for hit in &reading.hits {
            match (hit.field, hit.steps.split_last()) {
                (Field::Tool, _) => *self.calls.entry(hit.choice).or_default() += 1,
                (Field::Signature, Some((_, steps))) => {
                    let calls = self.calls.get(&hit.choice).copied().unwrap_or_default();
                    let place = follow(payload, steps).map(|part| place(part, calls));
                    self.places.entry(hit.choice).or_default().extend(place);
                }
                _ => {}
            }
        }
    }

    pub(super) fn members(&self) -> Object {
        let choices = self.places.iter().map(|(choice, places)| {
            let places = places.iter().map(|place| Json::from(place.as_str()));
            (choice.to_string(), Json::Array(places.collect()))
        });
        choices.collect()
    }
}

fn place(part: &Json, calls: u32) -> String {
    let says = part
        .get("text")
        .and_then(Json::as_str)
        .is_some_and(|text| !text.is_empty());
    let thought = part.get("thought").and_then(Json::as_bool) == Some(true);
    match (part.get(FUNCTION_CALL).is_some(), thought, says) {
        (true, _, _) => format!("call {calls}"),
        (_, true, true) => "thought".to_owned(),
        (_, true, false) => "empty thought".to_owned(),
        (_, false, true) => "text".to_owned(),
        (_, false, false) => "empty".to_owned(),
    }
}

fn note(known: &mut Option<Object>, seen: Object) {
    match known {
        Some(known) => retain(known, &seen),
        None => *known = Some(seen),
    }
}

/// Keeps the members that all have, with the newest values.
fn retain(known: &mut Object, seen: &Object) {
    known.0.retain_mut(|(name, value)| match seen.get(name) {
        Some(newer) => {
            value.clone_from(newer);
            true
        }
        None => false,
    });
}

fn less(members: Object, others: &Object) -> Object {
    let own = members.into_iter().filter(|(name, _)| others.get(name).is_none());
    own.collect()
}

/// Whether a candidate of a template or body is of that choice.
pub(super) fn number_of(position: usize, candidate: &Json) -> u32 {
    crate::protocol::rules::index(candidate.get(INDEX))
        .or(u32::try_from(position).ok())
        .unwrap_or(0)
}

/// The parts of a candidate's content.
pub(super) fn parts_of(candidate: &Json) -> Option<&Json> {
    candidate.get(CONTENT)?.get(PARTS)
}

/// The content of a close in the template.
pub(super) fn content_of(close: Option<&Json>) -> Option<Option<Object>> {
    let content = close?.get(CONTENT)?;
    Some((!content.is_null()).then(|| members_of(Some(content))))
}
