use crate::json::{Json, Object};
use crate::model::{Boundary, Frame};
use crate::protocol::Answer;
use crate::protocol::common;

use super::endpoint::Endpoint;
use super::template::{
    LAST, Origin, TOOL_CALL, fill_tool_call, line, members_of, message, of_stream, origin, reason,
    told_choice, usage_members, usual_tool_call,
};
use super::words::{DONE, DONE_REASON, ERROR, MESSAGE, THINKING, TOOL_CALLS, with_message, write_error};

/// The lines of an answer, each with the frame that it belongs to.
pub(super) fn stream(endpoint: &Endpoint, answer: &Answer<'_>) -> Vec<(usize, Json)> {
    let mut painter = Painter {
        endpoint,
        answer,
        line: line(endpoint, answer),
        message: message(answer),
        calls: 0,
        at: 0,
        done: false,
        out: Vec::new(),
    };
    let told = told_choice(answer.frames);
    for (number, frame) in answer.frames.iter().enumerate() {
        painter.at = number;
        if frame.choice == told {
            painter.frame(frame);
        }
    }
    // Written by hand an answer may lack its reason; a client would wait for the last line all the same.
    if !painter.done && origin(answer) != Origin::Stream && answer.boundary.is_none() {
        painter.last(None);
    }
    if let Some(boundary) = answer.boundary {
        painter.error(boundary);
    }
    painter.out
}

struct Painter<'a> {
    endpoint: &'a Endpoint,
    answer: &'a Answer<'a>,
    line: Object,
    message: Object,
    calls: u32,
    at: usize,
    done: bool,
    out: Vec<(usize, Json)>,
}

impl Painter<'_> {
    fn frame(&mut self, frame: &Frame) {
        if let Some(thinking) = frame.reasoning.as_deref().filter(|text| !text.is_empty()) {
            self.said("", Some((THINKING, thinking.into())));
        }
        if !frame.chunk.is_empty() {
            self.said(&frame.chunk, None);
        }
        if let Some(refusal) = frame.refusal.as_deref().filter(|text| !text.is_empty()) {
            self.said(refusal, None);
        }
        for call in &frame.tool_calls {
            let usual = usual_tool_call();
            let form = of_stream(self.answer, TOOL_CALL).unwrap_or(&usual);
            let call = fill_tool_call(form, self.calls, call);
            self.calls += 1;
            self.said("", Some((TOOL_CALLS, vec![call].into())));
        }
        if frame.finish_reason.is_some() {
            self.last(Some(frame));
        }
    }

    /// A line with text, and with one other telling member.
    fn said(&mut self, text: &str, other: Option<(&str, Json)>) {
        let members = self.members(text, other, false);
        self.out.push((self.at, members.into()));
    }

    fn members(&self, text: &str, other: Option<(&str, Json)>, done: bool) -> Object {
        let mut members = self.line.clone();
        let mut told = if self.endpoint.has_message {
            self.message.clone()
        } else {
            Object::new()
        };
        told.push(self.endpoint.text, text);
        if let Some((name, value)) = other {
            told.push(name, value);
        }
        if self.endpoint.has_message {
            members.push(MESSAGE, told);
        } else {
            members.0.extend(told);
        }
        members.push(DONE, done);
        members
    }

    fn last(&mut self, finish: Option<&Frame>) {
        self.done = true;
        let mut members = self.members("", None, true);
        if of_stream(self.answer, DONE_REASON).is_none() {
            members.push(DONE_REASON, reason(self.answer, finish));
        }
        members.0.extend(members_of(of_stream(self.answer, LAST)));
        if let Some(usage) = self.answer.usage {
            members.0.extend(usage_members(self.answer, usage));
        }
        self.out.push((self.at, members.into()));
    }

    fn error(&mut self, boundary: &Boundary) {
        let payload = match (of_stream(self.answer, ERROR), origin(self.answer)) {
            (Some(payload), _) => with_message(payload.clone(), boundary),
            (None, Origin::Stream) => return,
            (None, _) if common::is_told(boundary) => write_error(boundary),
            (None, _) => return,
        };
        self.out.push((self.at, payload));
    }
}
