//! Requests. The model, and whether the answer is a stream, stand in the path.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::HttpRequest;
#[cfg(test)]
use crate::protocol::common::stated;
use crate::protocol::common::{leading, object};
use crate::protocol::request_body::{is_control, posted};

use super::generate::NAME;

const UNARY: &str = "generateContent";
const STREAMED: &str = "streamGenerateContent";
const CONTENTS: &str = "contents";
const SYSTEM: &str = "systemInstruction";
/// The spelling of the protocol's own definition; Google takes both.
const SYSTEM_SNAKE: &str = "system_instruction";
const STREAM: &str = "stream";
/// The parameter that tells the array form of a stream, which is not the usual one.
const ALT: &str = "alt";
const ARRAY: &str = "json";

/// Whether a path is of this API: the requests themselves, and others of its version.
pub(super) fn owns(path: &str) -> bool {
    let asks = path
        .rsplit_once(':')
        .is_some_and(|(_, method)| [UNARY, STREAMED].contains(&method));
    asks || path.starts_with("/v1beta/")
}

/// Reads a request; `None` when it is something else.
pub(super) fn canonical(http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
    let (path, method) = http.path.rsplit_once(':')?;
    let end = [UNARY, STREAMED].into_iter().find(|end| *end == method)?;
    let mut body = posted(http, end)?;
    let mut messages: Vec<Json> = system(&mut body).into_iter().collect();
    match body.remove(CONTENTS)? {
        Json::Array(contents) => messages.extend(contents),
        // The API takes one for a list of one.
        content @ Json::Object(_) => messages.push(content),
        _ => return None,
    }
    let mut parameters = leading();
    for (name, value) in body {
        let is_unset = value.is_null() && (name == SYSTEM || name == SYSTEM_SNAKE);
        if !is_control(&name) && name != ALT && !is_unset {
            parameters.set(name, value);
        }
    }
    parameters.set(STREAM, method == STREAMED);
    if method == STREAMED && !has_events(http.query) {
        parameters.set(ALT, ARRAY);
    }
    Some(CanonicalRequest {
        protocol: NAME.to_owned(),
        model: model(path),
        provider: NAME.to_owned(),
        messages,
        parameters,
    })
}

/// The name of a model; of tuned models and endpoints with the collection that it is from.
fn model(path: &str) -> String {
    let mut segments = path.rsplit('/');
    let name = segments.next().unwrap_or_default();
    match segments.next() {
        Some(collection) if collection != "models" && !collection.is_empty() => {
            format!("{collection}/{name}")
        }
        _ => name.to_owned(),
    }
}

fn has_events(query: &str) -> bool {
    query
        .split('&')
        .any(|pair| matches!(pair.split_once('='), Some(("alt" | "$alt" | "%24alt", "sse"))))
}

/// The system instruction as a message. Its role is ignored by the API, and clients send any.
fn system(body: &mut Object) -> Option<Json> {
    let name = [SYSTEM, SYSTEM_SNAKE]
        .into_iter()
        .find(|name| matches!(body.get(name), Some(Json::Object(_))))?;
    let Json::Object(mut content) = body.remove(name)? else {
        return None;
    };
    content.remove("role");
    let mut message = object([("role", "system".into())]);
    message.0.extend(content);
    Some(message.into())
}

/// Whether the answer is a stream in the form of an array.
pub(super) fn in_array(parameters: &Object) -> bool {
    let streamed = parameters.get(STREAM).and_then(Json::as_bool) == Some(true);
    streamed && parameters.get(ALT).and_then(Json::as_str) == Some(ARRAY)
}

/// The body that [`canonical`] reads back to the same request, under the same path.
#[cfg(test)]
pub(super) fn rebuild(request: &CanonicalRequest) -> Json {
    let mut body = Object::new();
    let mut contents = request.messages.as_slice();
    if let Some((Json::Object(first), rest)) = contents.split_first()
        && first.get("role").and_then(Json::as_str) == Some("system")
        && request.parameters.get(SYSTEM).is_none()
    {
        let mut content = first.clone();
        content.remove("role");
        body.push(SYSTEM, content);
        contents = rest;
    }
    body.push(CONTENTS, contents.to_vec());
    for (name, value) in stated(&request.parameters, &[STREAM, ALT]) {
        body.push(name.clone(), value.clone());
    }
    body.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;

    fn read(path: &str, query: &str, body: &str) -> Option<CanonicalRequest> {
        canonical(&HttpRequest {
            method: "POST",
            path,
            query,
            body: body.as_bytes(),
        })
    }

    const STREAM_PATH: &str = "/v1beta/models/gemini-x:streamGenerateContent";

    #[test]
    fn model_and_stream_come_from_the_path() {
        let vertex = "/v1/projects/p/locations/l/publishers/google/models/gemini-x";
        for (path, model, stream) in [
            (
                "/v1beta/models/gemini-x:generateContent".to_owned(),
                "gemini-x",
                false,
            ),
            (STREAM_PATH.to_owned(), "gemini-x", true),
            (format!("{vertex}:generateContent"), "gemini-x", false),
            (format!("{vertex}:streamGenerateContent"), "gemini-x", true),
            (
                "/v1beta/tunedModels/t:generateContent".to_owned(),
                "tunedModels/t",
                false,
            ),
        ] {
            let body = r#"{"contents":[],"stream":"odd"}"#;
            let request = read(&path, "alt=sse", body).unwrap();
            assert_eq!(
                (request.model.as_str(), request.stream()),
                (model, stream),
                "{path}"
            );
        }
    }

    #[test]
    fn only_the_form_of_the_stream_counts_in_the_query() {
        let request = |query| read(STREAM_PATH, query, r#"{"contents":[]}"#).unwrap();
        let usual = request("alt=sse");
        assert!(!in_array(&usual.parameters));
        for query in ["alt=sse&key=k", "key=other&$alt=sse", "%24alt=sse"] {
            assert_eq!(request(query), usual, "{query}");
        }
        for query in ["", "key=k", "alt=json", "alt=sseX"] {
            assert!(in_array(&request(query).parameters), "{query}");
        }
        assert_eq!(request("key=a"), request("alt=json"));
        let unary = read("/models/m:generateContent", "alt=json", r#"{"contents":[]}"#).unwrap();
        assert_eq!(unary.parameters.get("alt"), None);
    }

    #[test]
    fn the_system_instruction_becomes_the_first_message() {
        let body = |name: &str, role: &str| {
            format!(
                r#"{{"contents":[{{"role":"user","parts":[{{"text":"x"}}]}}],"{name}":{{{role}"parts":[{{"text":"s"}}]}},"generationConfig":{{"temperature":0.10}},"vcr_speed":"max"}}"#
            )
        };
        let first = read(STREAM_PATH, "alt=sse", &body(SYSTEM, "")).unwrap();
        assert_eq!(
            compact(&Json::Array(first.messages.clone())),
            r#"[{"role":"system","parts":[{"text":"s"}]},{"role":"user","parts":[{"text":"x"}]}]"#
        );
        assert_eq!(
            compact(&Json::Object(first.parameters.clone())),
            r#"{"temperature":null,"max_tokens":null,"stream":true,"generationConfig":{"temperature":0.10}}"#
        );
        for (name, role) in [
            (SYSTEM, r#""role":"model","#),
            (SYSTEM_SNAKE, r#""role":"user","#),
        ] {
            assert_eq!(read(STREAM_PATH, "alt=sse", &body(name, role)).unwrap(), first);
        }
    }

    #[test]
    fn a_request_is_rebuilt_to_the_same_request() {
        for body in [
            r#"{"contents":[]}"#,
            r#"{"contents":{"parts":{"text":"x"}},"systemInstruction":null}"#,
            r#"{"system_instruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[]}],"tools":[{"codeExecution":{}}],"temperature":2}"#,
            r#"{"systemInstruction":"text","contents":[{"role":"system","parts":[]}]}"#,
            r#"{"systemInstruction":{"parts":[]},"system_instruction":{"parts":[1]},"contents":[]}"#,
        ] {
            for query in ["alt=sse", ""] {
                let first = read(STREAM_PATH, query, body).unwrap();
                let again = read(STREAM_PATH, query, &compact(&rebuild(&first))).unwrap();
                assert_eq!(first, again, "{body}");
            }
        }
    }

    #[test]
    fn other_requests_are_not_ours() {
        for (path, body) in [
            ("/v1beta/models/m:countTokens", r#"{"contents":[]}"#),
            ("/v1beta/models/m:batchGenerateContent", r#"{"contents":[]}"#),
            ("/v1beta/models/m/generateContent", r#"{"contents":[]}"#),
            ("/v1beta/models/m:generateContent", r#"{"prompt":[]}"#),
            ("/v1beta/models/m:generateContent", r#"{"contents":"x"}"#),
            ("/v1beta/models/m:generateContent", "[]"),
            ("/v1beta/models/m:generateContent", "{"),
        ] {
            assert!(read(path, "", body).is_none(), "{path} {body}");
        }
        let get = HttpRequest {
            method: "GET",
            path: STREAM_PATH,
            query: "",
            body: b"{\"contents\":[]}",
        };
        assert!(canonical(&get).is_none());
    }
}
