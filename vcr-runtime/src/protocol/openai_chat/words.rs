//! Finish reasons and token counts: the provider's words and ours.

use std::sync::LazyLock;

use crate::json::{Json, Object};
use crate::model::Usage;
use crate::protocol::rules::Rules;

pub(super) const PROMPT: &str = "prompt_tokens";
pub(super) const COMPLETION: &str = "completion_tokens";
pub(super) const TOTAL: &str = "total_tokens";

/// The built-in table.
pub(in crate::protocol) static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::embedded(include_str!("rules.toml")));

/// Members that carry reasoning; of two in one delta the first is taken, the other then shows in the comparison.
pub(super) const REASONING_KEYS: [&str; 2] = ["reasoning_content", "reasoning"];

/// The word for a client of this protocol, for answers that came from elsewhere: SDKs know a closed set.
pub(super) fn wire_reason(canonical: &str) -> &str {
    match canonical {
        "pause" => "stop",
        other => other,
    }
}

/// A usage object in the spelling of `OpenAI`.
pub(super) fn read_usage(usage: &Json) -> Option<Usage> {
    RULES.usage(usage)
}

/// The counts that a usage object does not state.
pub(super) fn lacking(usage: &Json) -> Vec<Json> {
    let lacks = |name: &&str| usage.get(name).is_none();
    [PROMPT, COMPLETION, TOTAL]
        .into_iter()
        .filter(lacks)
        .map(Json::from)
        .collect()
}

pub(super) fn write_usage(usage: &Usage) -> Object {
    let mut members = Object::new();
    members.push(PROMPT, usage.prompt_tokens);
    members.push(COMPLETION, usage.completion_tokens);
    members.push(TOTAL, usage.total_tokens);
    for (name, value) in usage.details.iter() {
        members.set(name.clone(), value.clone());
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    #[test]
    fn the_table_has_no_mistakes() {
        let parsed = Rules::parse(include_str!("rules.toml"), std::path::Path::new("rules.toml"));
        assert!(parsed.is_ok(), "{parsed:?}");
    }

    #[test]
    fn usage_is_read_and_written_back() {
        let text = r#"{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"cost":0.10,"completion_tokens_details":{"reasoning_tokens":2}}"#;
        let usage = read_usage(&parse(text).unwrap()).unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (9, 4, 13)
        );
        assert_eq!(compact(&Json::Object(write_usage(&usage))), text);
    }

    #[test]
    fn a_missing_total_is_the_sum_and_counts_of_wrong_types_survive() {
        let usage = read_usage(&parse(r#"{"prompt_tokens":9,"completion_tokens":null}"#).unwrap()).unwrap();
        assert_eq!(usage.total_tokens, 9);
        assert_eq!(write_usage(&usage).get(COMPLETION), Some(&Json::Null));
        assert_eq!(read_usage(&parse(r#"{"prompt_tokens":null}"#).unwrap()), None);
        assert_eq!(read_usage(&Json::Null), None);
    }

    #[test]
    fn reasons_have_canonical_words() {
        for (native, canonical) in [
            ("stop", "stop"),
            ("function_call", "tool_calls"),
            ("model_length", "length"),
            ("insufficient_system_resource", "error"),
            ("content_filter", "content_filter"),
            ("brand_new", "brand_new"),
        ] {
            assert_eq!(RULES.finish(native), canonical);
        }
    }
}
