//! A provider-neutral request as one to `/api/chat`.

use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::common::object;
use crate::protocol::neutral::{Ask, Asked, Format, Part, Turn, Unsayable, format, given, hand_on, turns};

/// Those that Ollama reads from `options`, by their names there.
const OPTIONS: [(&str, &str); 9] = [
    ("temperature", "temperature"),
    ("max_tokens", "num_predict"),
    ("max_completion_tokens", "num_predict"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("seed", "seed"),
    ("stop", "stop"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
];

pub(super) fn ask(path: &str, request: &CanonicalRequest) -> Result<Ask, Unsayable> {
    let turns = turns(&request.messages)?;
    let messages: Vec<Json> = turns.iter().map(message).collect::<Result<_, _>>()?;
    let mut body = object([
        ("model", request.model.as_str().into()),
        ("messages", messages.into()),
    ]);
    let mut options = Object::new();
    for (name, value) in given(&request.parameters) {
        if let Some((_, own)) = OPTIONS.iter().find(|(neutral, _)| *neutral == name) {
            options.set(*own, value.clone());
            continue;
        }
        match name {
            "options" => options
                .0
                .extend(value.as_object().into_iter().flat_map(|own| own.0.clone())),
            "reasoning_effort" => body.set("think", value.clone()),
            "response_format" => match format(value)? {
                Format::Text => {}
                Format::Json => body.set("format", "json"),
                Format::Schema(schema) => {
                    body.set("format", schema.get("schema").cloned().unwrap_or_default());
                }
            },
            // It has no word for the others, and this is what it does.
            "tool_choice" if value.as_str() == Some("auto") => {}
            _ => hand_on(name, value, &mut body)?,
        }
    }
    if !options.is_empty() {
        body.push("options", options);
    }
    Ok(Ask {
        path: path.to_owned(),
        body: body.into(),
    })
}

fn message(turn: &Turn<'_>) -> Result<Json, Unsayable> {
    let (role, parts) = match turn {
        Turn::System(parts) => ("system", parts),
        Turn::User(parts) => ("user", parts),
        Turn::Assistant(parts, _) => ("assistant", parts),
        Turn::Tool { parts, .. } => ("tool", parts),
    };
    let (mut content, mut images) = (String::new(), Vec::<Json>::new());
    for part in parts {
        match part {
            Part::Text(text) => content.push_str(text),
            Part::Image(_, data) => images.push((*data).into()),
            Part::ImageAt(_) => return Err(Unsayable::new("it takes images as `data:` URLs only")),
            Part::Native(_) => {
                return Err(Unsayable::new(
                    "a message has a part that is neither text nor image",
                ));
            }
        }
    }
    let mut message = object([("role", role.into()), ("content", content.into())]);
    if !images.is_empty() {
        message.push("images", images);
    }
    match turn {
        Turn::Assistant(_, calls) if !calls.is_empty() => {
            message.push("tool_calls", calls.iter().map(tool_call).collect::<Vec<_>>());
        }
        Turn::Tool { name: Some(name), .. } => message.push("tool_name", *name),
        _ => {}
    }
    Ok(message.into())
}

fn tool_call(call: &Asked<'_>) -> Json {
    let function = object([
        ("name", call.name.into()),
        ("arguments", call.arguments.clone().into()),
    ]);
    object([("function", function.into())]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;
    use crate::protocol::testing::neutral;

    #[test]
    fn a_conversation_with_tools_is_translated() {
        let request = neutral(
            r#"{"model":"llama","messages":[
                {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},
                {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]},
                {"role":"tool","tool_call_id":"a","content":"1"}],
               "max_tokens":9,"temperature":0,"keep_alive":"5m","response_format":{"type":"json_schema","json_schema":{"schema":{"a":1}}},
               "tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto"}"#,
        );
        let expected = r#"{"model":"llama","messages":[{"role":"user","content":"see","images":["AA=="]},
{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},
{"role":"tool","content":"1","tool_name":"f"}],"stream":false,"keep_alive":"5m","format":{"a":1},
"tools":[{"type":"function","function":{"name":"f"}}],"options":{"temperature":0,"num_predict":9}}"#;
        assert_eq!(
            compact(&ask("/api/chat", &request).unwrap().body),
            expected.replace('\n', "")
        );
    }

    #[test]
    fn what_has_no_counterpart_is_refused() {
        for parameter in [r#""tool_choice":"required""#, r#""n":3"#] {
            let request = neutral(&format!(r#"{{"model":"m","messages":[],{parameter}}}"#));
            assert!(ask("/api/chat", &request).is_err(), "{parameter}");
        }
    }
}
