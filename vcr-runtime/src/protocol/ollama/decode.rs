use crate::json::{Json, Object, parse};
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::endpoint::Endpoint;
use super::template::{Shape, take_tool_call};
use super::words::{
    DONE, DONE_REASON, ERROR, MESSAGE, THINKING, TOOL_CALLS, canonical_reason, read_error, read_usage,
};

/// Reads the lines of one streamed answer.
#[derive(Debug)]
pub(super) struct LineDecoder {
    endpoint: Endpoint,
    shape: Shape,
    /// How many tool calls there have been.
    calls: u32,
    done: bool,
    failed: bool,
    count: usize,
    odd: Option<String>,
}

impl LineDecoder {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            shape: Shape::default(),
            calls: 0,
            done: false,
            failed: false,
            count: 0,
            odd: None,
        }
    }

    /// The first oddity stands; the ones after it are mostly its consequences.
    fn odd(&mut self, what: &str) {
        let number = self.count;
        self.odd.get_or_insert_with(|| format!("line {number} {what}"));
    }

    fn line(&mut self, line: Json, out: &mut Vec<Event>) {
        let Some(members) = line.as_object() else {
            self.odd(&format!("is {}, not an object", line.kind()));
            return;
        };
        if is_error(members) {
            self.failed = true;
            out.push(Event::Error(read_error(None, &line)));
            self.shape.note_error(line);
            return;
        }
        self.shape.note(&self.endpoint, members);
        if self.endpoint.has_message {
            match members.get(MESSAGE) {
                Some(Json::Object(message)) => self.said(message, out),
                None | Some(Json::Null) => {}
                Some(other) => self.odd(&format!("has a message that is {}", other.kind())),
            }
        } else {
            self.said(members, out);
        }
        if members.get(DONE).and_then(Json::as_bool) == Some(true) {
            self.done = true;
            out.push(finish(members, self.calls > 0));
            out.extend(read_usage(members).map(Event::Usage));
            out.push(Event::End);
        }
    }

    fn said(&mut self, members: &Object, out: &mut Vec<Event>) {
        let text = |name| {
            members
                .get(name)
                .and_then(Json::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        for event in said(text(THINKING), text(self.endpoint.text)) {
            out.push(event);
        }
        match members.get(TOOL_CALLS) {
            None | Some(Json::Null) => {}
            Some(Json::Array(calls)) => {
                for call in calls {
                    let mut form = call.clone();
                    out.push(tool(self.calls, &mut form));
                    self.calls += 1;
                    self.shape.note_tool_call(form);
                }
            }
            Some(other) => self.odd(&format!("has tool calls that are {}", other.kind())),
        }
    }
}

impl Decoder for LineDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        self.count += 1;
        if event.odd {
            self.odd("has bytes that are no UTF-8");
        }
        if self.done {
            self.odd("comes after the last line");
            return;
        }
        match parse(&event.data) {
            Ok(line) => self.line(line, out),
            Err(error) => self.odd(&format!("is no JSON: {error}")),
        }
    }

    fn finish(&mut self) -> Tail {
        Tail {
            template: self.shape.finish(),
            complete: self.done || self.failed,
            odd: self.odd.take(),
        }
    }
}

pub(super) fn is_error(members: &Object) -> bool {
    members.get(ERROR).is_some_and(|error| !error.is_null())
}

/// Thinking comes before the text that it led to.
pub(super) fn said(thinking: String, text: String) -> impl Iterator<Item = Event> {
    let thinking = (!thinking.is_empty()).then_some(Event::Reasoning {
        choice: 0,
        text: thinking,
    });
    let text = (!text.is_empty()).then_some(Event::Text { choice: 0, text });
    thinking.into_iter().chain(text)
}

/// The event of a tool call, of which only the form is left.
pub(super) fn tool(index: u32, form: &mut Json) -> Event {
    let call = take_tool_call(index, form);
    Event::Tool {
        choice: 0,
        index,
        id: Some(call.id),
        name: Some(call.function.name),
        arguments: call.function.arguments,
    }
}

/// The end of an answer. Older servers say `done` without a reason.
pub(super) fn finish(members: &Object, called: bool) -> Event {
    let native = members.get(DONE_REASON).and_then(Json::as_str);
    let reason = canonical_reason(native.unwrap_or("stop"), called);
    Event::Finish {
        choice: 0,
        reason: reason.to_owned(),
        native: native.filter(|native| *native != reason).map(str::to_owned),
    }
}
