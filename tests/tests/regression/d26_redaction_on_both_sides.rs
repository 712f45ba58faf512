//! Redaction runs on both sides by the same function, so that a request still matches, with whatever key.

use vcr_runtime::Mode;
use vcr_tests::rig::{Rig, done};
use vcr_tests::{Reply, Upstream, http};

const ONE: &str = "sk-test-0000aBcDeFgHiJkLmNoPqRsTuVwXyZ012345";
const TWO: &str = "sk-test-1111zYxWvUtSrQpOnMlKjIhGfEdCbA543210";
const QUERY: &str = "AIzaSyA1234567890abcdefghijklmnopqrstuv";

fn body(key: &str) -> String {
    format!(
        r#"{{"api_key":"{key}","model":"m","messages":[{{"role":"user","content":"hi, my key is {key}"}}]}}"#
    )
}

#[tokio::test]
async fn another_key_matches_and_neither_is_stored() {
    let upstream = Upstream::start([Reply::text(&format!("you sent {ONE}"))]);
    let rig = Rig::new();
    for (mode, key) in [(Mode::Record, ONE), (Mode::Replay, TWO)] {
        let vcr = rig.builder(mode).open().unwrap();
        let url = format!(
            "{}/chat/completions?key={QUERY}",
            vcr.base_url_for(&upstream.v1()).unwrap()
        );
        let response = http::post(&url, &body(key)).await;
        let (status, text) = (response.status, response.text().await);
        assert_eq!(status, 200, "{mode:?}: {text}");
        done(vcr).await;
    }
    assert_eq!(upstream.count(), 1);
    let request = &upstream.received()[0];
    assert_eq!(
        request.body,
        body(ONE).as_bytes(),
        "the upstream gets the real key"
    );
    assert_eq!(request.query, format!("key={QUERY}"));
    let text = rig.cassette().text;
    for secret in [ONE, TWO, QUERY] {
        assert!(!text.contains(secret), "{secret} is in the cassette:\n{text}");
    }
}

#[tokio::test]
async fn a_miss_shows_no_key() {
    let rig = Rig::recorded([(vcr_tests::rig::question("hi"), Reply::text("ok"))]).await;
    let vcr = rig.replay();
    let url = format!(
        "{}/chat/completions?key={QUERY}",
        vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap()
    );
    let headers = [
        ("content-type", "application/json"),
        ("authorization", "Bearer abcdefghijklmnop0123456789"),
    ];
    let text = http::request("POST", &url, &headers, body(TWO).as_bytes())
        .await
        .text()
        .await;
    let verdict = vcr_tests::rig::complaint(vcr).await;
    for shown in [text, verdict.to_string(), format!("{verdict:?}")] {
        for secret in [TWO, QUERY, "abcdefghijklmnop0123456789"] {
            assert!(!shown.contains(secret), "{secret} is in:\n{shown}");
        }
    }
}

#[tokio::test]
async fn every_front_redacts_on_both_sides() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        for (mode, key) in [(Mode::Record, ONE), (Mode::Replay, TWO)] {
            let vcr = rig.builder(mode).open().unwrap();
            let request = serde_json::from_str(&body(key)).unwrap();
            let got = front.send(&vcr, &request, Ok(&format!("you sent {ONE}"))).await;
            assert!(got.good().starts_with("you sent "), "{front:?}: {got:?}");
            done(vcr).await;
        }
        let text = rig.cassette().text;
        assert!(!text.contains(ONE) && !text.contains(TWO), "{front:?}:\n{text}");
    }
}
