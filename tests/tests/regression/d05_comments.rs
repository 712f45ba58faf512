//! Keep-alive comments are neither data nor an obstacle.

use vcr_runtime::{IncludeRaw, Mode};
use vcr_tests::rig::{Rig, ask, chat, done, stream_question};
use vcr_tests::{Reply, Split, Upstream};

const COMMENTS: &str = r#": OPENROUTER PROCESSING

data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}

: ping

data: [DONE]

"#;

#[tokio::test]
async fn comments_are_no_frames_and_come_back_as_comments() {
    for split in [Split::Whole, Split::Bytes(1), Split::Random(4)] {
        let upstream = Upstream::start([Reply::sse(COMMENTS).split(split)]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .tick_ms(0.0)
            .include_raw(IncludeRaw::Always)
            .open()
            .unwrap();
        ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
        done(vcr).await;
        let call = rig.cassette().call();
        assert_eq!(call.text(), "x");
        let with_text = call.frames().iter().filter(|frame| frame["chunk"] != "").count();
        assert_eq!(with_text, 1, "{}", call.0);
        assert_eq!(call.frames().len(), 1, "a comment is no frame: {}", call.0);
        let vcr = rig.replay();
        let again = chat(&vcr, &stream_question("hi")).await;
        done(vcr).await;
        assert_eq!(again.whole.text(), COMMENTS);
    }
}

#[tokio::test]
async fn without_the_raw_layer_the_answer_is_the_same() {
    let upstream = Upstream::start([Reply::sse(COMMENTS)]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .include_raw("false".parse().unwrap())
        .open()
        .unwrap();
    let live = ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    let vcr = rig.replay();
    let again = chat(&vcr, &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(again.answer(), live.answer());
}

#[tokio::test]
async fn empty_lines_before_a_unary_body() {
    let text =
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}"#;
    let upstream = Upstream::start([Reply::json_text(200, &format!("\n\n\n{text}"))]);
    let rig = Rig::new();
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &vcr_tests::rig::question("hi")).await;
    done(vcr).await;
    assert_eq!(rig.cassette().call().text(), "x");
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &vcr_tests::rig::question("hi")).await.text(), "x");
    done(vcr).await;
}

#[tokio::test]
async fn fields_that_nobody_knows() {
    let text = "id: 7\nretry: 100\nfoo: bar\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let upstream = Upstream::start([Reply::sse(text)]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .include_raw(IncludeRaw::Always)
        .open()
        .unwrap();
    ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(rig.cassette().call().text(), "x");
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &stream_question("hi")).await.whole.text(), text);
    done(vcr).await;
}
