//! Replays what a real model once answered: SmolLM2-135M under llama.cpp's server, over HTTP, through the gateway.
//!
//! The cassettes were recorded while such a server ran on `UPSTREAM`; nothing needs it since. To record again (one at a time,
//! because that server drops the answer it is working on when the next request comes):
//! `VCR_MODE=record cargo test -p vcr-runtime --test real_model -- --test-threads=1`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::{Value, json};
use vcr_runtime::{Vcr, vcr_test};

const UPSTREAM: &str = "http://127.0.0.1:18080/v1";

fn request(messages: &Value, stream: bool) -> Value {
    let mut request = json!({ "model": "smollm2", "messages": messages, "temperature": 0, "max_tokens": 24, "stream": stream });
    if stream {
        request["stream_options"] = json!({ "include_usage": true });
    }
    request
}

async fn post(vcr: &Vcr, body: &Value) -> reqwest::Response {
    let url = format!("{}/chat/completions", vcr.base_url_for(UPSTREAM).unwrap());
    let request = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json");
    request.body(body.to_string()).send().await.unwrap()
}

async fn complete(vcr: &Vcr, messages: &Value) -> Value {
    let response = post(vcr, &request(messages, false)).await;
    assert_eq!(response.status(), 200);
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// The events of an answer, and whether the stream ended with the protocol's mark.
async fn stream(vcr: &Vcr, messages: &Value) -> (Vec<Value>, bool) {
    let response = post(vcr, &request(messages, true)).await;
    assert_eq!(response.status(), 200);
    assert!(
        response.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/event-stream")
    );
    let body = response.text().await.unwrap();
    let mut events: Vec<&str> = body
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .collect();
    let done = events.pop() == Some("[DONE]");
    (
        events
            .into_iter()
            .map(|event| serde_json::from_str(event).unwrap())
            .collect(),
        done,
    )
}

fn text_of(events: &[Value]) -> String {
    events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect()
}

#[vcr_test(
    invoker = "real_model",
    scenario = "smollm2_unary",
    fixture_dir = "../fixtures"
)]
async fn a_unary_answer(vcr: Vcr) {
    let answer = complete(
        &vcr,
        &json!([{ "role": "user", "content": "Give me a 3-word motto." }]),
    )
    .await;
    let choice = &answer["choices"][0];
    assert_eq!(
        choice["message"]["content"],
        "The Golden Rule: \"Awaken the Lamb\""
    );
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(
        answer["usage"],
        json!({ "prompt_tokens": 39, "completion_tokens": 11, "total_tokens": 50 })
    );
}

#[vcr_test(
    invoker = "real_model",
    scenario = "smollm2_stream",
    fixture_dir = "../fixtures"
)]
async fn a_streamed_answer(vcr: Vcr) {
    let messages = json!([{ "role": "user", "content": "Name three colours." }]);
    let (events, done) = stream(&vcr, &messages).await;
    assert_eq!(
        text_of(&events),
        "1. Red: This is the most obvious colour, but it's also a bit of an oversimplification as there are"
    );
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "length");
    assert!(done);
}

#[vcr_test(
    invoker = "real_model",
    scenario = "smollm2_conversation",
    fixture_dir = "../fixtures"
)]
async fn a_conversation_of_two_turns(vcr: Vcr) {
    let mut messages = json!([
        { "role": "system", "content": "Answer in one sentence." },
        { "role": "user", "content": "What is the capital of Italy?" },
    ]);
    let first = complete(&vcr, &messages).await;
    assert_eq!(
        first["choices"][0]["message"]["content"],
        "Il Corioboleliano is the capital of Italy."
    );
    let history = messages.as_array_mut().unwrap();
    history.push(first["choices"][0]["message"].clone());
    history.push(json!({ "role": "user", "content": "And of Norway – «Norge»?" }));
    let (events, done) = stream(&vcr, &messages).await;
    assert_eq!(text_of(&events), "Norsk is the capital of Norway.");
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "stop");
    assert!(done);
}

#[vcr_test(
    invoker = "real_model",
    scenario = "smollm2_no_such_path",
    fixture_dir = "../fixtures"
)]
async fn a_path_that_the_server_does_not_have(vcr: Vcr) {
    let url = format!("{}/moderations", vcr.base_url_for(UPSTREAM).unwrap());
    let request = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json");
    let response = request.body(r#"{"model":"smollm2"}"#).send().await.unwrap();
    assert_eq!(response.status(), 404);
    assert_eq!(response.text().await.unwrap(), r#"{"detail":"Not Found"}"#);
}
