use crate::json::{Json, Object, parse};
use crate::model::CanonicalRequest;
use crate::protocol::HttpRequest;
use crate::protocol::request_body::{LEADING, is_control, without_control};

use super::ask::PATH;
use super::{NAME, PROVIDER};

const SYSTEM: &str = "system";

/// Whether a path is of this API: the requests themselves, and those about them (`…/count_tokens`, `…/batches`).
pub(super) fn owns(path: &str) -> bool {
    path == "/messages" || path.ends_with(PATH) || path.contains("/v1/messages/")
}

/// Reads a Messages request; `None` when it is something else.
pub(super) fn canonical(http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
    // Other APIs have messages too (`/v1/threads/…/messages`), so the whole end of the path counts.
    let is_ours = http.path == "/messages" || http.path.ends_with("/v1/messages");
    if http.method != "POST" || !is_ours {
        return None;
    }
    let text = std::str::from_utf8(http.body).ok()?;
    let Json::Object(body) = parse(text.trim_start_matches('\u{FEFF}')).ok()? else {
        return None;
    };
    body.get("messages")?.as_array()?;

    let mut parameters = Object::new();
    for name in LEADING {
        parameters.push(name, Json::Null);
    }
    let mut messages = Vec::new();
    let mut system = None;
    let mut model = String::new();
    for (name, value) in body {
        match (name.as_str(), value) {
            ("messages", Json::Array(items)) => messages = items,
            ("model", Json::String(text)) => model = text,
            (SYSTEM, value) if !value.is_null() => system = Some(value),
            ("metadata", Json::Object(members)) => {
                if let Some(members) = without_control(members) {
                    parameters.set(name, members);
                }
            }
            (control, _) if is_control(control) => {}
            (_, value) => parameters.set(name, value),
        }
    }
    if parameters.get("stream").is_none_or(Json::is_null) {
        parameters.set("stream", false);
    }
    if let Some(system) = system {
        messages.insert(0, system_message(system));
    }
    Some(CanonicalRequest {
        protocol: NAME.to_owned(),
        model,
        provider: PROVIDER.to_owned(),
        messages,
        parameters,
    })
}

/// The body that [`canonical`] reads back to the same request.
#[cfg(test)]
pub(super) fn rebuild(request: &CanonicalRequest) -> Json {
    let mut body = Object::new();
    body.push("model", request.model.as_str());
    let mut messages = request.messages.as_slice();
    if let Some((first, rest)) = messages.split_first()
        && let Some(system) = system_of(first)
    {
        body.push(SYSTEM, system.clone());
        messages = rest;
    }
    body.push("messages", messages.to_vec());
    for (name, value) in request.parameters.iter() {
        if !(LEADING.contains(&name.as_str()) && value.is_null()) {
            body.push(name.clone(), value.clone());
        }
    }
    Json::Object(body)
}

/// The message that stands for a system prompt.
pub(crate) fn system_message(content: Json) -> Json {
    let mut message = Object::new();
    message.push("role", SYSTEM);
    message.push("content", content);
    Json::Object(message)
}

/// The system prompt, when the message is one as [`system_message`] makes it.
#[cfg(test)]
pub(crate) fn system_of(message: &Json) -> Option<&Json> {
    let members = message.as_object()?;
    let is_system = members.len() == 2 && members.get("role")?.as_str() == Some(SYSTEM);
    members
        .get("content")
        .filter(|content| is_system && !content.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;

    fn request(path: &str, body: &str) -> Option<CanonicalRequest> {
        canonical(&HttpRequest {
            method: "POST",
            path,
            query: "beta=true",
            body: body.as_bytes(),
        })
    }

    #[test]
    fn the_system_prompt_is_the_first_message_and_the_rest_are_parameters() {
        let body = r#"{"model":"claude-x","max_tokens":64,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],
            "messages":[{"role":"user","content":"x"}],"vcr":"record","thinking":{"type":"enabled","budget_tokens":1024},
            "metadata":{"user_id":"u","vcr_scenario":"s"},"temperature":1.0}"#;
        let request = request("/v1/messages", body).unwrap();
        assert_eq!((request.model.as_str(), request.stream()), ("claude-x", false));
        assert_eq!(
            compact(&Json::Array(request.messages)),
            r#"[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"x"}]"#
        );
        assert_eq!(
            compact(&Json::Object(request.parameters)),
            r#"{"temperature":1.0,"max_tokens":64,"stream":false,"thinking":{"type":"enabled","budget_tokens":1024},"metadata":{"user_id":"u"}}"#
        );
    }

    #[test]
    fn a_request_is_rebuilt_to_the_same_request() {
        for body in [
            r#"{"model":"m","messages":[]}"#,
            r#"{"messages":[{"role":"user","content":"x"}],"model":"m","stream":true,"max_tokens":5,"system":"be brief"}"#,
            r#"{"model":"m","messages":[{"role":"system","content":"later"}],"system":"first"}"#,
            r#"{"model":"m","messages":[{"role":"system","content":"x","name":"y"}]}"#,
            r#"{"model":"m","messages":[],"system":""}"#,
            r#"{"model":"m","messages":[],"system":null,"tools":[{"name":"t","input_schema":{"b":1,"a":2}}]}"#,
        ] {
            let first = request("/v1/messages", body).unwrap();
            let rebuilt = rebuild(&first);
            let again = request("/messages", &compact(&rebuilt)).unwrap();
            assert_eq!(first, again, "{body}");
            let system = parse(body).unwrap().get("system").cloned();
            assert_eq!(rebuilt.get("system"), system.as_ref(), "{body}");
        }
    }

    #[test]
    fn other_requests_are_not_ours() {
        for (path, body) in [
            ("/v1/threads/t/messages", r#"{"messages":[]}"#),
            ("/v1/messages/count_tokens", r#"{"messages":[]}"#),
            ("/v1/messages/batches", r#"{"messages":[]}"#),
            ("/v1/messages", r#"{"prompt":"x"}"#),
            ("/v1/messages", r#"{"messages":"x"}"#),
            ("/v1/messages", "[]"),
            ("/v1/messages", ""),
        ] {
            assert!(request(path, body).is_none(), "{path} {body}");
        }
        let get = HttpRequest {
            method: "GET",
            path: "/v1/messages",
            query: "",
            body: b"{\"messages\":[]}",
        };
        assert!(canonical(&get).is_none());
    }
}
