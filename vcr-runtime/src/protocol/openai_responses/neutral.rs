//! A Responses request in the shape of chat completions, to be compared with others.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::alike::{alike, chat_call, chat_choice, chat_image, chat_schema, chat_text, chat_tool};
use crate::protocol::common::object;

/// `None` where an item has no counterpart. Reasoning is what the model said before, so it asks for nothing.
pub(super) fn neutral(request: &CanonicalRequest) -> Option<CanonicalRequest> {
    let mut messages = Vec::new();
    for item in &request.messages {
        chat_message(item, &mut messages)?;
    }
    let mut parameters = Object::new();
    for (name, value) in request.parameters.iter() {
        match name.as_str() {
            "max_output_tokens" => parameters.set("max_tokens", value.clone()),
            "tools" => {
                let tools = value.as_array()?.iter().map(tool);
                parameters.set("tools", tools.collect::<Vec<_>>());
            }
            "tool_choice" if value.get("type").and_then(Json::as_str) == Some("function") => {
                parameters.set("tool_choice", chat_choice(value.get("name")?));
            }
            "reasoning" if value.as_object()?.len() == 1 => {
                parameters.set("reasoning_effort", value.get("effort").cloned());
            }
            "text" => {
                for (name, value) in value.as_object()?.iter() {
                    match name.as_str() {
                        "format" => parameters.set("response_format", format(value)?),
                        _ => parameters.set(name.clone(), value.clone()),
                    }
                }
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

fn chat_message(item: &Json, messages: &mut Vec<Json>) -> Option<()> {
    let text = |name: &str| item.get(name).and_then(Json::as_str);
    match text("type").unwrap_or("message") {
        "message" => {
            let role = item.get("role")?.clone();
            messages.push(object([("role", role), ("content", content(item.get("content")?)?)]).into());
        }
        "function_call" => {
            let call = chat_call(text("call_id")?, text("name")?, text("arguments")?);
            call_of_assistant(call, messages);
        }
        "function_call_output" => {
            let id = text("call_id")?.into();
            let content = content(item.get("output")?)?;
            messages.push(
                object([
                    ("role", "tool".into()),
                    ("tool_call_id", id),
                    ("content", content),
                ])
                .into(),
            );
        }
        "reasoning" => {}
        _ => return None,
    }
    Some(())
}

/// Calls are items of their own here, and members of the message before there.
fn call_of_assistant(call: Json, messages: &mut Vec<Json>) {
    let last = messages.last_mut().and_then(Json::as_object_mut);
    let last = last.filter(|last| last.get("role").and_then(Json::as_str) == Some("assistant"));
    let Some(last) = last else {
        messages.push(object([("role", "assistant".into()), ("tool_calls", vec![call].into())]).into());
        return;
    };
    match last.get_mut("tool_calls") {
        Some(Json::Array(calls)) => calls.push(call),
        _ => last.set("tool_calls", vec![call]),
    }
}

fn content(content: &Json) -> Option<Json> {
    let Json::Array(parts) = content else {
        return Some(content.clone());
    };
    let part = |part: &Json| match part.get("type")?.as_str()? {
        "input_text" | "output_text" => Some(chat_text(part.get("text")?.clone())),
        "input_image" => Some(chat_image(part.get("image_url")?.clone())),
        _ => None,
    };
    parts
        .iter()
        .map(part)
        .collect::<Option<Vec<_>>>()
        .map(Json::Array)
}

fn tool(tool: &Json) -> Json {
    match (tool.get("type").and_then(Json::as_str), tool.get("name")) {
        (Some("function"), Some(name)) => chat_tool(name, tool.get("description"), tool.get("parameters")),
        _ => tool.clone(),
    }
}

fn format(value: &Json) -> Option<Json> {
    match value.get("type")?.as_str()? {
        "json_schema" => Some(chat_schema(Some(value.get("schema")?))),
        _ => Some(value.clone()),
    }
}
