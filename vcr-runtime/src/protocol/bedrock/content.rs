//! Converse's content blocks in the form of Anthropic Messages, and back: the two say the same in other words, and the
//! order of blocks needs the same care.

use crate::json::{Json, Object};

/// A block as Anthropic Messages would have it; blocks that those do not know stay as they are.
pub(super) fn to_messages(block: &Json) -> Json {
    known(block).unwrap_or_else(|| block.clone())
}

fn known(block: &Json) -> Option<Json> {
    let [(name, value)] = block.as_object()?.0.as_slice() else {
        return None;
    };
    match (name.as_str(), value) {
        ("text", Json::String(text)) => Some(typed("text", vec![("text", text.as_str().into())])),
        ("toolUse", Json::Object(call)) => {
            let is_usual = ["type", "id"].iter().all(|name| call.get(name).is_none());
            let mut members = typed("tool_use", vec![("id", call.get("toolUseId")?.clone())]);
            let rest = call.iter().filter(|(name, _)| name != "toolUseId").cloned();
            members.as_object_mut()?.0.extend(rest);
            is_usual.then_some(members)
        }
        ("reasoningContent", Json::Object(reasoning)) => {
            let [(name, Json::Object(text))] = reasoning.0.as_slice() else {
                return None;
            };
            let is_usual = name == "reasoningText"
                && text.iter().all(|(name, value)| match name.as_str() {
                    "text" => value.as_str().is_some(),
                    // An empty one would not come back.
                    "signature" => value.as_str().is_some_and(|text| !text.is_empty()),
                    _ => false,
                });
            let signature = text.get("signature").cloned().unwrap_or_else(|| "".into());
            let members = vec![("thinking", text.get("text")?.clone()), ("signature", signature)];
            is_usual.then(|| typed("thinking", members))
        }
        _ => None,
    }
}

/// What is odd about a block of a known kind whose value is of another type than always.
pub(super) fn wrong_type(block: &Json) -> Option<String> {
    let wrong = |name: &str, fits: fn(&Json) -> bool| {
        let value = block.get(name).filter(|value| !fits(value))?;
        Some(format!("has a block whose `{name}` is {}", value.kind()))
    };
    let is_object = |value: &Json| value.as_object().is_some();
    wrong("text", |value| value.as_str().is_some())
        .or_else(|| wrong("toolUse", is_object))
        .or_else(|| wrong("reasoningContent", is_object))
}

/// The inverse of [`to_messages`]; `None` for blocks of Anthropic's that Converse does not have.
pub(super) fn from_messages(block: Json) -> Option<Json> {
    let word = block
        .get("type")
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned();
    let Json::Object(members) = block else {
        return Some(block);
    };
    let member = |name: &str| members.get(name).cloned().unwrap_or_default();
    match word.as_str() {
        "" => Some(Json::Object(members)),
        "text" => Some(object(vec![("text", member("text"))])),
        "thinking" => {
            let mut text = vec![("text", member("thinking"))];
            let signature = member("signature");
            if signature.as_str().is_some_and(|text| !text.is_empty()) {
                text.push(("signature", signature));
            }
            let text = object(vec![("reasoningText", object(text))]);
            Some(object(vec![("reasoningContent", text)]))
        }
        "redacted_thinking" => {
            let content = object(vec![("redactedContent", member("data"))]);
            Some(object(vec![("reasoningContent", content)]))
        }
        "tool_use" => {
            let mut call: Object = [("toolUseId".to_owned(), member("id"))].into_iter().collect();
            let is_rest = |(name, _): &&(String, Json)| name != "type" && name != "id";
            call.0.extend(members.iter().filter(is_rest).cloned());
            Some(object(vec![("toolUse", Json::Object(call))]))
        }
        _ => None,
    }
}

fn typed(word: &str, members: Vec<(&str, Json)>) -> Json {
    let mut typed = vec![("type", word.into())];
    typed.extend(members);
    object(typed)
}

pub(super) fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}
