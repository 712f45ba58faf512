//! A provider-neutral request as Anthropic's.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::common::object;
use crate::protocol::neutral::{
    Ask, Asked, Choice, Format, Part, Tool, Turn, Unsayable, choice, format, given, hand_on, list, only_text,
    tools, turns,
};

/// How the paths of its requests end.
pub(super) const PATH: &str = "/v1/messages";
/// The API wants a limit. Every model takes this one.
const MAX_TOKENS: u32 = 4096;

pub(super) fn ask(request: &CanonicalRequest) -> Result<Ask, Unsayable> {
    let mut body = object([
        ("model", request.model.as_str().into()),
        ("max_tokens", MAX_TOKENS.into()),
    ]);
    let (system, messages) = messages(&turns(&request.messages)?)?;
    if let Some(system) = system {
        body.push("system", system);
    }
    body.push("messages", messages);
    let mut serial = false;
    for (name, value) in given(&request.parameters) {
        match name {
            "max_completion_tokens" => body.set("max_tokens", value.clone()),
            "stop" => body.set("stop_sequences", list(value)),
            "tools" => body.set("tools", tools(value).iter().map(tool).collect::<Vec<_>>()),
            "tool_choice" => body.set("tool_choice", tool_choice(value)),
            "parallel_tool_calls" => serial = value.as_bool() == Some(false),
            "user" => body.set("metadata", object([("user_id", value.clone())])),
            "response_format" if format(value)? == Format::Text => {}
            _ => hand_on(name, value, &mut body)?,
        }
    }
    if serial && body.get("tools").is_some() {
        if body.get("tool_choice").is_none() {
            body.push("tool_choice", object([("type", "auto".into())]));
        }
        let choice = body.get_mut("tool_choice").and_then(Json::as_object_mut);
        if let Some(choice) =
            choice.filter(|choice| choice.get("type").and_then(Json::as_str) != Some("none"))
        {
            choice.set("disable_parallel_tool_use", true);
        }
    }
    Ok(Ask {
        path: PATH.to_owned(),
        body: body.into(),
    })
}

/// The system prompt, wherever it stood, and the messages. The results of parallel calls belong into one message.
fn messages(turns: &[Turn<'_>]) -> Result<(Option<Json>, Vec<Json>), Unsayable> {
    let mut system = Vec::new();
    let mut messages: Vec<(&str, Json)> = Vec::new();
    let mut results: Vec<Json> = Vec::new();
    for turn in turns {
        if !matches!(turn, Turn::Tool { .. }) && !results.is_empty() {
            messages.push(("user", std::mem::take(&mut results).into()));
        }
        match turn {
            Turn::System(parts) => system.extend(parts.iter().map(block)),
            Turn::User(parts) => messages.push(("user", content(parts, Vec::new()))),
            Turn::Assistant(parts, calls) => {
                let calls = calls.iter().map(tool_use).collect();
                messages.push(("assistant", content(parts, calls)));
            }
            Turn::Tool { id, parts, .. } => {
                let mut result = object([("type", "tool_result".into()), ("tool_use_id", (*id).into())]);
                result.push("content", content(parts, Vec::new()));
                results.push(result.into());
            }
        }
    }
    if !results.is_empty() {
        messages.push(("user", results.into()));
    }
    let system = match system.as_slice() {
        [] => None,
        [one] => Some(
            one.get("text")
                .filter(|_| is_plain(one))
                .cloned()
                .unwrap_or_else(|| system.clone().into()),
        ),
        _ => Some(system.into()),
    };
    let message =
        |(role, content): (&str, Json)| object([("role", role.into()), ("content", content)]).into();
    Ok((system, messages.into_iter().map(message).collect()))
}

fn is_plain(block: &Json) -> bool {
    block.as_object().is_some_and(|members| members.len() == 2)
}

/// A text where nothing else is said, else blocks.
fn content(parts: &[Part<'_>], more: Vec<Json>) -> Json {
    match (only_text(parts), more.is_empty()) {
        (Some(text), true) => text.into(),
        _ => parts.iter().map(block).chain(more).collect::<Vec<_>>().into(),
    }
}

fn block(part: &Part<'_>) -> Json {
    let image = |source: Object| object([("type", "image".into()), ("source", source.into())]).into();
    match part {
        Part::Text(text) => object([("type", "text".into()), ("text", (*text).into())]).into(),
        Part::ImageAt(url) => image(object([("type", "url".into()), ("url", (*url).into())])),
        Part::Image(media_type, data) => image(object([
            ("type", "base64".into()),
            ("media_type", (*media_type).into()),
            ("data", (*data).into()),
        ])),
        Part::Native(block) => (*block).clone(),
    }
}

fn tool_use(call: &Asked<'_>) -> Json {
    object([
        ("type", "tool_use".into()),
        ("id", call.id.into()),
        ("name", call.name.into()),
        ("input", call.arguments.clone().into()),
    ])
    .into()
}

fn tool(tool: &Tool<'_>) -> Json {
    let (name, description, parameters) = match tool {
        Tool::Native(tool) => return (*tool).clone(),
        Tool::Function {
            name,
            description,
            parameters,
            ..
        } => (*name, description, parameters),
    };
    let mut tool = object([("name", name.into())]);
    if let Some(description) = description {
        tool.push("description", (*description).clone());
    }
    let empty = || object([("type", "object".into()), ("properties", Object::new().into())]).into();
    tool.push("input_schema", parameters.cloned().unwrap_or_else(empty));
    tool.into()
}

fn tool_choice(value: &Json) -> Json {
    let kind = match choice(value) {
        Choice::Auto => "auto",
        Choice::Never => "none",
        Choice::Any => "any",
        Choice::Named(name) => return object([("type", "tool".into()), ("name", name.into())]).into(),
        Choice::Native(choice) => return choice.clone(),
    };
    object([("type", kind.into())]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;
    use crate::protocol::testing::neutral;

    #[test]
    fn a_conversation_with_tools_is_translated() {
        let request = neutral(
            r#"{"model":"claude-x","messages":[
                {"role":"system","content":"be brief"},
                {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},
                {"role":"assistant","content":null,"tool_calls":[
                    {"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1.50}"}},
                    {"id":"b","type":"function","function":{"name":"f","arguments":""}}]},
                {"role":"tool","tool_call_id":"a","content":"1"},
                {"role":"tool","tool_call_id":"b","content":"2"},
                {"role":"user","content":"so?"}],
               "temperature":0.5,"stop":"END","stream":true,"stream_options":{"include_usage":true},"top_k":5,
               "tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],
               "tool_choice":"required","parallel_tool_calls":false}"#,
        );
        let ask = ask(&request).unwrap();
        assert_eq!(ask.path, "/v1/messages");
        let expected = r#"{"model":"claude-x","max_tokens":4096,"system":"be brief","messages":[
{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]},
{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1.50}},{"type":"tool_use","id":"b","name":"f","input":{}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"}]},
{"role":"user","content":"so?"}],
"temperature":0.5,"stream":true,"stop_sequences":["END"],"top_k":5,"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}],
"tool_choice":{"type":"any","disable_parallel_tool_use":true}}"#;
        assert_eq!(compact(&ask.body), expected.replace('\n', ""));
    }

    #[test]
    fn a_limit_of_the_caller_is_his() {
        for name in ["max_tokens", "max_completion_tokens"] {
            let request = neutral(&format!(r#"{{"model":"m","messages":[],"{name}":7}}"#));
            let body = ask(&request).unwrap().body;
            assert_eq!(
                compact(&body),
                r#"{"model":"m","max_tokens":7,"messages":[],"stream":false}"#
            );
        }
    }

    #[test]
    fn what_has_no_counterpart_is_refused() {
        let with = |parameter: &str| ask(&neutral(&format!(r#"{{"model":"m","messages":[],{parameter}}}"#)));
        for parameter in [
            r#""seed":1"#,
            r#""n":2"#,
            r#""response_format":{"type":"json_object"}"#,
            r#""frequency_penalty":1"#,
        ] {
            assert!(with(parameter).is_err(), "{parameter}");
        }
        assert!(with(r#""n":1,"response_format":{"type":"text"}"#).is_ok());
    }
}
