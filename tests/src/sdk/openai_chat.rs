//! A small OpenAI-like SDK: what a caller makes of an answer. Written independently of the runtime, so that the two can
//! disagree.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{events, list, push};

/// What a caller holds after the call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// By `index`.
    pub choices: BTreeMap<u64, Choice>,
    /// The last usage that was sent, without null members.
    pub usage: Option<Value>,
    /// An error object, in the body or inside the stream.
    pub error: Option<Value>,
    /// The stream said that it is over.
    pub done: bool,
}

/// One choice of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// The visible text.
    pub text: String,
    /// The reasoning, wherever the provider puts it.
    pub reasoning: String,
    /// The refusal.
    pub refusal: String,
    /// In the order in which they were begun.
    pub tools: Vec<Tool>,
    /// OpenRouter's typed reasoning by `index`, its texts joined.
    pub details: BTreeMap<String, Value>,
    /// The last reason that is not null.
    pub finish: Option<String>,
}

/// One tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    index: Option<u64>,
    /// The provider's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as they were written.
    pub arguments: String,
}

impl Answer {
    /// Reads a body by its content type.
    #[must_use]
    pub fn read(content_type: &str, body: &[u8]) -> Self {
        if content_type.starts_with("text/event-stream") {
            Self::stream(body)
        } else {
            Self::unary(body)
        }
    }

    /// Reads the body of a streamed answer.
    ///
    /// # Panics
    /// When an event is no JSON.
    #[must_use]
    pub fn stream(body: &[u8]) -> Self {
        let mut answer = Self::default();
        for event in events(body) {
            if event.data == "[DONE]" {
                answer.done = true;
                continue;
            }
            let chunk: Value = serde_json::from_str(&event.data)
                .unwrap_or_else(|error| panic!("{error} in the event {:?}", event.data));
            answer.common(&chunk);
            for choice in list(&chunk["choices"]) {
                answer
                    .choice(choice)
                    .take(&choice["delta"], &choice["finish_reason"]);
            }
        }
        answer
    }

    /// Reads the body of a unary answer; one that is no JSON becomes a text error.
    #[must_use]
    pub fn unary(body: &[u8]) -> Self {
        let mut answer = Self::default();
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            answer.error = Some(Value::String(String::from_utf8_lossy(body).into_owned()));
            return answer;
        };
        answer.common(&value);
        if value["object"] == "error" {
            answer.error = Some(value.clone());
        }
        for choice in list(&value["choices"]) {
            answer
                .choice(choice)
                .take(&choice["message"], &choice["finish_reason"]);
        }
        answer
    }

    /// The text of the first choice.
    #[must_use]
    pub fn text(&self) -> &str {
        self.choices.get(&0).map_or("", |choice| &choice.text)
    }

    /// The finish reason of the first choice.
    #[must_use]
    pub fn finish(&self) -> Option<&str> {
        self.choices.get(&0)?.finish.as_deref()
    }

    /// The tool calls of the first choice.
    #[must_use]
    pub fn tools(&self) -> Vec<(&str, &str, &str)> {
        let tools = self.choices.get(&0).map_or(&[][..], |choice| &choice.tools);
        tools
            .iter()
            .map(|tool| (tool.id.as_str(), tool.name.as_str(), tool.arguments.as_str()))
            .collect()
    }

    /// Prompt, completion and total tokens.
    #[must_use]
    pub fn tokens(&self) -> Option<(u64, u64, u64)> {
        let usage = self.usage.as_ref()?;
        let count = |name: &str| usage[name].as_u64().unwrap_or_default();
        Some((
            count("prompt_tokens"),
            count("completion_tokens"),
            count("total_tokens"),
        ))
    }

    /// The same as one document.
    #[must_use]
    pub fn value(&self) -> Value {
        let choice = |choice: &Choice| {
            let tools: Vec<Value> = choice
                .tools
                .iter()
                .map(|tool| json!([tool.index, tool.id, tool.name, tool.arguments]))
                .collect();
            json!({
                "text": choice.text, "reasoning": choice.reasoning, "refusal": choice.refusal,
                "tools": tools, "finish": choice.finish, "reasoning_details": choice.details,
            })
        };
        let choices = self
            .choices
            .iter()
            .map(|(index, own)| (index.to_string(), choice(own)));
        json!({
            "choices": choices.collect::<serde_json::Map<_, _>>(),
            "usage": self.usage, "error": self.error,
            // An SDK raises the error, and reads no further.
            "done": self.done && self.error.is_none(),
        })
    }

    fn common(&mut self, value: &Value) {
        for usage in [&value["x_groq"]["usage"], &value["usage"]] {
            if usage
                .as_object()
                .is_some_and(|members| members.values().any(|member| !member.is_null()))
            {
                self.usage = Some(without_nulls(usage));
            }
        }
        if !value["error"].is_null() {
            self.error = Some(value["error"].clone());
        }
    }

    fn choice(&mut self, choice: &Value) -> &mut Choice {
        self.choices
            .entry(choice["index"].as_u64().unwrap_or_default())
            .or_default()
    }
}

impl Choice {
    fn take(&mut self, message: &Value, finish: &Value) {
        match &message["content"] {
            Value::String(text) => self.text.push_str(text),
            Value::Array(parts) => parts.iter().for_each(|part| self.part(part)),
            _ => {}
        }
        let reasoning = message["reasoning_content"]
            .as_str()
            .or(message["reasoning"].as_str());
        self.reasoning.push_str(reasoning.unwrap_or_default());
        self.refusal
            .push_str(message["refusal"].as_str().unwrap_or_default());
        for detail in list(&message["reasoning_details"]) {
            self.detail(detail);
        }
        for call in list(&message["tool_calls"]) {
            self.tool(call);
        }
        if let Some(reason) = finish.as_str() {
            self.finish = Some(reason.to_owned());
        }
    }

    fn part(&mut self, part: &Value) {
        match part["type"].as_str() {
            Some("text") => self.text.push_str(part["text"].as_str().unwrap_or_default()),
            Some("thinking") => {
                for inner in list(&part["thinking"]) {
                    self.reasoning
                        .push_str(inner["text"].as_str().unwrap_or_default());
                }
            }
            _ => {}
        }
    }

    fn detail(&mut self, detail: &Value) {
        let index = detail["index"].as_u64().unwrap_or_default().to_string();
        let own = self.details.entry(index).or_insert_with(|| json!({}));
        for (name, value) in detail.as_object().into_iter().flatten() {
            match name.as_str() {
                "text" | "summary" | "data" => push(&mut own[name.as_str()], value),
                _ => own[name.as_str()] = value.clone(),
            }
        }
    }

    fn tool(&mut self, call: &Value) {
        let index = call["index"].as_u64();
        let id = call["id"].as_str().unwrap_or_default();
        let known = self.tools.iter_mut().find(|tool| match index {
            Some(_) => tool.index == index,
            None => !id.is_empty() && tool.id == id,
        });
        let tool = match known {
            Some(tool) => tool,
            None => {
                self.tools.push(Tool {
                    index,
                    ..Tool::default()
                });
                self.tools.last_mut().expect("the tool just pushed")
            }
        };
        if tool.id.is_empty() {
            id.clone_into(&mut tool.id);
        }
        if tool.name.is_empty() {
            call["function"]["name"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut tool.name);
        }
        tool.arguments
            .push_str(call["function"]["arguments"].as_str().unwrap_or_default());
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name.clone(), without_nulls(member)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_tool_calls_are_told_apart_by_index() {
        let answer = Answer::stream(
            br#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}},{"index":0,"function":{"arguments":"1"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        );
        assert_eq!(answer.tools(), [("a", "f", "1"), ("b", "g", "{}")]);
        assert_eq!(answer.finish(), Some("tool_calls"));
        assert!(answer.done);
    }

    #[test]
    fn calls_without_an_index_are_told_apart_by_id() {
        let answer = Answer::unary(
            br#"{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}},{"id":"d","function":{"name":"f","arguments":"[]"}}]}}]}"#,
        );
        assert_eq!(answer.tools(), [("c", "f", "{}"), ("d", "f", "[]")]);
    }

    #[test]
    fn reasoning_refusal_usage_and_error_wherever_they_stand() {
        let answer = Answer::stream(
            br#"data: {"choices":[{"delta":{"reasoning_content":"a","content":null}}],"usage":null}

data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}]},{"type":"text","text":"c"}]}}]}

data: {"choices":[{"delta":{"refusal":"no"}}],"x_groq":{"usage":{"prompt_tokens":1,"cached":null}}}

event: error
data: {"error":{"message":"boom"}}
"#,
        );
        let choice = &answer.choices[&0];
        assert_eq!((choice.reasoning.as_str(), choice.text.as_str()), ("ab", "c"));
        assert_eq!(choice.refusal, "no");
        assert_eq!(answer.usage, Some(json!({"prompt_tokens": 1})));
        assert_eq!(answer.error, Some(json!({"message": "boom"})));
        assert!(!answer.done);
    }
}
