//! The provider's words: names on the wire, finish reasons and token counts.

use std::sync::LazyLock;

use crate::json::{Json, Object};
use crate::model::{Frame, Usage};
use crate::protocol::rules::Rules;

/// The `type` of events.
pub(super) mod event {
    pub(in super::super) const MESSAGE_START: &str = "message_start";
    pub(in super::super) const BLOCK_START: &str = "content_block_start";
    pub(in super::super) const BLOCK_DELTA: &str = "content_block_delta";
    pub(in super::super) const BLOCK_STOP: &str = "content_block_stop";
    pub(in super::super) const MESSAGE_DELTA: &str = "message_delta";
    pub(in super::super) const MESSAGE_STOP: &str = "message_stop";
    pub(in super::super) const PING: &str = "ping";
    pub(in super::super) const ERROR: &str = "error";
}

/// The `type` of deltas.
pub(super) mod delta {
    pub(in super::super) const TEXT: &str = "text_delta";
    pub(in super::super) const THINKING: &str = "thinking_delta";
    pub(in super::super) const SIGNATURE: &str = "signature_delta";
    pub(in super::super) const JSON: &str = "input_json_delta";
    pub(in super::super) const CITATION: &str = "citations_delta";
}

/// The `type` of content blocks that have a canonical form.
pub(super) mod block {
    pub(in super::super) const TEXT: &str = "text";
    pub(in super::super) const THINKING: &str = "thinking";
    pub(in super::super) const TOOL: &str = "tool_use";
}

pub(super) const INPUT_TOKENS: &str = "input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "output_tokens";
const CACHE_READ: &str = "cache_read_input_tokens";
const CACHE_CREATION: &str = "cache_creation_input_tokens";
/// The counts that a closing event repeats.
pub(super) const CUMULATIVE: [&str; 4] = [INPUT_TOKENS, CACHE_CREATION, CACHE_READ, OUTPUT_TOKENS];

/// What the provider calls things.
pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded(include_str!("rules.toml")));

/// The provider's word for the reason of a frame. `own` when this protocol recorded the frame; otherwise only words
/// that its clients know are taken over.
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

/// The usage as the provider states it. Details of `foreign` answers are dropped unless they mean the same here.
pub(super) fn write_usage(usage: &Usage, foreign: bool) -> Object {
    const SHARED: [&str; 6] = [
        CACHE_CREATION,
        CACHE_READ,
        "cache_creation",
        "server_tool_use",
        "service_tier",
        "inference_geo",
    ];
    let details = usage.details.iter();
    let details: Object = details
        .filter(|(name, _)| !foreign || SHARED.contains(&name.as_str()))
        .cloned()
        .collect();
    let count = |name| details.get(name).and_then(Json::as_u64).unwrap_or(0);
    let cached = count(CACHE_READ).saturating_add(count(CACHE_CREATION));
    let mut wire = Object::new();
    wire.push(INPUT_TOKENS, usage.prompt_tokens.saturating_sub(cached));
    wire.push(OUTPUT_TOKENS, usage.completion_tokens);
    for (name, value) in details {
        wire.set(name, value);
    }
    wire
}

/// What a usage on the wire has that [`write_usage`] of what was read from it would not give back, and the counts
/// that it would have too many.
pub(super) fn usage_rest(wire: &Object, written: &Object) -> (Object, Vec<Json>) {
    let rest = wire
        .iter()
        .filter(|(name, value)| written.get(name) != Some(value))
        .cloned()
        .collect();
    let more = written.iter().filter(|(name, _)| wire.get(name).is_none());
    (rest, more.map(|(name, _)| name.as_str().into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    fn usage(text: &str) -> Option<Usage> {
        RULES.usage(&parse(text).unwrap())
    }

    #[test]
    fn the_embedded_table_is_in_order() {
        let parsed = Rules::parse(include_str!("rules.toml"), std::path::Path::new("rules.toml"));
        assert!(parsed.is_ok(), "{parsed:?}");
    }

    #[test]
    fn the_prompt_includes_cached_tokens_and_the_wire_form_comes_back() {
        let text = r#"{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":20,"service_tier":"standard","output_tokens_details":{"thinking_tokens":4}}"#;
        let usage = usage(text).unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (30, 5, 35)
        );
        assert_eq!(compact(&Json::Object(write_usage(&usage, false))), text);
    }

    #[test]
    fn what_counts_do_not_give_back_is_the_rest() {
        let wire = parse(r#"{"input_tokens":null,"cache_read_input_tokens":5,"x":1}"#).unwrap();
        let read = RULES.usage(&wire).unwrap();
        let (rest, more) = usage_rest(wire.as_object().unwrap(), &write_usage(&read, false));
        assert_eq!(more, [Json::from(OUTPUT_TOKENS)]);
        assert!(rest.is_empty(), "{rest:?}");
        assert_eq!(usage(r#"{"service_tier":"standard"}"#), None);
    }

    #[test]
    fn details_of_other_providers_are_left_out() {
        let mut other = Usage::new(9, 4);
        other.details.push("prompt_tokens_details", Object::new());
        other.details.push(CACHE_READ, 2_u64);
        let text = r#"{"input_tokens":7,"output_tokens":4,"cache_read_input_tokens":2}"#;
        assert_eq!(compact(&Json::Object(write_usage(&other, true))), text);
    }

    #[test]
    fn reasons_go_both_ways() {
        for (canonical, native) in [
            ("stop", "end_turn"),
            ("stop", "stop_sequence"),
            ("tool_calls", "tool_use"),
            ("length", "max_tokens"),
            ("length", "model_context_window_exceeded"),
            ("content_filter", "refusal"),
            ("pause", "pause_turn"),
        ] {
            assert_eq!(RULES.finish(native), canonical);
            let mut frame = Frame {
                finish_reason: Some(canonical.to_owned()),
                native_finish_reason: Some(native.to_owned()),
                ..Frame::default()
            };
            assert_eq!(native_reason(&frame, true), Some(native));
            assert_eq!(native_reason(&frame, false), Some(native));
            frame.native_finish_reason = Some("FOREIGN".to_owned());
            assert_eq!(RULES.finish(native_reason(&frame, false).unwrap()), canonical);
        }
        let mut frame = Frame {
            finish_reason: Some("brand_new".to_owned()),
            ..Frame::default()
        };
        assert_eq!(native_reason(&frame, true), Some("brand_new"));
        assert_eq!(native_reason(&frame, false), Some("end_turn"));
        frame.finish_reason = None;
        assert_eq!(native_reason(&frame, true), None);
    }
}
