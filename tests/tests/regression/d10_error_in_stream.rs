//! An error inside a 200 stream is an error, not an empty success.

use vcr_runtime::{IncludeRaw, Mode};
use vcr_tests::rig::{Delivered, InProcess, Rig, Say, ask, chat, done, stream_question};
use vcr_tests::{Reply, Upstream, http};

/// The aggregator's form: an error object in an ordinary chunk.
const IN_CHUNK: &str = r#"data: {"id":"gen-1","choices":[{"index":0,"delta":{"content":"Par"}}]}

data: {"id":"gen-1","choices":[],"error":{"code":502,"message":"provider limit reached"}}

data: [DONE]

"#;

/// Groq's form: a named event, and no end marker.
const NAMED: &str = r#"data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Par"}}]}

event: error
data: {"error":{"message":"provider limit reached","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}

"#;

/// OpenAI's form: a chunk that is nothing but an error.
const ALONE: &str = r#"data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Par"}}]}

data: {"error":{"message":"provider limit reached","type":"server_error","param":null,"code":null}}

"#;

#[tokio::test]
async fn it_is_recorded_as_a_fault_and_replayed_as_one() {
    for notation in [IN_CHUNK, NAMED, ALONE] {
        for raw in ["auto", "true", "false"] {
            let upstream = Upstream::start([Reply::sse(notation)]);
            let rig = Rig::new();
            let vcr = rig
                .builder(Mode::Record)
                .include_raw(raw.parse().unwrap())
                .open()
                .unwrap();
            let live = ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
            done(vcr).await;
            let call = rig.cassette().call();
            assert!(call.failed(), "taken for a success: {}", call.0);
            assert!(
                call.boundary("message").contains("provider limit reached"),
                "{}",
                call.0
            );
            assert_eq!(call.text(), "Par");
            assert!(call.0["usage"].is_null(), "an error is no usage: {}", call.0);
            let vcr = rig.replay();
            let again = chat(&vcr, &stream_question("hi")).await;
            done(vcr).await;
            assert_eq!(again.status, 200, "the head had already said so");
            let (again, live) = (again.answer(), live.answer());
            assert_eq!(again.text(), "Par");
            assert_eq!(
                again.error.unwrap()["message"],
                live.error.unwrap()["message"],
                "raw={raw}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_of_another_protocol_comes_back_to_the_byte() {
    let text = r#"event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Par"}}

event: error
data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}

"#;
    let upstream = Upstream::start([Reply::sse(text)]);
    let rig = Rig::new();
    let body = r#"{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).include_raw(IncludeRaw::Always).open().unwrap();
        let url = format!("{}/v1/messages", vcr.base_url_for(&upstream.url()).unwrap());
        assert_eq!(
            Delivered::of(http::post(&url, body).await).await.whole.text(),
            text,
            "{mode:?}"
        );
        done(vcr).await;
    }
    assert_eq!(upstream.count(), 1);
}

#[tokio::test]
async fn an_http_error_of_a_stream_request() {
    let text = r#"{"error":{"message":"no such model","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#;
    for raw in ["auto", "true", "false"] {
        let upstream = Upstream::start([Reply::json_text(404, text)]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .include_raw(raw.parse().unwrap())
            .open()
            .unwrap();
        ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
        done(vcr).await;
        let call = rig.cassette().call();
        assert!(call.failed());
        assert_eq!(
            (call.boundary("kind"), &call.0["exception_boundary"]["status"]),
            ("http", &404.into())
        );
        let vcr = rig.replay();
        let again = chat(&vcr, &stream_question("hi")).await;
        done(vcr).await;
        assert_eq!(again.status, 404);
        assert_eq!(again.header("content-type"), Some("application/json"));
        assert_eq!(
            again.answer().error,
            vcr_tests::sdk::Answer::unary(text.as_bytes()).error,
            "raw={raw}"
        );
    }
}

#[tokio::test]
async fn an_http_error_that_is_no_json() {
    let upstream = Upstream::start([Reply::new(502, "text/html", "<html>bad gateway</html>")]);
    let rig = Rig::new();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        let answer = ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
        done(vcr).await;
        assert_eq!(
            (answer.status, answer.whole.text().as_str()),
            (502, "<html>bad gateway</html>"),
            "{mode:?}"
        );
        assert_eq!(answer.header("content-type"), Some("text/html"));
    }
}

#[tokio::test]
async fn in_process() {
    let rig = Rig::new();
    let vcr = rig.record();
    let live = InProcess::new(
        &vcr,
        [vec![Say::Text("Par"), Say::Fail("provider limit reached")]],
    )
    .stream("hi")
    .await;
    done(vcr).await;
    assert!(rig.cassette().call().failed());
    let vcr = rig.replay();
    let again = InProcess::new(&vcr, []).stream("hi").await;
    done(vcr).await;
    assert_eq!((again.text(), live.text()), ("Par".to_owned(), "Par".to_owned()));
    for seen in [live, again] {
        assert!(
            seen.error
                .as_deref()
                .is_some_and(|error| error.contains("provider limit reached")),
            "{seen:?}"
        );
    }
}

#[tokio::test]
async fn in_process_a_unary_call_that_fails() {
    let rig = Rig::new();
    let vcr = rig.record();
    let live = InProcess::new(&vcr, [vec![Say::Fail("provider limit reached")]])
        .unary("hi")
        .await;
    done(vcr).await;
    let vcr = rig.replay();
    let client = InProcess::new(&vcr, []);
    let again = client.unary("hi").await;
    assert_eq!(client.count(), 0);
    done(vcr).await;
    for seen in [live, again] {
        assert!(
            seen.error
                .as_deref()
                .is_some_and(|error| error.contains("provider limit reached")),
            "{seen:?}"
        );
        assert_eq!(seen.text(), "");
    }
}
