//! What Ollama calls things, and what we call them.

use crate::json::{Json, Object};
use crate::model::{Boundary, Usage};
use crate::protocol::WireError;
use crate::protocol::common::object;

pub(super) const DONE: &str = "done";
pub(super) const DONE_REASON: &str = "done_reason";
pub(super) const THINKING: &str = "thinking";
pub(super) const TOOL_CALLS: &str = "tool_calls";
pub(super) const MESSAGE: &str = "message";
pub(super) const ERROR: &str = "error";

const PROMPT: &str = "prompt_eval_count";
const COMPLETION: &str = "eval_count";
/// The members of the last line that count or measure, in their usual order.
const COUNTERS: [&str; 6] = [
    "total_duration",
    "load_duration",
    PROMPT,
    "prompt_eval_duration",
    COMPLETION,
    "eval_duration",
];

pub(super) fn is_counter(name: &str) -> bool {
    COUNTERS.contains(&name)
}

/// The canonical word for why an answer ended. Ollama says `stop` after tool calls too.
pub(super) fn canonical_reason(native: &str, called: bool) -> &str {
    match native {
        "stop" if called => "tool_calls",
        other => other,
    }
}

/// The word for a client of Ollama, for answers that came from elsewhere.
pub(super) fn wire_reason(canonical: &str) -> &str {
    match canonical {
        "length" | "load" | "unload" => canonical,
        _ => "stop",
    }
}

/// The counts and durations of a last line or a body. Without a count there is no usage: the durations of a bare
/// "load this model" answer stay where they are.
pub(super) fn read_usage(members: &Object) -> Option<Usage> {
    let count = |name| members.get(name).and_then(Json::as_u64);
    let (prompt, completion) = (count(PROMPT), count(COMPLETION));
    prompt.or(completion)?;
    let mut usage = Usage::new(prompt.unwrap_or(0), completion.unwrap_or(0));
    for (name, read) in [(PROMPT, prompt), (COMPLETION, completion)] {
        if read.is_none() {
            // Not stated, or of a wrong type: written back as it was.
            usage
                .details
                .push(name, members.get(name).cloned().unwrap_or_default());
        }
    }
    let rest = members.iter().filter(|(name, _)| {
        is_counter(name) && count(name).is_some() && name != PROMPT && name != COMPLETION
    });
    usage.details.0.extend(rest.cloned());
    Some(usage)
}

/// The members that [`read_usage`] took. `is_own` is false for a usage that another protocol recorded: its details
/// have other names.
pub(super) fn write_usage(usage: &Usage, is_own: bool) -> Object {
    let detail = |name: &str| usage.details.get(name).filter(|_| is_own).cloned();
    let mut members = Object::new();
    for name in COUNTERS {
        let value = match name {
            PROMPT => detail(name).unwrap_or_else(|| usage.prompt_tokens.into()),
            COMPLETION => detail(name).unwrap_or_else(|| usage.completion_tokens.into()),
            _ => detail(name).unwrap_or_default(),
        };
        if !value.is_null() {
            members.push(name, value);
        }
    }
    members
}

/// An error, by whatever it has: Ollama sends a text, proxies before it send objects and pages.
pub(super) fn read_error(status: Option<u16>, body: &Json) -> WireError {
    let error = body.get(ERROR).filter(|error| !error.is_null()).unwrap_or(body);
    let text = error.as_str().map(str::to_owned);
    let message = text.or_else(|| error.get("message")?.as_str().map(str::to_owned));
    let stated = ["status_code", "status"].map(|name| body.get(name).and_then(Json::as_u64));
    WireError {
        error_type: "error".to_owned(),
        message: message.unwrap_or_else(|| crate::json::compact(error)),
        status: status.or_else(|| {
            let stated = stated.into_iter().flatten();
            stated
                .filter_map(|status| u16::try_from(status).ok())
                .find(|status| (400..600).contains(status))
        }),
        code: None,
    }
}

/// An error payload with the message that the cassette tells, which a person may have edited.
pub(super) fn with_message(mut payload: Json, boundary: &Boundary) -> Json {
    if read_error(None, &payload).message == boundary.message {
        return payload;
    }
    match payload.as_object_mut() {
        Some(members) => match members.get_mut(ERROR).and_then(Json::as_object_mut) {
            Some(inner) => inner.set("message", boundary.message.as_str()),
            None => members.set(ERROR, boundary.message.as_str()),
        },
        None => payload = write_error(boundary),
    }
    payload
}

pub(super) fn write_error(boundary: &Boundary) -> Json {
    object([(ERROR, boundary.message.as_str().into())]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};
    use crate::model::BoundaryKind;

    fn members(text: &str) -> Object {
        parse(text).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn counters_are_read_and_written_back() {
        for text in [
            r#"{"total_duration":9,"load_duration":1,"prompt_eval_count":4,"prompt_eval_duration":3,"eval_count":2,"eval_duration":5}"#,
            r#"{"total_duration":9,"eval_count":2}"#,
            r#"{"prompt_eval_count":4}"#,
        ] {
            let usage = read_usage(&members(text)).unwrap();
            assert_eq!(compact(&write_usage(&usage, true).into()), text);
        }
        let usage = read_usage(&members(r#"{"prompt_eval_count":4,"eval_count":2}"#)).unwrap();
        assert_eq!(usage, Usage::new(4, 2));
    }

    #[test]
    fn without_a_count_there_is_no_usage() {
        assert_eq!(read_usage(&members(r#"{"total_duration":9}"#)), None);
    }

    #[test]
    fn details_of_another_protocol_are_not_written() {
        let mut usage = Usage::new(4, 2);
        usage.details.push("load_duration", 1_u64);
        usage.details.push("prompt_tokens_details", Json::Null);
        assert_eq!(
            compact(&write_usage(&usage, false).into()),
            r#"{"prompt_eval_count":4,"eval_count":2}"#
        );
    }

    #[test]
    fn stop_after_tool_calls_is_tool_calls() {
        assert_eq!(canonical_reason("stop", true), "tool_calls");
        assert_eq!(canonical_reason("stop", false), "stop");
        assert_eq!(canonical_reason("length", true), "length");
        assert_eq!(wire_reason("content_filter"), "stop");
        assert_eq!(wire_reason("length"), "length");
    }

    #[test]
    fn every_error_shape_is_read_and_edited() {
        let boundary = Boundary {
            kind: BoundaryKind::Http,
            error_type: "error".to_owned(),
            message: "new".to_owned(),
            status: None,
            code: None,
        };
        for (body, message, status, edited) in [
            (r#"{"error":"m"}"#, "m", None, r#"{"error":"new"}"#),
            (
                r#"{"error":"m","status_code":503}"#,
                "m",
                Some(503),
                r#"{"error":"new","status_code":503}"#,
            ),
            (
                r#"{"error":{"message":"m"}}"#,
                "m",
                None,
                r#"{"error":{"message":"new"}}"#,
            ),
            (r#""Bad Gateway""#, "Bad Gateway", None, r#"{"error":"new"}"#),
            (r#"{"error":"new"}"#, "new", None, r#"{"error":"new"}"#),
        ] {
            let body = parse(body).unwrap();
            let read = read_error(None, &body);
            assert_eq!((read.message.as_str(), read.status), (message, status));
            assert_eq!(compact(&with_message(body, &boundary)), edited);
        }
    }
}
