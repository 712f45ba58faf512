//! Every exchange as a session script: an OpenAI and an Anthropic client are answered with what was recorded.

use serde_json::{Value, json};
use vcr_runtime::{Mode, Protocol, Vcr, export_session};
use vcr_tests::rig::{Delivered, RecordedCall, Rig, done};
use vcr_tests::sdk::{Answer, Sdk};
use vcr_tests::traffic::{self, Exchange, FOLDERS};
use vcr_tests::{Split, Upstream, http};

use crate::send;

/// Why an answer has no place in a log: it says what a log has no word for.
const REFUSED: [&str; 8] = [
    "it has several choices",
    "it has a refusal apart from its text",
    "it has a block that only its provider understands",
    "it ended by `content_filter`",
    "it ended by `pause`",
    "it ended by `error`",
    "it is no completion but a call of",
    "only its raw bytes say what it answered",
];

/// What a call says, whoever asks.
#[derive(Debug, PartialEq)]
struct Said {
    status: u16,
    text: String,
    reasoning: String,
    /// Name and arguments, read.
    tools: Vec<(String, Value)>,
    finish: Option<String>,
    /// Of the prompt, cached ones included, and of the answer.
    usage: Option<(u64, u64)>,
    failed: bool,
}

fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

impl Said {
    fn recorded(call: &RecordedCall, status: u16) -> Self {
        let reasoning = call
            .frames()
            .iter()
            .filter_map(|frame| frame["reasoning"].as_str());
        let usage = &call.0["usage"];
        let usual = if call.tools().is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        Self {
            status,
            text: call.text(),
            reasoning: reasoning.collect(),
            tools: call
                .tools()
                .iter()
                .map(|(_, name, text)| (name.clone(), arguments(text)))
                .collect(),
            // An end without a reason is said with the usual one.
            finish: Some(call.finish().unwrap_or(usual).to_owned()),
            usage: usage["prompt_tokens"]
                .as_u64()
                .zip(usage["completion_tokens"].as_u64()),
            failed: call.failed(),
        }
    }

    /// Whether a caller is told what was recorded. Whoever reads no stream is told of a failure by a status, and nothing else.
    fn is(&self, recorded: &Self, stream: bool) -> bool {
        if !recorded.failed {
            return self == recorded;
        }
        let same = |of: fn(&Self) -> &str| of(self) == of(recorded);
        let silent = recorded.text.is_empty() && recorded.reasoning.is_empty();
        let same_status = silent || self.status == recorded.status;
        self.failed && (!stream || (same_status && same(|said| &said.text) && same(|said| &said.reasoning)))
    }

    fn openai(delivered: &Delivered) -> Self {
        let answer: Answer = delivered.answer();
        let choice = answer.choices.get(&0).cloned().unwrap_or_default();
        let usage = answer.usage.as_ref();
        Self {
            status: delivered.status,
            text: choice.text,
            reasoning: choice.reasoning,
            tools: choice
                .tools
                .iter()
                .map(|tool| (tool.name.clone(), arguments(&tool.arguments)))
                .collect(),
            finish: choice.finish,
            usage: usage.and_then(|usage| {
                usage["prompt_tokens"]
                    .as_u64()
                    .zip(usage["completion_tokens"].as_u64())
            }),
            failed: answer.error.is_some(),
        }
    }

    fn anthropic(delivered: &Delivered) -> Self {
        let content_type = delivered.header("content-type").unwrap_or_default();
        let message = Sdk::Anthropic.read(content_type, &delivered.whole.bytes());
        let blocks = || message["content"].as_array().into_iter().flatten();
        let joined = |kind: &str, member: &str| -> String {
            let own = blocks().filter(|block| block["type"] == kind);
            own.filter_map(|block| block[member].as_str()).collect()
        };
        let count = |name: &str| message["usage"][name].as_u64().unwrap_or(0);
        let finish = message["stop_reason"].as_str().map(|reason| match reason {
            "end_turn" => "stop",
            "tool_use" => "tool_calls",
            "max_tokens" => "length",
            other => panic!("{other}"),
        });
        Self {
            status: delivered.status,
            text: joined("text", "text"),
            reasoning: joined("thinking", "thinking"),
            tools: blocks()
                .filter(|block| block["type"] == "tool_use")
                .map(|block| (block["name"].as_str().unwrap().to_owned(), block["input"].clone()))
                .collect(),
            finish: finish.map(str::to_owned),
            usage: message["usage"].is_object().then(|| {
                let cached = count("cache_read_input_tokens") + count("cache_creation_input_tokens");
                (count("input_tokens") + cached, count("output_tokens"))
            }),
            failed: message["type"] == "error" || message["error"].is_object(),
        }
    }
}

async fn post(vcr: &Vcr, protocol: Protocol, stream: bool) -> Delivered {
    let base = vcr.base_url(protocol).unwrap();
    let (path, mut body) = match protocol {
        Protocol::Anthropic => ("/v1/messages", json!({"model": "claude-x", "max_tokens": 64})),
        _ => (
            "/chat/completions",
            json!({"model": "gpt-x", "stream_options": {"include_usage": true}}),
        ),
    };
    body["messages"] = json!([{"role": "user", "content": "anything"}]);
    body["stream"] = json!(stream);
    if !stream && let Some(members) = body.as_object_mut() {
        members.remove("stream_options");
    }
    Delivered::of(http::post(&format!("{base}{path}"), &body.to_string()).await).await
}

/// The recorded call, and why it was not exported.
async fn exported(rig: &Rig, exchange: &Exchange) -> (RecordedCall, Option<String>) {
    let upstream = Upstream::start([exchange.reply().split(Split::Whole)]);
    let vcr = rig.record();
    send(&vcr, &upstream.url(), exchange).await;
    done(vcr).await;
    let refused = export_session(rig.path(), rig.directory().join("log.jsonl"))
        .err()
        .map(|error| error.to_string());
    (rig.cassette().call(), refused)
}

#[tokio::test]
async fn an_exported_script_answers_openai_and_anthropic_clients_alike() {
    let Some(exchanges) = traffic::load(&FOLDERS) else {
        return;
    };
    let (mut written, mut refused, mut faults) = (0, Vec::new(), Vec::new());
    for exchange in &exchanges {
        let rig = Rig::new();
        let (call, why) = exported(&rig, exchange).await;
        if let Some(why) = why {
            let known = REFUSED.iter().any(|reason| why.contains(reason));
            assert!(known, "{}: {why}", exchange.name());
            refused.push(format!("{}: {why}", exchange.name()));
            continue;
        }
        written += 1;
        for (protocol, stream) in [
            (Protocol::OpenAi, false),
            (Protocol::OpenAi, true),
            (Protocol::Anthropic, false),
            (Protocol::Anthropic, true),
        ] {
            let vcr = rig
                .builder(Mode::Replay)
                .source("session:log.jsonl")
                .open()
                .unwrap();
            let delivered = post(&vcr, protocol, stream).await;
            done(vcr).await;
            let said = match protocol {
                Protocol::Anthropic => Said::anthropic(&delivered),
                _ => Said::openai(&delivered),
            };
            let recorded = Said::recorded(&call, exchange.status);
            if !said.is(&recorded, stream) {
                faults.push(format!(
                    "{} {protocol:?} stream={stream}\n  {recorded:?}\n  {said:?}",
                    exchange.name()
                ));
            }
        }
    }
    println!("{written} exchanges exported; refused:\n{}", refused.join("\n"));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        written * 4 >= exchanges.len() * 3,
        "{written} of {}",
        exchanges.len()
    );
}
