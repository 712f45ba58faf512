//! rig, as its users write it: only the base URL is ours, and a transport of its own for every test.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use futures::StreamExt;
use rig::completion::{CompletionRequest, CompletionResponse, ToolDefinition};
use rig::driver::DynModel;
use rig::error::ProviderError;
use rig::http_client::ReqwestClient;
use rig::message::{Message, ToolName, ToolResultContent};
use rig::operation::Completion;
use rig::providers::anthropic::AnthropicConfig;
use rig::providers::gemini::GeminiConfig;
use rig::providers::ollama::OllamaConfig;
use rig::providers::openai::OpenAIConfig;
use rig::streaming::{Item, StreamEvent};
use serde_json::{Value, json};
use vcr_clients_multi::{ADD, KEY, Said, Talks, Wire, suite};

suite!(openai, Wire::OpenAi);
suite!(openai_responses, Wire::Responses);
suite!(anthropic, Wire::Anthropic);
suite!(gemini, Wire::Gemini);
suite!(ollama, Wire::OpenAi);
suite!(ollama_native, Wire::Ollama);

fn openai(base: &str) -> Rig {
    let config = OpenAIConfig::new(KEY).with_base_url(format!("{base}/v1"));
    Rig(config.connect(http()).chat("m").erase())
}

fn openai_responses(base: &str) -> Rig {
    let config = OpenAIConfig::new(KEY).with_base_url(format!("{base}/v1"));
    Rig(config.connect(http()).responses("m").erase())
}

fn anthropic(base: &str) -> Rig {
    let config = AnthropicConfig::new(KEY).with_base_url(base);
    Rig(config.connect(http()).completion("m").erase())
}

fn gemini(base: &str) -> Rig {
    let config = GeminiConfig::new(KEY).with_base_url(base);
    Rig(config.connect(http()).completion("m").erase())
}

/// Its OpenAI side, which is what rig takes by default.
fn ollama(base: &str) -> Rig {
    let config = OllamaConfig::new().with_base_url(base).with_api_key(KEY);
    Rig(config.connect(http()).completion("m").erase())
}

fn ollama_native(base: &str) -> Rig {
    let config = OllamaConfig::new().with_base_url(base);
    Rig(config.connect(http()).native_completion("m").erase())
}

/// The default one is shared by the whole process, and its connections belong to one test's runtime.
fn http() -> ReqwestClient {
    ReqwestClient::from(rig::rig_reqwest::reqwest::Client::new())
}

struct Rig(DynModel<Completion>);

impl Rig {
    async fn turn(
        &self,
        request: CompletionRequest,
        stream: bool,
    ) -> Result<(Said, CompletionResponse), ProviderError> {
        if !stream {
            let answer = self.0.call(request).await?;
            return Ok((said(&answer, 1, Vec::new()), answer));
        }
        let mut answer = self.0.stream(request)?;
        let (mut events, mut pieces) = (Vec::new(), 0);
        while let Some(item) = answer.next().await {
            let item = item?;
            if let Item::Event(StreamEvent::Text { text, .. }) = &item {
                pieces += usize::from(!text.is_empty());
            }
            events.push(serde_json::to_value(&item).unwrap());
        }
        let answer = answer.finish().await?;
        Ok((said(&answer, pieces, events), answer))
    }
}

fn said(answer: &CompletionResponse, pieces: usize, events: Vec<Value>) -> Said {
    let tools = answer.tool_calls().map(|call| {
        let function = &call.function;
        assert_eq!(function.invalid_arguments, None);
        (function.name.to_string(), function.arguments_value())
    });
    Said {
        text: answer.text(),
        reasoning: answer.reasoning(),
        tools: tools.collect(),
        finish: format!("{:?}", answer.finish_reason()),
        usage: (answer.usage.input_tokens, answer.usage.output_tokens),
        pieces,
        answer: serde_json::to_value(answer).unwrap(),
        events,
    }
}

impl Talks for Rig {
    async fn ask(&self, prompt: &str, stream: bool) -> Result<Said, String> {
        let turn = self.turn(request(prompt), stream).await;
        turn.map(|(said, _)| said).map_err(|error| error.to_string())
    }

    async fn use_tool(&self, stream: bool) -> Result<(Said, Said), String> {
        let parameters = json!({
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        });
        let add = ToolDefinition::new(ToolName::new("add").unwrap(), "Adds two numbers", parameters);
        let prompt = request(ADD).tool(add);
        let first = self.turn(prompt.clone(), stream).await;
        let (first, answer) = first.map_err(|error| error.to_string())?;
        let call = answer.tool_calls().next().expect("a tool call");
        let result = call.result(vec![ToolResultContent::text("3")]);
        let prompt = prompt
            .message(answer.message().expect("the message with the call"))
            .message(Message::tool_results(vec![result]));
        let second = self
            .turn(prompt, stream)
            .await
            .map_err(|error| error.to_string())?;
        Ok((first, second.0))
    }
}

/// Anthropic wants a limit.
fn request(prompt: &str) -> CompletionRequest {
    CompletionRequest::new(prompt).max_tokens(100)
}
