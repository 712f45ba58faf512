//! The protocols, for tests that are the same for each of them.

use serde_json::{Value, json};

use crate::http::{self, Response};
use crate::rig::Delivered;
use crate::upstream::{Length, Reply};

/// A protocol as far as these tests speak it.
#[derive(Debug)]
pub struct Protocol {
    /// As cassettes name it.
    pub name: &'static str,
    path: &'static str,
    content_type: &'static str,
    /// The payloads of a stream that says this text, and the place of the first one with the text.
    pub payloads: fn(&Value) -> (Vec<Value>, usize),
    /// A whole answer with this text.
    pub unary: fn(&Value) -> Value,
    /// A payload that no version of the protocol knows.
    pub unknown: fn() -> Value,
}

const SSE: &str = "text/event-stream";
/// Those whose streams are read.
pub const STREAMED: [Protocol; 5] = [OPENAI, RESPONSES, ANTHROPIC, GEMINI, OLLAMA];

const OPENAI: Protocol = Protocol {
    name: "openai-chat",
    path: "/v1/chat/completions",
    content_type: SSE,
    payloads: |text| {
        let chunk = |delta: Value, finish: Value| {
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        };
        let chunks = vec![
            chunk(json!({"role": "assistant", "content": ""}), Value::Null),
            chunk(json!({"content": text}), Value::Null),
            chunk(json!({}), json!("stop")),
        ];
        (chunks, 1)
    },
    unary: |text| {
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
    },
    unknown: || json!({"id": "c", "choices": [{"index": 0, "delta": {"unheard_of": {"x": 1}}}]}),
};

const RESPONSES: Protocol = Protocol {
    name: "openai-responses",
    path: "/v1/responses",
    content_type: SSE,
    payloads: |text| {
        let part = json!({"type": "output_text", "annotations": [], "text": text});
        let item = json!({"id": "i", "type": "message", "status": "completed", "role": "assistant", "content": [part]});
        let open = json!({"id": "i", "type": "message", "status": "in_progress", "role": "assistant", "content": []});
        let empty = json!({"type": "output_text", "annotations": [], "text": ""});
        let response = |status: &str, output: Value| json!({"id": "r", "object": "response", "model": "m", "status": status, "output": output});
        let events = vec![
            json!({"type": "response.created", "response": response("in_progress", json!([]))}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": open}),
            json!({"type": "response.content_part.added", "item_id": "i", "output_index": 0, "content_index": 0, "part": empty}),
            json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": text}),
            json!({"type": "response.output_text.done", "item_id": "i", "output_index": 0, "content_index": 0, "text": text}),
            json!({"type": "response.content_part.done", "item_id": "i", "output_index": 0, "content_index": 0, "part": part}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": response("completed", json!([item]))}),
        ];
        (events, 3)
    },
    unary: |text| {
        json!({"id": "r", "object": "response", "model": "m", "status": "completed", "output": [
            {"id": "i", "type": "message", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "annotations": [], "text": text}]}]})
    },
    unknown: || json!({"type": "response.unheard_of", "x": 1}),
};

const ANTHROPIC: Protocol = Protocol {
    name: "anthropic-messages",
    path: "/v1/messages",
    content_type: SSE,
    payloads: |text| {
        let events = vec![
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
                "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ];
        (events, 2)
    },
    unary: |text| {
        json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}})
    },
    unknown: || json!({"type": "unheard_of", "x": 1}),
};

const GEMINI: Protocol = Protocol {
    name: "gemini",
    path: "/v1beta/models/m:generateContent",
    content_type: SSE,
    payloads: |text| {
        let chunk = |text: &Value| json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}], "modelVersion": "m"});
        let mut last = chunk(&json!("."));
        last["candidates"][0]["finishReason"] = json!("STOP");
        (vec![chunk(text), last], 0)
    },
    unary: |text| json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP"}], "modelVersion": "m"}),
    unknown: || json!({"candidates": [{"content": {"parts": [{"unheard_of": {"x": 1}}], "role": "model"}}], "modelVersion": "m"}),
};

const OLLAMA: Protocol = Protocol {
    name: "ollama-chat",
    path: "/api/chat",
    content_type: "application/x-ndjson",
    payloads: |text| {
        let line = |text: Value, done: bool| json!({"model": "m", "created_at": "t", "message": {"role": "assistant", "content": text}, "done": done});
        let mut last = line(json!(""), true);
        last["done_reason"] = json!("stop");
        (vec![line(text.clone(), false), last], 0)
    },
    unary: |text| json!({"model": "m", "created_at": "t", "message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"}),
    unknown: || json!({"model": "m", "unheard_of": {"x": 1}, "done": false}),
};

/// Its streams are kept as they are.
pub const BEDROCK: Protocol = Protocol {
    name: "bedrock-converse",
    path: "/model/m/converse",
    content_type: "application/vnd.amazon.eventstream",
    payloads: |_| (Vec::new(), 0),
    unary: |text| {
        json!({"output": {"message": {"role": "assistant", "content": [{"text": text}]}}, "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}})
    },
    unknown: || json!({"unheard_of": {"x": 1}}),
};

impl Protocol {
    /// An event with this payload.
    #[must_use]
    pub fn frame(&self, payload: &[u8], name: Option<&str>) -> Vec<u8> {
        let head = match (self.content_type, name) {
            (SSE, Some(name)) => format!("event: {name}\ndata: "),
            (SSE, None) => "data: ".to_owned(),
            _ => return [payload, b"\n"].concat(),
        };
        let end: &[u8] = if self.name == "gemini" {
            b"\r\n\r\n"
        } else {
            b"\n\n"
        };
        [head.as_bytes(), payload, end].concat()
    }

    /// An event of that payload's type.
    #[must_use]
    pub fn event(&self, payload: &Value) -> Vec<u8> {
        self.frame(payload.to_string().as_bytes(), payload["type"].as_str())
    }

    /// The events of a stream that says this, and the place of the one with the text.
    #[must_use]
    pub fn events(&self, text: &Value) -> (Vec<Vec<u8>>, usize) {
        let (payloads, at) = (self.payloads)(text);
        let mut events: Vec<Vec<u8>> = payloads.iter().map(|payload| self.event(payload)).collect();
        if self.name == "openai-chat" {
            events.push(b"data: [DONE]\n\n".to_vec());
        }
        (events, at)
    }

    /// The good stream with one more event before the text.
    #[must_use]
    pub fn with(&self, event: Vec<u8>) -> Vec<u8> {
        let (mut events, at) = self.events(&json!("ok"));
        events.insert(at, event);
        events.concat()
    }

    /// The good stream with the payload of the text's event changed.
    pub fn changed(&self, change: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
        let (payloads, at) = (self.payloads)(&json!("ok"));
        let (mut events, _) = self.events(&json!("ok"));
        let payload = change(payloads[at].to_string().as_bytes());
        events[at] = self.frame(&payload, payloads[at]["type"].as_str());
        events.concat()
    }

    /// A streamed answer.
    #[must_use]
    pub fn stream_reply(&self, body: Vec<u8>) -> Reply {
        Reply::new(200, self.content_type, body).length(Length::Chunked)
    }

    fn stream_path(&self) -> String {
        match self.name {
            "gemini" => "/v1beta/models/m:streamGenerateContent?alt=sse".to_owned(),
            "bedrock-converse" => "/model/m/converse-stream".to_owned(),
            _ => self.path.to_owned(),
        }
    }

    /// Asks and reads the whole answer.
    pub async fn send(&self, vcr: &vcr_runtime::Vcr, upstream: &str, streamed: bool) -> Delivered {
        Delivered::of(self.ask(vcr, upstream, streamed).await).await
    }

    /// Asks through the session's gateway; `upstream` is who would answer live.
    ///
    /// # Panics
    /// When the session has no gateway.
    pub async fn ask(&self, vcr: &vcr_runtime::Vcr, upstream: &str, streamed: bool) -> Response {
        let path = if streamed {
            self.stream_path()
        } else {
            self.path.to_owned()
        };
        let base = vcr.base_url_for(upstream).unwrap();
        let body = match self.name {
            "gemini" => json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
            "openai-responses" => json!({"model": "m", "input": "hi", "stream": streamed}),
            "bedrock-converse" => json!({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}),
            _ => {
                json!({"model": "m", "max_tokens": 9, "stream": streamed, "messages": [{"role": "user", "content": "hi"}]})
            }
        };
        http::post(&format!("{base}{path}"), &body.to_string()).await
    }
}
