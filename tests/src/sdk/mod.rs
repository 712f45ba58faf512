//! Small SDKs: what a caller makes of an answer. Written independently of the runtime, so that the two can disagree.

mod anthropic;
mod bedrock;
mod events;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use serde_json::Value;

pub use events::{Event, events};
pub use openai_chat::{Answer, Choice, Tool};

/// Whose SDK it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// `OpenAI` chat completions and everything like it.
    OpenAiChat,
    /// `OpenAI` Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's own API.
    Ollama,
    /// Bedrock Converse; its binary stream is only compared by its bytes.
    Bedrock,
}

/// How the paths of each protocol end, and where the base that a client is configured with ends.
const PATHS: [(Sdk, &str); 8] = [
    (Sdk::OpenAiChat, "/chat/completions"),
    (Sdk::OpenAiResponses, "/responses"),
    (Sdk::Anthropic, "/v1/messages"),
    (Sdk::Gemini, "/v1beta/models/"),
    (Sdk::Ollama, "/api/chat"),
    (Sdk::Ollama, "/api/generate"),
    (Sdk::Bedrock, "/model/"),
    (Sdk::Gemini, "/v1/models/"),
];

impl Sdk {
    /// By a request's path, with the length of the client's base in it.
    #[must_use]
    pub fn of(path: &str) -> Option<(Self, usize)> {
        PATHS.iter().find_map(|(sdk, part)| {
            let at = path.rfind(part)?;
            (part.ends_with('/') || at + part.len() == path.len()).then_some((*sdk, at))
        })
    }

    /// What the caller holds in the end: one document, with an `error` member where the answer has one.
    #[must_use]
    pub fn read(self, content_type: &str, body: &[u8]) -> Value {
        if content_type.starts_with("application/vnd.amazon.eventstream") {
            return bedrock::stream(body);
        }
        let streamed = content_type.starts_with("text/event-stream") && body.first() != Some(&b'{');
        match self {
            Self::OpenAiChat if streamed => Answer::stream(body).value(),
            Self::OpenAiChat => Answer::unary(body).value(),
            Self::OpenAiResponses if streamed => openai_responses::stream(body),
            Self::Anthropic if streamed => anthropic::stream(body),
            Self::Gemini if streamed => gemini::stream(body),
            Self::Ollama if content_type.starts_with("application/x-ndjson") => ollama::stream(body),
            _ => unary(body),
        }
    }
}

/// A unary answer is the document itself; one that is no JSON becomes a text error.
fn unary(body: &[u8]) -> Value {
    serde_json::from_slice(body)
        .unwrap_or_else(|_| serde_json::json!({"error": String::from_utf8_lossy(body)}))
}

/// The JSON documents of a stream, without an end marker.
fn documents(body: &[u8]) -> Vec<Value> {
    let parse = |data: &str| -> Value {
        serde_json::from_str(data).unwrap_or_else(|error| panic!("{error} in the event {data:?}"))
    };
    let events = events(body);
    let events = events.iter().filter(|event| event.data != "[DONE]");
    events.map(|event| parse(&event.data)).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Sets every member of `from` in `into`, which becomes an object.
fn merge(into: &mut Value, from: &Value) {
    for (name, value) in from.as_object().into_iter().flatten() {
        into[name.as_str()] = value.clone();
    }
}

/// Appends to a text, which is made where it is absent or null.
fn push(into: &mut Value, more: &Value) {
    let text = format!(
        "{}{}",
        into.as_str().unwrap_or_default(),
        more.as_str().unwrap_or_default()
    );
    *into = Value::String(text);
}

/// The paths at which two documents differ.
#[must_use]
pub fn differences(left: &Value, right: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(left, right, "", &mut found);
    found
}

fn compare(left: &Value, right: &Value, path: &str, found: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => compare(a, b, &path, found),
                    (Some(_), None) => found.push(format!("{path} missing")),
                    _ => found.push(format!("{path} added")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(a, b, &format!("{path}[{index}]"), found);
            }
        }
        _ if left == right => {}
        _ => found.push(path.to_owned()),
    }
}
