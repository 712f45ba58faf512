//! A provider-neutral request is one of chat completions already, but for what the servers must be asked for.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::neutral::{Ask, given};

/// Providers that count the tokens of a stream only when they are asked to.
const COUNTS_WHEN_ASKED: [&str; 6] = ["openai", "groq", "deepseek", "openrouter", "xai", "azure"];

pub(super) fn ask(path: &str, request: &CanonicalRequest) -> Ask {
    let mut body = Object::new();
    body.push("model", request.model.as_str());
    body.push("messages", request.messages.clone());
    for (name, value) in given(&request.parameters) {
        body.push(name, value.clone());
    }
    let counts = COUNTS_WHEN_ASKED.contains(&request.provider.as_str());
    if request.stream() && counts && body.get("stream_options").is_none() {
        let mut options = Object::new();
        options.push("include_usage", true);
        body.push("stream_options", options);
    }
    Ask {
        path: path.to_owned(),
        body: Json::Object(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;
    use crate::protocol::testing::neutral;

    #[test]
    fn only_what_was_given_is_sent_and_usage_is_asked_for() {
        let mut request = neutral(r#"{"model":"m","messages":[],"user":null,"seed":1,"stream":true}"#);
        "openai".clone_into(&mut request.provider);
        let expected =
            r#"{"model":"m","messages":[],"stream":true,"seed":1,"stream_options":{"include_usage":true}}"#;
        assert_eq!(compact(&ask("/x", &request).body), expected);
        "mistral".clone_into(&mut request.provider);
        assert!(ask("/x", &request).body.get("stream_options").is_none());
    }
}
