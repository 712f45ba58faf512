//! Session scripts through every way in: an agent with a child, whose model is the log of a recorded session.

#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap as tests do")]

use std::path::Path;

use serde_json::{Value, json};
use vcr_runtime::{
    CallError, Completion, ErrorKind, Failure, FailureCategory, Mode, Reply, Request, Vcr, vcr_test,
};

fn header(id: &str, created: u32) -> Value {
    json!({"type": "session", "version": 0, "id": id, "createdAt": created})
}

fn chunk(step: u32, chunk: &Value) -> Value {
    json!({"type": "assistant/chunk", "data": {"turn": 1, "step": step, "chunk": chunk}})
}

fn finish(step: u32, kind: &str) -> Value {
    chunk(step, &json!({"type": "finish", "reason": {"kind": kind}}))
}

fn said(step: u32, texts: &[&str]) -> Value {
    let dt = vec![0; texts.len() - 1];
    json!({"type": "text-chunks", "data": {"turn": 1, "step": step, "index": 0, "dt": dt, "texts": texts}})
}

fn write(directory: &Path, name: &str, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(directory.join(name), text).unwrap();
}

/// The parent starts a child, which echoes the goal; then it says what came of it.
fn recorded() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let usage = json!({"inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 3});
    let arguments = "{\"goal\":\"{{fromRequest:goal ([a-z]+)}}\"}";
    let parent = [
        header("parent", 10),
        chunk(
            1,
            &json!({"type": "block-start", "index": 0, "blockType": "reasoning"}),
        ),
        chunk(
            1,
            &json!({"type": "reasoning-delta", "index": 0, "text": "ask a child"}),
        ),
        chunk(
            1,
            &json!({"type": "tool-call-delta", "index": 1, "id": "t1", "name": "spawn", "argumentsDelta": arguments}),
        ),
        finish(1, "tool-calls"),
        json!({"type": "tool/result", "data": {"any": "thing"}}),
        said(2, &["the child ", "is ", "done"]),
        chunk(2, &json!({"type": "usage", "usage": usage})),
        finish(2, "stop"),
    ];
    write(directory.path(), "parent.jsonl", &parent);
    let child = [
        header("child", 20),
        said(1, &["I am ", "{{session:2}}"]),
        finish(1, "stop"),
    ];
    write(directory.path(), "child.jsonl", &child);
    directory
}

/// `source` has the other files behind its path: `session:p.jsonl?child=c.jsonl&override=o.json&pace_ms=5`.
fn open(directory: &Path, source: &str) -> Vcr {
    let (source, files) = source.split_once('?').unwrap_or((source, ""));
    let mut builder = Vcr::builder()
        .scenario("s")
        .fixture_dir(directory)
        .mode(Mode::Replay);
    let mut path = source.to_owned();
    for file in files.split('&').filter(|file| !file.is_empty()) {
        builder = match file.split_once('=').unwrap() {
            ("child", file) => builder.child_files([file]),
            ("override", file) => builder.override_file(file),
            (option, value) => {
                path = format!("{path}?{option}={value}");
                builder
            }
        };
    }
    builder.source(path).open().unwrap()
}

async fn went_live(_: Request) -> Result<Reply, Failure> {
    Err(Failure::new("Live", "the call went live"))
}

async fn ask(vcr: &Vcr, session: &str, text: &str) -> Result<Completion, CallError> {
    let request = Request::new("any/model")
        .user(text)
        .metadata("vcr_session", session);
    vcr.client(went_live).completion(request).await
}

/// The same agent as an example of what a program does: a retry where the model refuses once.
async fn agent(vcr: &Vcr) -> Result<Vec<String>, CallError> {
    let mut log = Vec::new();
    let plan = match ask(vcr, "main", "your goal shine").await {
        Err(CallError::Failed(failure)) if failure.category() == FailureCategory::RateLimit => {
            log.push(failure.message.clone());
            ask(vcr, "main", "your goal shine").await?
        }
        other => other?,
    };
    log.push(plan.tool_calls[0].function.arguments.clone());
    log.push(ask(vcr, "kid", "shine").await?.text);
    let end = ask(vcr, "main", "the child returned").await?;
    log.push(end.text.clone());
    log.push(format!(
        "{:?}",
        end.usage
            .map(|usage| (usage.prompt_tokens, usage.completion_tokens))
    ));
    Ok(log)
}

#[tokio::test]
async fn an_agent_and_its_child_say_what_was_recorded() {
    let directory = recorded();
    for _ in 0..100 {
        let vcr = open(directory.path(), "session:parent.jsonl?child=child.jsonl");
        let log = agent(&vcr).await.unwrap();
        assert_eq!(
            log,
            [
                "{\"goal\":\"shine\"}",
                "I am kid",
                "the child is done",
                "Some((8, 2))"
            ]
        );
        assert_eq!(vcr.finish().await.unwrap().replayed, 3);
    }
}

#[tokio::test]
async fn an_injected_failure_is_retried() {
    let directory = recorded();
    let refused = json!({"kind": "throw", "chunks": [], "message": "slow down", "code": "rate_limit"});
    let plan = json!({"kind": "chunks", "chunks": [
        {"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "t", "name": "spawn", "arguments": "{}"}},
        {"type": "finish", "reason": {"kind": "tool-calls"}},
    ]});
    let end = json!({"kind": "chunks", "chunks": [
        {"type": "text-delta", "index": 0, "text": "end"},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]});
    let patches =
        json!({"patches": [{"at": 0, "entry": refused}, {"at": 1, "entry": plan}, {"at": 2, "entry": end}]});
    std::fs::write(directory.path().join("o.json"), patches.to_string()).unwrap();
    let vcr = open(
        directory.path(),
        "session:parent.jsonl?child=child.jsonl&override=o.json",
    );
    assert_eq!(
        agent(&vcr).await.unwrap(),
        ["slow down", "{}", "I am kid", "end", "None"]
    );
    assert_eq!(vcr.finish().await.unwrap().replayed, 4);
}

#[tokio::test]
async fn what_was_not_asked_for_fails_the_test() {
    let directory = recorded();
    let vcr = open(directory.path(), "session:parent.jsonl?child=child.jsonl");
    ask(&vcr, "main", "goal x").await.unwrap();
    let error = vcr.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Verdict);
    let text = error.to_string();
    for part in [
        "2 scripted calls were never asked for",
        "parent.jsonl (2 of 3 unused, 1 of 2 scripts never bound)",
        "parent.jsonl, 1 of 2 calls taken: by the session `main`",
        "child.jsonl, 0 of 1 call taken: no live session was bound to it",
        "give each a session key",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn what_is_left_can_be_asked_for_in_the_midst() {
    let directory = recorded();
    let children: String = (0..12).map(|number| format!("&child={number}.jsonl")).collect();
    for number in 0..12 {
        let lines = [header("extra", 30 + number), said(1, &["a"]), finish(1, "stop")];
        write(directory.path(), &format!("{number}.jsonl"), &lines);
    }
    let vcr = open(
        directory.path(),
        &format!("session:parent.jsonl?child=child.jsonl{children}"),
    );
    let nothing = vcr.assert_consumed().unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::Verdict);
    let text = nothing.message();
    assert!(
        text.starts_with("15 scripted calls were never asked for\n"),
        "{text}"
    );
    assert!(
        text.contains("parent.jsonl (15 of 15 unused, 14 of 14 scripts never bound)"),
        "{text}"
    );
    for number in 0..12 {
        let line = format!("\n    {number}.jsonl, 0 of 1 call taken: no live session was bound to it");
        assert!(text.contains(&line), "{line}: {text}");
    }
    ask(&vcr, "main", "goal x").await.unwrap();
    let text = vcr.assert_consumed().unwrap_err().to_string();
    assert!(
        text.contains("\n    parent.jsonl, 1 of 2 calls taken: by the session `main`\n"),
        "{text}"
    );
    // Asking changes nothing: the session goes on, and its end asks again.
    ask(&vcr, "main", "goal x").await.unwrap();
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Verdict);
    let vcr = open(directory.path(), "session:parent.jsonl?child=child.jsonl");
    agent(&vcr).await.unwrap();
    vcr.assert_consumed().unwrap();
    let vcr = open(directory.path(), "session:none.jsonl");
    assert_eq!(
        vcr.assert_consumed().unwrap_err().kind(),
        ErrorKind::CassetteMissing
    );
}

#[tokio::test]
async fn a_session_that_is_disposed_of_asks_for_nothing_more() {
    let directory = recorded();
    let vcr = open(directory.path(), "session:parent.jsonl?child=child.jsonl");
    ask(&vcr, "main", "goal x").await.unwrap();
    let report = vcr.clone().dispose().await.unwrap();
    assert_eq!((report.replayed, report.unused), (1, 2));
    let late = ask(&vcr, "main", "x").await.unwrap_err().to_string();
    assert!(
        late.contains("was disposed of; dispose of it once the last call has been made"),
        "{late}"
    );
    // A miss stays one.
    let vcr = open(directory.path(), "session:parent.jsonl");
    ask(&vcr, "main", "goal x").await.unwrap();
    ask(&vcr, "kid", "x").await.unwrap_err();
    assert_eq!(vcr.dispose().await.unwrap_err().kind(), ErrorKind::Miss);
}

#[vcr_test(
    source = "session:parent.jsonl",
    child_files = ["child.jsonl"],
    fixture_dir = "tests/fixtures/scripts"
)]
async fn disposed_of_under_the_attribute(vcr: Vcr) -> vcr_runtime::Result<()> {
    ask(&vcr, "main", "hello").await.unwrap();
    assert_eq!(vcr.assert_consumed().unwrap_err().kind(), ErrorKind::Verdict);
    vcr.dispose().await.map(drop)
}

#[tokio::test]
async fn an_error_of_a_file_fails_the_call_and_the_test() {
    let directory = recorded();
    write(
        directory.path(),
        "parent.jsonl",
        &[header("p", 1), said(1, &["a"])],
    );
    let vcr = open(directory.path(), "session:parent.jsonl");
    let error = ask(&vcr, "main", "x").await.unwrap_err().to_string();
    assert!(
        error.contains("line 2 begins the call of turn 1 step 1, which has no `finish`"),
        "{error}"
    );
    let verdict = vcr.finish().await.unwrap_err();
    assert_eq!(
        (verdict.kind(), verdict.line()),
        (ErrorKind::CassetteBroken, Some(2))
    );
}

/// Waits as a driver from outside would, until the file is there.
async fn until_made(path: &Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}

fn hanging(times: usize) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let ready = directory.path().join("ready");
    let hang = json!({"kind": "hang", "readyFile": ready});
    let entries = vec![hang; times];
    std::fs::write(directory.path().join("o.json"), json!(entries).to_string()).unwrap();
    (directory, ready)
}

#[tokio::test]
async fn a_hang_waits_for_its_caller_to_leave() {
    let (directory, ready) = hanging(2);
    let vcr = open(directory.path(), "session:none.jsonl?override=o.json");
    let client = vcr.client(went_live);
    let mut stream = client
        .completion_stream(Request::new("m").user("x"))
        .await
        .unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().chunk, "partial");
    assert!(!ready.exists(), "it is made once the text has been read");
    let call = tokio::spawn(async move { stream.next().await });
    until_made(&ready).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    std::fs::remove_file(&ready).unwrap();
    let whole = tokio::spawn(async move { client.completion(Request::new("m").user("x")).await });
    until_made(&ready).await;
    whole.abort();
    assert!(whole.await.unwrap_err().is_cancelled());
    vcr.finish().await.unwrap();
}

/// A hang whose ready file is a directory, so that it cannot be made although its own directory is there.
fn never_ready() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let taken = directory.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    let entries = json!([{"kind": "hang", "readyFile": taken}]);
    std::fs::write(directory.path().join("o.json"), entries.to_string()).unwrap();
    directory
}

/// The test fails by the ready file, whatever the program made of it.
async fn fails_by_its_ready_file(vcr: Vcr) {
    let error = vcr.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(
        error.message().starts_with("failed to make the ready file "),
        "{error}"
    );
    assert!(
        error.path().is_some_and(|path| path.ends_with("taken")),
        "{error}"
    );
    assert!(!error.advice().is_empty());
}

#[tokio::test]
async fn a_ready_file_that_cannot_be_made_fails_the_call_and_the_test() {
    let directory = never_ready();
    let request = || Request::new("m").user("x");
    let vcr = open(directory.path(), "session:none.jsonl?override=o.json");
    let whole = vcr.client(went_live).completion(request()).await;
    assert!(whole.unwrap_err().to_string().contains("the ready file"));
    fails_by_its_ready_file(vcr).await;
    let vcr = open(directory.path(), "session:none.jsonl?override=o.json");
    let mut stream = vcr.client(went_live).completion_stream(request()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().chunk, "partial");
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(error.to_string().contains("the ready file"), "{error}");
    fails_by_its_ready_file(vcr).await;
}

#[tokio::test(start_paused = true)]
async fn a_pace_is_kept_at_full_speed() {
    let directory = recorded();
    let start = tokio::time::Instant::now();
    write(
        directory.path(),
        "paced.jsonl",
        &[header("p", 1), said(1, &["a", "b"]), finish(1, "stop")],
    );
    let vcr = open(directory.path(), "session:paced.jsonl?pace_ms=20");
    let request = Request::new("m").user("x");
    let mut stream = vcr.client(went_live).completion_stream(request).await.unwrap();
    let mut at = Vec::new();
    while let Some(frame) = stream.next().await {
        at.push((frame.unwrap().chunk, start.elapsed().as_millis()));
    }
    let expected = [("a", 20), ("b", 40), ("", 60)].map(|(text, at)| (text.to_owned(), at));
    assert_eq!(at, expected);
    vcr.finish().await.unwrap();
}

#[vcr_test(
    source = "session:parent.jsonl",
    child_files = ["child.jsonl"],
    fixture_dir = "tests/fixtures/scripts"
)]
async fn under_the_attribute(vcr: Vcr) -> Result<(), CallError> {
    let text = ask(&vcr, "main", "hello").await?.text;
    assert_eq!(
        (text.as_str(), ask(&vcr, "kid", "hello").await?.text.as_str()),
        ("Hello.", "Child here.")
    );
    Ok(())
}

#[cfg(feature = "gateway")]
mod gateway {
    use super::*;
    use vcr_runtime::Protocol;

    fn http() -> reqwest::Client {
        reqwest::Client::builder().no_proxy().build().unwrap()
    }

    fn post(vcr: &Vcr, session: &str, stream: bool) -> reqwest::RequestBuilder {
        let body =
            json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "goal x"}]});
        http()
            .post(vcr.base_url(Protocol::OpenAi).unwrap() + "/chat/completions")
            .header("x-vcr-session", session)
            .body(body.to_string())
    }

    #[tokio::test]
    async fn clients_of_two_protocols_are_an_agent_and_its_child() {
        let directory = recorded();
        let vcr = open(directory.path(), "session:parent.jsonl?child=child.jsonl");
        let plan: Value = serde_json::from_str(
            &post(&vcr, "main", false)
                .send()
                .await
                .unwrap()
                .text()
                .await
                .unwrap(),
        )
        .unwrap();
        let call = &plan["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!(
            (&call["name"], &call["arguments"]),
            (&json!("spawn"), &json!("{\"goal\":\"x\"}"))
        );
        let body = json!({"model": "c", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "x"}]});
        let child = http()
            .post(vcr.base_url(Protocol::Anthropic).unwrap() + "/v1/messages")
            .header("x-vcr-session", "kid")
            .body(body.to_string());
        let child = child.send().await.unwrap().text().await.unwrap();
        assert!(
            child.contains("I am ") && child.contains("event: message_stop"),
            "{child}"
        );
        let end = post(&vcr, "main", true)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        assert!(
            end.contains("\"is \"") && end.ends_with("data: [DONE]\n\n"),
            "{end}"
        );
        let over = post(&vcr, "third", false).send().await.unwrap();
        let status = over.status().as_u16();
        let text = over.text().await.unwrap();
        assert!(
            status == 409
                && text.contains("a call came from live session 3, and only 2 sessions were recorded"),
            "{text}"
        );
        assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Miss);
    }

    #[tokio::test]
    async fn a_throw_is_a_status_or_the_end_of_a_stream() {
        let directory = tempfile::tempdir().unwrap();
        let text = json!({"type": "text-delta", "index": 0, "text": "so far"});
        let entries = json!([
            {"kind": "throw", "chunks": [], "message": "no key", "code": "unauthorized"},
            {"kind": "throw", "chunks": [text], "message": "it broke", "code": "overloaded"},
            {"kind": "throw", "chunks": [], "message": "it broke at once", "code": "overloaded", "accepted": true},
        ]);
        std::fs::write(directory.path().join("o.json"), entries.to_string()).unwrap();
        let vcr = open(directory.path(), "session:none.jsonl?override=o.json");
        let refused = post(&vcr, "a", true).send().await.unwrap();
        assert_eq!(refused.status().as_u16(), 401);
        // An error status has a body that clients read, also where they asked for a stream.
        assert_eq!(refused.headers()["content-type"], "application/json");
        let text = refused.text().await.unwrap();
        let body: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(body["error"]["message"], "no key");
        let broken = post(&vcr, "a", true).send().await.unwrap();
        assert_eq!(broken.status().as_u16(), 200);
        let text = broken.text().await.unwrap();
        assert!(
            text.contains("so far") && text.contains("it broke") && !text.contains("[DONE]"),
            "{text}"
        );
        let accepted = post(&vcr, "a", true).send().await.unwrap();
        assert_eq!(accepted.status().as_u16(), 200);
        let text = accepted.text().await.unwrap();
        assert!(
            text.contains("it broke at once") && !text.contains("[DONE]"),
            "{text}"
        );
        vcr.finish().await.unwrap();
    }

    #[tokio::test]
    async fn a_ready_file_that_cannot_be_made_is_told_and_fails_the_test() {
        let directory = never_ready();
        let vcr = open(directory.path(), "session:none.jsonl?override=o.json");
        let whole = post(&vcr, "a", false).send().await.unwrap();
        assert_eq!(whole.status().as_u16(), 409);
        let text = whole.text().await.unwrap();
        assert!(text.contains("failed to make the ready file"), "{text}");
        fails_by_its_ready_file(vcr).await;
        let vcr = open(directory.path(), "session:none.jsonl?override=o.json");
        let streamed = post(&vcr, "a", true).send().await.unwrap();
        assert_eq!(streamed.status().as_u16(), 200);
        // The head has left, so all that remains is to break off.
        assert!(streamed.text().await.is_err());
        fails_by_its_ready_file(vcr).await;
    }

    #[tokio::test]
    async fn a_hang_ends_with_its_client() {
        let (directory, ready) = hanging(2);
        let vcr = open(directory.path(), "session:none.jsonl?override=o.json");
        let mut answer = post(&vcr, "a", true).send().await.unwrap();
        let mut text = String::new();
        while !text.contains("partial") {
            text.push_str(&String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap()));
        }
        until_made(&ready).await;
        let rest = tokio::spawn(async move { answer.chunk().await });
        rest.abort();
        assert!(rest.await.unwrap_err().is_cancelled());
        std::fs::remove_file(&ready).unwrap();
        let whole = tokio::spawn(post(&vcr, "a", false).send());
        until_made(&ready).await;
        whole.abort();
        assert!(whole.await.unwrap_err().is_cancelled());
        vcr.finish().await.unwrap();
    }
}
