//! Override documents over recorded cassettes, as users write them: a refusal before a call, a hang, a cut, on every front
//! and in every protocol, while the cassette stays as it is.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod hangs;

use serde_json::{Value, json};
use vcr_runtime::{CallError, ErrorKind, FailureCategory, Matching, Mode, Request, Vcr, VcrBuilder};
use vcr_tests::http::{self, Response};
use vcr_tests::protocols::STREAMED;
use vcr_tests::rig::{
    Delivered, Front, InProcess, Rig, Say, ask, chat, complaint, done, question, stream_question, within,
};
use vcr_tests::{Reply, Upstream};

/// A refusal with its status, as providers word it.
fn slow_down() -> Value {
    json!({"kind": "throw", "message": "slow down", "code": "rate_limit_exceeded", "status": 429, "retryAfterMs": 0})
}

fn patches(patches: &Value) -> String {
    json!({"patches": patches}).to_string()
}

/// A replaying session of the rig under that document.
fn overridden(rig: &Rig, document: &str) -> Vcr {
    builder(rig, document).open().unwrap()
}

fn builder(rig: &Rig, document: &str) -> VcrBuilder {
    std::fs::write(rig.directory().join("o.json"), document).unwrap();
    rig.builder(Mode::Replay).override_file("o.json")
}

/// Three calls, one after another, each answered by the capital letter of its prompt.
async fn abc(front: Front) -> Rig {
    let rig = Rig::new();
    let vcr = rig.record();
    for prompt in ["a", "b", "c"] {
        front.ask(&vcr, prompt, &prompt.to_uppercase()).await;
    }
    done(vcr).await;
    rig
}

#[tokio::test]
async fn a_refusal_before_the_third_call_is_retried_on_every_front() {
    for front in Front::ALL {
        for matching in [Matching::Sequential, Matching::Keyed, Matching::Order] {
            let rig = abc(front).await;
            let before = std::fs::read(rig.path()).unwrap();
            let document = patches(&json!([{"before": 2, "entry": slow_down()}]));
            let vcr = builder(&rig, &document).matching(matching).open().unwrap();
            for (prompt, expected) in [
                ("a", Ok("A")),
                ("b", Ok("B")),
                ("c", Err("slow down")),
                ("c", Ok("C")),
            ] {
                let got = front.ask(&vcr, prompt, "live").await;
                assert!(!got.live);
                match (expected, &got.text) {
                    (Ok(text), Ok(got)) => assert_eq!(got, text, "{front:?} {matching}"),
                    (Err(text), Err(got)) => assert!(got.contains(text), "{front:?} {matching}: {got}"),
                    other => panic!("{front:?} {matching}: {other:?}"),
                }
            }
            let report = vcr.finish().await.unwrap();
            assert_eq!((report.replayed, report.unused), (4, 0));
            assert_eq!(
                std::fs::read(rig.path()).unwrap(),
                before,
                "the recording was touched"
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_looks_like_the_providers_own() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let document = patches(&json!([
        {"before": 0, "entry": {"kind": "throw", "message": "slow down", "code": "rate_limit_exceeded", "status": 429, "retryAfterMs": 1200}},
        {"before": 0, "entry": {"kind": "throw", "message": "who are you?", "code": "invalid_api_key"}},
    ]));
    let vcr = overridden(&rig, &document);
    let refused = chat(&vcr, &question("hi")).await;
    assert_eq!(refused.status, 429);
    assert_eq!(
        (refused.header("retry-after-ms"), refused.header("retry-after")),
        (Some("1200"), Some("2"))
    );
    assert_eq!(refused.header("content-type"), Some("application/json"));
    let error = refused.answer().error.unwrap();
    assert_eq!(
        (&error["message"], &error["code"]),
        (&json!("slow down"), &json!("rate_limit_exceeded"))
    );
    // Nothing says that status: it is the one that fits.
    assert_eq!(chat(&vcr, &question("hi")).await.status, 401);
    let answer = chat(&vcr, &question("hi")).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "ok"));
    done(vcr).await;
}

#[tokio::test]
async fn a_client_that_gives_up_is_told_what_it_left() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let document =
        patches(&json!([{"before": 0, "entry": slow_down()}, {"before": 0, "entry": slow_down()}]));
    let vcr = overridden(&rig, &document);
    assert_eq!(chat(&vcr, &question("hi")).await.status, 429);
    let error = complaint(vcr).await;
    assert_eq!(error.kind(), ErrorKind::Verdict);
    // Whose test it is depends on what runs it.
    let text = error.to_string();
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("  test ")).collect();
    let text = text.join("\n");
    let expected = format!(
        "1 recorded call was never asked for\n  cassette  {} (1 of 1 unused)\n    call 1: gpt-4o-mini, 1 message, last user \"hi\"\n  besides   1 override was never applied\n  override  {} (1 of 2 unused)\n    patch 1: throw before 0, which is call 1 of the cassette\n",
        rig.path().display(),
        rig.directory().join("o.json").display()
    );
    assert!(text.starts_with(&expected), "{text}\n---\n{expected}");
    // What was recorded may stay unused where the test says so. What the document injects may not.
    let vcr = builder(&rig, &document).allow_unused(true).open().unwrap();
    assert_eq!(chat(&vcr, &question("hi")).await.status, 429);
    let text = complaint(vcr).await.to_string();
    assert!(
        text.starts_with("1 override was never applied\n") && text.contains("\n  override  "),
        "{text}"
    );
    // Nor where no call was made at all.
    let text = complaint(builder(&rig, &document).allow_unused(true).open().unwrap())
        .await
        .to_string();
    assert!(text.starts_with("2 overrides were never applied"), "{text}");
}

#[tokio::test]
async fn a_miss_comes_before_what_it_leaves() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let document = patches(&json!([{"before": 0, "entry": slow_down()}]));
    let vcr = overridden(&rig, &document);
    let miss = chat(&vcr, &question("other")).await.miss();
    assert!(miss.contains("o.json (0 of 1 applied)"), "{miss}");
    let text = complaint(vcr).await.to_string();
    assert!(
        text.starts_with("no recorded call answers this request")
            && text.contains("1 recorded call was never asked for; 1 override was never applied"),
        "{text}"
    );
}

/// How the stream of an answer came over the wire.
fn delivered(answer: &Delivered) -> (u16, String, bool) {
    (answer.status, answer.whole.text(), answer.whole.broken.is_some())
}

#[tokio::test]
async fn a_stream_breaks_off_behind_its_first_frames_in_every_protocol() {
    for protocol in STREAMED {
        for raw in ["true", "false"] {
            let case = format!("{} raw={raw}", protocol.name);
            let (mut events, at) = protocol.events(&json!("first"));
            // A second piece of text behind the first.
            let (seconds, _) = protocol.events(&json!("second"));
            events.insert(at + 1, seconds[at].clone());
            let upstream = Upstream::start([protocol.stream_reply(events.concat())]);
            let rig = Rig::new();
            let record = rig
                .builder(Mode::Record)
                .tick_ms(0.0)
                .include_raw(raw.parse().unwrap());
            let vcr = record.open().unwrap();
            let live = within(protocol.send(&vcr, &upstream.url(), true)).await;
            done(vcr).await;
            let before = std::fs::read(rig.path()).unwrap();
            let document = patches(&json!([
                {"before": 0, "entry": {"kind": "cut", "frames": 1}},
                {"before": 0, "entry": {"kind": "throw", "frames": 1, "message": "overloaded just now", "code": "overloaded_error"}},
            ]));
            let vcr = overridden(&rig, &document);
            let cut = within(protocol.send(&vcr, &upstream.url(), true)).await;
            let (status, text, broken) = delivered(&cut);
            assert!(broken && status == 200, "{case}: {status} {text}");
            assert!(
                text.contains("first") && !text.contains("second"),
                "{case}: {text}"
            );
            assert_eq!(cut.header("content-type"), live.header("content-type"), "{case}");
            for end in [
                "[DONE]",
                "message_stop",
                "response.completed",
                "STOP",
                "\"done\":true",
            ] {
                assert!(!text.contains(end), "{case} ends by {end}: {text}");
            }
            let failed = within(protocol.send(&vcr, &upstream.url(), true)).await;
            let (status, text, broken) = delivered(&failed);
            assert!(!broken && status == 200, "{case}: {status} {text}");
            assert!(
                text.contains("first") && text.contains("overloaded just now") && !text.contains("second"),
                "{case}: {text}"
            );
            // Then comes the recording, as ever.
            let again = within(protocol.send(&vcr, &upstream.url(), true)).await;
            assert!(
                again.whole.text().contains("second") && again.whole.broken.is_none(),
                "{case}"
            );
            done(vcr).await;
            assert_eq!(upstream.count(), 1, "{case}");
            assert_eq!(std::fs::read(rig.path()).unwrap(), before, "{case}");
        }
    }
}

#[tokio::test]
async fn a_cut_before_anything_is_no_answer_at_all() {
    for body in [question("hi"), stream_question("hi")] {
        let reply = match body["stream"].is_null() {
            true => Reply::text("ok"),
            false => Reply::sse(
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n<|>data: [DONE]\n\n",
            ),
        };
        let rig = Rig::recorded([(body.clone(), reply)]).await;
        let vcr = overridden(
            &rig,
            &patches(&json!([{"before": 0, "entry": {"kind": "cut", "frames": 0}}])),
        );
        let url = vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap() + "/chat/completions";
        let text = body.to_string();
        let sent = http::send(
            "POST",
            &url,
            &[("content-type", "application/json")],
            text.as_bytes(),
        );
        let error = within(sent).await.unwrap_err();
        assert!(
            matches!(
                error.kind(),
                std::io::ErrorKind::UnexpectedEof
                    | std::io::ErrorKind::ConnectionReset
                    | std::io::ErrorKind::InvalidData
            ),
            "{error:?}"
        );
        assert_eq!(chat(&vcr, &body).await.text(), "ok");
        done(vcr).await;
    }
}

#[tokio::test]
async fn completions_in_process_see_the_cut_and_the_failure() {
    let rig = Rig::new();
    let vcr = rig.builder(Mode::Record).tick_ms(0.0).open().unwrap();
    let client = InProcess::new(
        &vcr,
        [vec![
            Say::Text("one"),
            Say::Text("two"),
            Say::Text("three"),
            Say::Finish("stop"),
        ]],
    );
    client.stream("hi").await;
    done(vcr).await;
    let document = patches(&json!([
        {"before": 0, "entry": {"kind": "cut", "frames": 2}},
        {"before": 0, "entry": {"kind": "throw", "frames": 1, "message": "try {{fromRequest:h.}} later", "code": "overloaded"}},
    ]));
    let vcr = overridden(&rig, &document);
    let client = InProcess::new(&vcr, []);
    let cut = client.stream("hi").await;
    assert_eq!(cut.pieces, ["one", "two"]);
    assert!(
        cut.error
            .as_deref()
            .is_some_and(|error| error.contains("broke off behind 2 frames")),
        "{cut:?}"
    );
    let failed = client.stream("hi").await;
    assert_eq!(
        (failed.pieces.as_slice(), failed.error.as_deref()),
        (&["one".to_owned()][..], Some("overloaded: try hi later"))
    );
    assert_eq!(client.stream("hi").await.text(), "onetwothree");
    assert_eq!(client.count(), 0);
    done(vcr).await;
}

#[tokio::test]
async fn an_answer_is_replaced_and_one_is_appended() {
    let rig = abc(Front::Gateway).await;
    let chunks = |text: &str| {
        json!({"kind": "chunks", "chunks": [
            {"type": "text-delta", "index": 0, "text": text},
            {"type": "finish", "reason": {"kind": "stop"}}]})
    };
    let document = patches(
        &json!([{"at": 1, "entry": chunks("other")}, {"at": 3, "entry": chunks("more of {{fromRequest:(d)}}")}]),
    );
    let vcr = overridden(&rig, &document);
    // Sequential: what is appended comes last.
    let early = chat(&vcr, &question("d")).await;
    assert_eq!(early.status, 409);
    for (prompt, text) in [("a", "A"), ("b", "other"), ("c", "C"), ("d", "more of d")] {
        let answer = chat(&vcr, &question(prompt)).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, text));
    }
    let text = complaint(vcr).await.to_string();
    assert!(
        text.starts_with("no recorded call answers this request") && !text.contains("never"),
        "{text}"
    );
}

#[tokio::test]
async fn a_list_needs_no_cassette() {
    for front in Front::ALL {
        let rig = Rig::new();
        let list = json!([
            slow_down(),
            {"kind": "chunks", "chunks": [{"type": "text-delta", "index": 0, "text": "ok"}, {"type": "finish", "reason": {"kind": "stop"}}]},
        ]);
        let vcr = overridden(&rig, &list.to_string());
        assert!(
            front
                .ask(&vcr, "hi", "live")
                .await
                .refused()
                .contains("slow down")
        );
        assert_eq!(front.ask(&vcr, "hi", "live").await.good(), "ok", "{front:?}");
        done(vcr).await;
        let vcr = overridden(&rig, &list.to_string());
        let text = complaint(vcr).await.to_string();
        assert!(text.contains("2 overrides were never applied"), "{text}");
        assert!(text.contains("entry 0: throw\n    entry 1: chunks"), "{text}");
    }
}

#[tokio::test]
async fn plain_calls_fail_and_hang_too() {
    let upstream = Upstream::start([Reply::json(&json!({"found": 1}))]);
    let rig = Rig::new();
    let vcr = rig.record();
    let get = |vcr: &Vcr| {
        let url = vcr.base_url_for(&upstream.url()).unwrap() + "/search?q=x";
        async move { Delivered::of(http::request("GET", &url, &[], b"").await).await }
    };
    get(&vcr).await;
    done(vcr).await;
    let document = patches(&json!([
        {"before": 0, "entry": {"kind": "throw", "message": "not today", "code": "unavailable", "status": 503}},
        {"before": 0, "entry": {"kind": "chunks", "chunks": [{"type": "text-delta", "index": 0, "text": "{\"found\":2}"}, {"type": "finish", "reason": {"kind": "stop"}}]}},
    ]));
    let vcr = overridden(&rig, &document);
    let refused = get(&vcr).await;
    assert_eq!(
        (refused.status, refused.header("content-type")),
        (503, Some("application/json"))
    );
    assert_eq!(
        refused.whole.text(),
        r#"{"error":{"message":"not today","code":"unavailable"}}"#
    );
    assert_eq!(get(&vcr).await.whole.text(), r#"{"found":2}"#);
    assert_eq!(get(&vcr).await.whole.text(), r#"{"found":1}"#);
    done(vcr).await;
    assert_eq!(upstream.count(), 1);
}

#[tokio::test]
async fn a_recording_pays_no_heed_and_keeps_what_was_recorded() {
    if !vcr_tests::ci::is_unset("a_recording_pays_no_heed_and_keeps_what_was_recorded") {
        return;
    }
    let rig = abc(Front::Completion).await;
    let document = patches(&json!([
        {"before": 0, "entry": slow_down()},
        {"at": 1, "entry": {"kind": "throw", "message": "gone", "code": "gone", "status": 410}},
    ]));
    std::fs::write(rig.directory().join("o.json"), document).unwrap();
    // In mode `new` the document holds, and the new take has what was recorded.
    let vcr = rig.builder(Mode::New).override_file("o.json").open().unwrap();
    let front = Front::Completion;
    assert!(front.ask(&vcr, "a", "live").await.refused().contains("slow down"));
    assert_eq!(front.ask(&vcr, "a", "live").await.good(), "A");
    assert!(front.ask(&vcr, "b", "live").await.refused().contains("gone"));
    assert_eq!(front.ask(&vcr, "new", "D").await.good(), "D");
    assert_eq!(vcr.finish().await.unwrap().recorded, 1);
    let calls = rig.cassette().calls();
    let said: Vec<String> = calls.iter().map(vcr_tests::rig::RecordedCall::text).collect();
    assert_eq!(said, ["A", "B", "D"]);
    assert!(calls.iter().all(|call| !call.failed()));
    let vcr = rig.builder(Mode::Record).override_file("o.json").open().unwrap();
    assert_eq!(front.ask(&vcr, "a", "again").await.good(), "again");
    let report = vcr.finish().await.unwrap();
    assert!(
        report
            .notes
            .iter()
            .any(|note| note == "the override file o.json is not applied to a recording"),
        "{report:?}"
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_document_fails_the_call_and_the_test() {
    let rig = abc(Front::Completion).await;
    for (document, kind, says) in [
        (
            "[",
            ErrorKind::CassetteBroken,
            "o.json is no JSON document: the document ends in the middle",
        ),
        (
            r#"{"patches":[{"at":0,"entry":{"kind":"throw","message":"m"}}]}"#,
            ErrorKind::CassetteBroken,
            "o.json has patch 0.entry, which has no `code`",
        ),
        (
            r#"{"patches":[{"before":3,"entry":{"kind":"hang"}}]}"#,
            ErrorKind::CassetteBroken,
            "o.json has a patch before 3, and the cassette has 3 calls",
        ),
    ] {
        let error = vcr_tests::rig::refused(builder(&rig, document)).await;
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(says), "{error}");
    }
    let error = vcr_tests::rig::refused(rig.builder(Mode::Replay).override_file("none.json")).await;
    assert_eq!(error.kind(), ErrorKind::CassetteMissing);
    let error = vcr_tests::rig::refused(rig.builder(Mode::Replay).override_file("../o.json")).await;
    assert!(
        error
            .message()
            .contains("its path is not a relative path of plain names"),
        "{error}"
    );
    // A ready file that cannot be made fails the call, at once.
    let nowhere = rig.directory().join("nowhere/ready");
    let document = patches(&json!([{"before": 0, "entry": {"kind": "hang", "readyFile": nowhere}}]));
    let vcr = overridden(&rig, &document);
    let got = within(Front::Completion.ask(&vcr, "a", "live")).await;
    let refused = got.refused();
    assert!(
        refused.contains("patch 0 of the override file") && refused.contains("there is no directory"),
        "{refused}"
    );
    assert_eq!(complaint(vcr).await.kind(), ErrorKind::Miss);
}

#[tokio::test]
async fn a_call_that_names_another_cassette_means_it_as_it_is() {
    let rig = abc(Front::Completion).await;
    let asked = |prompt: &str| {
        Request::new("openai/m")
            .user(prompt)
            .metadata("vcr_scenario", "other")
    };
    let answers = |_: Request| async { Ok(vcr_runtime::Reply::text("from elsewhere")) };
    let vcr = rig.record();
    vcr.client(answers).completion(asked("a")).await.unwrap();
    for prompt in ["a", "b", "c"] {
        Front::Completion.ask(&vcr, prompt, &prompt.to_uppercase()).await;
    }
    done(vcr).await;
    // Only one of the two has a call with that number.
    let vcr = overridden(&rig, &patches(&json!([{"at": 2, "entry": slow_down()}])));
    let elsewhere = vcr.client(answers).completion(asked("a")).await.unwrap();
    assert_eq!(elsewhere.text, "from elsewhere");
    for prompt in ["a", "b"] {
        let got = Front::Completion.ask(&vcr, prompt, "live").await;
        assert_eq!(got.good(), prompt.to_uppercase());
    }
    let got = Front::Completion.ask(&vcr, "c", "live").await;
    assert!(got.refused().contains("slow down"));
    done(vcr).await;
}

/// A program that tries again where it is told to wait, at most twice.
async fn patient(client: &vcr_runtime::Client, question: &str) -> Result<String, CallError> {
    let mut tries = 0;
    loop {
        match client.completion(Request::new("openai/m").user(question)).await {
            Err(CallError::Failed(failure))
                if failure.category() == FailureCategory::RateLimit && tries < 2 =>
            {
                tries += 1;
            }
            answer => return Ok(answer?.text),
        }
    }
}

#[vcr_runtime::vcr_test(override_file = "slow_down.json", filename = "override_retry")]
async fn under_the_attribute(vcr: Vcr) -> Result<(), CallError> {
    let went_live = |_: Request| async { Err(vcr_runtime::Failure::new("Live", "the call went live")) };
    let client = vcr.client(went_live);
    assert_eq!(patient(&client, "The capital of Italy?").await?, "Rome");
    assert_eq!(patient(&client, "The capital of Norway?").await?, "Oslo");
    Ok(())
}
