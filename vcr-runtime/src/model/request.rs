use crate::json::{Json, Object};

/// A request in the form that is matched, hashed and stored: design section 8.
///
/// `provider` is kept for people; it takes no part in matching, because a port or a mirror host must not
/// break a cassette.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CanonicalRequest {
    /// The wire protocol, such as `openai-chat`.
    pub(crate) protocol: String,
    pub(crate) model: String,
    pub(crate) provider: String,
    /// The messages as the caller sent them, a system prompt first.
    pub(crate) messages: Vec<Json>,
    /// Every other member of the request; `stream` is always there.
    pub(crate) parameters: Object,
}

/// The protocol that cassettes store for plain HTTP calls.
pub(crate) const PLAIN: &str = "http";

impl CanonicalRequest {
    /// Whether the caller asked for a stream.
    pub(crate) fn stream(&self) -> bool {
        self.parameters
            .get("stream")
            .and_then(Json::as_bool)
            .unwrap_or(false)
    }
}

/// An option that says nothing: by section 8 `null` is the same as absent, at the top level of `parameters` only.
pub(crate) fn is_absent(parameter: Option<&Json>) -> bool {
    parameter.is_none_or(Json::is_null)
}

/// The texts of a message as it was sent: one string, or blocks of `content`, or Gemini's `parts`.
pub(crate) fn texts(message: &Json) -> Vec<&str> {
    match message.get("content").or_else(|| message.get("parts")) {
        Some(Json::String(text)) => vec![text],
        Some(Json::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn the_texts_of_a_message_in_every_protocol() {
        let cases: [(&str, &[&str]); 5] = [
            (r#"{"role":"user","content":"a"}"#, &["a"]),
            (
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}"#,
                &["a", "b"],
            ),
            (
                r#"{"role":"user","parts":[{"text":"a"},{"functionCall":{"name":"f"}}]}"#,
                &["a"],
            ),
            (r#"{"role":"assistant","content":null}"#, &[]),
            (r#""a""#, &[]),
        ];
        for (message, expected) in cases {
            assert_eq!(texts(&parse(message).unwrap()), expected, "{message}");
        }
    }
}
