use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::HttpRequest;
#[cfg(test)]
use crate::protocol::request_body::state;
use crate::protocol::request_body::{parameters, posted};

use super::{NAME, PROVIDER};

/// Reads a Responses request; `None` when it is something else. `instructions` are the first message; a text as the
/// `input` is one of the user, which is how the API reads it too.
pub(super) fn canonical(http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
    let body = posted(http, super::ask::PATH)?;
    // A stored prompt or conversation may stand in for the input.
    let is_ours = match body.get("input") {
        Some(Json::String(_) | Json::Array(_)) => true,
        Some(Json::Null) | None => body.get("model").or(body.get("prompt")).is_some(),
        Some(_) => false,
    };
    if !is_ours {
        return None;
    }
    let mut messages = Vec::new();
    let mut instructions = None;
    let mut model = String::new();
    let parameters = parameters(body, |name, value| match (name, value) {
        ("input", Json::String(text)) => {
            messages = vec![message("user", text)];
            None
        }
        ("input", Json::Array(items)) => {
            messages = items;
            None
        }
        ("instructions", Json::String(text)) => {
            instructions = Some(message("system", text));
            None
        }
        ("model", Json::String(name)) => {
            model = name;
            None
        }
        (_, value) => Some(value),
    });
    messages.splice(0..0, instructions);
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
    let (instructions, input) = match request.messages.split_first() {
        Some((first, rest)) => match plain(first, "system") {
            Some(text) => (Some(text), rest),
            None => (None, request.messages.as_slice()),
        },
        None => (None, [].as_slice()),
    };
    if let Some(text) = instructions {
        body.push("instructions", text);
    }
    match input {
        [only] if plain(only, "user").is_some() => body.push("input", plain(only, "user")),
        items => body.push("input", items.to_vec()),
    }
    state(&request.parameters, &mut body);
    Json::Object(body)
}

fn message(role: &str, text: String) -> Json {
    let mut message = Object::new();
    message.push("role", role);
    message.push("content", text);
    Json::Object(message)
}

/// The text that may have been the instructions: the messages do not tell whether it was.
pub(super) fn instructions(messages: &[Json]) -> Option<&str> {
    plain(messages.first()?, "system")
}

/// The text of a message that says nothing besides it.
fn plain<'a>(message: &'a Json, role: &str) -> Option<&'a str> {
    match message.as_object()?.0.as_slice() {
        [(first, Json::String(is)), (second, Json::String(text))]
            if first == "role" && second == "content" && is == role =>
        {
            Some(text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;

    fn request(path: &str, body: &str) -> Option<CanonicalRequest> {
        canonical(&HttpRequest {
            method: "POST",
            path,
            query: "",
            body: body.as_bytes(),
        })
    }

    #[test]
    fn instructions_and_input_are_messages_and_the_rest_parameters() {
        let request = request(
            "/v1/responses",
            r#"{"input":"Hi","store":false,"vcr":"record","model":"m","instructions":"Be brief.","temperature":0.70,
                "metadata":{"vcr_scenario":"s","run":"1"},"stream":true,"tools":[{"type":"web_search"}]}"#,
        )
        .unwrap();
        assert_eq!(request.model, "m");
        assert!(request.stream());
        assert_eq!(
            compact(&Json::Array(request.messages)),
            r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]"#
        );
        assert_eq!(
            compact(&Json::Object(request.parameters)),
            r#"{"temperature":0.70,"max_tokens":null,"stream":true,"store":false,"metadata":{"run":"1"},"tools":[{"type":"web_search"}]}"#
        );
    }

    #[test]
    fn a_request_is_rebuilt_to_the_same_request() {
        for body in [
            r#"{"model":"m","input":"Hi"}"#,
            r#"{"model":"m","input":[]}"#,
            r#"{"model":"m","instructions":"x","input":[{"role":"user","content":"a"},{"type":"function_call_output","call_id":"c","output":"1"}]}"#,
            r#"{"model":"m","instructions":null,"input":[{"content":"x","role":"system"},{"content":"a","role":"user"}],"stream":true}"#,
            r#"{"model":"m","instructions":"","input":"","max_output_tokens":16,"previous_response_id":"resp_1","seed":12345678901234567890}"#,
            r#"{"model":"m","prompt":{"id":"pmpt_1"},"stream":null}"#,
        ] {
            let first = request("/responses", body).unwrap();
            let again = request("/responses", &compact(&rebuild(&first))).unwrap();
            assert_eq!(first, again, "{body}");
        }
        let body = r#"{"model":"m","instructions":"x","input":"Hi","stream":true,"store":false}"#;
        assert_eq!(compact(&rebuild(&request("/responses", body).unwrap())), body);
    }

    #[test]
    fn other_requests_are_not_ours() {
        for (path, body) in [
            ("/v1/chat/completions", r#"{"input":"x"}"#),
            ("/v1/responses/resp_1/cancel", r#"{"input":"x"}"#),
            ("/v1/responses/input_tokens", r#"{"input":"x"}"#),
            ("/v1/responses", r#"{"input":7,"model":"m"}"#),
            ("/v1/responses", "{}"),
            ("/v1/responses", "[]"),
            ("/v1/responses", ""),
        ] {
            assert!(request(path, body).is_none(), "{path} {body}");
        }
    }
}
