//! A Messages request in the shape of chat completions, to be compared with others.

use crate::json::{Json, Object, compact};
use crate::model::CanonicalRequest;
use crate::protocol::alike::{alike, chat_call, chat_choice, chat_image, chat_text, chat_tool};
use crate::protocol::common::object;

/// `None` where a block has no counterpart. Thinking is what the model said before, so it asks for nothing.
pub(super) fn neutral(request: &CanonicalRequest) -> Option<CanonicalRequest> {
    let mut messages = Vec::new();
    for message in &request.messages {
        chat_messages(message, &mut messages)?;
    }
    let mut parameters = Object::new();
    for (name, value) in request.parameters.iter() {
        match name.as_str() {
            "stop_sequences" => parameters.set("stop", value.clone()),
            "tools" => {
                let tools = value.as_array()?.iter().map(tool);
                parameters.set("tools", tools.collect::<Vec<_>>());
            }
            "tool_choice" => choice(value, &mut parameters),
            "metadata" if value.get("user_id").is_some() => {
                parameters.set("user", value.get("user_id").cloned());
            }
            _ => parameters.set(name.clone(), value.clone()),
        }
    }
    alike(&CanonicalRequest {
        messages,
        parameters,
        ..request.clone()
    })
}

/// A message of results and text is several there.
fn chat_messages(message: &Json, messages: &mut Vec<Json>) -> Option<()> {
    let role = message.get("role")?.clone();
    let Json::Array(blocks) = message.get("content")? else {
        messages.push(message.clone());
        return Some(());
    };
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for block in blocks {
        match block.get("type")?.as_str()? {
            "thinking" | "redacted_thinking" => {}
            "tool_use" => {
                let (id, name) = (block.get("id")?.as_str()?, block.get("name")?.as_str()?);
                calls.push(chat_call(id, name, &compact(block.get("input")?)));
            }
            "tool_result" => messages.push(result(block)?),
            _ => parts.push(part(block)?),
        }
    }
    // A message of results alone says nothing else.
    if parts.is_empty() && calls.is_empty() && !blocks.is_empty() && role.as_str() == Some("user") {
        return Some(());
    }
    let mut chat = object([("role", role), ("content", parts.into())]);
    if !calls.is_empty() {
        chat.push("tool_calls", calls);
    }
    messages.push(chat.into());
    Some(())
}

fn result(block: &Json) -> Option<Json> {
    let content = match block.get("content") {
        Some(Json::Array(blocks)) => Json::Array(blocks.iter().map(part).collect::<Option<_>>()?),
        Some(content) => content.clone(),
        None => Json::Null,
    };
    let id = block.get("tool_use_id")?.clone();
    let mut result = object([
        ("role", "tool".into()),
        ("tool_call_id", id),
        ("content", content),
    ]);
    if block.get("is_error").and_then(Json::as_bool) == Some(true) {
        // There is no other place for it, and it must not be lost.
        result.set("content", format!("error: {}", compact(result.get("content")?)));
    }
    Some(result.into())
}

/// Without the mark that only steers the cache.
fn part(block: &Json) -> Option<Json> {
    let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    match block.get("type")?.as_str()? {
        "text" => Some(chat_text(text(block.get("text"))?)),
        "image" => {
            let source = block.get("source")?;
            match source.get("type")?.as_str()? {
                "url" => Some(chat_image(text(source.get("url"))?)),
                "base64" => {
                    let (media_type, data) = (text(source.get("media_type"))?, text(source.get("data"))?);
                    Some(chat_image(format!("data:{media_type};base64,{data}")))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// A server tool stays as it is, and is like no other.
fn tool(tool: &Json) -> Json {
    match (tool.get("name"), tool.get("input_schema")) {
        (Some(name), Some(schema)) => chat_tool(name, tool.get("description"), Some(schema)),
        _ => tool.clone(),
    }
}

fn choice(value: &Json, parameters: &mut Object) {
    let chosen = match value.get("type").and_then(Json::as_str) {
        Some("auto") => "auto".into(),
        Some("none") => "none".into(),
        Some("any") => "required".into(),
        Some("tool") => chat_choice(value.get("name").unwrap_or(&Json::Null)),
        _ => value.clone(),
    };
    parameters.set("tool_choice", chosen);
    if value.get("disable_parallel_tool_use").and_then(Json::as_bool) == Some(true) {
        parameters.set("parallel_tool_calls", false);
    }
}
