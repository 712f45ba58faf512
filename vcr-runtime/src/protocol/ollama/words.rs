//! The words of Ollama that are written; those that are only read stand in `rules.toml`.

use std::sync::LazyLock;

use crate::json::{Json, Object};
use crate::model::{Boundary, Usage};
use crate::protocol::common::object;
use crate::protocol::rules::Rules;

/// The extraction rules.
pub(super) static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded(include_str!("rules.toml")));

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

/// The word for a client of Ollama, for answers that came from elsewhere.
pub(super) fn wire_reason(canonical: &str) -> &str {
    match canonical {
        "length" | "load" | "unload" => canonical,
        _ => "stop",
    }
}

/// The counts that a last line or body does not state.
pub(super) fn lacking(members: &Object) -> Vec<Json> {
    let lacks = |name: &&str| members.get(name).is_none();
    let names = [PROMPT, COMPLETION].into_iter().filter(lacks);
    names.map(Json::from).collect()
}

/// The members that a usage was read from, less those in `lacks`. `is_own` is false for a usage that another protocol
/// recorded: its details have other names.
pub(super) fn write_usage(usage: &Usage, is_own: bool, lacks: Option<&Json>) -> Object {
    let lacks = lacks.and_then(Json::as_array).unwrap_or_default();
    let mut members = Object::new();
    for name in COUNTERS {
        let value = match name {
            PROMPT => Some(usage.prompt_tokens.into()),
            COMPLETION => Some(usage.completion_tokens.into()),
            _ => usage.details.get(name).filter(|_| is_own).cloned(),
        };
        if let Some(value) = value
            && lacks.iter().all(|lacks| lacks.as_str() != Some(name))
        {
            members.push(name, value);
        }
    }
    members
}

/// An error payload with the message that the cassette tells, which a person may have edited.
pub(super) fn with_message(mut payload: Json, boundary: &Boundary) -> Json {
    if RULES.error(None, &payload).message == boundary.message {
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

    fn read(text: &str) -> (Usage, Vec<Json>) {
        let body = parse(text).unwrap();
        (RULES.usage(&body).unwrap(), lacking(body.as_object().unwrap()))
    }

    #[test]
    fn the_table_has_no_mistake() {
        Rules::parse(include_str!("rules.toml"), std::path::Path::new("rules.toml")).unwrap();
    }

    #[test]
    fn counters_are_read_and_written_back() {
        for text in [
            r#"{"total_duration":9,"load_duration":1,"prompt_eval_count":4,"prompt_eval_duration":3,"eval_count":2,"eval_duration":5}"#,
            r#"{"total_duration":9,"eval_count":2}"#,
            r#"{"prompt_eval_count":4}"#,
        ] {
            let (usage, lacks) = read(text);
            let written = write_usage(&usage, true, Some(&Json::Array(lacks)));
            assert_eq!(compact(&written.into()), text);
        }
        assert_eq!(
            read(r#"{"prompt_eval_count":4,"eval_count":2}"#).0,
            Usage::new(4, 2)
        );
    }

    #[test]
    fn without_a_count_there_is_no_usage() {
        assert_eq!(RULES.usage(&parse(r#"{"total_duration":9}"#).unwrap()), None);
    }

    #[test]
    fn details_of_another_protocol_are_not_written() {
        let mut usage = Usage::new(4, 2);
        usage.details.push("load_duration", 1_u64);
        usage.details.push("prompt_tokens_details", Json::Null);
        assert_eq!(
            compact(&write_usage(&usage, false, None).into()),
            r#"{"prompt_eval_count":4,"eval_count":2}"#
        );
    }

    #[test]
    fn reasons_of_other_protocols_become_words_that_clients_know() {
        assert_eq!(wire_reason("content_filter"), "stop");
        assert_eq!(wire_reason("tool_calls"), "stop");
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
                r#"{"error":{"message":"m","status":503}}"#,
                "m",
                Some(503),
                r#"{"error":{"message":"new","status":503}}"#,
            ),
            (r#""Bad Gateway""#, "Bad Gateway", None, r#"{"error":"new"}"#),
            (r#"{"error":"new"}"#, "new", None, r#"{"error":"new"}"#),
        ] {
            let body = parse(body).unwrap();
            let read = RULES.error(None, &body);
            assert_eq!((read.message.as_str(), read.status), (message, status));
            assert_eq!(compact(&with_message(body, &boundary)), edited);
        }
    }
}
