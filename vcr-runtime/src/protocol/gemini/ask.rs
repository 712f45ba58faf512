//! A provider-neutral request as Gemini's.

use crate::json::{Json, Object, parse};
use crate::model::CanonicalRequest;
use crate::protocol::common::object;
use crate::protocol::neutral::{
    Ask, Asked, Choice, Format, Part, Tool, Turn, Unsayable, choice, format, given, hand_on, list, only_text,
    tools, turns,
};

const VERSION: &str = "/v1beta";

pub(super) fn ask(request: &CanonicalRequest) -> Result<Ask, Unsayable> {
    let mut body = Object::new();
    let (system, contents) = contents(&turns(&request.messages)?)?;
    if !system.is_empty() {
        body.push("systemInstruction", object([("parts", system.into())]));
    }
    body.push("contents", contents);
    let mut generation = Object::new();
    for (name, value) in given(&request.parameters) {
        if let Some(own) = generation_name(name) {
            generation.set(own, value.clone());
            continue;
        }
        match name {
            "stream" => {}
            "stop" => generation.set("stopSequences", list(value)),
            "reasoning_effort" => {
                generation.set("thinkingConfig", object([("thinkingLevel", value.clone())]));
            }
            "response_format" => response_format(value, &mut generation)?,
            "tools" => body.set("tools", tool_list(value)),
            "tool_choice" => body.set("toolConfig", tool_config(value)),
            "generationConfig" => generation
                .0
                .extend(value.as_object().into_iter().flat_map(|own| own.0.clone())),
            _ => hand_on(name, value, &mut body)?,
        }
    }
    if !generation.is_empty() {
        body.push("generationConfig", generation);
    }
    Ok(Ask {
        path: path(&request.model, request.stream())?,
        body: body.into(),
    })
}

fn generation_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "temperature" => "temperature",
        "max_tokens" | "max_completion_tokens" => "maxOutputTokens",
        "top_p" => "topP",
        "top_k" => "topK",
        "seed" => "seed",
        "presence_penalty" => "presencePenalty",
        "frequency_penalty" => "frequencyPenalty",
        _ => return None,
    })
}

/// The model stands in the path, with the collection that it is from where it names one.
fn path(model: &str, stream: bool) -> Result<String, Unsayable> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.@/".contains(character);
    if model.is_empty() || !model.chars().all(plain) || model.contains("..") {
        return Err(Unsayable::new(format!(
            "`{}` cannot stand in a path as a model's name",
            model.escape_debug()
        )));
    }
    let collection = if model.contains('/') { "" } else { "models/" };
    let method = if stream {
        "streamGenerateContent?alt=sse"
    } else {
        "generateContent"
    };
    Ok(format!("{VERSION}/{collection}{model}:{method}"))
}

/// The parts of the system prompt, wherever it stood, and the contents. Results of parallel calls belong into one.
fn contents(turns: &[Turn<'_>]) -> Result<(Vec<Json>, Vec<Json>), Unsayable> {
    let (mut system, mut contents) = (Vec::new(), Vec::<(&str, Vec<Json>)>::new());
    let mut after_result = false;
    for turn in turns {
        let is_result = matches!(turn, Turn::Tool { .. });
        match turn {
            Turn::System(parts) => system.extend(own_parts(parts)?),
            Turn::User(parts) => contents.push(("user", own_parts(parts)?)),
            Turn::Assistant(parts, calls) => {
                let mut parts = own_parts(parts)?;
                parts.extend(calls.iter().map(function_call));
                contents.push(("model", parts));
            }
            Turn::Tool { id, name, parts } => {
                let result = function_response(id, *name, parts)?;
                match contents.last_mut() {
                    Some((_, results)) if after_result => results.push(result),
                    _ => contents.push(("user", vec![result])),
                }
            }
        }
        after_result = is_result;
    }
    let content =
        |(role, parts): (&str, Vec<Json>)| object([("role", role.into()), ("parts", parts.into())]).into();
    Ok((system, contents.into_iter().map(content).collect()))
}

fn own_parts(parts: &[Part<'_>]) -> Result<Vec<Json>, Unsayable> {
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => Ok(object([("text", (*text).into())]).into()),
        Part::Image(media_type, data) => {
            let image = object([("mimeType", (*media_type).into()), ("data", (*data).into())]);
            Ok(object([("inlineData", image.into())]).into())
        }
        // Files need their media type, which an address does not tell.
        Part::ImageAt(_) => Err(Unsayable::new("it takes images as `data:` URLs only")),
        Part::Native(part) => Ok((*part).clone()),
    };
    parts.iter().map(part).collect()
}

fn function_call(call: &Asked<'_>) -> Json {
    let call = object([
        ("name", call.name.into()),
        ("args", call.arguments.clone().into()),
    ]);
    object([("functionCall", call.into())]).into()
}

fn function_response(id: &str, name: Option<&str>, parts: &[Part<'_>]) -> Result<Json, Unsayable> {
    let name = name.ok_or_else(|| {
        Unsayable::new(format!(
            "the tool result `{id}` answers no call, and it goes by the name of the tool"
        ))
    })?;
    let text = only_text(parts).ok_or_else(|| Unsayable::new("a tool result is more than text"))?;
    let response = match parse(&text) {
        Ok(document @ Json::Object(_)) => document,
        _ => object([("result", text.into())]).into(),
    };
    let response = object([("name", name.into()), ("response", response)]);
    Ok(object([("functionResponse", response.into())]).into())
}

fn tool_list(value: &Json) -> Vec<Json> {
    let (mut functions, mut list) = (Vec::new(), Vec::new());
    for tool in tools(value) {
        match tool {
            Tool::Native(tool) => list.push(tool.clone()),
            Tool::Function {
                name,
                description,
                parameters,
                ..
            } => {
                let mut function = object([("name", name.into())]);
                for (name, value) in [("description", description), ("parametersJsonSchema", parameters)] {
                    if let Some(value) = value {
                        function.push(name, value.clone());
                    }
                }
                functions.push(function.into());
            }
        }
    }
    if !functions.is_empty() {
        list.insert(
            0,
            object([("functionDeclarations", Json::Array(functions))]).into(),
        );
    }
    list
}

fn tool_config(value: &Json) -> Json {
    let calling = match choice(value) {
        Choice::Auto => object([("mode", "AUTO".into())]),
        Choice::Never => object([("mode", "NONE".into())]),
        Choice::Any => object([("mode", "ANY".into())]),
        Choice::Named(name) => object([
            ("mode", "ANY".into()),
            ("allowedFunctionNames", vec![name.into()].into()),
        ]),
        Choice::Native(config) => return config.clone(),
    };
    object([("functionCallingConfig", calling.into())]).into()
}

fn response_format(value: &Json, generation: &mut Object) -> Result<(), Unsayable> {
    let schema = match format(value)? {
        Format::Text => return Ok(()),
        Format::Json => None,
        Format::Schema(schema) => schema.get("schema"),
    };
    generation.set("responseMimeType", "application/json");
    if let Some(schema) = schema {
        generation.set("responseJsonSchema", schema.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;
    use crate::protocol::testing::neutral;

    #[test]
    fn a_conversation_with_tools_is_translated() {
        let request = neutral(
            r#"{"model":"gemini-x","messages":[
                {"role":"system","content":"s"},{"role":"user","content":"u"},
                {"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},
                    {"id":"b","function":{"name":"g","arguments":"{}"}}]},
                {"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"{\"ok\":true}"}],
               "max_tokens":9,"temperature":0.5,"stop":"E","stream":true,"response_format":{"type":"json_object"},
               "tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}},{"googleSearch":{}}],
               "tool_choice":{"type":"function","function":{"name":"f"}}}"#,
        );
        let ask = ask(&request).unwrap();
        assert_eq!(ask.path, "/v1beta/models/gemini-x:streamGenerateContent?alt=sse");
        let expected = r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"u"}]},
{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x":1}}},{"functionCall":{"name":"g","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"1"}}},{"functionResponse":{"name":"g","response":{"ok":true}}}]}],
"tools":[{"functionDeclarations":[{"name":"f","description":"d","parametersJsonSchema":{"type":"object"}}]},{"googleSearch":{}}],
"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},
"generationConfig":{"temperature":0.5,"maxOutputTokens":9,"stopSequences":["E"],"responseMimeType":"application/json"}}"#;
        assert_eq!(compact(&ask.body), expected.replace('\n', ""));
    }

    #[test]
    fn a_model_stands_in_the_path() {
        assert_eq!(
            path("tunedModels/t", false).unwrap(),
            "/v1beta/tunedModels/t:generateContent"
        );
        for model in ["", "a?b", "a b", "../x", "a%2f", "a#b"] {
            assert!(path(model, false).is_err(), "{model}");
        }
    }

    #[test]
    fn a_result_without_its_call_is_refused() {
        let request =
            neutral(r#"{"model":"m","messages":[{"role":"tool","tool_call_id":"z","content":"1"}]}"#);
        assert!(
            ask(&request)
                .unwrap_err()
                .to_string()
                .contains("`z` answers no call")
        );
    }
}
