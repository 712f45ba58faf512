//! genai, as its users write it: only the endpoint is ours.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, StopReason, Tool, ToolCall, ToolResponse, Usage,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden};
use serde_json::{Value, json};
use vcr_clients_multi::{ADD, KEY, Said, Talks, Wire, suite};

suite!(openai, Wire::OpenAi);
suite!(openai_responses, Wire::Responses);
suite!(anthropic, Wire::Anthropic);
suite!(gemini, Wire::Gemini);
suite!(ollama, Wire::Ollama);

fn openai(base: &str) -> Genai {
    Genai::new(AdapterKind::OpenAI, format!("{base}/v1/"))
}

fn openai_responses(base: &str) -> Genai {
    Genai::new(AdapterKind::OpenAIResp, format!("{base}/v1/"))
}

fn anthropic(base: &str) -> Genai {
    Genai::new(AdapterKind::Anthropic, format!("{base}/v1/"))
}

fn gemini(base: &str) -> Genai {
    Genai::new(AdapterKind::Gemini, format!("{base}/v1beta/"))
}

fn ollama(base: &str) -> Genai {
    Genai::new(AdapterKind::Ollama, format!("{base}/"))
}

struct Genai {
    client: Client,
    model: ModelIden,
}

impl Genai {
    fn new(kind: AdapterKind, endpoint: String) -> Self {
        let provider = (Endpoint::from_owned(endpoint), AuthData::from_single(KEY));
        let client = Client::builder().append_provider_config(kind, provider);
        Self {
            client: client.build().unwrap(),
            model: ModelIden::new(kind, "m"),
        }
    }

    /// One answer, and the message that goes back with a tool's result.
    async fn turn(&self, request: ChatRequest, stream: bool) -> genai::Result<(Said, Turn)> {
        let model = self.model.clone();
        if !stream {
            let answer = self.client.exec_chat(model, request, None).await?;
            let calls: Vec<ToolCall> = answer.tool_calls().into_iter().cloned().collect();
            let said = Said {
                text: answer.texts().concat(),
                reasoning: answer.reasoning_content.clone().unwrap_or_default(),
                tools: tools(&calls),
                finish: finish(answer.stop_reason.as_ref()),
                usage: usage(Some(&answer.usage)),
                pieces: 1,
                answer: serde_json::to_value(&answer).unwrap(),
                events: Vec::new(),
            };
            let message = answer.into_assistant_message_for_tool_use();
            return Ok((said, Turn { calls, message }));
        }
        let options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true);
        let mut answer = self
            .client
            .exec_chat_stream(model, request, Some(&options))
            .await?;
        let (mut events, mut pieces, mut end) = (Vec::new(), Vec::new(), None);
        while let Some(event) = answer.stream.next().await {
            let event = event?;
            events.push(serde_json::to_value(&event).unwrap());
            match event {
                ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => pieces.push(chunk.content),
                ChatStreamEvent::End(last) => end = Some(last),
                _ => {}
            }
        }
        let end = end.expect("an end, and no empty stream");
        let calls: Vec<ToolCall> = end
            .captured_tool_calls()
            .unwrap_or_default()
            .into_iter()
            .cloned()
            .collect();
        let said = Said {
            text: pieces.concat(),
            reasoning: end.captured_reasoning_content.clone().unwrap_or_default(),
            tools: tools(&calls),
            finish: finish(end.captured_stop_reason.as_ref()),
            usage: usage(end.captured_usage.as_ref()),
            pieces: pieces.len(),
            answer: serde_json::to_value(&end).unwrap(),
            events,
        };
        let message = end.into_assistant_message_for_tool_use();
        Ok((said, Turn { calls, message }))
    }
}

struct Turn {
    calls: Vec<ToolCall>,
    message: Option<ChatMessage>,
}

impl Talks for Genai {
    async fn ask(&self, prompt: &str, stream: bool) -> Result<Said, String> {
        let turn = self.turn(ChatRequest::from_user(prompt), stream).await;
        turn.map(|(said, _)| said).map_err(|error| error.to_string())
    }

    async fn use_tool(&self, stream: bool) -> Result<(Said, Said), String> {
        let add = Tool::new("add")
            .with_description("Adds two numbers")
            .with_schema(json!({
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            }));
        let request = ChatRequest::from_user(ADD).with_tools([add]);
        let first = self.turn(request.clone(), stream).await;
        let (first, turn) = first.map_err(|error| error.to_string())?;
        let result = ToolResponse::from_tool_call(&turn.calls[0], "3");
        let request = request
            .append_message(turn.message.expect("the message with the call"))
            .append_message(result);
        let second = self
            .turn(request, stream)
            .await
            .map_err(|error| error.to_string())?;
        Ok((first, second.0))
    }
}

fn tools(calls: &[ToolCall]) -> Vec<(String, Value)> {
    calls
        .iter()
        .map(|call| (call.fn_name.clone(), call.fn_arguments.clone()))
        .collect()
}

fn finish(reason: Option<&StopReason>) -> String {
    reason.map(|reason| format!("{reason:?}")).unwrap_or_default()
}

fn usage(usage: Option<&Usage>) -> (Option<u64>, Option<u64>) {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    usage.map_or((None, None), |usage| {
        (count(usage.prompt_tokens), count(usage.completion_tokens))
    })
}
