//! Any HTTP call that no protocol recognises: matched by method, path, query and body, kept with its raw body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::HttpRequest;
use crate::json::{Json, Object, parse};
use crate::model::{CanonicalRequest, PLAIN};

/// The canonical request of a plain HTTP call.
pub(crate) fn plain_request(http: &HttpRequest<'_>) -> CanonicalRequest {
    let mut parameters = Object::new();
    parameters.push("temperature", Json::Null);
    parameters.push("max_tokens", Json::Null);
    parameters.push("stream", false);
    parameters.push("method", http.method);
    parameters.push("path", http.path);
    if !http.query.is_empty() {
        parameters.push("query", http.query);
    }
    match std::str::from_utf8(http.body) {
        Ok("") => {}
        Ok(text) => match parse(text) {
            Ok(document) => parameters.push("body", document),
            Err(_) => parameters.push("body_text", text),
        },
        Err(_) => parameters.push("body_base64", BASE64.encode(http.body)),
    }
    CanonicalRequest {
        protocol: PLAIN.to_owned(),
        // People look for the model first: a body that names one shows it, and it stays part of the body.
        model: String::new(),
        provider: PLAIN.to_owned(),
        messages: Vec::new(),
        parameters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(body: &[u8], name: &str) -> Option<Json> {
        let http = HttpRequest {
            method: "POST",
            path: "/v1/x",
            query: "a=1",
            body,
        };
        plain_request(&http).parameters.get(name).cloned()
    }

    #[test]
    fn every_body_has_a_form() {
        assert_eq!(
            parameter(b"{\"a\":1.0}", "body")
                .unwrap()
                .get("a")
                .unwrap()
                .as_f64(),
            Some(1.0)
        );
        assert_eq!(parameter(b"a=b", "body_text"), Some(Json::from("a=b")));
        assert_eq!(parameter(b"\xff\xfb", "body_base64"), Some(Json::from("//s=")));
        assert_eq!(parameter(b"", "body_text"), None);
        assert_eq!(parameter(b"", "query"), Some(Json::from("a=1")));
    }
}
