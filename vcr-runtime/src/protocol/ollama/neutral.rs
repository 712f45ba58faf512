//! A request to `/api/chat` in the shape of chat completions, to be compared with others.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::alike::{Calls, alike, chat_image, chat_schema, chat_text};
use crate::protocol::common::object;

/// `None` where a message has no counterpart. Thinking is what the model said before, so it asks for nothing.
pub(super) fn neutral(request: &CanonicalRequest) -> Option<CanonicalRequest> {
    let mut calls = Calls::default();
    let messages = request
        .messages
        .iter()
        .map(|message| chat_message(message, &mut calls));
    let messages = messages.collect::<Option<_>>()?;
    let mut parameters = Object::new();
    for (name, value) in request.parameters.iter() {
        match name.as_str() {
            "options" => {
                for (name, value) in value.as_object()?.iter() {
                    let name = if name == "num_predict" { "max_tokens" } else { name };
                    parameters.set(name, value.clone());
                }
            }
            "format" => {
                let schema = value.as_object().map(|_| value);
                parameters.set("response_format", chat_schema(schema));
            }
            "think" => parameters.set("reasoning_effort", value.clone()),
            // How long the server keeps the model says nothing to the model.
            "keep_alive" => {}
            _ if value.is_null() => {}
            _ => parameters.set(name.clone(), value.clone()),
        }
    }
    alike(&CanonicalRequest {
        messages,
        parameters,
        ..request.clone()
    })
}

fn chat_message(message: &Json, calls: &mut Calls) -> Option<Json> {
    let text = |name: &str| message.get(name).and_then(Json::as_str);
    let content = Json::from(text("content").unwrap_or_default());
    if text("role")? == "tool" {
        return calls.answer(text("tool_name"), content);
    }
    let mut chat = object([("role", text("role")?.into())]);
    match message.get("images").and_then(Json::as_array) {
        None | Some([]) => chat.push("content", content),
        Some(images) => {
            let mut parts = vec![chat_text(content)];
            for image in images {
                parts.push(chat_image(data_url(image.as_str()?)));
            }
            chat.push("content", parts);
        }
    }
    let asked = message
        .get("tool_calls")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let mut tool_calls = Vec::new();
    for call in asked {
        let function = call.get("function")?;
        tool_calls.push(calls.ask(function.get("name")?.as_str()?, function.get("arguments")));
    }
    if !tool_calls.is_empty() {
        chat.push("tool_calls", tool_calls);
    }
    Some(chat.into())
}

/// The media type is not told here, but begins the base64 of every usual kind.
fn data_url(data: &str) -> String {
    let media_type = match data {
        data if data.starts_with("/9j/") => "image/jpeg",
        data if data.starts_with("R0lGOD") => "image/gif",
        data if data.starts_with("UklGR") => "image/webp",
        _ => "image/png",
    };
    format!("data:{media_type};base64,{data}")
}
