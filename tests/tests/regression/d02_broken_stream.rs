//! A stream that broke off is replayed as one that breaks off, with what had been delivered before.

use vcr_runtime::Mode;
use vcr_tests::rig::{InProcess, Rig, Say, ask, chat, done, stream_question, within};
use vcr_tests::upstream::{BeforeHead, Length};
use vcr_tests::{Reply, Upstream};

const HALF: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"par"}}]}

<|>data: {"choices":[{"index":0,"delta":{"content":"tial"}}]}

"#;

#[tokio::test]
async fn the_split_and_the_fault_come_back() {
    for fault in ["<RESET>", "<EOF>"] {
        for raw in ["auto", "true", "false"] {
            let upstream = Upstream::start([Reply::sse(&format!("{HALF}<|>{fault}\n"))]);
            let rig = Rig::new();
            let vcr = rig
                .builder(Mode::Record)
                .tick_ms(0.0)
                .include_raw(raw.parse().unwrap())
                .open()
                .unwrap();
            let live = within(ask(&vcr, &upstream.v1(), &stream_question("hi"))).await;
            assert!(live.whole.broken.is_some(), "{fault} was hidden from the caller");
            assert_eq!(live.text(), "partial");
            done(vcr).await;

            let call = rig.cassette().call();
            assert!(call.failed(), "{fault} counts as complete: {}", call.0);
            assert_eq!(call.text(), "partial");

            let vcr = rig.replay();
            let again = within(chat(&vcr, &stream_question("hi"))).await;
            done(vcr).await;
            assert_eq!(again.status, 200);
            assert!(
                again.whole.broken.is_some(),
                "{fault} with raw={raw} was replayed as an end in order"
            );
            assert_eq!(again.text(), "partial");
            let text = |pieces: &[Vec<u8>]| -> Vec<String> {
                pieces
                    .iter()
                    .map(|piece| String::from_utf8_lossy(piece).into_owned())
                    .collect()
            };
            assert_eq!(
                text(&again.whole.pieces).len(),
                2,
                "{fault} raw={raw}: {:#?}",
                text(&again.whole.pieces)
            );
        }
    }
}

#[tokio::test]
async fn a_large_tick_merges_frames_but_keeps_text_and_fault() {
    let upstream = Upstream::start([Reply::sse(&format!("{HALF}<RESET>\n"))]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .tick_ms(10_000.0)
        .include_raw("false".parse().unwrap())
        .open()
        .unwrap();
    ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    let vcr = rig.replay();
    let again = chat(&vcr, &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(again.text(), "partial");
    assert!(again.whole.broken.is_some());
}

#[tokio::test]
async fn a_clean_close_without_the_end_marker_is_a_cut_answer() {
    let upstream = Upstream::start([Reply::sse(HALF).length(Length::UntilClose)]);
    let rig = Rig::new();
    let vcr = rig.record();
    let live = ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    let call = rig.cassette().call();
    assert!(
        call.failed(),
        "no finish reason and no end marker, yet complete: {}",
        call.0
    );
    assert_eq!(call.boundary("kind"), "truncated");
    let vcr = rig.replay();
    let again = chat(&vcr, &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(again.answer(), live.answer());
}

#[tokio::test]
async fn a_unary_body_that_is_cut() {
    let reply = vcr_tests::sse(r#"{"choices":[{"index":0,"message":{"content":"ha<EOF>"#);
    let mut reply = Reply::stream(reply);
    reply.headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let upstream = Upstream::start([reply]);
    let rig = Rig::new();
    let vcr = rig.record();
    let live = ask(&vcr, &upstream.v1(), &vcr_tests::rig::question("hi")).await;
    assert!(live.whole.broken.is_some());
    done(vcr).await;
    assert!(rig.cassette().call().failed());
    let vcr = rig.replay();
    let again = chat(&vcr, &vcr_tests::rig::question("hi")).await;
    done(vcr).await;
    assert!(
        again.whole.broken.is_some(),
        "half a body was replayed as a whole one"
    );
}

#[tokio::test]
async fn broken_before_the_head() {
    let upstream = Upstream::start([Reply::nothing(BeforeHead::Reset)]);
    let rig = Rig::new();
    let mut outcomes = Vec::new();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        let url = format!("{}/chat/completions", vcr.base_url_for(&upstream.v1()).unwrap());
        let body = stream_question("hi").to_string();
        let headers = [("content-type", "application/json")];
        let answer = vcr_tests::http::send("POST", &url, &headers, body.as_bytes()).await;
        outcomes.push(answer.map_or(0, |answer| answer.status));
        done(vcr).await;
    }
    assert_ne!(outcomes[0], 200, "an answer was made up");
    assert_eq!(outcomes[0], outcomes[1], "replay fails in another way than live");
    assert!(rig.cassette().call().failed());
    assert_eq!(rig.cassette().call().frames().len(), 0);
}

#[tokio::test]
async fn in_process() {
    let rig = Rig::new();
    let vcr = rig.builder(Mode::Record).tick_ms(0.0).open().unwrap();
    let client = InProcess::new(
        &vcr,
        [vec![
            Say::Text("par"),
            Say::Text("tial"),
            Say::Fail("connection reset"),
        ]],
    );
    let live = client.stream("hi").await;
    assert_eq!(live.pieces, ["par", "tial"]);
    assert!(
        live.error
            .as_deref()
            .is_some_and(|error| error.contains("connection reset")),
        "{live:?}"
    );
    done(vcr).await;
    assert!(rig.cassette().call().failed());
    let vcr = rig.replay();
    let client = InProcess::new(&vcr, []);
    let again = client.stream("hi").await;
    assert_eq!(again.pieces, live.pieces);
    assert!(
        again
            .error
            .as_deref()
            .is_some_and(|error| error.contains("connection reset")),
        "{again:?}"
    );
    assert_eq!(client.count(), 0);
    done(vcr).await;
}
