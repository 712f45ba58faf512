//! Requests. `stream` is true when absent; nothing else has a default that matters here.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::HttpRequest;
#[cfg(test)]
use crate::protocol::common::stated;
use crate::protocol::common::{leading, object};
use crate::protocol::request_body::{is_control, posted};

use super::endpoint::{Endpoint, PROVIDER};

const MESSAGES: &str = "messages";
const MODEL: &str = "model";
const STREAM: &str = "stream";
const PROMPT: &str = "prompt";
const SYSTEM: &str = "system";
const IMAGES: &str = "images";

/// Reads a request to `endpoint`; `None` when it is something else.
pub(super) fn canonical(endpoint: &Endpoint, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
    let mut body = posted(http, endpoint.path)?;
    // Other servers have an `/api/chat` too; a request without a model is none of Ollama's.
    let Json::String(model) = body.remove(MODEL)? else {
        return None;
    };
    let messages = if endpoint.has_message {
        match body.remove(MESSAGES) {
            Some(Json::Array(messages)) => messages,
            // Without messages the model is only loaded.
            None | Some(Json::Null) => Vec::new(),
            Some(_) => return None,
        }
    } else {
        prompt(&mut body)
    };
    let mut parameters = leading();
    for (name, value) in body {
        if !is_control(&name) {
            parameters.set(name, value);
        }
    }
    if parameters.get(STREAM).is_none_or(Json::is_null) {
        parameters.set(STREAM, true);
    }
    Some(CanonicalRequest {
        protocol: endpoint.name.to_owned(),
        model,
        provider: PROVIDER.to_owned(),
        messages,
        parameters,
    })
}

/// The prompt of `/api/generate` as messages; members of other types than usual stay parameters.
fn prompt(body: &mut Object) -> Vec<Json> {
    let mut messages = Vec::new();
    if let Some(Json::String(_)) = body.get(SYSTEM) {
        let system = body.remove(SYSTEM).unwrap_or_default();
        messages.push(object([("role", SYSTEM.into()), ("content", system)]).into());
    }
    if let Some(Json::String(_)) = body.get(PROMPT) {
        let text = body.remove(PROMPT).unwrap_or_default();
        let mut user = object([("role", "user".into()), ("content", text)]);
        if let Some(Json::Array(_)) = body.get(IMAGES) {
            user.push(IMAGES, body.remove(IMAGES).unwrap_or_default());
        }
        messages.push(user.into());
    }
    messages
}

/// The body that [`canonical`] reads back to the same request.
#[cfg(test)]
pub(super) fn rebuild(endpoint: &Endpoint, request: &CanonicalRequest) -> Json {
    let mut body = object([(MODEL, request.model.as_str().into())]);
    if endpoint.has_message {
        body.push(MESSAGES, request.messages.clone());
    } else {
        for message in &request.messages {
            let is_system = message.get("role").and_then(Json::as_str) == Some(SYSTEM);
            let name = if is_system { SYSTEM } else { PROMPT };
            body.set(name, message.get("content").cloned());
            if let Some(images) = message.get(IMAGES) {
                body.set(IMAGES, images.clone());
            }
        }
    }
    for (name, value) in stated(&request.parameters, &[]) {
        body.push(name.clone(), value.clone());
    }
    Json::Object(body)
}

#[cfg(test)]
mod tests {
    use super::super::{CHAT, GENERATE};
    use super::*;
    use crate::json::compact;

    fn read(endpoint: &Endpoint, body: &str) -> Option<CanonicalRequest> {
        let http = HttpRequest {
            method: "POST",
            path: endpoint.path,
            query: "",
            body: body.as_bytes(),
        };
        canonical(endpoint, &http)
    }

    #[test]
    fn streaming_is_the_default() {
        for (body, stream) in [
            (r#"{"model":"m","messages":[]}"#, true),
            (r#"{"model":"m","messages":[],"stream":null}"#, true),
            (r#"{"model":"m","messages":[],"stream":true}"#, true),
            (r#"{"model":"m","messages":[],"stream":false}"#, false),
        ] {
            assert_eq!(read(&CHAT, body).unwrap().stream(), stream, "{body}");
        }
    }

    #[test]
    fn chat_messages_stay_as_they_are() {
        let request = read(
            &CHAT,
            r#"{"model":"m","messages":[{"role":"user","content":"x","images":["aGk="]}],"vcr_speed":"max",
                "options":{"temperature":0.70},"think":"high"}"#,
        )
        .unwrap();
        assert_eq!(
            (request.model.as_str(), request.protocol.as_str()),
            ("m", "ollama-chat")
        );
        assert_eq!(
            compact(&Json::Array(request.messages)),
            r#"[{"role":"user","content":"x","images":["aGk="]}]"#
        );
        assert_eq!(
            compact(&Json::Object(request.parameters)),
            r#"{"temperature":null,"max_tokens":null,"stream":true,"options":{"temperature":0.70},"think":"high"}"#
        );
    }

    #[test]
    fn a_prompt_becomes_messages() {
        let request = read(
            &GENERATE,
            r#"{"model":"m","prompt":"x","system":"s","images":["aGk="],"raw":true}"#,
        )
        .unwrap();
        assert_eq!(
            compact(&Json::Array(request.messages)),
            r#"[{"role":"system","content":"s"},{"role":"user","content":"x","images":["aGk="]}]"#
        );
        assert_eq!(request.parameters.get("raw"), Some(&Json::Bool(true)));
    }

    #[test]
    fn a_request_is_rebuilt_to_the_same_request() {
        for (endpoint, body) in [
            (&CHAT, r#"{"model":"m"}"#),
            (
                &CHAT,
                r#"{"stream":false,"messages":[{"role":"tool","tool_name":"f","content":"1"}],"model":"m","temperature":1}"#,
            ),
            (&GENERATE, r#"{"model":"m"}"#),
            (&GENERATE, r#"{"model":"m","prompt":"","system":"","images":[]}"#),
            (
                &GENERATE,
                r#"{"model":"m","prompt":null,"system":7,"images":["x"],"format":"json"}"#,
            ),
        ] {
            let first = read(endpoint, body).unwrap();
            let again = read(endpoint, &compact(&rebuild(endpoint, &first))).unwrap();
            assert_eq!(first, again, "{body}");
        }
    }

    #[test]
    fn other_requests_are_not_ours() {
        for body in [
            r#"{"messages":[]}"#,
            r#"{"model":1,"messages":[]}"#,
            r#"{"model":"m","messages":"x"}"#,
            "[]",
            "{",
            "",
        ] {
            assert!(read(&CHAT, body).is_none(), "{body}");
        }
        let http = HttpRequest {
            method: "POST",
            path: "/api/generate",
            query: "",
            body: br#"{"model":"m"}"#,
        };
        assert!(canonical(&CHAT, &http).is_none());
        assert!(
            canonical(
                &GENERATE,
                &HttpRequest {
                    method: "GET",
                    ..http
                }
            )
            .is_none()
        );
        let below = HttpRequest {
            path: "/proxy/api/generate",
            ..http
        };
        assert!(canonical(&GENERATE, &below).is_some());
    }
}
