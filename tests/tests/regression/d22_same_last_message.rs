//! Calls that share their last message but not their model or system prompt are different calls.

use serde_json::{Value, json};
use vcr_runtime::{Matching, Mode};
use vcr_tests::Reply;
use vcr_tests::rig::{Rig, chat, done};

fn requests() -> [(Value, &'static str); 3] {
    let user = json!({"role": "user", "content": "Summarise"});
    let system = |text: &str| json!([{"role": "system", "content": text}, user]);
    let tools = json!([{"type": "function", "function": {"name": "search"}}]);
    [
        (
            json!({"model": "big", "messages": [user], "tools": tools}),
            "answer",
        ),
        (
            json!({"model": "small", "messages": system("Make a title")}),
            "title",
        ),
        (
            json!({"model": "small", "messages": system("Suggest three")}),
            "suggestions",
        ),
    ]
}

#[tokio::test]
async fn three_requests_three_answers_in_any_order() {
    let rig = Rig::recorded(requests().map(|(body, text)| (body, Reply::text(text)))).await;
    let calls = rig.cassette().calls();
    let mut hashes: Vec<&str> = calls
        .iter()
        .map(|call| call.0["request_hash"].as_str().unwrap())
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 3, "three keys");
    assert!(
        hashes
            .iter()
            .all(|hash| hash.starts_with("sha256:") && hash.len() == 71),
        "{hashes:?}"
    );

    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let vcr = rig
            .builder(Mode::Replay)
            .matching(Matching::Keyed)
            .open()
            .unwrap();
        for at in order {
            let (body, text) = &requests()[at];
            assert_eq!(chat(&vcr, body).await.text(), *text);
        }
        done(vcr).await;
    }
}

#[tokio::test]
async fn out_of_order_is_refused_where_order_counts() {
    let rig = Rig::recorded(requests().map(|(body, text)| (body, Reply::text(text)))).await;
    let vcr = rig.replay();
    let miss = chat(&vcr, &requests()[2].0).await.miss();
    assert!(miss.contains("keyed"), "the way out is not named:\n{miss}");
    for (body, text) in &requests() {
        assert_eq!(chat(&vcr, body).await.text(), *text);
    }
    vcr_tests::rig::complaint(vcr).await;
}

#[tokio::test]
async fn three_answers_on_every_front() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.record();
        for (body, text) in &requests() {
            front.send(&vcr, body, Ok(text)).await;
        }
        done(vcr).await;
        let vcr = rig
            .builder(Mode::Replay)
            .matching(Matching::Keyed)
            .open()
            .unwrap();
        for at in [2, 0, 1] {
            let (body, text) = &requests()[at];
            let got = front.send(&vcr, body, Ok("live")).await;
            assert_eq!((got.good(), got.live), (*text, false), "{front:?}");
        }
        done(vcr).await;
    }
}
