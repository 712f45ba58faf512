//! async-openai over frozen answers: its requests have the hashes that anybody's would have.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use futures::StreamExt;
use serde_json::{Value, json};
use vcr_runtime::{ErrorKind, Mode, Protocol, Vcr, frozen_request_hash};

fn request(stream: bool) -> CreateChatCompletionRequest {
    let body = json!({
        "model": "gpt-4o-mini", "stream": stream,
        "messages": [{"role": "system", "content": "bounded"}, {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
    });
    serde_json::from_value(body).unwrap()
}

fn frozen() -> (tempfile::TempDir, Vcr) {
    let directory = tempfile::tempdir().unwrap();
    let asked = json!({
        "system": "bounded", "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
    });
    let answer = json!({
        "content": "Let me see.", "tool_calls": [{"id": "c1", "name": "look", "args": {"x": 1}}], "usage": {"input_tokens": 7, "output_tokens": 2},
    });
    let entry = json!({"schema_version": 1, "request_hash": frozen_request_hash(&asked).unwrap(), "responses": [answer, answer]});
    std::fs::write(directory.path().join("a.jsonl"), entry.to_string()).unwrap();
    let vcr = Vcr::builder()
        .fixture_dir(directory.path())
        .mode(Mode::Replay)
        .source("frozen:a.jsonl")
        .open()
        .unwrap();
    (directory, vcr)
}

#[tokio::test]
async fn whole_streamed_and_exhausted() {
    let (_directory, vcr) = frozen();
    let base = vcr.base_url(Protocol::OpenAi).unwrap();
    let client = Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key("test"));
    let whole = client.chat().create(request(false)).await.unwrap();
    let message = serde_json::to_value(&whole.choices[0].message).unwrap();
    assert_eq!(message["content"], "Let me see.");
    assert_eq!(
        message["tool_calls"][0]["function"],
        json!({"name": "look", "arguments": "{\"x\":1}"})
    );
    assert_eq!(whole.usage.unwrap().total_tokens, 9);

    let mut stream = client.chat().create_stream(request(true)).await.unwrap();
    let (mut text, mut reason) = (String::new(), Value::Null);
    while let Some(chunk) = stream.next().await {
        for choice in chunk.unwrap().choices {
            text += choice.delta.content.as_deref().unwrap_or_default();
            if choice.finish_reason.is_some() {
                reason = serde_json::to_value(choice.finish_reason).unwrap();
            }
        }
    }
    assert_eq!((text.as_str(), reason), ("Let me see.", json!("tool_calls")));

    let error = client
        .chat()
        .create(request(false))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("replay sequence for this request is exhausted"),
        "{error}"
    );
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Miss);
}
