//! Reading a provider-neutral request, for the protocols that say the same in another form.

use std::fmt;

use crate::json::{Json, Object, parse};

/// What a provider is asked, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    /// Below the provider's base, beginning with `/`, with its query.
    pub(crate) path: String,
    pub(crate) body: Json,
}

/// Why a request has no form in a protocol, in words for the caller. Saying less than was asked for would be worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsayable(String);

impl Unsayable {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unsayable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One message.
#[derive(Debug, PartialEq)]
pub(super) enum Turn<'a> {
    System(Vec<Part<'a>>),
    User(Vec<Part<'a>>),
    Assistant(Vec<Part<'a>>, Vec<Asked<'a>>),
    /// What a tool said. The name of the tool comes from the call that it answers.
    Tool {
        id: &'a str,
        name: Option<&'a str>,
        parts: Vec<Part<'a>>,
    },
}

/// A part of a message's content.
#[derive(Debug, PartialEq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    /// By its address.
    ImageAt(&'a str),
    /// The image itself: its media type, and its bytes in base64.
    Image(&'a str, &'a str),
    /// Not of the neutral form: the provider's own, handed on as it is.
    Native(&'a Json),
}

/// A tool call of an earlier answer.
#[derive(Debug, PartialEq)]
pub(super) struct Asked<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    /// As the model wrote them.
    pub(super) text: &'a str,
    pub(super) arguments: Object,
}

/// Parts that the neutral form has and that only chat completions can say.
const CHAT_PARTS: [&str; 3] = ["input_audio", "file", "refusal"];

pub(super) fn turns(messages: &[Json]) -> Result<Vec<Turn<'_>>, Unsayable> {
    let mut turns = Vec::with_capacity(messages.len());
    for message in messages {
        let turn = turn(message, &turns)?;
        turns.push(turn);
    }
    Ok(turns)
}

fn turn<'a>(message: &'a Json, before: &[Turn<'a>]) -> Result<Turn<'a>, Unsayable> {
    let parts = parts(message.get("content").unwrap_or(&Json::Null))?;
    let text = |name: &str| message.get(name).and_then(Json::as_str);
    match text("role").unwrap_or_default() {
        "system" | "developer" => Ok(Turn::System(parts)),
        "user" => Ok(Turn::User(parts)),
        "assistant" => {
            let calls = message.get("tool_calls").and_then(Json::as_array);
            let calls = calls.unwrap_or_default().iter().map(asked);
            Ok(Turn::Assistant(parts, calls.collect::<Result<_, _>>()?))
        }
        "tool" => {
            let id = text("tool_call_id").unwrap_or_default();
            Ok(Turn::Tool {
                id,
                name: text("name").or_else(|| name_of(id, before)),
                parts,
            })
        }
        other => Err(Unsayable::new(format!("a message has the role `{other}`"))),
    }
}

fn name_of<'a>(id: &str, before: &[Turn<'a>]) -> Option<&'a str> {
    before.iter().rev().find_map(|turn| match turn {
        Turn::Assistant(_, calls) => calls.iter().find(|call| call.id == id).map(|call| call.name),
        _ => None,
    })
}

fn parts(content: &Json) -> Result<Vec<Part<'_>>, Unsayable> {
    match content {
        Json::Null => Ok(Vec::new()),
        Json::String(text) if text.is_empty() => Ok(Vec::new()),
        Json::String(text) => Ok(vec![Part::Text(text)]),
        Json::Array(items) => items.iter().map(part).collect(),
        other => Err(Unsayable::new(format!("a message's content is {}", other.kind()))),
    }
}

fn part(item: &Json) -> Result<Part<'_>, Unsayable> {
    let kind = item.get("type").and_then(Json::as_str).unwrap_or_default();
    match kind {
        // With members besides, such as a cache mark, it is the provider's own.
        "text" if item.as_object().is_some_and(|members| members.len() == 2) => {
            let text = item.get("text").and_then(Json::as_str);
            text.map(Part::Text)
                .ok_or_else(|| Unsayable::new("a text part has no text"))
        }
        "image_url" => {
            let image = item.get("image_url");
            let url = image.and_then(|image| image.get("url").or(Some(image))?.as_str());
            let url = url.ok_or_else(|| Unsayable::new("an image part has no `url`"))?;
            Ok(data_url(url).map_or(Part::ImageAt(url), |(media, data)| Part::Image(media, data)))
        }
        chat if CHAT_PARTS.contains(&chat) => {
            Err(Unsayable::new(format!("a message has a part of type `{chat}`")))
        }
        _ => Ok(Part::Native(item)),
    }
}

/// Media type and base64 of a `data:` URL.
fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

fn asked(call: &Json) -> Result<Asked<'_>, Unsayable> {
    let text = |value: Option<&'_ Json>| value.and_then(Json::as_str).map(str::to_owned);
    let function = call.get("function");
    let member = |name: &str| function.and_then(|function| function.get(name)?.as_str());
    let Some(name) = member("name") else {
        let kind = text(call.get("type")).unwrap_or_default();
        return Err(Unsayable::new(format!(
            "a tool call of type `{kind}` names no function"
        )));
    };
    let text = member("arguments").unwrap_or_default();
    let arguments = match parse(if text.is_empty() { "{}" } else { text }) {
        Ok(Json::Object(arguments)) => arguments,
        _ => {
            let why = format!("the arguments of a call of `{name}` are no JSON object");
            return Err(Unsayable::new(why));
        }
    };
    Ok(Asked {
        id: call.get("id").and_then(Json::as_str).unwrap_or_default(),
        name,
        text,
        arguments,
    })
}

/// The texts of parts, when there is nothing else in them.
pub(super) fn only_text(parts: &[Part<'_>]) -> Option<String> {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => Some(*text),
        _ => None,
    });
    texts.collect::<Option<Vec<_>>>().map(|texts| texts.concat())
}

/// A function that the model may call, or a tool of the provider's own.
#[derive(Debug, PartialEq)]
pub(super) enum Tool<'a> {
    Function {
        name: &'a str,
        description: Option<&'a Json>,
        parameters: Option<&'a Json>,
        strict: Option<&'a Json>,
    },
    Native(&'a Json),
}

pub(super) fn tools(value: &Json) -> Vec<Tool<'_>> {
    let items = value.as_array().unwrap_or_default().iter();
    let tool = |item| function(item).unwrap_or(Tool::Native(item));
    items.map(tool).collect()
}

fn function(item: &Json) -> Option<Tool<'_>> {
    let function = item.get("function")?;
    let stated = |name| function.get(name).filter(|value| !value.is_null());
    Some(Tool::Function {
        name: function.get("name")?.as_str()?,
        description: stated("description"),
        parameters: stated("parameters"),
        strict: stated("strict"),
    })
}

/// Which tool the model must call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Choice<'a> {
    Auto,
    Never,
    Any,
    Named(&'a str),
    /// The provider's own form.
    Native(&'a Json),
}

pub(super) fn choice(value: &Json) -> Choice<'_> {
    let named = value
        .get("function")
        .and_then(|function| function.get("name")?.as_str());
    match (value.as_str(), named) {
        (Some("auto"), _) => Choice::Auto,
        (Some("none"), _) => Choice::Never,
        (Some("required"), _) => Choice::Any,
        (_, Some(name)) => Choice::Named(name),
        _ => Choice::Native(value),
    }
}

/// The form that the answer must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format<'a> {
    Text,
    Json,
    Schema(&'a Object),
}

pub(super) fn format(value: &Json) -> Result<Format<'_>, Unsayable> {
    let schema = value.get("json_schema").and_then(Json::as_object);
    match (value.get("type").and_then(Json::as_str), schema) {
        (Some("text"), _) => Ok(Format::Text),
        (Some("json_object"), _) => Ok(Format::Json),
        (Some("json_schema"), Some(schema)) => Ok(Format::Schema(schema)),
        (other, _) => {
            let why = format!("`response_format` has the type `{}`", other.unwrap_or_default());
            Err(Unsayable::new(why))
        }
    }
}

/// Parameters of chat completions that mean nothing elsewhere. Any other unknown name is the provider's own.
const CHAT_PARAMETERS: [&str; 18] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "modalities",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "tool_choice",
    "top_logprobs",
    "verbosity",
    "web_search_options",
];

/// The parameters that were given a value.
pub(super) fn given(parameters: &Object) -> impl Iterator<Item = (&str, &Json)> {
    let given = parameters.iter().filter(|(_, value)| !value.is_null());
    given.map(|(name, value)| (name.as_str(), value))
}

/// Hands a parameter on that the protocol does not translate: the provider's own stay, those of chat completions that
/// change nothing go, and the others cannot be said.
pub(super) fn hand_on(name: &str, value: &Json, body: &mut Object) -> Result<(), Unsayable> {
    match name {
        // Every other protocol counts its tokens unasked.
        "stream_options" => Ok(()),
        "n" if value.as_u64() == Some(1) => Ok(()),
        "n" => Err(Unsayable::new("`n` asks for several choices")),
        other if CHAT_PARAMETERS.contains(&other) => {
            Err(Unsayable::new(format!("it has no counterpart of `{other}`")))
        }
        _ => {
            body.set(name, value.clone());
            Ok(())
        }
    }
}

/// A text or a list of texts as a list.
pub(super) fn list(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.clone().into(),
        one => vec![one.clone()].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Json {
        parse(text).unwrap()
    }

    #[test]
    fn messages_are_read_into_turns() {
        let messages = [
            message(r#"{"role":"developer","content":"s"}"#),
            message(
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},
                {"type":"image_url","image_url":{"url":"https://x/y"}},{"type":"document","source":{}}]}"#,
            ),
            message(
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}]}"#,
            ),
            message(r#"{"role":"tool","tool_call_id":"c","content":"7"}"#),
        ];
        let turns = turns(&messages).unwrap();
        assert_eq!(turns[0], Turn::System(vec![Part::Text("s")]));
        let Turn::User(parts) = &turns[1] else {
            panic!("{turns:?}")
        };
        assert_eq!(
            parts[1..3],
            [Part::Image("image/png", "AA=="), Part::ImageAt("https://x/y")]
        );
        assert!(matches!(parts[3], Part::Native(_)) && only_text(parts).is_none());
        let Turn::Tool { name, parts, .. } = &turns[3] else {
            panic!("{turns:?}")
        };
        assert_eq!((*name, only_text(parts).as_deref()), (Some("f"), Some("7")));
    }

    #[test]
    fn what_cannot_be_said_is_named() {
        for (text, why) in [
            (r#"{"role":"critic","content":"x"}"#, "the role `critic`"),
            (r#"{"role":"user","content":7}"#, "content is a number"),
            (
                r#"{"role":"user","content":[{"type":"input_audio"}]}"#,
                "`input_audio`",
            ),
            (r#"{"role":"user","content":[{"type":"image_url"}]}"#, "no `url`"),
            (
                r#"{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}"#,
                "arguments of a call of `f`",
            ),
            (
                r#"{"role":"assistant","tool_calls":[{"type":"custom"}]}"#,
                "`custom` names no function",
            ),
        ] {
            let error = turns(&[message(text)]).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn parameters_of_the_provider_stay_and_those_of_chat_do_not() {
        let mut body = Object::new();
        for (name, value) in [("top_k", "5"), ("n", "1"), ("stream_options", "{}")] {
            hand_on(name, &message(value), &mut body).unwrap();
        }
        assert_eq!(body.len(), 1);
        for (name, value) in [("n", "2"), ("seed", "1"), ("logprobs", "true")] {
            let error = hand_on(name, &message(value), &mut body).unwrap_err();
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }
}
