//! Equal requests get their answers in the recorded order, each once.

use serde_json::json;
use vcr_runtime::{Matching, Mode};
use vcr_tests::Reply;
use vcr_tests::rig::{InProcess, Rig, Say, chat, complaint, done, question};

fn three() -> [(serde_json::Value, Reply); 3] {
    ["A", "B", "C"].map(|text| (question("hi"), Reply::text(text)))
}

#[tokio::test]
async fn a_b_c_and_then_a_miss_that_says_that_they_are_used() {
    let rig = Rig::recorded(three()).await;
    for matching in [Matching::Sequential, Matching::Keyed, Matching::Order] {
        let vcr = rig.builder(Mode::Replay).matching(matching).open().unwrap();
        for expected in ["A", "B", "C"] {
            assert_eq!(chat(&vcr, &question("hi")).await.text(), expected, "{matching:?}");
        }
        let miss = chat(&vcr, &question("hi")).await.miss();
        assert!(
            miss.contains("consumed") || miss.contains("used"),
            "{matching:?}:\n{miss}"
        );
        complaint(vcr).await;
    }
}

#[tokio::test]
async fn the_equal_answer_of_a_repeat_is_recorded_each_time() {
    let rig = Rig::recorded([0; 3].map(|_| (question("hi"), Reply::text("same")))).await;
    assert_eq!(rig.cassette().calls().len(), 3);
}

#[tokio::test]
async fn intercept() {
    let rig = Rig::new();
    let vcr = rig.record();
    for text in ["A", "B"] {
        vcr.intercept(&json!({"q": 1}), || async {
            Ok::<_, std::io::Error>(text.to_owned())
        })
        .await
        .unwrap();
    }
    done(vcr).await;
    let vcr = rig.replay();
    for text in ["A", "B"] {
        let answer: String = vcr
            .intercept(&json!({"q": 1}), || async {
                Err(std::io::Error::other("called"))
            })
            .await
            .unwrap();
        assert_eq!(answer, text);
    }
    done(vcr).await;
}

#[tokio::test]
async fn in_process() {
    let rig = Rig::new();
    let vcr = rig.record();
    let client = InProcess::new(&vcr, [vec![Say::Text("A")], vec![Say::Text("B")]]);
    client.stream("hi").await;
    client.stream("hi").await;
    done(vcr).await;
    let vcr = rig.replay();
    let client = InProcess::new(&vcr, []);
    assert_eq!(client.stream("hi").await.text(), "A");
    assert_eq!(client.stream("hi").await.text(), "B");
    assert!(client.stream("hi").await.error.is_some());
    complaint(vcr).await;
}
