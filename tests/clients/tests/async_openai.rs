//! async-openai, as its users write it: only the base URL is ours.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{CreateChatCompletionRequest, CreateChatCompletionResponse};
use futures::StreamExt;
use serde_json::json;
use vcr_clients::{base, record_then_replay};
use vcr_runtime::{Mode, Vcr, vcr_test};
use vcr_tests::rig::{Rig, complaint, done};
use vcr_tests::{Reply, Split, Upstream};

fn client(base: &str) -> Client<OpenAIConfig> {
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key("test"))
}

fn request(prompt: &str) -> CreateChatCompletionRequest {
    let body = json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]});
    serde_json::from_value(body).unwrap()
}

fn text(answer: &CreateChatCompletionResponse) -> String {
    answer.choices[0].message.content.clone().unwrap_or_default()
}

async fn ask(client: &Client<OpenAIConfig>, prompt: &str) -> Result<String, String> {
    let answer = client.chat().create(request(prompt)).await;
    answer
        .map(|answer| text(&answer))
        .map_err(|error| error.to_string())
}

/// A provider that answers with the prompt, in whatever order it is asked.
fn echo() -> Upstream {
    Upstream::with(|request| Reply::text(&format!("echo of {}", request.prompt())))
}

#[vcr_test(mode = live)]
async fn unary() {
    let answer = record_then_replay([Reply::text("hello")], async |base: String| {
        let answer = client(&base).chat().create(request("hi")).await.unwrap();
        (
            text(&answer),
            answer.id.clone(),
            answer.usage.map(|usage| usage.total_tokens),
        )
    });
    assert_eq!(
        answer.await,
        ("hello".to_owned(), "chatcmpl-1".to_owned(), Some(11))
    );
}

#[vcr_test(mode = live)]
async fn stream() {
    for split in [Split::Whole, Split::Bytes(1), Split::Random(5)] {
        let reply = Reply::text_stream(&["hel", "lo ", "wörld"]).split(split);
        let pieces = record_then_replay([reply], async |base: String| {
            let mut stream = client(&base).chat().create_stream(request("hi")).await.unwrap();
            let mut pieces = Vec::new();
            while let Some(chunk) = stream.next().await {
                pieces.extend(chunk.unwrap().choices[0].delta.content.clone());
            }
            pieces.concat()
        });
        assert_eq!(pieces.await, "hello wörld", "{split:?}");
    }
}

#[vcr_test(mode = live)]
async fn a_tool_call_and_its_result() {
    let asks = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}}]}}],
    });
    let answer = record_then_replay([Reply::json(&asks), Reply::text("2")], async |base: String| {
        let client = client(&base);
        let first = client.chat().create(request("add")).await.unwrap();
        let message = serde_json::to_value(&first.choices[0].message).unwrap();
        let call = &message["tool_calls"][0];
        let follow_up = json!({"model": "gpt-4o-mini", "messages": [
            {"role": "user", "content": "add"},
            {"role": "assistant", "tool_calls": message["tool_calls"]},
            {"role": "tool", "tool_call_id": call["id"], "content": "2"},
        ]});
        let second = client
            .chat()
            .create(serde_json::from_value(follow_up).unwrap())
            .await
            .unwrap();
        (call["function"]["arguments"].clone(), text(&second))
    });
    assert_eq!(answer.await, (json!("{\"a\":1}"), "2".to_owned()));
}

#[vcr_test(mode = live)]
async fn a_streamed_tool_call() {
    let text = r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;
    let arguments = record_then_replay([Reply::sse(text)], async |base: String| {
        let mut stream = client(&base).chat().create_stream(request("add")).await.unwrap();
        let (mut name, mut arguments) = (String::new(), String::new());
        while let Some(chunk) = stream.next().await {
            for call in chunk.unwrap().choices[0].delta.tool_calls.iter().flatten() {
                let function = call.function.as_ref().unwrap();
                name.push_str(function.name.as_deref().unwrap_or_default());
                arguments.push_str(function.arguments.as_deref().unwrap_or_default());
            }
        }
        (name, arguments)
    });
    assert_eq!(arguments.await, ("add".to_owned(), "{\"a\":1}".to_owned()));
}

#[vcr_test(mode = live)]
async fn an_http_error() {
    let body = r#"{"error":{"message":"no such model","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#;
    let error = record_then_replay([Reply::json_text(404, body)], async |base: String| {
        let error = client(&base).chat().create(request("hi")).await.unwrap_err();
        assert!(matches!(error, OpenAIError::ApiError(_)), "{error:?}");
        error.to_string()
    });
    assert!(error.await.contains("no such model"));
}

#[vcr_test(mode = live)]
async fn a_stream_that_breaks() {
    let text = r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"par"},"finish_reason":null}]}

<RESET>
"#;
    let seen = record_then_replay([Reply::sse(text)], async |base: String| {
        let mut stream = client(&base).chat().create_stream(request("hi")).await.unwrap();
        let first = stream.next().await.unwrap().unwrap().choices[0]
            .delta
            .content
            .clone();
        let second = stream.next().await;
        (first, second.is_some_and(|step| step.is_err()))
    });
    assert_eq!(seen.await, (Some("par".to_owned()), true));
}

#[vcr_test(mode = live)]
async fn a_miss_shows_its_message_after_one_attempt() {
    let rig = Rig::new();
    let upstream = echo();
    let vcr = rig.record();
    ask(&client(&base(&vcr, &upstream)), "recorded").await.unwrap();
    done(vcr).await;
    for stream in [false, true] {
        let vcr = rig.builder(Mode::Replay).allow_unused(true).open().unwrap();
        let client = client(&base(&vcr, &upstream));
        let error = if stream {
            match client.chat().create_stream(request("changed")).await {
                Ok(mut stream) => stream
                    .next()
                    .await
                    .expect("an error and no empty stream")
                    .unwrap_err()
                    .to_string(),
                Err(error) => error.to_string(),
            }
        } else {
            ask(&client, "changed").await.unwrap_err()
        };
        assert!(error.contains("messages[0].content"), "stream={stream}: {error}");
        // A client that tries again is a second miss, and the verdict counts them.
        let verdict = complaint(vcr).await.to_string();
        assert!(
            !verdict.contains("more had no answer"),
            "more than one attempt:\n{verdict}"
        );
    }
    assert_eq!(upstream.count(), 1);
}

#[vcr_test(mode = live)]
async fn from_spawn_join_set_and_spawn_blocking() {
    let rig = Rig::new();
    let upstream = echo();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        let client = client(&base(&vcr, &upstream));

        let own = client.clone();
        let spawned = tokio::spawn(async move { ask(&own, "spawn").await });
        assert_eq!(spawned.await.unwrap().as_deref(), Ok("echo of spawn"), "{mode:?}");

        let mut set = tokio::task::JoinSet::new();
        for number in 0..3 {
            let own = client.clone();
            set.spawn(async move { (number, ask(&own, &format!("set {number}")).await) });
        }
        for (number, answer) in set.join_all().await {
            assert_eq!(answer, Ok(format!("echo of set {number}")), "{mode:?}");
        }

        let own = client.clone();
        let blocking = tokio::task::spawn_blocking(move || {
            tokio::runtime::Handle::current().block_on(ask(&own, "blocking"))
        });
        assert_eq!(
            blocking.await.unwrap().as_deref(),
            Ok("echo of blocking"),
            "{mode:?}"
        );

        let own = client.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(ask(&own, "thread"))
        });
        let answer = tokio::task::spawn_blocking(move || thread.join().unwrap())
            .await
            .unwrap();
        assert_eq!(answer.as_deref(), Ok("echo of thread"), "{mode:?}");
        done(vcr).await;
    }
    assert_eq!(upstream.count(), 6);
}

/// The attribute alone: its session, its cassette. `parallel_one` and `parallel_two` run at the same time.
async fn parallel(vcr: &Vcr, name: &str) {
    let upstream = echo();
    let client = client(&base(vcr, &upstream));
    for step in 0..3 {
        let prompt = format!("{name} {step}");
        assert_eq!(ask(&client, &prompt).await, Ok(format!("echo of {prompt}")));
    }
    let replaying = vcr.mode() == Mode::Replay;
    assert_eq!(upstream.count(), if replaying { 0 } else { 3 });
}

#[vcr_test]
async fn parallel_one(vcr: Vcr) {
    parallel(&vcr, "one").await;
}

#[vcr_test]
async fn parallel_two(vcr: Vcr) {
    parallel(&vcr, "two").await;
}
