//! Whether two takes say the same: a re-recording that changed nothing but ids and times is no news for a diff.

use std::collections::HashMap;
use std::sync::Arc;

use crate::json::{Json, Object};
use crate::model::{Call, Frame, Raw, RawBody, Take};

use super::encode::call_members;

/// Members that differ between two recordings of the same thing.
const VOLATILE: [&str; 9] = [
    "created",
    "created_at",
    "id",
    "obfuscation",
    "p",
    "reasoning_signature",
    "request_hash",
    "system_fingerprint",
    "timings",
];

/// Compares text, tool calls, finish reasons, usage, ends and requests; not ids, times and frame boundaries.
pub(crate) fn equal_but_for_ids_and_times(a: &Take, b: &Take) -> bool {
    a.calls.len() == b.calls.len() && comparable(a) == comparable(b)
}

fn comparable(take: &Take) -> Vec<Json> {
    let mut ids = Ids::default();
    take.calls
        .iter()
        .map(|call| comparable_call(call, &mut ids))
        .collect()
}

fn comparable_call(call: &Call, ids: &mut Ids) -> Json {
    // Ids that the model made up come back in later requests; they are numbered by first appearance.
    for tool_call in call.frames.iter().flat_map(|frame| &frame.tool_calls) {
        ids.number(&tool_call.id);
    }
    let mut plain = call.clone();
    plain.started_us = None;
    plain.over_us = None;
    plain.metrics = None;
    Arc::make_mut(&mut plain.request).hash = None;
    plain.frames = joined(&call.frames).into();
    if let Some(head) = &mut plain.http {
        head.headers.retain(|(name, _)| name == "content-type");
    }
    plain.raw = call.raw.as_ref().map(untimed);
    let mut document = Json::Object(call_members(&plain));
    ids.rewrite(&mut document);
    document
}

/// One frame a choice: its texts joined.
fn joined(frames: &[Frame]) -> Vec<Frame> {
    fn append(to: &mut Option<String>, from: Option<&String>) {
        if let Some(text) = from {
            to.get_or_insert_default().push_str(text);
        }
    }
    let mut choices: Vec<Frame> = Vec::new();
    for frame in frames {
        let whole = match choices.iter_mut().position(|whole| whole.choice == frame.choice) {
            Some(index) => &mut choices[index],
            None => {
                choices.push(Frame {
                    choice: frame.choice,
                    ..Frame::default()
                });
                let last = choices.len() - 1;
                &mut choices[last]
            }
        };
        whole.chunk.push_str(&frame.chunk);
        append(&mut whole.reasoning, frame.reasoning.as_ref());
        append(&mut whole.refusal, frame.refusal.as_ref());
        whole.tool_calls.extend(frame.tool_calls.iter().cloned());
        if frame.finish_reason.is_some() {
            whole.finish_reason.clone_from(&frame.finish_reason);
        }
        if let Some(native) = &frame.native {
            let mut blocks = match whole.native.take() {
                Some(Json::Array(blocks)) => blocks,
                _ => Vec::new(),
            };
            blocks.push(native.clone());
            whole.native = Some(Json::Array(blocks));
        }
    }
    choices.sort_by_key(|whole| whole.choice);
    choices
}

fn untimed(raw: &Raw) -> Raw {
    let mut raw = raw.clone();
    match &mut raw.body {
        RawBody::Unary(_) => {}
        RawBody::Chunks { offsets_us, .. } => offsets_us.clear(),
        RawBody::Transcript(pieces) => pieces.iter_mut().for_each(|piece| piece.offset_us = 0),
    }
    raw
}

#[derive(Default)]
struct Ids(HashMap<String, usize>);

impl Ids {
    fn number(&mut self, id: &str) {
        if !id.is_empty() && !self.0.contains_key(id) {
            self.0.insert(id.to_owned(), self.0.len());
        }
    }

    fn rewrite(&self, document: &mut Json) {
        match document {
            Json::String(text) => {
                if let Some(number) = self.0.get(text.as_str()) {
                    *text = format!("id {number}");
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.rewrite(item)),
            Json::Object(Object(members)) => {
                // A tool call's own id is known and numbered; any other volatile member goes.
                members.retain(|(key, value)| {
                    let known = value.as_str().is_some_and(|text| self.0.contains_key(text));
                    known || !VOLATILE.contains(&key.as_str())
                });
                members.iter_mut().for_each(|(_, value)| self.rewrite(value));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metrics, RecordedRequest, ToolCall};

    fn take(id: &str, text: &str, cut: usize, answer: &str) -> Take {
        let (head, tail) = text.split_at(cut);
        let frames = vec![
            Frame {
                delta_us: cut as u64,
                chunk: head.to_owned(),
                ..Frame::default()
            },
            Frame {
                chunk: tail.to_owned(),
                tool_calls: vec![ToolCall::new(id, "f", "{}")],
                finish_reason: Some("tool_calls".to_owned()),
                ..Frame::default()
            },
        ];
        let message =
            crate::json::parse(&format!("{{\"role\":\"tool\",\"tool_call_id\":\"{id}\"}}")).unwrap();
        let second = Call {
            request: RecordedRequest {
                messages: Some(vec![message]),
                ..RecordedRequest::default()
            }
            .into(),
            frames: vec![Frame {
                chunk: answer.to_owned(),
                ..Frame::default()
            }]
            .into(),
            metrics: Some(Metrics {
                ttfb_us: cut as u64,
                total_us: 9,
            }),
            ..Call::default()
        };
        Take {
            trace_id: id.to_owned(),
            calls: vec![
                Call {
                    frames: frames.into(),
                    ..Call::default()
                },
                second,
            ],
        }
    }

    #[test]
    fn ids_times_and_frame_boundaries_are_no_difference() {
        assert!(equal_but_for_ids_and_times(
            &take("a", "hello", 1, "x"),
            &take("b", "hello", 4, "x")
        ));
    }

    #[test]
    fn text_is_a_difference() {
        assert!(!equal_but_for_ids_and_times(
            &take("a", "hello", 1, "x"),
            &take("a", "hello", 1, "y")
        ));
        assert!(!equal_but_for_ids_and_times(
            &take("a", "hello", 1, "x"),
            &take("a", "hallo", 1, "x")
        ));
    }
}
