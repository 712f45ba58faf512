//! The hash of a request: over what was asked, whatever the protocol it was asked in.

use sha2::{Digest as _, Sha256};

use super::entry::Key;
use crate::canon;
use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::Providers;

/// Why a request has no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoHash {
    /// A member stands twice in an object, so that readers may disagree about it.
    Repeated,
    TooLarge,
}

/// The hash by which an answer is found. `ceiling` bounds the request's canonical form.
pub(super) fn key(request: &CanonicalRequest, providers: &Providers, ceiling: usize) -> Result<Key, NoHash> {
    let parameters = request.parameters.iter().map(|(_, value)| value);
    let repeats = has_twice(&request.parameters) || request.messages.iter().chain(parameters).any(repeats);
    if repeats {
        return Err(NoHash::Repeated);
    }
    let text = canon::value_text(&document(request, providers));
    if text.len() > ceiling {
        return Err(NoHash::TooLarge);
    }
    Ok(Sha256::digest(text.as_bytes()).into())
}

/// What is hashed: conversation, tools and parameters in the form that all protocols share. Neither the model's name, nor
/// who serves it, nor whether the answer is streamed are part of it. A request that only its own protocol can say is
/// taken as it is, with the protocol's name.
pub(super) fn document(request: &CanonicalRequest, providers: &Providers) -> Json {
    let form = match request.protocol.as_str() {
        // An intercepted request is the caller's own document, unless it has the shape of a completion.
        "intercept" if request.messages.is_empty() => {
            return request
                .parameters
                .get("request")
                .cloned()
                .unwrap_or_else(|| given(&request.parameters).into());
        }
        "intercept" => providers.neutral(&CanonicalRequest {
            protocol: "completion".to_owned(),
            ..request.clone()
        }),
        _ => providers.neutral(request),
    };
    match form {
        Some(form) => shared(form),
        None => {
            let mut members = Object::new();
            members.push("protocol", request.protocol.as_str());
            if !request.messages.is_empty() {
                members.push("messages", request.messages.clone());
            }
            members.0.extend(given(&request.parameters));
            members.into()
        }
    }
}

/// A system prompt stands beside the messages, and parameters beside both.
fn shared(form: CanonicalRequest) -> Json {
    let mut members = Object::new();
    let mut messages = form.messages;
    let is_system = |message: &Json| message.get("role").and_then(Json::as_str) == Some("system");
    // Unless the caller's own request has a member of that name.
    if form.parameters.get("system").is_none() && messages.first().is_some_and(is_system) {
        let system = messages.remove(0);
        members.push("system", system.get("content").cloned().unwrap_or_default());
    }
    members.push("messages", messages);
    members.0.extend(given(&form.parameters));
    members.into()
}

fn given(parameters: &Object) -> Object {
    let counts = |(name, value): &&(String, Json)| name != "stream" && !value.is_null();
    parameters.iter().filter(counts).cloned().collect()
}

fn repeats(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(repeats),
        Json::Object(members) => has_twice(members) || members.iter().any(|(_, value)| repeats(value)),
        _ => false,
    }
}

fn has_twice(members: &Object) -> bool {
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// `sha256:` and 64 digits.
pub(super) fn text(key: &Key) -> String {
    format!("sha256:{}", canon::hex(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};
    use crate::protocol::HttpRequest;

    fn hash(request: &CanonicalRequest) -> String {
        text(&key(request, &Providers::default(), 1_000_000).unwrap())
    }

    fn completion(messages: &str, parameters: &str) -> CanonicalRequest {
        CanonicalRequest {
            protocol: "completion".to_owned(),
            model: "any".to_owned(),
            messages: parse(messages).unwrap().as_array().unwrap().to_vec(),
            parameters: parse(parameters).unwrap().as_object().unwrap().clone(),
            ..CanonicalRequest::default()
        }
    }

    fn http(path: &str, body: &str) -> CanonicalRequest {
        let request = HttpRequest {
            method: "POST",
            path,
            query: "",
            body: body.as_bytes(),
        };
        Providers::default().recognise("http://x", &request).unwrap().1
    }

    /// The published vector: SHA-256 of `{"messages":[{"content":"hi","role":"user"}],"system":"bounded"}`.
    const BOUNDED: &str = "sha256:561f597adbd6f53ec1a67b57f47ce5fc5c1db8cff9dc6200726b971221ca8b72";

    #[test]
    fn the_published_vector_by_every_way_in() {
        let mut intercepted = CanonicalRequest {
            protocol: "intercept".to_owned(),
            messages: completion("[{\"role\":\"user\",\"content\":\"hi\"}]", "{}").messages,
            ..CanonicalRequest::default()
        };
        intercepted.parameters = parse("{\"temperature\":null,\"stream\":false,\"system\":\"bounded\"}")
            .unwrap()
            .as_object()
            .unwrap()
            .clone();
        assert_eq!(hash(&intercepted), BOUNDED);
        let conversation =
            "[{\"role\":\"system\",\"content\":\"bounded\"},{\"role\":\"user\",\"content\":\"hi\"}]";
        for stream in ["true", "false"] {
            let parameters = format!("{{\"temperature\":null,\"max_tokens\":null,\"stream\":{stream}}}");
            assert_eq!(hash(&completion(conversation, &parameters)), BOUNDED);
        }
        let chat = format!(
            "{{\"model\":\"m\",\"messages\":{conversation},\"stream\":true,\"stream_options\":{{\"include_usage\":true}}}}"
        );
        assert_eq!(hash(&http("/v1/chat/completions", &chat)), BOUNDED);
        let gemini = "{\"systemInstruction\":{\"parts\":[{\"text\":\"bounded\"}]},\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}]}";
        assert_eq!(hash(&http("/v1beta/models/m:generateContent", gemini)), BOUNDED);
    }

    #[test]
    fn two_protocols_that_ask_for_the_same_have_one_hash() {
        let tool = "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}";
        let openai = format!(
            "{{\"model\":\"a\",\"max_tokens\":50,\"messages\":[{{\"role\":\"system\",\"content\":\"terse\"}},{{\"role\":\"user\",\"content\":\"weather?\"}}],\
             \"tools\":[{{\"type\":\"function\",\"function\":{{\"name\":\"w\",\"description\":\"d\",\"parameters\":{tool}}}}}]}}"
        );
        let anthropic = format!(
            "{{\"model\":\"b\",\"max_tokens\":50,\"system\":\"terse\",\"messages\":[{{\"role\":\"user\",\"content\":\"weather?\"}}],\
             \"tools\":[{{\"name\":\"w\",\"description\":\"d\",\"input_schema\":{tool}}}]}}"
        );
        let (openai, anthropic) = (
            http("/v1/chat/completions", &openai),
            http("/v1/messages", &anthropic),
        );
        let text = |request| compact(&document(request, &Providers::default()));
        assert_eq!(
            hash(&openai),
            hash(&anthropic),
            "{}\n{}",
            text(&openai),
            text(&anthropic)
        );
        // The form is in files, so it must not change: this is the text by hand, hashed with another tool.
        assert_eq!(
            hash(&openai),
            "sha256:8fd8957359462206db255d13907d5688faa2a48e7956df82e95c970c1b2cc567"
        );
    }

    #[test]
    fn whatever_is_asked_for_makes_a_difference() {
        let base = completion("[{\"role\":\"user\",\"content\":\"hi\"}]", "{\"temperature\":0}");
        for other in [
            completion("[{\"role\":\"user\",\"content\":\"hi!\"}]", "{\"temperature\":0}"),
            completion(
                "[{\"role\":\"assistant\",\"content\":\"hi\"}]",
                "{\"temperature\":0}",
            ),
            completion(
                "[{\"role\":\"user\",\"content\":\"hi\"}]",
                "{\"temperature\":0.5}",
            ),
            completion(
                "[{\"role\":\"user\",\"content\":\"hi\"}]",
                "{\"temperature\":0,\"seed\":1}",
            ),
        ] {
            assert_ne!(hash(&base), hash(&other));
        }
        let spelled = completion(
            "[{\"content\":\"hi\",\"role\":\"user\"}]",
            "{\"temperature\":0.0}",
        );
        assert_eq!(hash(&base), hash(&spelled));
    }

    #[test]
    fn what_only_one_protocol_can_say_is_taken_as_it_is() {
        let native = "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{}}]}]";
        let mut request = completion(native, "{\"stream\":true}");
        let as_it_is = compact(&document(&request, &Providers::default()));
        assert_eq!(
            as_it_is,
            format!("{{\"protocol\":\"completion\",\"messages\":{native}}}")
        );
        request.protocol = "anthropic-messages".to_owned();
        assert!(compact(&document(&request, &Providers::default())).contains("anthropic-messages"));
        let raw = CanonicalRequest {
            protocol: "intercept".to_owned(),
            parameters: parse("{\"request\":[1,2]}").unwrap().as_object().unwrap().clone(),
            ..CanonicalRequest::default()
        };
        assert_eq!(compact(&document(&raw, &Providers::default())), "[1,2]");
    }

    #[test]
    fn a_request_without_a_hash_is_refused() {
        let providers = Providers::default();
        let twice = completion("[{\"role\":\"user\",\"content\":\"a\",\"content\":\"b\"}]", "{}");
        assert_eq!(key(&twice, &providers, 1_000), Err(NoHash::Repeated));
        let request = completion("[{\"role\":\"user\",\"content\":\"hi\"}]", "{}");
        let length = "{\"messages\":[{\"content\":\"hi\",\"role\":\"user\"}]}".len();
        assert!(key(&request, &providers, length).is_ok());
        assert_eq!(key(&request, &providers, length - 1), Err(NoHash::TooLarge));
    }
}
