//! async-openai over a recording whose failures stand in an override document: its own retry meets the refusal, and its
//! stream the cut.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use futures::StreamExt;
use serde_json::{Value, json};
use vcr_clients::base;
use vcr_runtime::{Mode, Protocol, Vcr};
use vcr_tests::rig::{Rig, done, within};
use vcr_tests::{Reply, Upstream};

fn client(base: String) -> Client<OpenAIConfig> {
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key("test"))
}

fn request(prompt: &str) -> CreateChatCompletionRequest {
    let body = json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]});
    serde_json::from_value(body).unwrap()
}

async fn text(client: &Client<OpenAIConfig>, prompt: &str) -> Result<String, String> {
    let answer = client.chat().create(request(prompt)).await;
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(answer.choices[0].message.content.clone().unwrap_or_default())
}

/// What a stream said, and the error that ended it.
async fn streamed(client: &Client<OpenAIConfig>, prompt: &str) -> (String, Option<String>) {
    let mut stream = client.chat().create_stream(request(prompt)).await.unwrap();
    let mut said = String::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => said.extend(
                chunk
                    .choices
                    .into_iter()
                    .filter_map(|choice| choice.delta.content),
            ),
            Err(error) => return (said, Some(error.to_string())),
        }
    }
    (said, None)
}

/// Two answers, and a stream of three pieces.
async fn recorded() -> Rig {
    let rig = Rig::new();
    let upstream = Upstream::start([
        Reply::text("one"),
        Reply::text("two"),
        Reply::text_stream(&["a", "b", "c"]),
    ]);
    let vcr = rig.builder(Mode::Record).tick_ms(0.0).open().unwrap();
    let client = client(base(&vcr, &upstream));
    assert_eq!(text(&client, "first").await.unwrap(), "one");
    assert_eq!(text(&client, "second").await.unwrap(), "two");
    assert_eq!(streamed(&client, "third").await, ("abc".to_owned(), None));
    done(vcr).await;
    rig
}

fn overridden(rig: &Rig, patches: Value) -> Vcr {
    let document = json!({"patches": patches}).to_string();
    std::fs::write(rig.directory().join("o.json"), document).unwrap();
    let builder = rig.builder(Mode::Replay).override_file("o.json");
    builder.open().unwrap()
}

#[tokio::test]
async fn its_own_retry_waits_out_the_refusals() {
    let rig = recorded().await;
    let refused = json!({"kind": "throw", "message": "slow down", "code": "rate_limit_exceeded", "status": 429, "retryAfterMs": 0});
    let vcr = overridden(
        &rig,
        json!([{"before": 1, "entry": refused}, {"before": 1, "entry": refused}]),
    );
    let client = client(vcr.base_url(Protocol::OpenAi).unwrap());
    assert_eq!(text(&client, "first").await.unwrap(), "one");
    // The client asks three times, and its user once.
    assert_eq!(within(text(&client, "second")).await.unwrap(), "two");
    assert_eq!(streamed(&client, "third").await, ("abc".to_owned(), None));
    assert_eq!(vcr.finish().await.unwrap().replayed, 5);
}

#[tokio::test]
async fn what_is_no_reason_to_wait_is_an_error_at_once() {
    let rig = recorded().await;
    let refused =
        json!({"kind": "throw", "message": "who are you?", "code": "invalid_api_key", "status": 401});
    let vcr = overridden(&rig, json!([{"at": 0, "entry": refused}]));
    let client = client(vcr.base_url(Protocol::OpenAi).unwrap());
    let error = text(&client, "first").await.unwrap_err();
    assert!(error.contains("who are you?"), "{error}");
    assert_eq!(text(&client, "second").await.unwrap(), "two");
    streamed(&client, "third").await;
    done(vcr).await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error_behind_its_text() {
    let rig = recorded().await;
    let vcr = overridden(
        &rig,
        json!([{"before": 2, "entry": {"kind": "cut", "frames": 2}},
            {"before": 2, "entry": {"kind": "throw", "frames": 1, "message": "overloaded just now", "code": "overloaded"}}]),
    );
    let client = client(vcr.base_url(Protocol::OpenAi).unwrap());
    text(&client, "first").await.unwrap();
    text(&client, "second").await.unwrap();
    let (said, error) = within(streamed(&client, "third")).await;
    assert_eq!(said, "ab");
    assert!(error.is_some(), "the break went unnoticed");
    let (said, error) = within(streamed(&client, "third")).await;
    assert_eq!(said, "a");
    assert!(
        error
            .as_deref()
            .is_some_and(|error| error.contains("overloaded just now")),
        "{error:?}"
    );
    assert_eq!(streamed(&client, "third").await, ("abc".to_owned(), None));
    done(vcr).await;
}
