//! The provider's words, where rendering needs them.

use std::sync::LazyLock;

use crate::json::{Json, Object};
use crate::model::{Frame, Usage};
use crate::protocol::rules::Rules;

/// What the provider calls things.
pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded(include_str!("rules.toml")));

const INPUT: &str = "inputTokens";
const OUTPUT: &str = "outputTokens";
const TOTAL: &str = "totalTokens";
const CACHED: [&str; 2] = ["cacheReadInputTokens", "cacheWriteInputTokens"];

/// The usage as the provider states it. Details of `foreign` answers mean nothing here.
pub(super) fn write_usage(usage: &Usage, foreign: bool) -> Object {
    let details: Object = usage.details.iter().filter(|_| !foreign).cloned().collect();
    let count = |name: &str| details.get(name).and_then(Json::as_u64).unwrap_or(0);
    let cached = CACHED.into_iter().map(count).fold(0, u64::saturating_add);
    let mut wire = Object::new();
    wire.push(INPUT, usage.prompt_tokens.saturating_sub(cached));
    wire.push(OUTPUT, usage.completion_tokens);
    wire.push(TOTAL, usage.total_tokens);
    for (name, value) in details {
        wire.set(name, value);
    }
    wire
}

/// The provider's word for the reason of a frame; `own` when this protocol recorded it.
pub(super) fn native_reason(frame: &Frame, own: bool) -> Option<&str> {
    let reason = frame.finish_reason.as_deref()?;
    let is_known = |word: &&str| own || RULES.finish(word) != *word;
    if let Some(native) = frame.native_finish_reason.as_deref().filter(is_known) {
        return Some(native);
    }
    Some(match RULES.finish_word(reason) {
        word if word == reason && !own => "end_turn",
        word => word,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    #[test]
    fn the_embedded_table_is_in_order() {
        let parsed = Rules::parse(include_str!("rules.toml"), std::path::Path::new("rules.toml"));
        assert!(parsed.is_ok(), "{parsed:?}");
    }

    #[test]
    fn usage_is_read_and_written_back() {
        let text = r#"{"inputTokens":4,"outputTokens":2,"totalTokens":16,"cacheReadInputTokens":7,"cacheWriteInputTokens":3,"serverToolUsage":{}}"#;
        let usage = RULES.usage(&parse(text).unwrap()).unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (14, 2, 16)
        );
        assert_eq!(compact(&Json::Object(write_usage(&usage, false))), text);
    }
}
