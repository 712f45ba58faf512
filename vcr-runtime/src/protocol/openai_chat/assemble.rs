//! The answer as an SDK has it once the stream is over, for comparing two streams of one answer.
//!
//! Where the chunks are cut makes no difference here; everything else does. Two freedoms that SDKs take are taken:
//! `null` says as much as absence, and of a member that is sent with every chunk the last value stands.

use std::collections::BTreeMap;

use crate::json::{Json, Object};

use crate::protocol::rules::{ToolCalls, index};

/// Random padding against traffic analysis.
const PADDING: [&str; 2] = ["obfuscation", "p"];
/// Strings of a delta that are repeated, not continued.
const CONSTANT: [&str; 7] = ["role", "channel", "id", "type", "name", "format", "object"];

/// Whether a member of a chunk or body is noise.
pub(super) fn is_padding(name: &str) -> bool {
    PADDING.contains(&name)
}

#[derive(Default)]
struct Choice {
    members: Object,
    message: Object,
    content: Vec<Json>,
    calls: ToolCalls,
    tools: BTreeMap<u32, Object>,
}

/// See the module.
pub(super) fn assemble(payloads: &[Json]) -> Json {
    let mut top = Object::new();
    let mut choices: BTreeMap<u32, Choice> = BTreeMap::new();
    let mut strays = Vec::new();
    for payload in payloads {
        let Some(members) = payload.as_object() else {
            strays.push(payload.clone());
            continue;
        };
        for (name, value) in members.iter() {
            match (name.as_str(), value) {
                (padding, _) if is_padding(padding) => {}
                ("choices", Json::Array(items)) => {
                    for (place, item) in items.iter().enumerate() {
                        let place = u32::try_from(place).ok();
                        let number = index(item.get("index")).or(place).unwrap_or(0);
                        choices.entry(number).or_default().take(item);
                    }
                }
                (_, value) => merge(&mut top, name, value, Strings::Replace),
            }
        }
    }
    let choices = choices.into_iter().map(|(number, choice)| choice.finish(number));
    top.push("choices", choices.collect::<Vec<_>>());
    if !strays.is_empty() {
        top.push("strays", strays);
    }
    let mut top = Json::Object(top);
    top.sort();
    top
}

impl Choice {
    fn take(&mut self, item: &Json) {
        let Some(members) = item.as_object() else {
            self.members.push("stray", item.clone());
            return;
        };
        for (name, value) in members.iter() {
            match (name.as_str(), value) {
                ("index", _) => {}
                ("finish_reason", Json::String(text)) if text.is_empty() => {}
                ("delta", Json::Object(delta)) => self.delta(delta),
                (_, value) => merge(&mut self.members, name, value, Strings::Replace),
            }
        }
    }

    fn delta(&mut self, delta: &Object) {
        for (name, value) in delta.iter() {
            match (name.as_str(), value) {
                ("content", Json::String(text)) => self.text(text),
                ("content", Json::Array(parts)) => parts.iter().for_each(|part| self.part(part)),
                ("tool_calls", Json::Array(calls)) => calls.iter().for_each(|call| self.tool(call)),
                (_, value) => merge(&mut self.message, name, value, Strings::Continue),
            }
        }
    }

    fn text(&mut self, text: &str) {
        match self.content.last_mut() {
            Some(Json::String(last)) => last.push_str(text),
            _ => self.content.push(text.into()),
        }
    }

    /// A part of content that is no plain text; one of the same kind as the part before continues it.
    fn part(&mut self, part: &Json) {
        let continued = match (self.content.last_mut(), part) {
            (Some(Json::Object(last)), Json::Object(part)) if last.get("type") == part.get("type") => {
                Some((last, part)).filter(|(_, part)| {
                    matches!(part.get("type").and_then(Json::as_str), Some("text" | "thinking"))
                })
            }
            _ => None,
        };
        let Some((last, part)) = continued else {
            self.content.push(part.clone());
            return;
        };
        for (name, value) in part.iter() {
            match (last.get_mut(name), value) {
                // `thinking` holds parts of its own, which continue each other as well.
                (Some(Json::Array(inner)), Json::Array(more)) => {
                    let mut nested = Self {
                        content: std::mem::take(inner),
                        ..Self::default()
                    };
                    more.iter().for_each(|part| nested.part(part));
                    *inner = nested.content;
                }
                _ => merge(last, name, value, Strings::Continue),
            }
        }
    }

    fn tool(&mut self, call: &Json) {
        let Some(members) = call.as_object() else {
            self.members.push("stray", call.clone());
            return;
        };
        let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
        let function = members.get("function");
        let (id, name) = (
            text(members.get("id")),
            text(function.and_then(|function| function.get("name"))),
        );
        // An SDK trusts an index that is there.
        let number = index(members.get("index"))
            .unwrap_or_else(|| self.calls.fragment(None, id.as_deref(), name.as_deref()).index);
        let tool = self.tools.entry(number).or_default();
        for (name, value) in members.iter() {
            match (name.as_str(), value) {
                ("index", _) => {}
                ("id", Json::String(id)) if id.is_empty() => {}
                ("function", Json::Object(function)) => {
                    for (name, value) in function.iter() {
                        merge_function(tool, name, value);
                    }
                }
                (_, value) => merge(tool, name, value, Strings::Continue),
            }
        }
    }

    fn finish(self, number: u32) -> Json {
        let mut message = self.message;
        if let Some(content) = content(self.content) {
            message.push("content", content);
        }
        if !self.tools.is_empty() {
            let calls = self.tools.into_values().map(Json::Object);
            message.push("tool_calls", calls.collect::<Vec<_>>());
        }
        let mut members = self.members;
        members.push("index", number);
        members.push("message", message);
        Json::Object(members)
    }
}

fn merge_function(tool: &mut Object, name: &str, value: &Json) {
    if tool.get("function").is_none() {
        tool.push("function", Object::new());
    }
    let Some(function) = tool.get_mut("function").and_then(Json::as_object_mut) else {
        return;
    };
    match (name, value, function.get_mut(name)) {
        ("name", Json::String(text), _) if text.is_empty() => {}
        // Repeated or continued: both are seen, and they mean different names.
        ("name", Json::String(text), Some(Json::String(known))) => {
            if known != text {
                known.push_str(text);
            }
        }
        _ => merge(function, name, value, Strings::Continue),
    }
}

fn content(mut segments: Vec<Json>) -> Option<Json> {
    match segments.len() {
        0 => None,
        1 if matches!(segments[0], Json::String(_)) => segments.pop(),
        _ => {
            segments.retain(|segment| segment.as_str() != Some(""));
            Some(Json::Array(segments))
        }
    }
}

/// What a string does to the string before it.
#[derive(Clone, Copy)]
enum Strings {
    Replace,
    Continue,
}

/// Takes a later value of a member: `null` says nothing, objects merge, arrays grow.
fn merge(into: &mut Object, name: &str, value: &Json, strings: Strings) {
    let continues = matches!(strings, Strings::Continue) && !CONSTANT.contains(&name);
    match (into.get_mut(name), value) {
        (_, Json::Null) => {}
        (Some(Json::String(known)), Json::String(text)) if continues => known.push_str(text),
        (Some(Json::Object(known)), Json::Object(more)) => {
            for (name, value) in more.iter() {
                merge(known, name, value, strings);
            }
        }
        (Some(Json::Array(known)), Json::Array(more)) => merge_items(known, more, strings),
        (Some(known), value) => *known = value.clone(),
        (None, value) => into.push(name, value.clone()),
    }
}

/// Elements with an `index` are pieces of the element of that index.
fn merge_items(known: &mut Vec<Json>, more: &[Json], strings: Strings) {
    for item in more {
        let slot = item
            .get("index")
            .filter(|index| !index.is_null())
            .and_then(|index| {
                known
                    .iter_mut()
                    .find(|known| known.get("index") == Some(index))
                    .and_then(Json::as_object_mut)
            });
        match (slot, item.as_object()) {
            (Some(slot), Some(members)) => {
                for (name, value) in members.iter() {
                    merge(slot, name, value, strings);
                }
            }
            _ => known.push(item.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    fn of(payloads: &[&str]) -> String {
        let payloads: Vec<Json> = payloads.iter().map(|text| parse(text).unwrap()).collect();
        compact(&assemble(&payloads))
    }

    fn delta(delta: &str) -> String {
        format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#)
    }

    fn deltas(texts: &[&str]) -> String {
        let payloads: Vec<String> = texts.iter().map(|text| delta(text)).collect();
        of(&payloads.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn boundaries_nulls_and_padding_make_no_difference() {
        let one = of(&[
            r#"{"id":"c","p":"x","usage":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}"#,
        ]);
        let three = of(&[
            r#"{"id":"","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null,"logprobs":null}]}"#,
            r#"{"id":"c","obfuscation":"yy","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":""}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"lo","refusal":null},"finish_reason":"stop"}]}"#,
        ]);
        assert_eq!(one, three);
    }

    #[test]
    fn everything_else_makes_one() {
        let plain = deltas(&[r#"{"content":"a"}"#]);
        for other in [
            r#"{"content":"b"}"#,
            r#"{"content":"a","audio":{"id":"x"}}"#,
            r#"{"content":"a","annotations":[]}"#,
            r#"{"content":"a","refusal":""}"#,
            r#"{"content":[{"type":"text","text":"a"}]}"#,
            r#"{"content":"a","tool_calls":[{"index":0}]}"#,
            r#"{"content":"a","role":"assistant"}"#,
        ] {
            assert_ne!(plain, deltas(&[other]), "{other}");
        }
        assert_ne!(deltas(&[r#"{"content":""}"#]), deltas(&[r#"{"content":null}"#]));
        assert_ne!(
            of(&[r#"{"choices":[]}"#]),
            of(&[r#"{"choices":[],"error":{"message":"m"}}"#])
        );
        assert_ne!(of(&[r#"{"choices":[]}"#]), of(&[r#"{"choices":[]}"#, "1"]));
    }

    #[test]
    fn tool_fragments_are_joined_by_index_and_names_only_once() {
        let pieces = deltas(&[
            r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\""}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}"#,
        ]);
        let whole = deltas(&[
            r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
                {"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
        ]);
        assert_eq!(pieces, whole);
    }

    #[test]
    fn whole_calls_under_one_index_are_not_told_apart() {
        let glued = deltas(&[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}"#,
        ]);
        assert!(glued.contains(r#""arguments":"{}{}""#), "{glued}");
    }

    #[test]
    fn thinking_parts_continue_each_other() {
        let pieces = deltas(&[
            r#"{"content":""}"#,
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}"#,
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]}]}"#,
            r#"{"content":"x"}"#,
            r#"{"content":"y"}"#,
        ]);
        let whole = deltas(&[
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"ab"}]}]}"#,
            r#"{"content":"xy"}"#,
        ]);
        assert_eq!(pieces, whole);
    }

    #[test]
    fn unknown_lists_grow_and_indexed_elements_merge() {
        let pieces = deltas(&[
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"b","index":0}]}"#,
        ]);
        assert_eq!(
            pieces,
            deltas(&[r#"{"reasoning_details":[{"type":"reasoning.text","text":"ab","index":0}]}"#])
        );
        let logprobs = of(&[
            r#"{"choices":[{"index":0,"delta":{},"logprobs":{"content":[{"token":"a"}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"logprobs":{"content":[{"token":"b"}]}}]}"#,
        ]);
        assert!(
            logprobs.contains(r#"[{"token":"a"},{"token":"b"}]"#),
            "{logprobs}"
        );
    }
}
