//! CRLF and CR end a line as LF does.

use vcr_runtime::{IncludeRaw, Mode};
use vcr_tests::rig::{Rig, ask, chat, done, stream_question};
use vcr_tests::{Reply, Split, Upstream};

const CRLF: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}<CRLF>
<CRLF>
data: [DONE]<CRLF>
<CRLF>
"#;

async fn round_trip(notation: &str, split: Split) {
    let reply = Reply::sse(notation).split(split);
    let sent = reply.bytes();
    let upstream = Upstream::start([reply]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .tick_ms(0.0)
        .include_raw(IncludeRaw::Always)
        .open()
        .unwrap();
    let live = ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    assert_eq!(live.whole.bytes(), sent, "the caller gets what the upstream sent");
    done(vcr).await;
    let call = rig.cassette().call();
    assert_eq!(call.text(), "a");
    assert_eq!(call.frames().len(), 1, "{}", call.0);
    assert!(!call.failed());
    let vcr = rig.replay();
    let again = chat(&vcr, &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(
        again.whole.bytes(),
        sent,
        "the raw layer keeps the line ends of {notation:?}"
    );
}

#[tokio::test]
async fn crlf() {
    for split in [Split::Whole, Split::Bytes(1), Split::Random(3)] {
        round_trip(CRLF, split).await;
    }
}

#[tokio::test]
async fn cr_alone() {
    round_trip(&CRLF.replace("<CRLF>", "<CR>"), Split::Whole).await;
    round_trip(&CRLF.replace("<CRLF>", "<CR>"), Split::Bytes(1)).await;
}

#[tokio::test]
async fn all_three_in_one_stream() {
    round_trip(
        &CRLF.replacen("<CRLF>", "", 1).replacen("<CRLF>", "<CR>", 1),
        Split::Whole,
    )
    .await;
}

#[tokio::test]
async fn a_byte_order_mark_and_no_space_and_two_data_lines() {
    let text = "<EF><BB><BF>data:{\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata:[DONE]\n\n";
    let upstream = Upstream::start([Reply::sse(text)]);
    let rig = Rig::new();
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(rig.cassette().call().text(), "a");
    let vcr = rig.replay();
    let again = chat(&vcr, &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(again.text(), "a");
    assert!(
        !again.whole.bytes().starts_with(b"\xEF\xBB\xBF"),
        "a mark makes one well-known client panic"
    );
}

#[tokio::test]
async fn no_blank_line_at_the_end() {
    for end in ["data: [DONE]\n", "data: [DONE]"] {
        let text = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"a\"}},\"finish_reason\":\"stop\"}}]}}\n\n{end}"
        );
        let upstream = Upstream::start([Reply::sse(&text)]);
        let rig = Rig::new();
        let vcr = rig.record();
        ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
        done(vcr).await;
        let call = rig.cassette().call();
        assert_eq!(call.text(), "a");
        assert!(!call.failed(), "the end marker is there: {}", call.0);
    }
}
