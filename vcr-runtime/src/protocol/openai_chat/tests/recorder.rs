//! A recorder that is just good enough for tests: one frame an event, tool calls on the frame that ends their choice.

use std::collections::BTreeMap;

use crate::json::{Json, parse};
use crate::model::{Boundary, BoundaryKind, Frame, ToolCall, Usage};
use crate::protocol::{Answer, Event, Framer, Framing, Tail, Wire, WireError, WireEvent};

use super::super::OpenAiChat;

#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) frames: Vec<Frame>,
    pub(super) usage: Option<Usage>,
    pub(super) boundary: Option<Boundary>,
    pub(super) tail: Tail,
    pub(super) ended: bool,
    pub(super) tools: BTreeMap<(u32, u32), ToolCall>,
}

impl Recorded {
    pub(super) fn answer(&self) -> Answer<'_> {
        Answer {
            frames: &self.frames,
            usage: self.usage.as_ref(),
            boundary: self.boundary.as_ref(),
            template: self.tail.template.as_ref(),
            model: "model-of-request",
            id: "vcr-00000000",
        }
    }

    /// The payloads that the recording renders to.
    pub(super) fn rendered(&self) -> Vec<Json> {
        let chunks = OpenAiChat.render_stream(&self.answer());
        chunks.into_iter().map(|(_, payload)| payload).collect()
    }

    pub(super) fn template(&self) -> String {
        self.tail
            .template
            .as_ref()
            .map(crate::json::compact)
            .unwrap_or_default()
    }

    fn take(&mut self, events: Vec<Event>) {
        let from = self.frames.len();
        for event in events {
            match event {
                Event::Text { choice, text } => self.frame(from, choice).chunk.push_str(&text),
                Event::Reasoning { choice, text } => {
                    let frame = self.frame(from, choice);
                    frame.reasoning.get_or_insert_default().push_str(&text);
                }
                Event::Refusal { choice, text } => {
                    let frame = self.frame(from, choice);
                    frame.refusal.get_or_insert_default().push_str(&text);
                }
                Event::Tool {
                    choice,
                    index,
                    id,
                    name,
                    arguments,
                } => {
                    let call = self.tools.entry((choice, index)).or_default();
                    call.id.push_str(&id.unwrap_or_default());
                    call.function.name.push_str(&name.unwrap_or_default());
                    call.function.arguments.push_str(&arguments);
                }
                Event::Finish {
                    choice,
                    reason,
                    native,
                } => {
                    let tools = self.tools_of(choice);
                    let frame = self.frame(from, choice);
                    frame.finish_reason = Some(reason);
                    frame.native_finish_reason = native;
                    frame.tool_calls.extend(tools);
                }
                Event::Usage(usage) => self.usage = Some(usage),
                Event::Error(error) => self.boundary = Some(boundary(error)),
                Event::Native { choice, block } => {
                    let frame = Frame {
                        choice,
                        native: Some(block),
                        ..Frame::default()
                    };
                    self.frames.push(frame);
                }
                Event::Signature { .. } => panic!("chat has no signatures"),
                Event::End => self.ended = true,
            }
        }
    }

    fn frame(&mut self, from: usize, choice: u32) -> &mut Frame {
        let known = (from..self.frames.len())
            .find(|at| self.frames[*at].choice == choice && self.frames[*at].native.is_none());
        let at = known.unwrap_or_else(|| {
            self.frames.push(Frame {
                choice,
                ..Frame::default()
            });
            self.frames.len() - 1
        });
        &mut self.frames[at]
    }

    fn tools_of(&mut self, choice: u32) -> Vec<ToolCall> {
        let rest = self.tools.split_off(&(choice + 1, 0));
        let mut own = std::mem::replace(&mut self.tools, rest);
        let own_tools = own.split_off(&(choice, 0));
        self.tools.append(&mut own);
        own_tools.into_values().collect()
    }

    /// Tool calls of choices that never ended.
    fn flush(&mut self) {
        let choices: Vec<u32> = self.tools.keys().map(|(choice, _)| *choice).collect();
        for choice in choices {
            let tools = self.tools_of(choice);
            if !tools.is_empty() {
                let from = self.frames.len();
                self.frame(from, choice).tool_calls = tools;
            }
        }
    }

    /// As a wide tick would: neighbours of one choice are one frame.
    pub(super) fn coalesce(&mut self) {
        let mut merged: Vec<Frame> = Vec::new();
        for frame in std::mem::take(&mut self.frames) {
            match merged.last_mut() {
                Some(last)
                    if last.choice == frame.choice && last.native.is_none() && frame.native.is_none() =>
                {
                    last.chunk.push_str(&frame.chunk);
                    append(&mut last.reasoning, frame.reasoning);
                    append(&mut last.refusal, frame.refusal);
                    last.tool_calls.extend(frame.tool_calls);
                    if frame.finish_reason.is_some() {
                        last.finish_reason = frame.finish_reason;
                        last.native_finish_reason = frame.native_finish_reason;
                    }
                }
                _ => merged.push(frame),
            }
        }
        self.frames = merged;
    }
}

fn append(into: &mut Option<String>, more: Option<String>) {
    if let Some(more) = more {
        into.get_or_insert_default().push_str(&more);
    }
}

fn boundary(error: WireError) -> Boundary {
    Boundary {
        kind: BoundaryKind::Error,
        error_type: error.error_type,
        message: error.message,
        status: error.status,
        code: error.code,
    }
}

pub(super) fn events(body: &[u8]) -> Vec<WireEvent> {
    let mut framer = Framer::new(Framing::Sse);
    let mut out = Vec::new();
    framer.push(body, &mut out);
    framer.finish(&mut out);
    out
}

/// The payloads of the events that have one.
pub(super) fn payloads(events: &[WireEvent]) -> Vec<Json> {
    events
        .iter()
        .filter_map(|event| parse(&event.data).ok())
        .collect()
}

pub(super) fn record(events: &[WireEvent]) -> Recorded {
    let mut decoder = OpenAiChat.decoder();
    let mut recorded = Recorded::default();
    for event in events {
        let mut out = Vec::new();
        decoder.event(event, &mut out);
        recorded.take(out);
    }
    recorded.flush();
    recorded.tail = decoder.finish();
    recorded
}

pub(super) fn record_unary(status: u16, body: &Json) -> Recorded {
    let mut out = Vec::new();
    let tail = OpenAiChat.unary(status, body, &mut out);
    let mut recorded = Recorded {
        tail,
        ..Recorded::default()
    };
    recorded.take(out);
    recorded.flush();
    recorded
}

/// A stream of these payloads, with its end marker.
pub(super) fn stream(payloads: &[&str]) -> Vec<WireEvent> {
    let mut text: String = payloads
        .iter()
        .map(|payload| format!("data: {payload}\n\n"))
        .collect();
    text.push_str("data: [DONE]\n\n");
    events(text.as_bytes())
}

/// Where two documents differ first, with both values.
pub(super) fn difference(a: &Json, b: &Json, path: &str) -> Option<String> {
    match (a, b) {
        (Json::Object(x), Json::Object(y)) => {
            let names = x.iter().chain(y.iter()).map(|(name, _)| name);
            names
                .into_iter()
                .find_map(|name| match (x.get(name), y.get(name)) {
                    (Some(a), Some(b)) => difference(a, b, &format!("{path}/{name}")),
                    (Some(_), None) => Some(format!("{path}/{name} only in the original")),
                    (None, _) => Some(format!("{path}/{name} only in the rendered")),
                })
                .or_else(|| (x != y).then(|| format!("{path} has other key order")))
        }
        (Json::Array(x), Json::Array(y)) if x.len() == y.len() => x
            .iter()
            .zip(y)
            .enumerate()
            .find_map(|(at, (a, b))| difference(a, b, &format!("{path}/{at}"))),
        _ => (a != b).then(|| format!("{path}: {a:?} became {b:?}")),
    }
}
