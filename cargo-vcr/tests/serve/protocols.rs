use serde_json::{Value, json};
use vcr_tests::{Reply, Upstream};

use crate::support::{Daemon, Project};

/// One request of each interface, with an answer of its provider.
fn cases() -> Vec<(&'static str, Value, Reply)> {
    let user = json!([{"role": "user", "content": "Hi"}]);
    let parts = json!([{"role": "user", "parts": [{"text": "Hi"}]}]);
    let sse = "text/event-stream";
    vec![
        (
            "/v1/chat/completions",
            json!({"model": "m", "messages": user}),
            Reply::text("Hello"),
        ),
        (
            "/v1/chat/completions",
            json!({"model": "m", "messages": user, "stream": true}),
            Reply::text_stream(&["Hel", "lo"]),
        ),
        (
            "/v1/responses",
            json!({"model": "m", "input": "Hi"}),
            Reply::json(
                &json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
                "output": [{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
                    "content": [{"type": "output_text", "text": "Hello", "annotations": []}]}],
                "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}),
            ),
        ),
        (
            "/v1/embeddings",
            json!({"model": "e", "input": "Hi"}),
            Reply::json(
                &json!({"object": "list", "model": "e", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -1.0]}],
                "usage": {"prompt_tokens": 1, "total_tokens": 1}}),
            ),
        ),
        (
            "/v1/messages",
            json!({"model": "c", "max_tokens": 9, "messages": user}),
            Reply::json(
                &json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "c",
                "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 1, "output_tokens": 1}}),
            ),
        ),
        (
            "/v1beta/models/g:generateContent",
            json!({"contents": parts}),
            Reply::json(
                &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "g"}),
            ),
        ),
        (
            "/v1beta/models/g:streamGenerateContent?alt=sse",
            json!({"contents": parts}),
            Reply::new(
                200,
                sse,
                "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hello\"}]},\"finishReason\":\"STOP\",\"index\":0}],\"modelVersion\":\"g\"}\r\n\r\n",
            ),
        ),
        (
            "/api/chat",
            json!({"model": "o", "messages": user, "stream": false}),
            Reply::json(
                &json!({"model": "o", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": "Hello"},
                "done": true, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 1}),
            ),
        ),
        (
            "/v1/moderations",
            json!({"input": "Hi"}),
            Reply::json(&json!({"id": "modr-1", "results": []})),
        ),
    ]
}

fn with(body: &Value, members: Value) -> Value {
    let mut body = body.clone();
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn every_interface_is_recorded_and_replayed() {
    for (index, (path, body, reply)) in cases().into_iter().enumerate() {
        let upstream = Upstream::start([reply]);
        let project = Project::new("");
        // The origin alone: each protocol's paths fit below it.
        let daemon = project.serve(&["--upstream", &upstream.url()]).await;
        let scenario = format!("case_{index}");
        let ask = async |mode: &str| {
            let body = with(
                &body,
                json!({"vcr": mode, "vcr_scenario": scenario, "vcr_include_raw": true}),
            );
            let answer = daemon.post(path, &body).await;
            (
                answer.status,
                answer.header("content-type").map(str::to_owned),
                answer.text().await,
            )
        };
        let live = ask("record").await;
        assert_eq!(live.0, 200, "{path}: {live:?}");
        let asked = &upstream.received()[0];
        assert_eq!(asked.json(), body, "{path}");
        assert_eq!(
            format!("{}?{}", asked.path, asked.query).trim_end_matches('?'),
            path
        );
        assert_eq!(ask("replay").await, live, "{path}");
        daemon.finish().await;
    }
}

#[tokio::test]
async fn prefixes_lead_to_the_upstreams_of_the_project() {
    let upstream = Upstream::with(|request| Reply::json(&json!({"path": request.path})));
    let url = upstream.url();
    let project = Project::new(&format!(
        "[upstreams]\nopenai = \"{url}/o\"\nanthropic = \"{url}/a\"\nmine = \"{url}/m\"\n[providers.acme]\nbase_url = \"{url}/c\"\n"
    ));
    let daemon = project.serve(&[]).await;
    for (path, expected) in [
        ("/openai/v1/chat/completions", "/o/chat/completions"),
        ("/v1/chat/completions", "/o/chat/completions"),
        ("/v1/messages", "/a/v1/messages"),
        ("/anthropic/v1/messages", "/a/v1/messages"),
        ("/up/mine/chat/completions", "/m/chat/completions"),
        ("/up/acme/chat/completions", "/c/chat/completions"),
    ] {
        let answer = daemon.post(path, &json!({"model": "m", "messages": []})).await;
        assert_eq!(answer.json().await["path"], expected, "{path}");
    }
}

#[tokio::test]
async fn refusals_come_in_the_form_of_the_callers_protocol() {
    let project = Project::new("");
    let daemon = project.serve(&[]).await;
    let member = |error: &Value, path: &[&str]| {
        path.iter()
            .fold(error.clone(), |value, name| value[*name].clone())
    };
    for (path, message) in [
        ("/v1/chat/completions", &["error", "message"][..]),
        ("/v1/messages", &["error", "message"]),
        ("/gemini/v1beta/models/g:generateContent", &["error", "message"]),
        ("/api/chat", &["error"]),
    ] {
        let body = json!({"model": "m", "messages": [], "contents": [], "max_tokens": 1, "vcr": "replay", "vcr_scenario": "none"});
        let answer = Daemon::post(&daemon, path, &body).await;
        assert_eq!(answer.status, 409, "{path}");
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        let error = answer.json().await;
        let text = member(&error, message);
        assert!(
            text.as_str().unwrap_or_default().contains("there is no cassette"),
            "{path}: {error}"
        );
        if path.starts_with("/gemini") {
            assert_eq!(error["error"]["code"], 409);
        }
    }
}
