//! The delta of one choice: its canonical parts as events, the rest for the template.

use crate::json::{Json, Object};
use crate::protocol::Event;

use super::template::Place;
use crate::protocol::rules::{ToolCalls, index};

/// A delta that has been read.
#[derive(Debug, Default)]
pub(super) struct Delta<'a> {
    /// What it carried; `None` when nothing.
    pub(super) place: Option<Place>,
    /// Members without a canonical form, and canonical ones that are empty or null.
    pub(super) rest: Vec<&'a (String, Json)>,
    pub(super) reasoning_key: Option<&'static str>,
    /// What new tool calls had besides index, id and function.
    pub(super) calls: Vec<Object>,
    pub(super) odd: Option<String>,
}

/// Members that carry reasoning; of two in one delta the first is taken, the other then shows in the comparison.
pub(super) const REASONING_KEYS: [&str; 2] = ["reasoning_content", "reasoning"];

pub(super) fn read<'a>(
    choice: u32,
    members: &'a Object,
    tools: &mut ToolCalls,
    out: &mut Vec<Event>,
) -> Delta<'a> {
    let mut delta = Delta {
        reasoning_key: REASONING_KEYS
            .into_iter()
            .find(|key| text(members, key).is_some()),
        ..Delta::default()
    };
    if let Some(key) = delta.reasoning_key {
        delta.place = Some(Place::Reasoning);
        let text = text(members, key).unwrap_or_default().to_owned();
        out.push(Event::Reasoning { choice, text });
    }
    for member in members.iter() {
        let (name, value) = member;
        match (name.as_str(), value) {
            (key, Json::String(_)) if delta.reasoning_key == Some(key) => {}
            (_, Json::Null) => delta.rest.push(member),
            ("content" | "refusal" | "role", Json::String(text)) if text.is_empty() => {
                delta.rest.push(member);
            }
            ("content" | "tool_calls", Json::Array(items)) if items.is_empty() => delta.rest.push(member),
            ("content", Json::String(text)) => delta.text(choice, text, out),
            ("content", Json::Array(parts)) => parts.iter().for_each(|part| delta.part(choice, part, out)),
            ("refusal", Json::String(text)) => {
                delta.carries(Place::Refusal);
                out.push(Event::Refusal {
                    choice,
                    text: text.clone(),
                });
            }
            ("tool_calls", Json::Array(items)) => {
                items.iter().for_each(|item| delta.tool(choice, item, tools, out));
            }
            ("function_call", Json::Object(_)) => delta.function_call(choice, value, tools, out),
            ("content" | "refusal" | "tool_calls" | "function_call", other) => {
                delta
                    .odd
                    .get_or_insert_with(|| format!("has {name} that is {}", other.kind()));
            }
            _ => delta.rest.push(member),
        }
    }
    delta
}

fn text<'a>(members: &'a Object, key: &str) -> Option<&'a str> {
    members.get(key)?.as_str().filter(|text| !text.is_empty())
}

impl Delta<'_> {
    fn carries(&mut self, place: Place) {
        self.place.get_or_insert(place);
    }

    fn text(&mut self, choice: u32, text: &str, out: &mut Vec<Event>) {
        self.carries(Place::Text);
        out.push(Event::Text {
            choice,
            text: text.to_owned(),
        });
    }

    /// A part of a content array, as Mistral sends them.
    fn part(&mut self, choice: u32, part: &Json, out: &mut Vec<Event>) {
        match part.get("type").and_then(Json::as_str) {
            Some("text") => self.text(
                choice,
                part.get("text").and_then(Json::as_str).unwrap_or_default(),
                out,
            ),
            Some("thinking") => {
                self.reasoning_key.get_or_insert("thinking");
                self.carries(Place::Reasoning);
                let text = thinking(part);
                out.push(Event::Reasoning { choice, text });
            }
            _ => {
                self.carries(Place::Text);
                out.push(Event::Native {
                    choice,
                    block: part.clone(),
                });
            }
        }
    }

    fn tool(&mut self, choice: u32, item: &Json, tools: &mut ToolCalls, out: &mut Vec<Event>) {
        let Some(members) = item.as_object() else {
            self.odd
                .get_or_insert_with(|| format!("has a tool call that is {}", item.kind()));
            return;
        };
        self.carries(Place::Tool);
        let function = members.get("function");
        let fragment = tools.fragment(
            index(members.get("index")),
            members.get("id").and_then(Json::as_str),
            function
                .and_then(|function| function.get("name"))
                .and_then(Json::as_str),
        );
        if fragment.is_new {
            let is_rest = |(name, _): &&(String, Json)| !["index", "id", "function"].contains(&name.as_str());
            self.calls.push(members.iter().filter(is_rest).cloned().collect());
        }
        out.push(Event::Tool {
            choice,
            index: fragment.index,
            id: fragment.id,
            name: fragment.name,
            arguments: arguments(function),
        });
    }

    /// The form before tools: one call, without an id.
    fn function_call(&mut self, choice: u32, function: &Json, tools: &mut ToolCalls, out: &mut Vec<Event>) {
        self.carries(Place::Tool);
        let name = function.get("name").and_then(Json::as_str);
        let fragment = tools.fragment(Some(0), None, name);
        out.push(Event::Tool {
            choice,
            index: fragment.index,
            id: None,
            name: fragment.name,
            arguments: arguments(Some(function)),
        });
    }
}

/// The text of a thinking part, which nests text parts.
pub(super) fn thinking(part: &Json) -> String {
    match part.get("thinking") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

/// The argument text of a call; servers that send an object instead of text are read as its compact text.
pub(super) fn arguments(function: Option<&Json>) -> String {
    match function.and_then(|function| function.get("arguments")) {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => crate::json::compact(other),
    }
}
