//! The ways to the model: one conversation, asked as three kinds of client ask.

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use vcr_runtime::{
    CallError, Client, Failure, FailureCategory, InCassette as _, Protocol, Reply, Request, Vcr,
};
use vcr_tests::sdk::{Answer, Sdk};

/// How an agent asks its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Completions in process; the agent is known by the scope that it runs in.
    InProcess,
    /// HTTP, chat completions; the agent is known by its base URL.
    OpenAi,
    /// HTTP, messages; the agent is known by a header.
    Anthropic,
}

/// One turn of a conversation, whatever the provider.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    User(String),
    Model {
        text: String,
        tools: Vec<Tool>,
    },
    /// The results of the tools that the model asked for, by their ids.
    Results(Vec<(String, String)>),
}

/// A tool that the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Answer {
        text: String,
        tools: Vec<Tool>,
        usage: Option<(u64, u64)>,
        /// The body as it came, where the call has one.
        wire: String,
    },
    /// The provider asks to come again later, with these words.
    Later(String),
}

/// A client, for as many runs as there are: to make one reads the system's certificates.
pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// One agent's way to the model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    vcr: Vcr,
    key: String,
    door: Door,
    http: reqwest::Client,
}

async fn went_live(_: Request) -> Result<Reply, Failure> {
    Err(Failure::new("Live", "the call went live"))
}

impl Model {
    pub(crate) fn new(vcr: &Vcr, key: &str, door: Door, http: &reqwest::Client) -> Self {
        Self {
            vcr: vcr.clone(),
            key: key.to_owned(),
            door,
            http: http.clone(),
        }
    }

    /// Asks, and tells `heard` every piece of text as it comes.
    pub(crate) async fn ask(&self, turns: &[Turn], heard: Option<UnboundedSender<String>>) -> Said {
        let heard = move |piece: &str| {
            if let Some(heard) = &heard {
                // Nobody listens once it has heard enough.
                let _ = heard.send(piece.to_owned());
            }
        };
        match self.door {
            Door::InProcess => {
                let own = self.vcr.session(&self.key);
                in_process(turns, heard).in_cassette(&own).await
            }
            Door::OpenAi => {
                let own = self.vcr.session(&self.key);
                let base = own.base_url(Protocol::OpenAi).unwrap();
                let body = json!({
                    "model": "gpt-4o-mini", "stream": true, "stream_options": {"include_usage": true},
                    "messages": openai(turns),
                });
                let request = self.http.post(base + "/chat/completions");
                let (status, body) = stream(request.body(body.to_string()), heard).await;
                match status {
                    200 => by_openai(&body),
                    429 => later(&body),
                    other => panic!("{other}: {body}"),
                }
            }
            Door::Anthropic => {
                let base = self.vcr.base_url(Protocol::Anthropic).unwrap();
                let body = json!({
                    "model": "claude-haiku-4-5", "max_tokens": 100, "stream": true, "messages": anthropic(turns),
                });
                let request = self
                    .http
                    .post(base + "/v1/messages")
                    .header("x-vcr-session", &self.key);
                let (status, body) = stream(request.body(body.to_string()), heard).await;
                match status {
                    200 => by_anthropic(&body),
                    429 => later(&body),
                    other => panic!("{other}: {body}"),
                }
            }
        }
    }
}

async fn in_process(turns: &[Turn], heard: impl Fn(&str)) -> Said {
    let request = openai(turns)
        .into_iter()
        .fold(Request::new("openai/gpt-4o-mini"), Request::message);
    let mut stream = match Client::new(went_live).completion_stream(request).await {
        Ok(stream) => stream,
        Err(error) => return refused(&error),
    };
    let (mut text, mut tools) = (String::new(), Vec::new());
    while let Some(frame) = stream.next().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return refused(&error),
        };
        heard(&frame.chunk);
        text.push_str(&frame.chunk);
        tools.extend(frame.tool_calls.iter().map(|call| Tool {
            id: call.id.clone(),
            name: call.function.name.clone(),
            arguments: serde_json::from_str(&call.function.arguments).unwrap(),
        }));
    }
    let usage = stream.usage();
    Said::Answer {
        text,
        tools,
        usage: usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens)),
        wire: String::new(),
    }
}

fn refused(error: &CallError) -> Said {
    match error {
        CallError::Failed(failure) if failure.category() == FailureCategory::RateLimit => {
            Said::Later(failure.message.clone())
        }
        other => panic!("{other}"),
    }
}

/// Sends a request and reads its answer to the end.
async fn stream(request: reqwest::RequestBuilder, heard: impl Fn(&str)) -> (u16, String) {
    let request = request.header("content-type", "application/json");
    let mut answer = request.send().await.unwrap();
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.unwrap() {
        heard(&String::from_utf8_lossy(&piece));
        body.extend_from_slice(&piece);
    }
    (answer.status().as_u16(), String::from_utf8(body).unwrap())
}

fn later(body: &str) -> Said {
    let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    Said::Later(body["error"]["message"].as_str().unwrap().to_owned())
}

fn by_openai(body: &str) -> Said {
    let answer = Answer::stream(body.as_bytes());
    assert!(answer.done && answer.error.is_none(), "{body}");
    let tool = |(id, name, arguments): (&str, &str, &str)| Tool {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: serde_json::from_str(arguments).unwrap(),
    };
    Said::Answer {
        text: answer.text().to_owned(),
        tools: answer.tools().into_iter().map(tool).collect(),
        usage: answer
            .tokens()
            .map(|(prompt, completion, _)| (prompt, completion)),
        wire: body.to_owned(),
    }
}

fn by_anthropic(body: &str) -> Said {
    let message = Sdk::Anthropic.read("text/event-stream", body.as_bytes());
    assert_eq!(
        (&message["stopped"], &message["error"]),
        (&json!(true), &Value::Null),
        "{body}"
    );
    let blocks = message["content"].as_array().unwrap();
    let text = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let tools = blocks
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .map(|block| Tool {
            id: block["id"].as_str().unwrap().to_owned(),
            name: block["name"].as_str().unwrap().to_owned(),
            arguments: block["input"].clone(),
        });
    let count = |name: &str| message["usage"][name].as_u64().unwrap_or_default();
    let cached = count("cache_read_input_tokens") + count("cache_creation_input_tokens");
    let usage = (count("input_tokens") + cached, count("output_tokens"));
    Said::Answer {
        text,
        tools: tools.collect(),
        // It has no way to leave the counts out.
        usage: (usage != (0, 0)).then_some(usage),
        wire: body.to_owned(),
    }
}

fn openai(turns: &[Turn]) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in turns {
        match turn {
            Turn::User(text) => messages.push(json!({"role": "user", "content": text})),
            Turn::Model { text, tools } => {
                let calls = tools.iter().map(|tool| {
                    let function = json!({"name": tool.name, "arguments": tool.arguments.to_string()});
                    json!({"id": tool.id, "type": "function", "function": function})
                });
                let calls: Vec<Value> = calls.collect();
                messages.push(json!({"role": "assistant", "content": text, "tool_calls": calls}));
            }
            Turn::Results(results) => messages.extend(
                results
                    .iter()
                    .map(|(id, text)| json!({"role": "tool", "tool_call_id": id, "content": text})),
            ),
        }
    }
    messages
}

fn anthropic(turns: &[Turn]) -> Vec<Value> {
    let message = |turn: &Turn| match turn {
        Turn::User(text) => json!({"role": "user", "content": text}),
        Turn::Model { text, tools } => {
            let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            let calls = tools.iter().map(
                |tool| json!({"type": "tool_use", "id": tool.id, "name": tool.name, "input": tool.arguments}),
            );
            json!({"role": "assistant", "content": text.into_iter().chain(calls).collect::<Vec<_>>()})
        }
        Turn::Results(results) => {
            let results = results
                .iter()
                .map(|(id, text)| json!({"type": "tool_result", "tool_use_id": id, "content": text}));
            json!({"role": "user", "content": results.collect::<Vec<_>>()})
        }
    };
    turns.iter().map(message).collect()
}
