//! Numbers are compared by value and kept as they were spelt.

use vcr_tests::rig::{Delivered, Rig, complaint, done};
use vcr_tests::{Reply, Upstream, http};

const RECORDED: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":9007199254740993,"temperature":1.0,"top_p":0.7}"#;

const ANSWER: &str = r#"{"id":18446744073709551615,"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"logprobs":{"content":[{"token":"ok","logprob":-1.0e-07}]},"finish_reason":"stop"}]}"#;

async fn recorded(raw: &str) -> Rig {
    let upstream = Upstream::start([Reply::json_text(200, ANSWER)]);
    let rig = Rig::new();
    let vcr = rig
        .builder(vcr_runtime::Mode::Record)
        .include_raw(raw.parse().unwrap())
        .open()
        .unwrap();
    let url = format!("{}/chat/completions", vcr.base_url_for(&upstream.v1()).unwrap());
    assert_eq!(http::post(&url, RECORDED).await.text().await, ANSWER);
    assert_eq!(
        upstream.received()[0].body,
        RECORDED.as_bytes(),
        "the request goes out as it came in"
    );
    done(vcr).await;
    rig
}

async fn replayed(rig: &Rig, body: &str) -> Delivered {
    let vcr = rig.replay();
    let url = format!(
        "{}/chat/completions",
        vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap()
    );
    let answer = Delivered::of(http::post(&url, body).await).await;
    if answer.status == 200 {
        done(vcr).await;
    } else {
        complaint(vcr).await;
    }
    answer
}

#[tokio::test]
async fn one_number_in_several_spellings() {
    let rig = recorded("auto").await;
    for (from, to) in [
        ("1.0", "1"),
        ("1.0", "1e0"),
        ("0.7", "0.70"),
        ("0.7", "7e-1"),
        ("1.0", "10.0E-1"),
    ] {
        let answer = replayed(&rig, &RECORDED.replace(from, to)).await;
        assert_eq!(answer.status, 200, "{to} for {from}: {}", answer.whole.text());
    }
}

#[tokio::test]
async fn numbers_that_differ() {
    let rig = recorded("auto").await;
    for (from, to, at) in [
        ("0.7", "0.7000001", "top_p"),
        ("9007199254740993", "9007199254740992", "seed"),
        ("9007199254740993", "9007199254740994", "seed"),
        ("1.0", "1.0000000000000002", "temperature"),
        ("1.0", "\"1.0\"", "temperature"),
    ] {
        let miss = replayed(&rig, &RECORDED.replace(from, to)).await.miss();
        assert!(miss.contains(at), "{to} is not reported at {at}:\n{miss}");
        assert!(miss.contains(to.trim_matches('"')), "{to} is not shown:\n{miss}");
    }
}

#[tokio::test]
async fn the_answer_has_its_own_digits() {
    for raw in ["auto", "true"] {
        let rig = recorded(raw).await;
        assert_eq!(replayed(&rig, RECORDED).await.whole.text(), ANSWER, "raw={raw}");
        assert!(
            rig.cassette().text.contains("-1.0e-07"),
            "{}",
            rig.cassette().text
        );
        assert!(rig.cassette().text.contains("9007199254740993"));
    }
}

#[tokio::test]
async fn numbers_are_compared_by_value_on_every_front() {
    let request = |spelling: &str| -> serde_json::Value {
        let text = RECORDED.replace("1.0,", &format!("{spelling},"));
        serde_json::from_str(&text).unwrap()
    };
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.record();
        front.send(&vcr, &request("1.0"), Ok("ok")).await;
        done(vcr).await;
        let vcr = rig.replay();
        assert_eq!(
            front.send(&vcr, &request("1"), Ok("live")).await.good(),
            "ok",
            "{front:?}"
        );
        done(vcr).await;
        for (from, to) in [("9007199254740993", "9007199254740992"), ("0.7", "0.7000001")] {
            let other: serde_json::Value = serde_json::from_str(&RECORDED.replace(from, to)).unwrap();
            let vcr = rig.replay();
            let got = front.send(&vcr, &other, Ok("live")).await;
            assert!(got.refused().contains("changed:"), "{front:?}: {got:?}");
            complaint(vcr).await;
        }
    }
}
