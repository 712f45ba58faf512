//! What the Responses API calls things. Every wire name that decoding and rendering share stands here.

use crate::json::Json;

/// A kind of content part: where it stands in its item and which events stream it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartKind {
    /// The type of the item.
    pub(super) item: &'static str,
    /// The member of the item that lists its parts.
    pub(super) list: &'static str,
    /// The type of the part, and its member that holds the text.
    pub(super) part: &'static str,
    pub(super) member: &'static str,
    /// Events `….delta` and `….done`.
    pub(super) event: &'static str,
    /// Events `….added` and `….done` around them.
    pub(super) around: &'static str,
    /// The member of these events that counts the parts.
    pub(super) index: &'static str,
    pub(super) says: Says,
}

/// The canonical part that a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Text,
    Reasoning,
    Refusal,
}

impl Says {
    pub(super) const ALL: [Self; 3] = [Self::Text, Self::Reasoning, Self::Refusal];

    /// The word that stands for the text in a template.
    pub(super) fn slot(self) -> &'static str {
        match self {
            Self::Text => "$text",
            Self::Reasoning => "$reasoning",
            Self::Refusal => "$refusal",
        }
    }
}

pub(super) const MESSAGE: &str = "message";
pub(super) const REASONING: &str = "reasoning";
pub(super) const CONTENT_PART: &str = "response.content_part";

pub(super) const TEXT_PART: &PartKind = &PartKind {
    item: MESSAGE,
    list: "content",
    part: "output_text",
    member: "text",
    event: "response.output_text",
    around: CONTENT_PART,
    index: "content_index",
    says: Says::Text,
};
pub(super) const REFUSAL_PART: &PartKind = &PartKind {
    part: "refusal",
    member: "refusal",
    event: "response.refusal",
    says: Says::Refusal,
    ..*TEXT_PART
};
pub(super) const SUMMARY_PART: &PartKind = &PartKind {
    item: REASONING,
    list: "summary",
    part: "summary_text",
    member: "text",
    event: "response.reasoning_summary_text",
    around: "response.reasoning_summary_part",
    index: "summary_index",
    says: Says::Reasoning,
};
pub(super) const THOUGHT_PART: &PartKind = &PartKind {
    item: REASONING,
    list: "content",
    part: "reasoning_text",
    member: "text",
    event: "response.reasoning_text",
    around: CONTENT_PART,
    index: "content_index",
    says: Says::Reasoning,
};
const PARTS: [&PartKind; 4] = [TEXT_PART, REFUSAL_PART, SUMMARY_PART, THOUGHT_PART];

/// A kind of tool call that the caller answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallKind {
    pub(super) item: &'static str,
    /// The member that holds the arguments.
    pub(super) member: &'static str,
    pub(super) event: &'static str,
}

pub(super) const FUNCTION: &CallKind = &CallKind {
    item: "function_call",
    member: "arguments",
    event: "response.function_call_arguments",
};
const CALLS: [&CallKind; 2] = [
    FUNCTION,
    &CallKind {
        item: "custom_tool_call",
        member: "input",
        event: "response.custom_tool_call_input",
    },
];

pub(super) const CALL_ID: &str = "call_id";
pub(super) const NAME: &str = "name";
pub(super) const SIGNATURE: &str = "encrypted_content";
/// Lists of parts in the order in which they are streamed.
pub(super) const LISTS: [&str; 2] = ["summary", "content"];

pub(super) const SLOT_SIGNATURE: &str = "$signature";
pub(super) const SLOT_ID: &str = "$id";
pub(super) const SLOT_NAME: &str = "$name";
pub(super) const SLOT_ARGUMENTS: &str = "$arguments";
pub(super) const SLOT_NATIVE: &str = "$native";
pub(super) const SLOT_ITEM: &str = "$item";
pub(super) const SLOT_ITEMS: &str = "$items";

pub(super) const CREATED: &str = "response.created";
pub(super) const IN_PROGRESS: &str = "response.in_progress";
pub(super) const ITEM_ADDED: &str = "response.output_item.added";
pub(super) const ITEM_DONE: &str = "response.output_item.done";
pub(super) const ERROR: &str = "error";
pub(super) const SEQUENCE: &str = "sequence_number";
/// Random padding against traffic analysis.
const PADDING: &str = "obfuscation";

pub(super) fn is_noise(member: &str) -> bool {
    member == PADDING || member == SEQUENCE
}

/// The type of an item, a part or an event.
pub(super) fn type_of(value: &Json) -> &str {
    value.get("type").and_then(Json::as_str).unwrap_or_default()
}

pub(super) fn part_kind(item: &Json, list: &str, part: &Json) -> Option<&'static PartKind> {
    let (item, part) = (type_of(item), type_of(part));
    PARTS
        .into_iter()
        .find(|kind| kind.item == item && kind.list == list && kind.part == part)
}

/// The parts whose events are called `event`, less `.delta` or `.done`.
pub(super) fn part_of_event(event: &str) -> Option<&'static PartKind> {
    PARTS.into_iter().find(|kind| kind.event == event)
}

/// The list and the index member that `….added` and `….done` of a part mean, by the type of its item.
pub(super) fn around(event: &str, item: &Json) -> Option<(&'static str, &'static str)> {
    let item = type_of(item);
    let known = PARTS
        .into_iter()
        .find(|kind| kind.around == event && kind.item == item)?;
    Some((known.list, known.index))
}

/// What stands around the parts of a list.
pub(super) fn around_list(list: &str) -> &'static PartKind {
    if list == SUMMARY_PART.list {
        SUMMARY_PART
    } else {
        TEXT_PART
    }
}

pub(super) fn call_kind(item: &Json) -> Option<&'static CallKind> {
    let item = type_of(item);
    CALLS.into_iter().find(|kind| kind.item == item)
}

pub(super) fn call_of_event(event: &str) -> Option<&'static CallKind> {
    CALLS.into_iter().find(|kind| kind.event == event)
}

/// Whether an item has a canonical form: text, reasoning or a tool call of the caller.
pub(super) fn is_canonical(item: &Json) -> bool {
    [MESSAGE, REASONING].contains(&type_of(item)) || call_kind(item).is_some()
}

/// The event that a response with this status ends with.
pub(super) fn terminal(status: &str) -> Option<&'static str> {
    match status {
        "completed" => Some("response.completed"),
        "incomplete" => Some("response.incomplete"),
        "failed" => Some("response.failed"),
        _ => None,
    }
}

pub(super) fn is_terminal(event: &str) -> bool {
    event.strip_prefix("response.").and_then(terminal) == Some(event)
}

/// Why a response ended: the canonical word and the provider's, if it has ended.
pub(super) fn finish(response: &Json, calls_tools: bool) -> Option<(String, String)> {
    let status = response.get("status")?.as_str()?;
    let reason = response
        .get("incomplete_details")
        .and_then(|details| details.get("reason")?.as_str());
    let (canonical, native) = match (status, reason) {
        ("completed", _) if calls_tools => ("tool_calls", status),
        ("completed", _) => ("stop", status),
        ("failed", _) => ("error", status),
        ("incomplete", Some("max_output_tokens")) => ("length", "max_output_tokens"),
        ("incomplete", Some(reason)) => (reason, reason),
        ("incomplete", None) => ("length", status),
        ("queued" | "in_progress", _) => return None,
        (other, _) => (other, other),
    };
    Some((canonical.to_owned(), native.to_owned()))
}

/// Status and reason for a canonical word.
pub(super) fn status(finish: &str) -> (&'static str, Option<&str>) {
    match finish {
        "stop" | "tool_calls" | "pause" => ("completed", None),
        "error" => ("failed", None),
        "length" => ("incomplete", Some("max_output_tokens")),
        other => ("incomplete", Some(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn finish_reasons_go_both_ways() {
        for (response, tools, word) in [
            (r#"{"status":"completed"}"#, false, "stop"),
            (r#"{"status":"completed"}"#, true, "tool_calls"),
            (
                r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#,
                true,
                "length",
            ),
            (
                r#"{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}"#,
                false,
                "content_filter",
            ),
            (r#"{"status":"failed","incomplete_details":null}"#, false, "error"),
        ] {
            let response = parse(response).unwrap();
            assert_eq!(finish(&response, tools).unwrap().0, word);
            assert_eq!(
                Some(status(word).0),
                response.get("status").and_then(Json::as_str)
            );
        }
        for unfinished in [r#"{"status":"in_progress"}"#, r#"{"status":"queued"}"#, "{}"] {
            assert_eq!(finish(&parse(unfinished).unwrap(), false), None);
        }
    }

    #[test]
    fn three_events_end_a_stream() {
        for event in ["response.completed", "response.incomplete", "response.failed"] {
            assert!(is_terminal(event));
        }
        for event in [
            "response.in_progress",
            "completed",
            "response.output_item.done",
            "error",
        ] {
            assert!(!is_terminal(event));
        }
    }
}
