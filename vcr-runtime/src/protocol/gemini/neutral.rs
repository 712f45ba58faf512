//! A Gemini request in the shape of chat completions, to be compared with others.

use crate::json::{Json, Object, compact};
use crate::model::CanonicalRequest;
use crate::protocol::alike::{Calls, alike, chat_choice, chat_image, chat_schema, chat_text, chat_tool};
use crate::protocol::common::object;

/// `None` where a part has no counterpart. Thoughts are what the model said before, so they ask for nothing.
pub(super) fn neutral(request: &CanonicalRequest) -> Option<CanonicalRequest> {
    let (mut messages, mut calls) = (Vec::new(), Calls::default());
    for content in &request.messages {
        chat_messages(content, &mut calls, &mut messages)?;
    }
    let mut parameters = Object::new();
    for (name, value) in request.parameters.iter() {
        match name.as_str() {
            "generationConfig" => generation(value.as_object()?, &mut parameters)?,
            "tools" => parameters.set("tools", tools(value.as_array()?)),
            "toolConfig" => parameters.set("tool_choice", choice(value)),
            // It steers how the stream is framed.
            "alt" => {}
            _ => parameters.set(name.clone(), value.clone()),
        }
    }
    alike(&CanonicalRequest {
        messages,
        parameters,
        ..request.clone()
    })
}

fn chat_messages(content: &Json, calls: &mut Calls, messages: &mut Vec<Json>) -> Option<()> {
    let role = match content.get("role").and_then(Json::as_str) {
        Some("model") => "assistant",
        Some("system") => "system",
        _ => "user",
    };
    let (mut parts, mut tool_calls, mut answered) = (Vec::new(), Vec::new(), false);
    for part in content.get("parts")?.as_array()? {
        if part.get("thought").and_then(Json::as_bool) == Some(true) {
            continue;
        }
        if let Some(call) = part.get("functionCall") {
            tool_calls.push(calls.ask(call.get("name")?.as_str()?, call.get("args")));
        } else if let Some(response) = part.get("functionResponse") {
            let said = result(response.get("response")?);
            messages.push(calls.answer(response.get("name")?.as_str(), said)?);
            answered = true;
        } else if let Some(text) = part.get("text") {
            parts.push(chat_text(text.clone()));
        } else {
            let image = part.get("inlineData")?;
            let (media_type, data) = (image.get("mimeType")?.as_str()?, image.get("data")?.as_str()?);
            parts.push(chat_image(format!("data:{media_type};base64,{data}")));
        }
    }
    if answered && parts.is_empty() {
        return Some(());
    }
    let mut chat = object([("role", role.into()), ("content", parts.into())]);
    if !tool_calls.is_empty() {
        chat.push("tool_calls", tool_calls);
    }
    messages.push(chat.into());
    Some(())
}

/// The text of a result that is only text.
fn result(response: &Json) -> Json {
    match response.as_object().map(|members| members.0.as_slice()) {
        Some([(name, Json::String(text))]) if name == "result" => text.as_str().into(),
        _ => compact(response).into(),
    }
}

fn generation(config: &Object, parameters: &mut Object) -> Option<()> {
    let mut schema = None;
    let mut json = false;
    for (name, value) in config.iter() {
        let neutral = match name.as_str() {
            "topP" => "top_p",
            "topK" => "top_k",
            "maxOutputTokens" => "max_tokens",
            "stopSequences" => "stop",
            "candidateCount" => "n",
            "presencePenalty" => "presence_penalty",
            "frequencyPenalty" => "frequency_penalty",
            "responseMimeType" if value.as_str() == Some("application/json") => {
                json = true;
                continue;
            }
            "responseJsonSchema" => {
                schema = Some(value);
                continue;
            }
            "thinkingConfig" if value.as_object()?.len() == 1 && value.get("thinkingLevel").is_some() => {
                parameters.set("reasoning_effort", value.get("thinkingLevel").cloned());
                continue;
            }
            other => other,
        };
        parameters.set(neutral, value.clone());
    }
    if json {
        parameters.set("response_format", chat_schema(schema));
    }
    Some(())
}

fn tools(list: &[Json]) -> Vec<Json> {
    let mut tools = Vec::new();
    for tool in list {
        let Some(functions) = tool.get("functionDeclarations").and_then(Json::as_array) else {
            tools.push(tool.clone());
            continue;
        };
        tools.extend(functions.iter().map(|function| {
            let schema = function
                .get("parametersJsonSchema")
                .or_else(|| function.get("parameters"));
            let name = function.get("name").unwrap_or(&Json::Null);
            chat_tool(name, function.get("description"), schema)
        }));
    }
    tools
}

fn choice(config: &Json) -> Json {
    let calling = config.get("functionCallingConfig");
    let mode = calling.and_then(|calling| calling.get("mode")?.as_str());
    let names = calling.and_then(|calling| calling.get("allowedFunctionNames")?.as_array());
    match (mode, names) {
        (Some("AUTO"), None) => "auto".into(),
        (Some("NONE"), None) => "none".into(),
        (Some("ANY"), None) => "required".into(),
        (Some("ANY"), Some([name])) => chat_choice(name),
        _ => config.clone(),
    }
}
