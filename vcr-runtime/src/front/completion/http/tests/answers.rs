use serde_json::json;

use super::server::{events, json as whole, live, said, serve, upstream};
use crate::front::completion::http::{HttpUpstream, completion, completion_stream};
use crate::{Mode, Request, Vcr};

fn tool() -> serde_json::Value {
    json!([{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}])
}

const CHAT: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",
"message":{"role":"assistant","content":"Hé","tool_calls":[{"id":"t1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]}}],
"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;

fn chunk(delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

fn chat_stream() -> super::server::Said {
    let chunks = [
        chunk(r#"{"role":"assistant","content":"H"}"#, "null"),
        chunk(r#"{"content":"é"}"#, "null"),
        chunk(r#"{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"add","arguments":""}}]}"#, "null"),
        chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}"#, "null"),
        chunk("{}", "\"tool_calls\""),
        r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#.to_owned(),
    ];
    let mut payloads: Vec<&str> = chunks.iter().map(String::as_str).collect();
    payloads.push("[DONE]");
    events(&payloads)
}

fn check(completion: &crate::Completion) {
    assert_eq!(completion.text, "Hé");
    assert_eq!(completion.finish_reason.as_deref(), Some("tool_calls"));
    let call = &completion.tool_calls[0];
    assert_eq!((call.id.as_str(), call.function.name.as_str()), ("t1", "add"));
    assert_eq!(call.function.arguments, r#"{"a":1}"#);
    let usage = completion.usage.as_ref().unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (3, 2));
}

#[tokio::test]
async fn chat_completions_are_recorded_and_replayed_without_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let open = |mode| {
        let builder = Vcr::builder().scenario("http").fixture_dir(directory.path());
        builder.mode(mode).open().unwrap()
    };
    let request = || {
        Request::new("openai/gpt-x")
            .system("s")
            .user("hi")
            .parameter("tools", tool())
    };
    let mut server = serve(vec![Some(whole(CHAT)), Some(chat_stream())]);
    let vcr = open(Mode::Record);
    let client = vcr.client(
        upstream("openai", &format!("{}/v1/", server.base))
            .header("X-Team", "a")
            .unwrap(),
    );
    check(&client.completion(request()).await.unwrap());
    let stream = client.completion_stream(request()).await.unwrap();
    check(&stream.collect().await.unwrap());
    vcr.finish().await.unwrap();

    let first = server.seen.recv().await.unwrap();
    assert!(
        first.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{}",
        first.head
    );
    for line in [
        "authorization: Bearer the OPENAI_API_KEY",
        "x-team: a",
        "content-type: application/json",
    ] {
        assert!(first.head.contains(line), "{}", first.head);
    }
    let body: serde_json::Value = serde_json::from_str(&first.body).unwrap();
    let messages = json!([{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]);
    assert_eq!(
        body,
        json!({"model": "gpt-x", "messages": messages, "stream": false, "tools": tool()})
    );
    let second: serde_json::Value = serde_json::from_str(&server.seen.recv().await.unwrap().body).unwrap();
    assert_eq!(
        (&second["stream"], &second["stream_options"]["include_usage"]),
        (&json!(true), &json!(true))
    );

    let cassette = std::fs::read_dir(directory.path()).unwrap();
    for file in cassette {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("OPENAI_API_KEY"), "{text}");
    }
    let vcr = open(Mode::Replay);
    let replayed = vcr.scope(async {
        check(&completion(request()).await.unwrap());
        check(
            &completion_stream(request())
                .await
                .unwrap()
                .collect()
                .await
                .unwrap(),
        );
    });
    replayed.await;
    vcr.finish().await.unwrap();
}

#[tokio::test]
async fn anthropic_is_asked_in_its_own_form() {
    let body = r#"{"id":"m","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Hé"},
        {"type":"tool_use","id":"t1","name":"add","input":{"a":1}}],"stop_reason":"tool_use","stop_sequence":null,
        "usage":{"input_tokens":3,"output_tokens":2}}"#;
    let mut server = serve(vec![Some(whole(body)), Some(anthropic_stream())]);
    let client = live(upstream("anthropic", &server.base));
    let request = || {
        Request::new("anthropic/claude-x")
            .system("s")
            .user("hi")
            .parameter("tools", tool())
    };
    check(&client.completion(request()).await.unwrap());
    check(
        &client
            .completion_stream(request())
            .await
            .unwrap()
            .collect()
            .await
            .unwrap(),
    );
    let seen = server.seen.recv().await.unwrap();
    assert!(
        seen.head.starts_with("POST /v1/messages HTTP/1.1\r\n"),
        "{}",
        seen.head
    );
    assert!(seen.head.contains("x-api-key: the ANTHROPIC_API_KEY") && !seen.head.contains("authorization"));
    assert!(
        seen.head.contains("anthropic-version: 2023-06-01"),
        "{}",
        seen.head
    );
    let body: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(
        body,
        json!({"model": "claude-x", "max_tokens": 4096, "system": "s", "messages": [{"role": "user", "content": "hi"}],
            "stream": false, "tools": [{"name": "add", "input_schema": {"type": "object"}}]})
    );
}

fn anthropic_stream() -> super::server::Said {
    events(&[
        r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hé"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"add","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#,
        r#"{"type":"message_stop"}"#,
    ])
}

#[tokio::test]
async fn the_other_protocols_are_asked_in_theirs() {
    let gemini = events(&[
        r#"{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Hé"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}"#,
    ]);
    let ollama = said(
        200,
        "application/x-ndjson",
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hé\"},\"done\":false}\n{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    );
    let responses = whole(
        r#"{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hé","annotations":[]}]}]}"#,
    );
    for (provider, said, stream, path, key) in [
        (
            "gemini",
            gemini,
            true,
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            "x-goog-api-key: the GEMINI_API_KEY",
        ),
        (
            "ollama",
            ollama,
            true,
            "/api/chat",
            "authorization: Bearer the OLLAMA_API_KEY",
        ),
        (
            "openai-responses",
            responses,
            false,
            "/responses",
            "authorization: Bearer the OPENAI_API_KEY",
        ),
        (
            "groq",
            whole(CHAT),
            false,
            "/chat/completions",
            "authorization: Bearer the GROQ_API_KEY",
        ),
    ] {
        let mut server = serve(vec![Some(said)]);
        let client = live(upstream(provider, &server.base));
        let request = Request::new(format!("{provider}/m")).user("hi");
        let answer = if stream {
            client
                .completion_stream(request)
                .await
                .unwrap()
                .collect()
                .await
                .unwrap()
        } else {
            client.completion(request).await.unwrap()
        };
        assert_eq!(answer.text, "Hé", "{provider}");
        let head = server.seen.recv().await.unwrap().head;
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1")), "{head}");
        assert!(head.contains(key), "{head}");
    }
}

#[tokio::test]
async fn ollama_wants_no_key() {
    let body =
        r#"{"model":"m","message":{"role":"assistant","content":"Hé"},"done":true,"done_reason":"stop"}"#;
    let mut server = serve(vec![Some(whole(body))]);
    let upstream = HttpUpstream::new()
        .base_url("ollama", &server.base)
        .unwrap()
        .keys(|_| None);
    let answer = live(upstream)
        .completion(Request::new("ollama/m").user("hi"))
        .await
        .unwrap();
    assert_eq!(answer.text, "Hé");
    assert!(!server.seen.recv().await.unwrap().head.contains("authorization"));
}
