use crate::json::{Json, Object, parse};
use crate::model::CanonicalRequest;
use crate::protocol::HttpRequest;
use crate::protocol::anthropic::system_message;
#[cfg(test)]
use crate::protocol::anthropic::system_of;
use crate::protocol::request_body::{LEADING, without_control};

use super::converse::{NAME, PROVIDER};

/// The model in a path of the API, and whether its answer is a stream.
pub(super) fn operation(path: &str) -> Option<(&str, bool)> {
    let (path, operation) = path.rsplit_once('/')?;
    let stream = match operation {
        "converse" => false,
        "converse-stream" => true,
        _ => return None,
    };
    let (_, model) = path.rsplit_once("/model/")?;
    Some((model, stream))
}

/// Reads a Converse request: `POST …/model/<id>/converse`, or `…/converse-stream`. The signature (`SigV4`) is in the
/// headers and so no part of it.
pub(super) fn canonical(http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
    if http.method != "POST" {
        return None;
    }
    let (model, stream) = operation(http.path)?;
    let text = std::str::from_utf8(http.body).ok()?;
    let Json::Object(body) = parse(text.trim_start_matches('\u{FEFF}')).ok()? else {
        return None;
    };

    let mut parameters = Object::new();
    for name in LEADING {
        parameters.push(name, Json::Null);
    }
    let mut messages = Vec::new();
    let mut system = None;
    for (name, value) in without_control(body).unwrap_or_default() {
        match (name.as_str(), value) {
            ("messages", Json::Array(items)) => messages = items,
            ("system", value) if !value.is_null() => system = Some(value),
            ("requestMetadata", Json::Object(members)) => {
                if let Some(members) = without_control(members) {
                    parameters.set(name, members);
                }
            }
            (_, value) => parameters.set(name, value),
        }
    }
    parameters.set("stream", stream);
    if let Some(system) = system {
        messages.insert(0, system_message(system));
    }
    Some(CanonicalRequest {
        protocol: NAME.to_owned(),
        model: decoded(model),
        provider: PROVIDER.to_owned(),
        messages,
        parameters,
    })
}

/// The body that [`canonical`] reads back to the same request, under the path that names model and stream.
#[cfg(test)]
pub(super) fn rebuild(request: &CanonicalRequest) -> Json {
    let mut body = Object::new();
    let mut messages = request.messages.as_slice();
    if let Some((first, rest)) = messages.split_first()
        && let Some(system) = system_of(first)
    {
        body.push("system", system.clone());
        messages = rest;
    }
    body.push("messages", messages.to_vec());
    for (name, value) in request.parameters.iter() {
        let is_leading = LEADING.contains(&name.as_str());
        if name != "stream" && !(is_leading && value.is_null()) {
            body.push(name.clone(), value.clone());
        }
    }
    Json::Object(body)
}

/// Model ids have colons and slashes (ARNs), which the SDKs write as `%3A` and `%2F`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).filter(|_| *byte == b'%');
        let escaped = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
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
    fn the_path_names_model_and_stream() {
        let body = r#"{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"system":[{"text":"s"}],"inferenceConfig":{"temperature":0.0},"vcr":"record"}"#;
        let unary = request("/model/amazon.nova-lite-v1%3A0/converse", body).unwrap();
        assert_eq!(
            (unary.model.as_str(), unary.stream()),
            ("amazon.nova-lite-v1:0", false)
        );
        assert_eq!(
            compact(&Json::Array(unary.messages)),
            r#"[{"role":"system","content":[{"text":"s"}]},{"role":"user","content":[{"text":"Hi"}]}]"#
        );
        assert_eq!(
            compact(&Json::Object(unary.parameters)),
            r#"{"temperature":null,"max_tokens":null,"stream":false,"inferenceConfig":{"temperature":0.0}}"#
        );
        let arn = "arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Afoundation-model%2Fx";
        let stream = request(&format!("/model/{arn}/converse-stream"), "{}").unwrap();
        assert_eq!(
            (stream.model.as_str(), stream.stream()),
            ("arn:aws:bedrock:us-east-1::foundation-model/x", true)
        );
    }

    #[test]
    fn a_request_is_rebuilt_to_the_same_request() {
        for body in [
            r#"{"messages":[],"system":[],"inferenceConfig":{}}"#,
            r#"{"messages":[{"role":"user","content":[{"text":"x"}]}],"toolConfig":{"tools":[]},"requestMetadata":{"a":"b"}}"#,
        ] {
            let first = request("/model/m/converse-stream", body).unwrap();
            let again = request("/model/m/converse-stream", &compact(&rebuild(&first))).unwrap();
            assert_eq!(first, again, "{body}");
        }
    }

    #[test]
    fn other_requests_are_not_ours() {
        for path in [
            "/model/m/invoke",
            "/converse",
            "/models/m/converse",
            "/model/m/converse/x",
        ] {
            assert!(request(path, "{}").is_none(), "{path}");
        }
        assert!(request("/model/m/converse", "[]").is_none());
    }

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(decoded("a%3Ab%2"), "a:b%2");
        assert_eq!(decoded("%zz%+1%ff"), "%zz%+1%ff");
    }
}
