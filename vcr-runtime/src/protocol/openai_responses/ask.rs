//! A provider-neutral request as one of the Responses API.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::common::object;
use crate::protocol::neutral::{
    Ask, Asked, Choice, Format, Part, Tool, Turn, Unsayable, choice, format, given, hand_on, only_text,
    tools, turns,
};

/// How the paths of its requests end.
pub(super) const PATH: &str = "/responses";

pub(super) fn ask(request: &CanonicalRequest) -> Result<Ask, Unsayable> {
    let mut input = Vec::new();
    for turn in turns(&request.messages)? {
        items(&turn, &mut input);
    }
    let mut body = object([("model", request.model.as_str().into()), ("input", input.into())]);
    let mut text = Object::new();
    for (name, value) in given(&request.parameters) {
        match name {
            "max_tokens" | "max_completion_tokens" => body.set("max_output_tokens", value.clone()),
            "tools" => body.set("tools", tools(value).iter().map(tool).collect::<Vec<_>>()),
            "tool_choice" => body.set("tool_choice", tool_choice(value)),
            "reasoning_effort" => body.set("reasoning", object([("effort", value.clone())])),
            "response_format" => text.set("format", text_format(value)?),
            "verbosity" => text.set("verbosity", value.clone()),
            "parallel_tool_calls" | "top_logprobs" => body.set(name, value.clone()),
            _ => hand_on(name, value, &mut body)?,
        }
    }
    if !text.is_empty() {
        body.push("text", text);
    }
    Ok(Ask {
        path: PATH.to_owned(),
        body: body.into(),
    })
}

fn items(turn: &Turn<'_>, input: &mut Vec<Json>) {
    let mut said = |role: &str, parts: &[Part<'_>]| {
        let content = content(role, parts);
        input.push(object([("role", role.into()), ("content", content)]).into());
    };
    match turn {
        Turn::System(parts) => said("system", parts),
        Turn::User(parts) => said("user", parts),
        Turn::Assistant(parts, calls) => {
            if !parts.is_empty() {
                said("assistant", parts);
            }
            input.extend(calls.iter().map(function_call));
        }
        Turn::Tool { id, parts, .. } => {
            let output = content("user", parts);
            input.push(
                object([
                    ("type", "function_call_output".into()),
                    ("call_id", (*id).into()),
                    ("output", output),
                ])
                .into(),
            );
        }
    }
}

fn content(role: &str, parts: &[Part<'_>]) -> Json {
    if let Some(text) = only_text(parts) {
        return text.into();
    }
    let text_type = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    let image = |url: String| object([("type", "input_image".into()), ("image_url", url.into())]).into();
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => object([("type", text_type.into()), ("text", (*text).into())]).into(),
        Part::ImageAt(url) => image((*url).to_owned()),
        Part::Image(media_type, data) => image(format!("data:{media_type};base64,{data}")),
        Part::Native(part) => (*part).clone(),
    };
    parts.iter().map(part).collect::<Vec<_>>().into()
}

fn function_call(call: &Asked<'_>) -> Json {
    object([
        ("type", "function_call".into()),
        ("call_id", call.id.into()),
        ("name", call.name.into()),
        ("arguments", call.text.into()),
    ])
    .into()
}

fn tool(tool: &Tool<'_>) -> Json {
    let (name, description, parameters, strict) = match tool {
        Tool::Native(tool) => return (*tool).clone(),
        Tool::Function {
            name,
            description,
            parameters,
            strict,
        } => (*name, description, parameters, strict),
    };
    let mut function = object([("type", "function".into()), ("name", name.into())]);
    for (name, value) in [("description", description), ("parameters", parameters)] {
        if let Some(value) = value {
            function.push(name, (*value).clone());
        }
    }
    // Chat completions are lenient where nothing is said, this API is strict.
    function.push("strict", strict.cloned().unwrap_or(Json::Bool(false)));
    function.into()
}

fn tool_choice(value: &Json) -> Json {
    match choice(value) {
        Choice::Named(name) => object([("type", "function".into()), ("name", name.into())]).into(),
        _ => value.clone(),
    }
}

fn text_format(value: &Json) -> Result<Json, Unsayable> {
    Ok(match format(value)? {
        Format::Text => object([("type", "text".into())]).into(),
        Format::Json => object([("type", "json_object".into())]).into(),
        Format::Schema(schema) => {
            let mut flat = object([("type", "json_schema".into())]);
            flat.0.extend(schema.iter().cloned());
            flat.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;
    use crate::protocol::testing::neutral;

    #[test]
    fn a_conversation_with_tools_is_translated() {
        let request = neutral(
            r#"{"model":"m","messages":[
                {"role":"system","content":"s"},
                {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://x/y"}}]},
                {"role":"assistant","content":"ok","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\": 1}"}}]},
                {"role":"tool","tool_call_id":"a","content":"1"}],
               "max_tokens":9,"tools":[{"type":"function","function":{"name":"f","parameters":{}}},{"type":"web_search"}],
               "tool_choice":{"type":"function","function":{"name":"f"}},"reasoning_effort":"low","verbosity":"low",
               "response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}}}"#,
        );
        let expected = r#"{"model":"m","input":[{"role":"system","content":"s"},
{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://x/y"}]},
{"role":"assistant","content":"ok"},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\": 1}"},
{"type":"function_call_output","call_id":"a","output":"1"}],
"max_output_tokens":9,"stream":false,"tools":[{"type":"function","name":"f","parameters":{},"strict":false},{"type":"web_search"}],
"tool_choice":{"type":"function","name":"f"},"reasoning":{"effort":"low"},
"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{}}}}"#;
        assert_eq!(compact(&ask(&request).unwrap().body), expected.replace('\n', ""));
    }

    #[test]
    fn what_has_no_counterpart_is_refused() {
        let request = neutral(r#"{"model":"m","messages":[],"stop":"x"}"#);
        assert!(ask(&request).unwrap_err().to_string().contains("`stop`"));
    }
}
