use std::collections::{BTreeMap, VecDeque};

use crate::json::{Json, Object};
use crate::model::{Boundary, Frame};
use crate::protocol::Answer;
use crate::protocol::common::{self, object};

use super::parts::PartWriter;
use super::shape::content_of;
use super::template::{BLOCKED, CALLS, CLOSE, FIRST, LAST, Origin, Template, USAGE_LACKS, WITH_PARTS};
use super::words::{CANDIDATES, ERROR, PARTS, USAGE, wire_reason, with_message, write_error, write_usage};

/// The chunks of an answer, each with the frame that it belongs to.
pub(super) fn stream(answer: &Answer<'_>) -> Vec<(usize, Json)> {
    let mut painter = Painter::new(answer);
    for (number, frame) in answer.frames.iter().enumerate() {
        painter.at = number;
        painter.frame(frame);
    }
    painter.ends();
    if let Some(boundary) = answer.boundary {
        painter.error(boundary);
    }
    let chunks = painter.out.into_iter();
    chunks
        .map(|(frame, chunk)| (frame, Json::Object(chunk)))
        .collect()
}

/// The finish reason of a frame in Gemini's words.
pub(super) fn reason<'a>(template: Template<'_>, frame: &'a Frame) -> Option<&'a str> {
    let reason = frame.finish_reason.as_deref()?;
    Some(match (template.origin, frame.native_finish_reason.as_deref()) {
        (Origin::Nowhere, _) => wire_reason(reason),
        (_, Some(native)) => native,
        (_, None) => reason,
    })
}

struct Painter<'a> {
    answer: &'a Answer<'a>,
    template: Template<'a>,
    chunk: Object,
    parts: PartWriter<'a>,
    /// How many calls come together, by choice.
    groups: BTreeMap<u32, VecDeque<usize>>,
    at: usize,
    finished: bool,
    out: Vec<(usize, Object)>,
}

impl<'a> Painter<'a> {
    fn new(answer: &'a Answer<'a>) -> Self {
        let template = Template::of(answer);
        let groups = template.get(CALLS).and_then(Json::as_object);
        let groups = groups
            .into_iter()
            .flat_map(Object::iter)
            .filter_map(|(choice, groups)| {
                let groups = groups.as_array()?.iter().filter_map(Json::as_u64);
                let groups = groups.filter_map(|count| usize::try_from(count).ok());
                Some((choice.parse().ok()?, groups.collect()))
            });
        Self {
            answer,
            template,
            chunk: template.chunk(answer),
            parts: PartWriter::new(template, answer.frames),
            groups: groups.collect(),
            at: 0,
            finished: false,
            out: Vec::new(),
        }
    }

    fn frame(&mut self, frame: &Frame) {
        let parts = self.parts.frame(frame);
        let mut groups: Vec<Vec<Json>> = parts.said.into_iter().map(|part| vec![part]).collect();
        groups.extend(self.grouped(frame.choice, parts.calls));
        let Some(reason) = reason(self.template, frame) else {
            for parts in groups {
                self.parts(frame.choice, parts, None);
            }
            return;
        };
        self.finished = true;
        let alone = content_of(self.template.get(CLOSE));
        let close = self.template.get(CLOSE);
        let joins = alone.is_none() || close.is_some_and(|close| close.get(WITH_PARTS).is_some());
        let last = if joins { groups.pop() } else { None };
        for parts in groups {
            self.parts(frame.choice, parts, None);
        }
        match (last, alone) {
            _ if self.template.says(BLOCKED) => self.chunk(None),
            (Some(parts), _) => self.parts(frame.choice, parts, Some(reason)),
            (None, content) => self.candidate(frame.choice, content.flatten(), Some(reason)),
        }
    }

    /// The calls of a frame as they came: in one chunk, if nothing else is known.
    fn grouped(&mut self, choice: u32, mut calls: Vec<Json>) -> Vec<Vec<Json>> {
        let mut groups = Vec::new();
        while !calls.is_empty() {
            let size = self.groups.get_mut(&choice).and_then(VecDeque::pop_front);
            let size = size.unwrap_or(calls.len()).clamp(1, calls.len());
            let rest = calls.split_off(size);
            groups.push(std::mem::replace(&mut calls, rest));
        }
        groups
    }

    fn parts(&mut self, choice: u32, parts: Vec<Json>, finish: Option<&str>) {
        let mut content = object([(PARTS, parts.into())]);
        content.0.extend(self.template.content());
        self.candidate(choice, Some(content), finish);
    }

    fn candidate(&mut self, choice: u32, content: Option<Object>, finish: Option<&str>) {
        let candidate = self.template.candidate(choice, content, finish);
        self.chunk(Some(candidate));
    }

    fn chunk(&mut self, candidate: Option<Object>) {
        let mut members = Object::new();
        if let Some(candidate) = candidate {
            members.push(CANDIDATES, vec![Json::Object(candidate)]);
        }
        members.0.extend(self.chunk.iter().cloned());
        self.out.push((self.at, members));
    }

    /// What only the first and the last chunk have.
    fn ends(&mut self) {
        let is_own = self.template.origin == Origin::Stream;
        // Written by hand an answer may lack its reason; a client would take it for cut.
        if !self.finished && !is_own && self.answer.boundary.is_none() {
            let choice = self.answer.frames.first().map_or(0, |frame| frame.choice);
            self.candidate(choice, None, Some("STOP"));
        }
        let is_error = self.template.get(ERROR).is_some();
        let is_told = self.answer.usage.is_some() || (is_own && !is_error);
        if self.out.is_empty() && is_told {
            self.chunk(None);
        }
        if let Some((_, first)) = self.out.first_mut() {
            first.0.extend(self.template.members(FIRST));
        }
        if let Some((_, last)) = self.out.last_mut() {
            for (name, value) in self.template.members(LAST) {
                last.set(name, value);
            }
            if let Some(usage) = self.answer.usage {
                let lacks = self.template.any(USAGE_LACKS);
                last.set(
                    USAGE,
                    write_usage(usage, self.template.origin != Origin::Nowhere, lacks),
                );
            }
        }
    }

    fn error(&mut self, boundary: &Boundary) {
        let payload = match (self.template.get(ERROR), self.template.origin) {
            (Some(payload), _) => with_message(payload.clone(), boundary),
            (None, Origin::Stream) => return,
            (None, _) if common::is_told(boundary) => write_error(boundary),
            (None, _) => return,
        };
        if let Json::Object(members) = payload {
            self.out.push((self.at, members));
        }
    }
}
