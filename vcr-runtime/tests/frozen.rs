//! Frozen answers through every way in: an evaluation whose model does not move.

#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap as tests do")]

use std::path::Path;

use serde_json::{Value, json};
use vcr_runtime::{
    CallError, Delta, ErrorKind, Failure, FailureCategory, InterceptError, Mode, Reply, Request, Vcr,
    VcrBuilder, freeze, frozen_request_hash, probe_frozen, vcr_test,
};

/// A line of the file.
fn entry(request: &Value, answers: &str) -> String {
    entry_of(&frozen_request_hash(request).unwrap(), answers)
}

fn entry_of(hash: &str, answers: &str) -> String {
    format!("{{\"schema_version\":1,\"request_hash\":\"{hash}\",{answers}}}\n")
}

fn asked(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}]})
}

fn builder(directory: &Path) -> VcrBuilder {
    Vcr::builder()
        .scenario("s")
        .fixture_dir(directory)
        .mode(Mode::Replay)
        .source("frozen:answers.jsonl")
}

fn with(lines: &[String]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("answers.jsonl"), lines.concat()).unwrap();
    directory
}

async fn went_live(_: Request) -> Result<Reply, Failure> {
    Err(Failure::new("Live", "the call went live"))
}

async fn say(vcr: &Vcr, text: &str) -> Result<String, CallError> {
    Ok(vcr
        .client(went_live)
        .completion(Request::new("any/model").user(text))
        .await?
        .text)
}

#[tokio::test]
async fn whole_and_streamed_in_process() {
    let full = json!({
        "content": "Rome", "reasoning": "easy", "usage": {"prompt_tokens": 3, "completion_tokens": 1},
        "tool_calls": [{"id": "c1", "name": "f", "args": {"x": 1}}],
    });
    let failing = json!({"error": {"type": "RateLimitError", "message": "slow down", "status": 429}});
    let directory = with(&[
        entry(&asked("hi"), &format!("\"responses\":[{full},{full}]")),
        entry(&asked("fail"), &format!("\"response\":{failing}")),
    ]);
    let vcr = builder(directory.path()).open().unwrap();
    let client = vcr.client(went_live);
    let request = || Request::new("openai/gpt").user("hi");
    let whole = client.completion(request()).await.unwrap();
    let streamed = client
        .completion_stream(request())
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    for answer in [whole, streamed] {
        assert_eq!(
            (answer.text.as_str(), answer.reasoning.as_deref()),
            ("Rome", Some("easy"))
        );
        assert_eq!(answer.tool_calls[0].function.arguments, "{\"x\":1}");
        assert_eq!(answer.finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(answer.usage.unwrap().total_tokens, 4);
    }
    let error = say(&vcr, "fail").await.unwrap_err();
    assert_eq!(error.failure().unwrap().category(), FailureCategory::RateLimit);
    assert_eq!(vcr.finish().await.unwrap().replayed, 3);
}

#[tokio::test]
async fn the_authoring_loop() {
    let directory = with(&[entry_of(
        &format!("sha256:{}", "0".repeat(64)),
        "\"response\":{\"content\":\"Rome\"}",
    )]);
    let vcr = builder(directory.path()).open().unwrap();
    let CallError::Vcr(miss) = say(&vcr, "capital?").await.unwrap_err() else {
        panic!()
    };
    assert_eq!(miss.kind(), ErrorKind::Miss);
    let (_, rest) = miss.message().split_once("(request_hash: ").unwrap();
    let (hash, _) = rest.split_once(')').unwrap();
    // Swallowed or not, it fails the test.
    let error = vcr.finish().await.unwrap_err();
    assert!(error.message().contains(hash), "{error}");

    std::fs::write(
        directory.path().join("answers.jsonl"),
        entry_of(hash, "\"response\":{\"content\":\"Rome\"}"),
    )
    .unwrap();
    let vcr = builder(directory.path()).open().unwrap();
    assert_eq!(say(&vcr, "capital?").await.unwrap(), "Rome");
    vcr.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_240_equal_calls_each_gets_another_answer_or_none() {
    let answers: Vec<Value> = (0..200)
        .map(|number| json!({"content": number.to_string()}))
        .collect();
    let directory = with(&[entry(
        &asked("go"),
        &format!("\"responses\":{}", Value::from(answers)),
    )]);
    let vcr = builder(directory.path()).open().unwrap();
    let calls: Vec<_> = (0..240)
        .map(|_| {
            let vcr = vcr.clone();
            tokio::spawn(async move { say(&vcr, "go").await })
        })
        .collect();
    let (mut got, mut exhausted) = (Vec::new(), 0);
    for call in calls {
        match call.await.unwrap() {
            Ok(text) => got.push(text.parse::<u32>().unwrap()),
            Err(error) => {
                assert!(
                    error
                        .to_string()
                        .starts_with("replay sequence for this request is exhausted"),
                    "{error}"
                );
                exhausted += 1;
            }
        }
    }
    got.sort_unstable();
    assert_eq!((got, exhausted), ((0..200).collect(), 40));
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Miss);
}

#[tokio::test]
async fn an_intercepted_call_gets_the_object_as_it_is() {
    let request = json!({"question": [1, 2.50]});
    // The caller's own document is hashed as it stands.
    let directory = with(&[
        entry_of(
            "sha256:0000000000000000000000000000000000000000000000000000000000000000",
            "\"response\":{}",
        ),
        entry(
            &json!({"system": "bounded", "messages": [{"role": "user", "content": "hi"}]}),
            "\"response\":{\"anything\":[1.50]}",
        ),
    ]);
    let ask = |vcr: Vcr, request: Value| async move {
        let live = || async { Err::<Value, _>("live".to_owned()) };
        vcr.intercept(&request, live).await
    };
    let vcr = builder(directory.path()).allow_unused(true).open().unwrap();
    let bounded = json!({"model": "m", "system": "bounded", "messages": [{"content": "hi", "role": "user"}]});
    assert_eq!(
        ask(vcr.clone(), bounded).await.unwrap(),
        json!({"anything": [1.5]})
    );
    let Err(InterceptError::Vcr(miss)) = ask(vcr.clone(), request.clone()).await else {
        panic!()
    };
    let (_, rest) = miss.message().split_once("(request_hash: ").unwrap();
    let hash = rest.split_once(')').unwrap().0.to_owned();
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Miss);

    let directory = with(&[entry_of(&hash, "\"response\":{\"ok\":true}")]);
    let vcr = builder(directory.path()).open().unwrap();
    assert_eq!(ask(vcr.clone(), request).await.unwrap(), json!({"ok": true}));
    vcr.finish().await.unwrap();
}

#[tokio::test]
async fn nothing_of_a_broken_file_is_answered() {
    let good = entry(&asked("hi"), "\"response\":{\"content\":\"Rome\"}");
    let directory = with(&[good.clone(), "\n".to_owned(), good]);
    let vcr = builder(directory.path()).open().unwrap();
    let error = say(&vcr, "hi").await.unwrap_err().to_string();
    assert!(
        error.contains("line 3") && error.contains("`duplicate_entry`"),
        "{error}"
    );
    let verdict = vcr.finish().await.unwrap_err();
    assert_eq!(
        (verdict.kind(), verdict.line()),
        (ErrorKind::CassetteBroken, Some(3))
    );
    let probed = probe_frozen(directory.path(), "frozen:answers.jsonl").unwrap_err();
    assert_eq!(probed.to_string(), verdict.to_string());

    // A test that no longer calls still fails with it, and a file that is not there is no empty one.
    let vcr = builder(directory.path()).open().unwrap();
    assert_eq!(vcr.finish().await.unwrap_err().line(), Some(3));
    let vcr = builder(&directory.path().join("none")).open().unwrap();
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::CassetteMissing);
    let error = builder(directory.path())
        .source("frozen:a?max_entries=10001")
        .open()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn what_nobody_asked_for_is_named() {
    let directory = with(&[
        entry(&asked("hi"), "\"response\":{\"content\":\"a\"}"),
        entry(
            &asked("ho"),
            "\"responses\":[{\"content\":\"b\"},{\"content\":\"c\"}]",
        ),
    ]);
    let run = |allow: bool, private: bool| {
        let vcr = builder(directory.path())
            .allow_unused(allow)
            .private(private)
            .open()
            .unwrap();
        async move {
            say(&vcr, "ho").await.unwrap();
            vcr.finish().await
        }
    };
    let error = run(false, false).await.unwrap_err().to_string();
    let hash = frozen_request_hash(&asked("hi")).unwrap();
    assert!(
        error.starts_with("2 frozen responses were never asked for"),
        "{error}"
    );
    assert!(
        error.contains(&format!("line 1: {hash}\n")) && error.contains("line 2, response 2"),
        "{error}"
    );
    let error = run(false, true).await.unwrap_err().to_string();
    assert!(error.contains("line 1") && !error.contains("sha256"), "{error}");
    assert_eq!(run(true, false).await.unwrap().unused, 2);
}

#[tokio::test]
async fn every_mode_knows_the_source() {
    if std::env::var_os("CI").is_some() {
        // There `new` behaves as `replay`, and the environment is read once, before main: this is for a process without it.
        let test = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "every_mode_knows_the_source"])
            .env_remove("CI")
            .status();
        assert!(test.unwrap().success());
        return;
    }
    let directory = with(&[entry(
        &asked("frozen"),
        "\"response\":{\"content\":\"from the file\"}",
    )]);
    let live = |_: Request| async {
        Ok::<_, Failure>(Reply::from(vec![
            Delta::text("from the model"),
            Delta::finish("stop"),
        ]))
    };
    let run = |mode: Mode, text: &'static str| {
        let vcr = builder(directory.path()).mode(mode).open().unwrap();
        async move {
            let request = Request::new("m").user(text);
            let text = vcr.client(live).completion(request).await.unwrap().text;
            (text, vcr)
        }
    };
    let (text, vcr) = run(Mode::Live, "frozen").await;
    assert_eq!(text, "from the model");
    vcr.finish().await.unwrap();
    let (text, vcr) = run(Mode::Auto, "frozen").await;
    assert_eq!(text, "from the file");
    vcr.finish().await.unwrap();
    // What matches comes from the file, what misses is recorded, and both stand in the test's cassette.
    let (text, vcr) = run(Mode::New, "frozen").await;
    assert_eq!(text, "from the file");
    let other = vcr
        .client(live)
        .completion(Request::new("m").user("other"))
        .await
        .unwrap();
    assert_eq!(other.text, "from the model");
    let report = vcr.finish().await.unwrap();
    assert_eq!((report.replayed, report.recorded), (1, 1));
    let cassette = report.written[0].clone();
    // Which freezes into a file that answers both.
    let snapshot = freeze(&cassette, directory.path().join("answers.jsonl")).unwrap();
    assert_eq!(snapshot.entry_count, 2);
    assert_eq!(
        snapshot,
        probe_frozen(directory.path(), "frozen:answers.jsonl").unwrap()
    );
    let vcr = builder(directory.path()).open().unwrap();
    assert_eq!(say(&vcr, "frozen").await.unwrap(), "from the file");
    assert_eq!(say(&vcr, "other").await.unwrap(), "from the model");
    vcr.finish().await.unwrap();
}

#[cfg(feature = "gateway")]
#[tokio::test]
async fn one_entry_answers_clients_of_every_protocol() {
    use vcr_runtime::Protocol;
    let request =
        json!({"system": "terse", "max_tokens": 9, "messages": [{"role": "user", "content": "capital?"}]});
    let answer = "{\"content\":\"Rome\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}";
    let directory = with(&[entry(
        &request,
        &format!("\"responses\":[{}]", [answer; 4].join(",")),
    )]);
    let vcr = builder(directory.path()).open().unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = async |base: String, path: &str, body: Value| {
        let answer = http
            .post(base + path)
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let openai = |stream: bool| {
        json!({
            "model": "gpt", "max_tokens": 9, "stream": stream,
            "messages": [{"role": "system", "content": "terse"}, {"role": "user", "content": "capital?"}],
        })
    };
    let anthropic = |stream: bool| {
        json!({
            "model": "claude", "max_tokens": 9, "system": "terse", "stream": stream,
            "messages": [{"role": "user", "content": "capital?"}],
        })
    };
    let base = |protocol| vcr.base_url(protocol).unwrap();
    let (status, body) = post(base(Protocol::OpenAi), "/chat/completions", openai(false)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &body["choices"][0]["message"]["content"]),
        (200, &json!("Rome"))
    );
    assert_eq!(body["usage"]["total_tokens"], 4);
    let (_, body) = post(base(Protocol::OpenAi), "/chat/completions", openai(true)).await;
    assert!(
        body.starts_with("data: {") && body.contains("Rome") && body.ends_with("data: [DONE]\n\n"),
        "{body}"
    );
    let (status, body) = post(base(Protocol::Anthropic), "/v1/messages", anthropic(false)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &body["content"][0]["text"], &body["stop_reason"]),
        (200, &json!("Rome"), &json!("end_turn"))
    );
    let (_, body) = post(base(Protocol::Anthropic), "/v1/messages", anthropic(true)).await;
    assert!(
        body.contains("event: message_stop") && body.contains("Rome"),
        "{body}"
    );
    // Closed, and in a way that no client retries.
    let (status, body) = post(base(Protocol::OpenAi), "/chat/completions", openai(false)).await;
    assert_eq!(status, 409);
    assert!(
        body.contains("vcr_replay_miss") && body.contains("exhausted"),
        "{body}"
    );
    assert_eq!(vcr.finish().await.unwrap_err().kind(), ErrorKind::Miss);
}

/// The program under test: it tries once more when it is told to wait.
async fn capital(vcr: &Vcr, question: &str) -> Result<String, CallError> {
    let client = vcr.client(went_live);
    let request = Request::new("openai/gpt-4o-mini")
        .system("One word.")
        .user(question);
    match client.completion(request.clone()).await {
        Err(error) if error.failure().is_some_and(|failure| failure.status == Some(429)) => {
            Ok(client.completion(request).await?.text)
        }
        answer => Ok(answer?.text),
    }
}

#[vcr_test(
    fixture_dir = "../fixtures",
    source = "frozen:frozen_capitals.jsonl",
    allow_unused
)]
async fn under_the_attribute(vcr: Vcr) -> Result<(), CallError> {
    assert_eq!(capital(&vcr, "What is the capital of Italy?").await?, "Rome");
    Ok(())
}

/// Two tests share the file, and each begins at its beginning.
#[vcr_test(
    fixture_dir = "../fixtures",
    source = "frozen:frozen_capitals.jsonl?max_calls=3"
)]
async fn a_retry_gets_the_next_answer(vcr: Vcr) -> Result<(), CallError> {
    assert_eq!(capital(&vcr, "What is the capital of Italy?").await?, "Rome");
    assert_eq!(capital(&vcr, "And of France?").await?, "Paris");
    Ok(())
}
