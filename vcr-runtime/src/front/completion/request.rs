use serde_json::Value;

use crate::json::{self, Json, Object};
use crate::model::CanonicalRequest;

/// A provider-neutral completion request.
///
/// Messages and parameters have the shape of the OpenAI chat API. `model` may carry its provider in front, as in
/// `anthropic/claude-haiku-4-5`. `metadata` holds what is meant for this crate and never reaches a provider: the keys
/// `vcr`, `vcr_scenario`, `vcr_invoker`, `vcr_filename`, `vcr_speed` and the other settings override those of the session
/// for this call.
///
/// ```
/// use vcr_runtime::Request;
///
/// let request = Request::new("openai/gpt-4o-mini")
///     .system("You are terse.")
///     .user("Give me a 3-word motto.")
///     .parameter("temperature", 0.2);
/// assert_eq!(request.model(), "gpt-4o-mini");
/// assert_eq!(request.body()["messages"][1]["content"], "Give me a 3-word motto.");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    model: String,
    messages: Vec<Json>,
    parameters: Object,
    metadata: Object,
    stream: bool,
}

impl Request {
    /// A request to a model, `provider/model` or `model`.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            ..Self::default()
        }
    }

    /// Appends a message with any members.
    #[must_use]
    pub fn message(mut self, message: impl Into<Value>) -> Self {
        self.messages.push(json::from_value(message.into()));
        self
    }

    /// Appends a system message.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.said("system", text.into())
    }

    /// Appends a user message.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.said("user", text.into())
    }

    /// Appends a message of the assistant.
    #[must_use]
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.said("assistant", text.into())
    }

    /// Appends the result of a tool call.
    #[must_use]
    pub fn tool_result(mut self, tool_call_id: impl Into<String>, text: impl Into<String>) -> Self {
        let mut message = Object::new();
        message.push("role", "tool");
        message.push("tool_call_id", tool_call_id.into());
        message.push("content", text.into());
        self.messages.push(message.into());
        self
    }

    fn said(mut self, role: &str, text: String) -> Self {
        let mut message = Object::new();
        message.push("role", role);
        message.push("content", text);
        self.messages.push(message.into());
        self
    }

    /// Sets a parameter such as `temperature` or `tools`. A later value of the same name replaces it.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.set(name, json::from_value(value.into()));
        self
    }

    /// Sets a metadata key; see the type's description.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.set(key, json::from_value(value.into()));
        self
    }

    pub(crate) fn with_stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    /// The model without its provider.
    #[must_use]
    pub fn model(&self) -> &str {
        self.split().1
    }

    /// The provider in front of the model; `openai` where there is none.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.split().0
    }

    fn split(&self) -> (&str, &str) {
        match self.model.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => (provider, model),
            _ => ("openai", &self.model),
        }
    }

    /// Whether the caller wants a stream.
    #[must_use]
    pub const fn stream(&self) -> bool {
        self.stream
    }

    /// The messages.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        self.messages.iter().map(json::to_value).collect()
    }

    /// The parameter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.parameters.get(name).map(json::to_value)
    }

    /// The request as the body of an OpenAI chat completion, for an upstream to send.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = Object::new();
        body.push("model", self.model());
        body.push("messages", self.messages.clone());
        body.0.extend(self.parameters.iter().cloned());
        body.set("stream", self.stream);
        json::to_value(&body.into())
    }

    /// The `vcr…` keys of the metadata.
    pub(crate) fn control(&self) -> Object {
        self.metadata
            .iter()
            .filter(|(key, _)| key.starts_with("vcr"))
            .cloned()
            .collect()
    }

    /// The form that is matched and stored.
    pub(crate) fn into_canonical(mut self) -> CanonicalRequest {
        let (provider, model) = self.split();
        let (provider, model) = (provider.to_owned(), model.to_owned());
        let mut parameters = Object(Vec::with_capacity(self.parameters.len() + 3));
        parameters.push(
            "temperature",
            self.parameters.remove("temperature").unwrap_or_default(),
        );
        parameters.push(
            "max_tokens",
            self.parameters.remove("max_tokens").unwrap_or_default(),
        );
        parameters.push("stream", self.stream);
        self.parameters.remove("stream");
        parameters.0.append(&mut self.parameters.0);
        CanonicalRequest {
            protocol: PROTOCOL.to_owned(),
            model,
            provider,
            messages: self.messages,
            parameters,
        }
    }
}

/// The name that cassettes store for in-process completions.
const PROTOCOL: &str = "completion";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_stands_before_the_first_slash() {
        for (model, provider, rest) in [
            ("gpt-4o", "openai", "gpt-4o"),
            ("anthropic/claude", "anthropic", "claude"),
            ("openrouter/meta/llama", "openrouter", "meta/llama"),
            ("/x", "openai", "/x"),
        ] {
            let request = Request::new(model);
            assert_eq!((request.provider(), request.model()), (provider, rest));
        }
    }

    #[test]
    fn metadata_is_no_part_of_the_request() {
        let request = Request::new("m")
            .user("hi")
            .metadata("vcr_scenario", "x")
            .metadata("trace", 1);
        assert_eq!(
            request.clone().into_canonical(),
            Request::new("m").user("hi").into_canonical()
        );
        assert_eq!(request.control().len(), 1);
        assert_eq!(
            request.body(),
            serde_json::json!({"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false})
        );
    }
}
