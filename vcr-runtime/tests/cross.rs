//! A conversation that an Anthropic client recorded answers clients of other protocols, where that is asked for.
#![cfg(feature = "gateway")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};
use vcr_runtime::{ErrorKind, Failure, Mode, Protocol, Reply, Request, Vcr};

const CALL: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[
    {"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Let me see."},
    {"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Rom"}}],"stop_reason":"tool_use","stop_sequence":null,
    "usage":{"input_tokens":20,"output_tokens":10,"cache_read_input_tokens":0,"service_tier":"standard"}}"#;

const ANSWER: [&str; 7] = [
    r#"{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":30,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is "}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"warm 🌞"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}"#,
    r#"{"type":"message_stop"}"#,
];

const ERROR: &str = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#;

/// An upstream that answers one call after the other.
fn upstream(answers: Vec<(u16, &'static str, String)>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (status, content_type, body) in answers {
            let mut socket = listener.accept().unwrap().0;
            let mut seen = String::new();
            let mut buffer = [0; 4096];
            loop {
                let head = seen.to_ascii_lowercase();
                if let Some((head, body)) = head.split_once("\r\n\r\n") {
                    let length = head
                        .lines()
                        .find_map(|line| line.strip_prefix("content-length: "));
                    if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                        break;
                    }
                }
                let count = socket.read(&mut buffer).unwrap();
                seen += std::str::from_utf8(&buffer[..count]).unwrap();
            }
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} x\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\nrequest-id: r\r\nconnection: close\r\n\r\n{body}"
            );
            socket.write_all(answer.as_bytes()).unwrap();
        }
    });
    base
}

fn open(directory: &Path, mode: Mode, cross: bool) -> Vcr {
    let builder = Vcr::builder().scenario("cross").fixture_dir(directory);
    builder.mode(mode).cross(cross).open().unwrap()
}

async fn post(url: String, body: &Value) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client.post(url).body(body.to_string()).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// A question whose answer calls a tool, the stream after its result, and an error.
async fn record(directory: &Path) {
    let events = ANSWER.map(|payload| {
        let kind: Value = serde_json::from_str(payload).unwrap();
        format!("event: {}\ndata: {payload}\n\n", kind["type"].as_str().unwrap())
    });
    let base = upstream(vec![
        (200, "application/json", CALL.to_owned()),
        (200, "text/event-stream", events.concat()),
        (429, "application/json", ERROR.to_owned()),
    ]);
    let vcr = open(directory, Mode::Record, false);
    let url = format!("{}/v1/messages", vcr.base_url_for(&base).unwrap());
    let tools = json!([{"name": "weather", "description": "d", "input_schema": {"type": "object"}}]);
    let mut messages = vec![json!({"role": "user", "content": [
        {"type": "text", "text": "How is Rom?", "cache_control": {"type": "ephemeral"}}]})];
    let body = |messages: &[Value], stream: bool| {
        json!({"model": "claude-x", "max_tokens": 64, "system": "be brief", "messages": messages, "tools": tools,
            "temperature": 0.5, "stream": stream})
    };
    let (_, answer) = post(url.clone(), &body(&messages, false)).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    messages.push(json!({"role": "assistant", "content": answer["content"]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "{\"t\": 25}"}]}));
    post(url.clone(), &body(&messages, true)).await;
    post(
        url,
        &json!({"model": "claude-x", "max_tokens": 64, "messages": [{"role": "user", "content": "More"}]}),
    )
    .await;
    vcr.finish().await.unwrap();
}

fn chat(messages: &[Value], stream: bool) -> Value {
    let tools = json!([{"type": "function", "function": {"name": "weather", "description": "d", "parameters": {"type": "object"}}}]);
    json!({"model": "claude-x", "messages": messages, "tools": tools, "temperature": 0.5, "stream": stream})
}

fn question() -> Vec<Value> {
    vec![
        json!({"role": "system", "content": "be brief"}),
        json!({"role": "user", "content": "How is Rom?"}),
    ]
}

#[tokio::test]
async fn an_openai_client_is_answered_by_an_anthropic_recording() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path()).await;
    let vcr = open(directory.path(), Mode::Replay, true);
    let url = format!("{}/chat/completions", vcr.base_url(Protocol::OpenAi).unwrap());

    let mut messages = question();
    let (status, answer) = post(url.clone(), &chat(&messages, false)).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        (status, &answer["object"]),
        (200, &json!("chat.completion")),
        "{answer}"
    );
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "Let me see.");
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(
        (&call["id"], &call["function"]["name"]),
        (&json!("toolu_1"), &json!("weather"))
    );
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"city": "Rom"}));
    let counts = json!({"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30});
    assert_eq!(answer["usage"], counts);

    // As a client sends it back: without the thinking, and with the call as a member.
    messages.push(json!({"role": "assistant", "content": "Let me see.", "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": "toolu_1", "content": "{\"t\":25}"}));
    let (status, stream) = post(url.clone(), &chat(&messages, true)).await;
    assert_eq!(status, 200);
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
    let chunks: Vec<Value> = stream
        .split("\n\n")
        .filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok())
        .collect();
    let choices = || chunks.iter().filter_map(|chunk| chunk["choices"].get(0));
    let text: String = choices()
        .filter_map(|choice| choice["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "It is warm 🌞");
    let finish: Vec<&str> = choices()
        .filter_map(|choice| choice["finish_reason"].as_str())
        .collect();
    assert_eq!(finish, ["stop"]);
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["object"] == "chat.completion.chunk"),
        "{stream}"
    );

    let more = json!({"model": "claude-x", "messages": [{"role": "user", "content": "More"}]});
    let (status, error) = post(url, &more).await;
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!(
        (status, &error["error"]["message"]),
        (429, &json!("Slow down")),
        "{error}"
    );
    vcr.finish().await.unwrap();
}

#[tokio::test]
async fn so_are_completions_in_process() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path()).await;
    let vcr = open(directory.path(), Mode::Replay, true);
    let client = vcr.client(|_: Request| async { Err::<Reply, _>(Failure::new("Live", "went live")) });
    let request = |messages: &[Value]| {
        let request = Request::new("anthropic/claude-x").parameter("temperature", 0.5);
        let request = request.parameter("tools", chat(&[], false)["tools"].clone());
        messages.iter().cloned().fold(request, Request::message)
    };
    let answer = client.completion(request(&question())).await.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.tool_calls[0].id.as_str()),
        ("Let me see.", "toolu_1")
    );
    let mut messages = question();
    let function = json!({"name": "weather", "arguments": answer.tool_calls[0].function.arguments});
    messages.push(json!({"role": "assistant", "content": "Let me see.",
        "tool_calls": [{"id": "toolu_1", "type": "function", "function": function}]}));
    messages.push(json!({"role": "tool", "tool_call_id": "toolu_1", "content": "{\"t\":25}"}));
    let stream = client.completion_stream(request(&messages)).await.unwrap();
    assert_eq!(stream.collect().await.unwrap().text, "It is warm 🌞");
    let error = client
        .completion(Request::new("claude-x").user("More"))
        .await
        .unwrap_err();
    assert_eq!(error.failure().unwrap().error_type, "rate_limit_error");
    vcr.finish().await.unwrap();
}

#[tokio::test]
async fn clients_of_the_other_protocols_are_answered_in_theirs() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path()).await;
    let function = json!({"name": "weather", "description": "d", "parameters": {"type": "object"}});
    let text = |text: &str| json!([{"text": text}]);
    let gemini = json!({"systemInstruction": {"parts": text("be brief")},
        "contents": [{"role": "user", "parts": text("How is Rom?")}], "generationConfig": {"temperature": 0.5},
        "tools": [{"functionDeclarations": [function]}]});
    let ollama = json!({"model": "claude-x", "stream": false, "messages": question(), "options": {"temperature": 0.5},
        "tools": [{"type": "function", "function": function}]});
    let mut flat = function.clone();
    flat["type"] = json!("function");
    let responses = json!({"model": "claude-x", "instructions": "be brief", "input": "How is Rom?", "temperature": 0.5,
        "tools": [flat]});
    for (protocol, path, body, called) in [
        (
            Protocol::Gemini,
            "/v1beta/models/claude-x:generateContent",
            gemini,
            "/candidates/0/content/parts/2/functionCall/name",
        ),
        (
            Protocol::Ollama,
            "/api/chat",
            ollama,
            "/message/tool_calls/0/function/name",
        ),
        (Protocol::OpenAi, "/responses", responses, "/output/2/name"),
    ] {
        let vcr = open(directory.path(), Mode::Replay, true);
        let url = format!("{}{path}", vcr.base_url(protocol).unwrap());
        let (status, answer) = post(url, &body).await;
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer.pointer(called), Some(&json!("weather")), "{answer:#}");
        assert!(
            answer.to_string().contains("Let me see.") && !answer.to_string().contains("c2ln"),
            "{answer:#}"
        );
        // The other two recorded calls are left over here.
        assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Verdict);
    }
}

#[tokio::test]
async fn an_anthropic_client_is_answered_by_a_recording_of_chat_completions() {
    let directory = tempfile::tempdir().unwrap();
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"id\":\"c\",\"created\":1,\"model\":\"gpt-x\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let call = r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]}"#;
    let body = [
        chunk(r#"{"content":"Hé"}"#, "null"),
        chunk(call, "null"),
        chunk("{}", "\"tool_calls\""),
        "data: [DONE]\n\n".to_owned(),
    ];
    let base = upstream(vec![(200, "text/event-stream", body.concat())]);
    let vcr = open(directory.path(), Mode::Record, false);
    let url = format!("{}/chat/completions", vcr.base_url_for(&base).unwrap());
    post(url, &chat(&question(), true)).await;
    vcr.finish().await.unwrap();

    let vcr = open(directory.path(), Mode::Replay, true);
    let url = format!("{}/v1/messages", vcr.base_url(Protocol::Anthropic).unwrap());
    let body = json!({"model": "claude-x", "max_tokens": 9, "system": "be brief", "temperature": 0.5, "stream": true,
        "messages": [{"role": "user", "content": "How is Rom?"}],
        "tools": [{"name": "weather", "description": "d", "input_schema": {"type": "object"}}]});
    let (status, stream) = post(url, &body).await;
    assert_eq!(status, 200, "{stream}");
    let events: Vec<&str> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    assert_eq!(
        (events.first(), events.last()),
        (Some(&"message_start"), Some(&"message_stop"))
    );
    for said in [
        r#""text":"Hé""#,
        r#""id":"call_1""#,
        r#""stop_reason":"tool_use""#,
    ] {
        assert!(stream.contains(said), "{said}: {stream}");
    }
    vcr.finish().await.unwrap();
}

#[tokio::test]
async fn without_being_asked_for_it_is_a_miss() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path()).await;
    let vcr = open(directory.path(), Mode::Replay, false);
    let url = format!("{}/chat/completions", vcr.base_url(Protocol::OpenAi).unwrap());
    let (status, answer) = post(url, &chat(&question(), false)).await;
    assert_eq!(status, 409, "{answer}");
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Miss);
}

#[tokio::test]
async fn another_question_is_a_miss_that_tells_the_difference_in_one_form() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path()).await;
    let vcr = open(directory.path(), Mode::Replay, true);
    let url = format!("{}/chat/completions", vcr.base_url(Protocol::OpenAi).unwrap());
    let mut other = question();
    other[1]["content"] = json!("How is Ulm?");
    let (status, answer) = post(url.clone(), &chat(&other, false)).await;
    assert_eq!(status, 409, "{answer}");
    let error = vcr.finish().await.unwrap_err();
    assert!(
        error.message().contains("How is Ulm?") && error.message().contains("How is Rom?"),
        "{error}"
    );
    let differences = ["added:", "removed:", "changed:"];
    let lines = error.message().lines();
    assert_eq!(
        lines
            .filter(|line| differences.iter().any(|word| line.contains(word)))
            .count(),
        1,
        "{error}"
    );
}

#[tokio::test]
async fn an_answer_is_given_once() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path()).await;
    let vcr = open(directory.path(), Mode::Replay, true);
    let url = format!("{}/chat/completions", vcr.base_url(Protocol::OpenAi).unwrap());
    let first = post(url.clone(), &chat(&question(), false)).await;
    let second = post(url, &chat(&question(), false)).await;
    assert_eq!((first.0, second.0), (200, 409));
    assert!(second.1.contains("has been used"), "{}", second.1);
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Miss);
}
