//! The words of Gemini that are written; those that are only read stand in `rules.toml`.

use std::sync::LazyLock;

use crate::json::{Json, Object};
use crate::model::{Boundary, Usage};
use crate::protocol::common::object;
use crate::protocol::rules::Rules;

/// The extraction rules.
pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded(include_str!("rules.toml")));

pub(super) const CANDIDATES: &str = "candidates";
pub(super) const CONTENT: &str = "content";
pub(super) const PARTS: &str = "parts";
pub(super) const FINISH_REASON: &str = "finishReason";
pub(super) const INDEX: &str = "index";
pub(super) const USAGE: &str = "usageMetadata";
pub(super) const ERROR: &str = "error";
pub(super) const SIGNATURE: &str = "thoughtSignature";
pub(super) const FUNCTION_CALL: &str = "functionCall";
/// The member of a marker: so many function calls stand here.
pub(super) const CALLS_HERE: &str = "functionCalls";

const PROMPT: &str = "promptTokenCount";
const TOOL_PROMPT: &str = "toolUsePromptTokenCount";
const CANDIDATES_COUNT: &str = "candidatesTokenCount";
const THOUGHTS: &str = "thoughtsTokenCount";
const TOTAL: &str = "totalTokenCount";

/// The word for a client of Gemini, for answers that came from elsewhere: SDKs know a closed set.
pub(super) fn wire_reason(canonical: &str) -> &str {
    match canonical {
        "stop" | "tool_calls" | "pause" => "STOP",
        "length" | "content_filter" => RULES.finish_word(canonical),
        _ => "OTHER",
    }
}

/// The counts that a usage does not state.
pub(super) fn lacking(usage: &Json) -> Vec<Json> {
    let names = [PROMPT, CANDIDATES_COUNT, TOTAL].into_iter();
    names
        .filter(|name| usage.get(name).is_none())
        .map(Json::from)
        .collect()
}

/// The usage as it came, less the counts in `lacks`. `is_own` is false for a usage that another protocol recorded:
/// of its details only those are told that have a name here.
pub(super) fn write_usage(usage: &Usage, is_own: bool, lacks: Option<&Json>) -> Object {
    let lacks = lacks.and_then(Json::as_array).unwrap_or_default();
    let own;
    let details = if is_own {
        &usage.details
    } else {
        own = translated(&usage.details);
        &own
    };
    let count = |name| details.get(name).and_then(Json::as_u64).unwrap_or(0);
    let counts = [
        (PROMPT, usage.prompt_tokens.saturating_sub(count(TOOL_PROMPT))),
        (
            CANDIDATES_COUNT,
            usage.completion_tokens.saturating_sub(count(THOUGHTS)),
        ),
        (TOTAL, usage.total_tokens),
    ];
    let mut members = Object::new();
    for (name, value) in counts {
        if lacks.iter().all(|lacks| lacks.as_str() != Some(name)) {
            members.push(name, value);
        }
    }
    for (name, value) in details.iter() {
        members.set(name.clone(), value.clone());
    }
    members
}

/// The details of other protocols that Gemini has names for.
fn translated(details: &Object) -> Object {
    let count = |paths: [&[&str]; 2]| {
        paths.into_iter().find_map(|path| {
            let (first, rest) = path.split_first()?;
            let found = rest
                .iter()
                .try_fold(details.get(first)?, |value, name| value.get(name));
            found?.as_u64().filter(|count| *count > 0)
        })
    };
    let thoughts = count([
        &["completion_tokens_details", "reasoning_tokens"],
        &["output_tokens_details", "reasoning_tokens"],
    ]);
    let cached = count([
        &["prompt_tokens_details", "cached_tokens"],
        &["input_tokens_details", "cached_tokens"],
    ]);
    let named = [(THOUGHTS, thoughts), ("cachedContentTokenCount", cached)];
    let told = named
        .into_iter()
        .filter_map(|(name, count)| Some((name.to_owned(), Json::from(count?))));
    told.collect()
}

/// An error payload with the message that the cassette tells, which a person may have edited.
pub(super) fn with_message(mut payload: Json, boundary: &Boundary) -> Json {
    if RULES.error(None, &payload).message == boundary.message {
        return payload;
    }
    let whole = match &mut payload {
        Json::Array(items) if items.len() == 1 => items.first_mut(),
        whole => Some(whole),
    };
    let error = whole
        .and_then(Json::as_object_mut)
        .and_then(|members| match members.get(ERROR) {
            Some(Json::Object(_)) => members.get_mut(ERROR)?.as_object_mut(),
            _ => Some(members),
        });
    match error {
        Some(error) => error.set("message", boundary.message.as_str()),
        None => payload = write_error(boundary),
    }
    payload
}

/// The usual payload for an error that has none: a `google.rpc.Status`.
pub(super) fn write_error(boundary: &Boundary) -> Json {
    let code = boundary.status.unwrap_or(500);
    let is_status = |word: &str| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let status = Some(boundary.error_type.as_str()).filter(|word| !word.is_empty() && is_status(word));
    let error = object([
        ("code", code.into()),
        ("message", boundary.message.as_str().into()),
        ("status", status.unwrap_or_else(|| status_of(code)).into()),
    ]);
    object([(ERROR, error.into())]).into()
}

fn status_of(code: u16) -> &'static str {
    match code {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};
    use crate::model::BoundaryKind;

    #[test]
    fn the_table_has_no_mistake() {
        Rules::parse(include_str!("rules.toml"), std::path::Path::new("rules.toml")).unwrap();
    }

    #[test]
    fn usage_is_read_and_written_back() {
        for (text, counts) in [
            (
                r#"{"promptTokenCount":4,"candidatesTokenCount":2,"totalTokenCount":13,"thoughtsTokenCount":7}"#,
                (4, 9, 13),
            ),
            (
                r#"{"promptTokenCount":4,"candidatesTokenCount":2,"totalTokenCount":16,"toolUsePromptTokenCount":10,"promptTokensDetails":[]}"#,
                (14, 2, 16),
            ),
            (r#"{"promptTokenCount":4,"totalTokenCount":4}"#, (4, 0, 4)),
            (r#"{"totalTokenCount":4,"trafficType":"ON_DEMAND"}"#, (0, 0, 4)),
        ] {
            let wire = parse(text).unwrap();
            let usage = RULES.usage(&wire).unwrap();
            assert_eq!(
                (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
                counts
            );
            let lacks = Json::Array(lacking(&wire));
            assert_eq!(compact(&write_usage(&usage, true, Some(&lacks)).into()), text);
        }
        assert_eq!(
            RULES.usage(&parse(r#"{"trafficType":"ON_DEMAND"}"#).unwrap()),
            None
        );
    }

    #[test]
    fn usage_of_another_protocol_is_told_in_these_names() {
        let mut usage = Usage::new(10, 9);
        let details = parse(r#"{"completion_tokens_details":{"reasoning_tokens":7},"prompt_tokens_details":{"cached_tokens":0},"cost":1}"#).unwrap();
        usage.details = details.as_object().unwrap().clone();
        assert_eq!(
            compact(&write_usage(&usage, false, None).into()),
            r#"{"promptTokenCount":10,"candidatesTokenCount":2,"totalTokenCount":19,"thoughtsTokenCount":7}"#
        );
    }

    #[test]
    fn reasons_are_words_that_clients_know() {
        for (canonical, word) in [
            ("stop", "STOP"),
            ("tool_calls", "STOP"),
            ("length", "MAX_TOKENS"),
            ("content_filter", "SAFETY"),
            ("error", "OTHER"),
            ("brand_new", "OTHER"),
        ] {
            assert_eq!(wire_reason(canonical), word);
        }
        assert_eq!(RULES.finish("SPII"), "content_filter");
        assert_eq!(RULES.finish("BRAND_NEW"), "BRAND_NEW");
    }

    #[test]
    fn errors_are_read_written_and_edited() {
        let mut boundary = Boundary {
            kind: BoundaryKind::Http,
            error_type: "RESOURCE_EXHAUSTED".to_owned(),
            message: "quota".to_owned(),
            status: Some(429),
            code: Some("429".to_owned()),
        };
        let body = write_error(&boundary);
        assert_eq!(
            compact(&body),
            r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#
        );
        let read = RULES.error(None, &Json::Array(vec![body.clone()]));
        assert_eq!(
            (read.error_type, read.message),
            (boundary.error_type.clone(), boundary.message.clone())
        );
        assert_eq!((read.status, read.code), (boundary.status, boundary.code.clone()));
        boundary.message = "edited".to_owned();
        for (wrapped, edited) in [
            (
                body.clone(),
                r#"{"error":{"code":429,"message":"edited","status":"RESOURCE_EXHAUSTED"}}"#,
            ),
            (
                Json::Array(vec![body]),
                r#"[{"error":{"code":429,"message":"edited","status":"RESOURCE_EXHAUSTED"}}]"#,
            ),
            (
                "page".into(),
                r#"{"error":{"code":429,"message":"edited","status":"RESOURCE_EXHAUSTED"}}"#,
            ),
        ] {
            assert_eq!(compact(&with_message(wrapped, &boundary)), edited);
        }
        boundary.error_type = "RateLimitError".to_owned();
        boundary.status = None;
        assert!(
            compact(&write_error(&boundary)).contains(r#""code":500,"message":"edited","status":"INTERNAL""#)
        );
    }
}
