//! Binary bodies and control characters come back equal.

use vcr_runtime::Mode;
use vcr_tests::rig::{Delivered, Rig, ask, chat, done, question};
use vcr_tests::{Reply, Step, Upstream, http};

const AUDIO: &[u8] = &[0xFF, 0xFB, 0x90, 0x64, 0x00, 0x00, 0x0A, 0x0D, 0x80];

#[tokio::test]
async fn a_speech_answer() {
    let upstream = Upstream::start([Reply::new(200, "audio/mpeg", AUDIO), Reply::text("after")]);
    let rig = Rig::new();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        let url = format!("{}/audio/speech", vcr.base_url_for(&upstream.v1()).unwrap());
        let speech = Delivered::of(http::post(&url, r#"{"model":"tts","input":"hi"}"#).await).await;
        assert_eq!(speech.whole.bytes(), AUDIO, "{mode:?}");
        assert_eq!(speech.header("content-type"), Some("audio/mpeg"));
        assert_eq!(
            ask(&vcr, &upstream.v1(), &question("hi")).await.text(),
            "after",
            "{mode:?}"
        );
        done(vcr).await;
    }
    assert_eq!(upstream.count(), 2);
    assert_eq!(rig.cassette().calls().len(), 2);
    assert!(
        rig.cassette().text.contains("//uQZAAACg2A"),
        "as base64: {}",
        rig.cassette().text
    );
}

#[tokio::test]
async fn a_binary_upload_and_a_streamed_download() {
    let pieces = AUDIO.chunks(4).map(|piece| Step::Bytes(piece.to_vec())).collect();
    let mut reply = Reply::stream(pieces);
    reply.headers = vec![("content-type".to_owned(), "application/octet-stream".to_owned())];
    let upstream = Upstream::start([reply]);
    let rig = Rig::new();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        let url = format!("{}/files", vcr.base_url_for(&upstream.v1()).unwrap());
        let headers = [("content-type", "application/octet-stream")];
        let answer = http::request("PUT", &url, &headers, AUDIO).await.whole().await;
        assert_eq!(answer.bytes(), AUDIO, "{mode:?}");
        done(vcr).await;
    }
    assert_eq!(upstream.received()[0].body, AUDIO, "the upload arrives as it was");
    assert_eq!(upstream.received()[0].method, "PUT");
}

#[tokio::test]
async fn control_characters_in_text() {
    let text = "a\u{0}b\u{1b}[0mc\u{2028}d\u{7f}\u{feff}";
    for raw in ["auto", "true", "false"] {
        let upstream = Upstream::start([Reply::text(text)]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .include_raw(raw.parse().unwrap())
            .open()
            .unwrap();
        assert_eq!(ask(&vcr, &upstream.v1(), &question(text)).await.text(), text);
        done(vcr).await;
        assert_eq!(rig.cassette().call().text(), text);
        assert!(!rig.cassette().text.contains('\u{0}') && !rig.cassette().text.contains('\u{1b}'));
        let vcr = rig.replay();
        assert_eq!(chat(&vcr, &question(text)).await.text(), text, "raw={raw}");
        done(vcr).await;
    }
}

#[tokio::test]
async fn text_that_claims_to_be_json_but_is_no_utf8() {
    let body = b"{\"choices\":[{\"message\":{\"content\":\"\xFF\xFE\"}}]}".to_vec();
    let upstream = Upstream::start([Reply::new(200, "application/json", body.clone())]);
    let rig = Rig::new();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        assert_eq!(
            ask(&vcr, &upstream.v1(), &question("hi")).await.whole.bytes(),
            body,
            "{mode:?}"
        );
        done(vcr).await;
    }
}

#[tokio::test]
async fn control_characters_on_every_front() {
    let odd = "a\u{0}b\u{1b}[1mc\u{2028}d\u{feff}";
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.record();
        assert_eq!(front.ask(&vcr, odd, odd).await.good(), odd, "{front:?}");
        done(vcr).await;
        let vcr = rig.replay();
        let got = front.ask(&vcr, odd, "live").await;
        assert_eq!((got.good(), got.live), (odd, false), "{front:?}");
        done(vcr).await;
    }
}
