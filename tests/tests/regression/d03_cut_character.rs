//! A character that is cut between two transport chunks arrives whole, everywhere.

use vcr_runtime::Mode;
use vcr_tests::rig::{Rig, ask, chat, done, stream_question};
use vcr_tests::{Reply, Split, Upstream};

const TEXT: &str = "caf\u{e9} \u{1f980}";
const CUT: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"caf<C3><|><A9> <F0><9F><|><A6><80>"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#;

async fn round_trip(reply: Reply, raw: &str, tick: f64) {
    let upstream = Upstream::start([reply]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .tick_ms(tick)
        .include_raw(raw.parse().unwrap())
        .open()
        .unwrap();
    assert_eq!(
        ask(&vcr, &upstream.v1(), &stream_question("hi")).await.text(),
        TEXT
    );
    done(vcr).await;
    let cassette = rig.cassette();
    assert_eq!(cassette.call().text(), TEXT);
    assert!(!cassette.text.contains('\u{fffd}'), "{}", cassette.text);
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &stream_question("hi")).await.text(), TEXT);
    done(vcr).await;
}

#[tokio::test]
async fn cut_in_two() {
    for raw in ["auto", "true", "false"] {
        for tick in [0.0, 100.0] {
            round_trip(Reply::sse(CUT), raw, tick).await;
        }
    }
}

#[tokio::test]
async fn cut_everywhere() {
    for split in [
        Split::Bytes(1),
        Split::Bytes(2),
        Split::Bytes(3),
        Split::Random(7),
        Split::Random(8),
    ] {
        round_trip(Reply::sse(CUT).split(split), "false", 0.0).await;
    }
}

#[tokio::test]
async fn a_character_of_two_escapes_in_two_events_is_not_lost() {
    // A surrogate pair whose halves come in two events cannot be text: what matters is that nothing breaks and that the
    // caller gets in replay what it got live.
    let text = r#"data: {"choices":[{"index":0,"delta":{"content":"a\ud83e"}}]}

data: {"choices":[{"index":0,"delta":{"content":"\udd80b"},"finish_reason":"stop"}]}

data: [DONE]

"#;
    let upstream = Upstream::start([Reply::sse(text)]);
    let rig = Rig::new();
    let vcr = rig.record();
    let live = ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    let vcr = rig.replay();
    let again = chat(&vcr, &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!(again.whole.text(), live.whole.text());
}

#[tokio::test]
async fn a_cut_request() {
    let upstream = Upstream::start([Reply::text(TEXT)]);
    let rig = Rig::new();
    let vcr = rig.record();
    assert_eq!(
        ask(&vcr, &upstream.v1(), &vcr_tests::rig::question(TEXT))
            .await
            .text(),
        TEXT
    );
    done(vcr).await;
    assert_eq!(rig.cassette().call().prompt(), TEXT);
    assert!(
        rig.cassette().text.contains(TEXT),
        "characters beyond ASCII stand as they are"
    );
}
