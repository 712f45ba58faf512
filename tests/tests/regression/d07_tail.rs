//! The facts at the end of a stream: the usage-only chunk and the finish reason.

use serde_json::json;
use vcr_runtime::Mode;
use vcr_tests::rig::{InProcess, Rig, Say, ask, chat, complaint, done, stream_question};
use vcr_tests::{Reply, Upstream};

const TAIL: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":null}],"usage":null}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":null}

data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":1,"total_tokens":13}}

data: [DONE]

"#;

fn with_usage() -> serde_json::Value {
    let mut body = stream_question("hi");
    body["stream_options"] = json!({"include_usage": true});
    body
}

#[tokio::test]
async fn usage_and_finish_reason_survive() {
    for raw in ["auto", "true", "false"] {
        let upstream = Upstream::start([Reply::sse(TAIL)]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .include_raw(raw.parse().unwrap())
            .open()
            .unwrap();
        let live = ask(&vcr, &upstream.v1(), &with_usage()).await;
        done(vcr).await;
        let call = rig.cassette().call();
        assert_eq!(call.finish(), Some("length"));
        assert_eq!(call.0["usage"]["prompt_tokens"], 12);
        assert_eq!(call.0["usage"]["completion_tokens"], 1);
        assert_eq!(call.0["usage"]["total_tokens"], 13);
        let vcr = rig.replay();
        let again = chat(&vcr, &with_usage()).await.answer();
        done(vcr).await;
        assert_eq!(again, live.answer());
        assert_eq!(
            (again.tokens(), again.finish()),
            (Some((12, 1, 13)), Some("length"))
        );
    }
}

#[tokio::test]
async fn asking_for_usage_is_another_request() {
    let upstream = Upstream::start([Reply::sse(TAIL)]);
    let rig = Rig::new();
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &with_usage()).await;
    done(vcr).await;
    let vcr = rig.replay();
    let miss = chat(&vcr, &stream_question("hi")).await.miss();
    assert!(miss.contains("stream_options"), "{miss}");
    complaint(vcr).await;
}

#[tokio::test]
async fn replay_invents_no_usage() {
    for raw in ["auto", "false"] {
        let upstream = Upstream::start([Reply::text_stream(&["o", "k"])]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .include_raw(raw.parse().unwrap())
            .open()
            .unwrap();
        ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
        done(vcr).await;
        assert!(rig.cassette().call().0["usage"].is_null());
        let vcr = rig.replay();
        let again = chat(&vcr, &stream_question("hi")).await;
        done(vcr).await;
        assert_eq!(again.answer().usage, None);
        assert!(
            !again.whole.text().contains("\"choices\":[]"),
            "a tail that nobody sent"
        );
    }
}

#[tokio::test]
async fn usage_on_every_chunk_and_in_two_places_counts_once() {
    let text = r#"data: {"choices":[{"index":0,"delta":{"content":"ok"}}],"usage":{"prompt_tokens":12,"completion_tokens":1,"total_tokens":13}}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14},"x_groq":{"id":"r","usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14}}}

data: [DONE]

"#;
    let upstream = Upstream::start([Reply::sse(text)]);
    let rig = Rig::new();
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(rig.cassette().call().0["usage"]["total_tokens"], 14);
}

#[tokio::test]
async fn in_process() {
    let script = vec![Say::Text("ok"), Say::Finish("length"), Say::Usage(12, 1)];
    let rig = Rig::new();
    let vcr = rig.record();
    let live = InProcess::new(&vcr, [script]).stream("hi").await;
    done(vcr).await;
    assert_eq!(
        (live.usage, live.finish.as_deref()),
        (Some((12, 1)), Some("length"))
    );
    let vcr = rig.replay();
    let again = InProcess::new(&vcr, []).stream("hi").await;
    done(vcr).await;
    assert_eq!(again, live);
}
