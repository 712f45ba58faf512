//! Requests of two protocols that ask for the same, in one form. Only for comparing: it goes to no provider and no file.

use crate::canon::equivalent;
use crate::json::{Json, Object, compact, parse};
use crate::model::CanonicalRequest;

use super::common::object;
use super::neutral::{
    Choice, Format, Part, Tool, Turn, choice, format, given, list, only_text, tools, turns,
};

/// The protocol of the form.
const NAME: &str = "neutral";
const SYSTEM: &str = "system";

/// The form of a request in the shape of chat completions; `None` where a message has parts that only its provider
/// understands. Parameters that only one provider knows stay, and make requests differ.
pub(super) fn alike(request: &CanonicalRequest) -> Option<CanonicalRequest> {
    let turns = turns(&request.messages).ok()?;
    let mut parameters = Object::new();
    for (name, value) in given(&request.parameters) {
        parameter(name, value, &mut parameters)?;
    }
    Some(CanonicalRequest {
        protocol: NAME.to_owned(),
        model: request.model.clone(),
        provider: String::new(),
        messages: messages(&turns)?,
        parameters,
    })
}

/// Whether two forms ask for the same.
pub(crate) fn asks_alike(a: &CanonicalRequest, b: &CanonicalRequest) -> bool {
    let (mut a, mut b) = (a.clone(), b.clone());
    level(&mut a, &mut b);
    a.model == b.model
        && equivalent(&Json::Array(a.messages), &Json::Array(b.messages))
        && equivalent(&Json::Object(a.parameters), &Json::Object(b.parameters))
}

/// Takes a token limit away that only one of two forms states: Anthropic's API wants one, and the others do not.
pub(crate) fn level(a: &mut CanonicalRequest, b: &mut CanonicalRequest) {
    const LIMIT: &str = "max_tokens";
    let states = |request: &CanonicalRequest| request.parameters.get(LIMIT).is_some();
    if states(a) != states(b) {
        a.parameters.remove(LIMIT);
        b.parameters.remove(LIMIT);
    }
}

fn messages(turns: &[Turn<'_>]) -> Option<Vec<Json>> {
    let (mut system, mut messages) = (Vec::new(), Vec::new());
    let mut calls: Vec<&str> = Vec::new();
    for turn in turns {
        match turn {
            Turn::System(parts) => system.push(only_text(parts)?),
            Turn::User(parts) => messages.push(message("user", content(parts)?)),
            Turn::Assistant(parts, asked) => {
                let mut said = message("assistant", content(parts)?);
                let asked: Vec<Json> = asked
                    .iter()
                    .map(|call| {
                        calls.push(call.id);
                        object([
                            ("name", call.name.into()),
                            ("arguments", call.arguments.clone().into()),
                        ])
                        .into()
                    })
                    .collect();
                said.push("calls", asked);
                messages.push(said);
            }
            Turn::Tool { id, parts, .. } => {
                // Ids are the providers' own, so calls go by their number.
                let number = calls.iter().rposition(|call| call == id)?;
                let mut result = message("tool", document(only_text(parts)?));
                result.push("call", u64::try_from(number).ok()?);
                messages.push(result);
            }
        }
    }
    if !system.is_empty() {
        messages.insert(0, message(SYSTEM, system.join("\n").into()));
    }
    Some(messages.into_iter().map(Json::Object).collect())
}

fn message(role: &str, content: Json) -> Object {
    object([("role", role.into()), ("content", content)])
}

/// One text, or a list where there are images.
fn content(parts: &[Part<'_>]) -> Option<Json> {
    if let Some(text) = only_text(parts) {
        return Some(text.into());
    }
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => Some((*text).into()),
        Part::ImageAt(url) => Some(object([("image", (*url).into())]).into()),
        Part::Image(media_type, data) => {
            let url = format!("data:{media_type};base64,{data}");
            Some(object([("image", url.into())]).into())
        }
        Part::Native(_) => None,
    };
    parts
        .iter()
        .map(part)
        .collect::<Option<Vec<_>>>()
        .map(Json::Array)
}

/// A tool's result: some protocols carry documents as such and others as text.
fn document(text: String) -> Json {
    match parse(&text) {
        Ok(document @ Json::Object(_)) => document,
        _ => text.into(),
    }
}

/// `None` for what cannot be compared.
fn parameter(name: &str, value: &Json, parameters: &mut Object) -> Option<()> {
    match name {
        "stream_options" => {}
        "stream" if value.as_bool() == Some(false) => {}
        "n" if value.as_u64() == Some(1) => {}
        "parallel_tool_calls" if value.as_bool() == Some(true) => {}
        "max_completion_tokens" => parameters.set("max_tokens", value.clone()),
        "stop" => parameters.set(name, list(value)),
        "tools" => {
            let tools: Vec<Json> = tools(value).iter().map(tool).collect();
            if !tools.is_empty() {
                parameters.set(name, tools);
            }
        }
        "tool_choice" => match choice(value) {
            Choice::Auto => {}
            Choice::Named(tool) => parameters.set(name, object([("name", tool.into())])),
            Choice::Never | Choice::Any | Choice::Native(_) => parameters.set(name, value.clone()),
        },
        "response_format" => match format(value).ok()? {
            Format::Text => {}
            Format::Json => parameters.set(name, "json"),
            Format::Schema(schema) => parameters.set(name, schema.get("schema").cloned()),
        },
        _ => parameters.set(name, value.clone()),
    }
    Some(())
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
    let empty = || object([("type", "object".into()), ("properties", Object::new().into())]).into();
    object([
        ("name", name.into()),
        ("description", description.cloned().into()),
        ("parameters", parameters.cloned().unwrap_or_else(empty)),
    ])
    .into()
}

/// A tool call in the shape of chat completions.
pub(super) fn chat_call(id: &str, name: &str, arguments: &str) -> Json {
    let function = object([("name", name.into()), ("arguments", arguments.into())]);
    object([
        ("id", id.into()),
        ("type", "function".into()),
        ("function", function.into()),
    ])
    .into()
}

/// A tool in the shape of chat completions.
pub(super) fn chat_tool(name: &Json, description: Option<&Json>, parameters: Option<&Json>) -> Json {
    let mut function = object([("name", name.clone())]);
    for (name, value) in [("description", description), ("parameters", parameters)] {
        if let Some(value) = value {
            function.push(name, value.clone());
        }
    }
    object([("type", "function".into()), ("function", function.into())]).into()
}

/// The choice of one tool in the shape of chat completions.
pub(super) fn chat_choice(name: &Json) -> Json {
    let function = object([("name", name.clone())]);
    object([("type", "function".into()), ("function", function.into())]).into()
}

pub(super) fn chat_image(url: impl Into<Json>) -> Json {
    let image = object([("url", url.into())]);
    object([("type", "image_url".into()), ("image_url", image.into())]).into()
}

pub(super) fn chat_text(text: impl Into<Json>) -> Json {
    object([("type", "text".into()), ("text", text.into())]).into()
}

/// A wanted form of the answer in the shape of chat completions.
pub(super) fn chat_schema(schema: Option<&Json>) -> Json {
    match schema {
        None => object([("type", "json_object".into())]).into(),
        Some(schema) => {
            let schema = object([("schema", schema.clone())]);
            object([("type", "json_schema".into()), ("json_schema", schema.into())]).into()
        }
    }
}

/// Gives ids to calls of protocols that have none, and finds the call that a result answers.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Name, and whether it has been answered.
    calls: Vec<(String, bool)>,
}

impl Calls {
    pub(super) fn ask(&mut self, name: &str, arguments: Option<&Json>) -> Json {
        self.calls.push((name.to_owned(), false));
        let id = (self.calls.len() - 1).to_string();
        chat_call(&id, name, &arguments.map_or_else(|| "{}".to_owned(), compact))
    }

    /// The message of a result: of the first open call, of that name where it is told.
    pub(super) fn answer(&mut self, name: Option<&str>, content: Json) -> Option<Json> {
        let is_it = |(known, answered): &(String, bool)| !answered && name.is_none_or(|name| name == known);
        let number = self.calls.iter().position(is_it)?;
        self.calls[number].1 = true;
        let mut result = object([
            ("role", "tool".into()),
            ("tool_call_id", number.to_string().into()),
        ]);
        result.push("content", content);
        Some(result.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::testing::neutral;
    use crate::protocol::{HttpRequest, find};

    const CONVERSATION: &str = r#"{"model":"m","messages":[
        {"role":"system","content":"be brief"},
        {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},
        {"role":"assistant","content":"so","tool_calls":[
            {"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1.5}"}},
            {"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"one"},{"role":"tool","tool_call_id":"b","content":"{\"ok\": true}"},
        {"role":"user","content":"and?"}],
        "temperature":0.5,"top_p":0.9,"stop":"END","stream":true,"max_tokens":9,
        "tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]}"#;

    /// What comes back of a request that was put into a protocol's form.
    fn there_and_back(protocol: &str, request: &CanonicalRequest) -> CanonicalRequest {
        let wire = find(protocol).unwrap();
        let ask = wire.ask(request).unwrap();
        let (path, query) = ask.path.split_once('?').unwrap_or((&ask.path, ""));
        let body = compact(&ask.body);
        let http = HttpRequest {
            method: "POST",
            path,
            query,
            body: body.as_bytes(),
        };
        wire.neutral(&wire.request(&http).unwrap()).unwrap()
    }

    #[test]
    fn every_protocol_says_the_same() {
        let request = neutral(CONVERSATION);
        let expected = alike(&request).unwrap();
        for protocol in ["openai-chat", "anthropic-messages", "gemini", "ollama-chat"] {
            let told = there_and_back(protocol, &request);
            assert!(asks_alike(&told, &expected), "{protocol}: {told:#?}");
        }
        let mut request = request;
        request.parameters.remove("stop");
        let told = there_and_back("openai-responses", &request);
        assert!(asks_alike(&told, &alike(&request).unwrap()), "{told:#?}");
        assert!(!asks_alike(&told, &expected));
    }

    #[test]
    fn every_choice_and_format_is_carried_over() {
        let choices = [
            "\"auto\"",
            "\"none\"",
            "\"required\"",
            r#"{"type":"function","function":{"name":"f"}}"#,
        ];
        for choice in choices {
            let tools = r#""tools":[{"type":"function","function":{"name":"f"}}]"#;
            let request = neutral(&format!(
                r#"{{"model":"m","messages":[],{tools},"tool_choice":{choice}}}"#
            ));
            for protocol in ["openai-chat", "openai-responses", "anthropic-messages", "gemini"] {
                let told = there_and_back(protocol, &request);
                assert!(
                    asks_alike(&told, &alike(&request).unwrap()),
                    "{protocol}: {told:#?}"
                );
            }
        }
        for format in [
            r#"{"type":"json_object"}"#,
            r#"{"type":"json_schema","json_schema":{"name":"n","schema":{"a":1}}}"#,
        ] {
            let request = neutral(&format!(
                r#"{{"model":"m","messages":[],"response_format":{format}}}"#
            ));
            for protocol in ["openai-chat", "openai-responses", "gemini", "ollama-chat"] {
                let told = there_and_back(protocol, &request);
                assert!(
                    asks_alike(&told, &alike(&request).unwrap()),
                    "{protocol}: {told:#?}"
                );
            }
        }
    }

    #[test]
    fn what_differs_still_differs() {
        let form = |body: &str| alike(&neutral(body)).unwrap();
        let base = form(r#"{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":5}"#);
        for other in [
            r#"{"model":"n","messages":[{"role":"user","content":"a"}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":"b"}]}"#,
            r#"{"model":"m","messages":[{"role":"assistant","content":"a"}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":6}"#,
            r#"{"model":"m","messages":[{"role":"user","content":"a"}],"stream":true}"#,
            r#"{"model":"m","messages":[{"role":"user","content":"a"}],"seed":1}"#,
        ] {
            assert!(!asks_alike(&base, &form(other)), "{other}");
        }
        let same = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"n":1,"stream":false}"#;
        assert!(asks_alike(&base, &form(same)));
    }
}
