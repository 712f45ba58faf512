use std::time::Duration;

use serde_json::Value;

use crate::gate::Gate;
use crate::notation::{Split, split, sse};

/// One step of a scripted body.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes as one transport chunk.
    Bytes(Vec<u8>),
    /// Goes on once the gate is open.
    Wait(Gate),
    /// Opens the gate: everything before this step has been written.
    Reached(Gate),
    /// Lets time pass. Only for tests about time; all others wait at a gate.
    Pause(Duration),
    /// Resets the connection.
    Reset,
    /// Closes the connection without the end that the body's framing prescribes.
    CloseWithoutEnd,
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes(left), Self::Bytes(right)) => left == right,
            (Self::Pause(left), Self::Pause(right)) => left == right,
            (Self::Reset, Self::Reset) | (Self::CloseWithoutEnd, Self::CloseWithoutEnd) => true,
            _ => false,
        }
    }
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// `transfer-encoding: chunked`, one chunk a step.
    Chunked,
    /// `content-length` over all bytes of the steps.
    Counted,
    /// The body ends with the connection.
    UntilClose,
}

/// What happens before the head is sent.
#[derive(Clone, Debug)]
pub enum BeforeHead {
    /// Nothing: the head goes out at once.
    Nothing,
    /// The head goes out once the gate is open.
    Wait(Gate),
    /// The connection is closed and no head is ever sent.
    Close,
    /// The connection is reset and no head is ever sent.
    Reset,
}

/// One scripted answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers, without those that tell the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub steps: Vec<Step>,
    /// How the body ends.
    pub length: Length,
    /// What happens first.
    pub before_head: BeforeHead,
}

impl Reply {
    /// A unary answer.
    #[must_use]
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            steps: vec![Step::Bytes(body.into())],
            length: Length::Counted,
            before_head: BeforeHead::Nothing,
        }
    }

    /// A unary JSON answer with status 200.
    #[must_use]
    pub fn json(body: &Value) -> Self {
        Self::new(200, "application/json", body.to_string())
    }

    /// A unary JSON answer with that text, spelt exactly so.
    #[must_use]
    pub fn json_text(status: u16, body: &str) -> Self {
        Self::new(status, "application/json", body)
    }

    /// A stream of these steps.
    #[must_use]
    pub fn stream(steps: Vec<Step>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            steps,
            length: Length::Chunked,
            before_head: BeforeHead::Nothing,
        }
    }

    /// A stream in the notation of [`sse`].
    #[must_use]
    pub fn sse(text: &str) -> Self {
        Self::stream(sse(text))
    }

    /// A chat completion with this text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::json(&serde_json::json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        }))
    }

    /// A streamed chat completion, one chunk a piece of text.
    #[must_use]
    pub fn text_stream(pieces: &[&str]) -> Self {
        let mut steps: Vec<Step> = pieces
            .iter()
            .map(|piece| chunk(&serde_json::json!({"content": piece}), None))
            .collect();
        steps.push(chunk(&serde_json::json!({}), Some("stop")));
        steps.push(Step::Bytes(b"data: [DONE]\n\n".to_vec()));
        Self::stream(steps)
    }

    /// No answer: the connection breaks before the head.
    #[must_use]
    pub fn nothing(before_head: BeforeHead) -> Self {
        Self {
            before_head,
            ..Self::new(200, "text/plain", "")
        }
    }

    /// With another status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With another way to tell the end of the body.
    #[must_use]
    pub fn length(mut self, length: Length) -> Self {
        self.length = length;
        self
    }

    /// With a gate before the head.
    #[must_use]
    pub fn after(mut self, gate: &Gate) -> Self {
        self.before_head = BeforeHead::Wait(gate.clone());
        self
    }

    /// With the body's bytes joined and cut anew; gates and faults stay at the end of what preceded them.
    #[must_use]
    pub fn split(mut self, how: Split) -> Self {
        let mut steps = Vec::new();
        let mut bytes = Vec::new();
        for step in self.steps {
            match step {
                Step::Bytes(piece) => bytes.extend(piece),
                other => {
                    steps.extend(
                        split(&std::mem::take(&mut bytes), how)
                            .into_iter()
                            .map(Step::Bytes),
                    );
                    steps.push(other);
                }
            }
        }
        steps.extend(split(&bytes, how).into_iter().map(Step::Bytes));
        self.steps = steps;
        self
    }

    /// All bytes of the body.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = self.steps.iter().filter_map(|step| match step {
            Step::Bytes(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        bytes.collect::<Vec<_>>().concat()
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> Step {
    let payload = serde_json::json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-4o-mini",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    Step::Bytes(format!("data: {payload}\n\n").into_bytes())
}
