//! "Already used" is another finding than "not recorded", and says by whom.

use vcr_tests::Reply;
use vcr_tests::rig::{Rig, chat, complaint, question};

#[tokio::test]
async fn the_report_says_that_the_equal_call_is_consumed() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &question("hi")).await.text(), "ok");
    let miss = chat(&vcr, &question("hi")).await.miss();
    assert!(miss.contains("consumed") || miss.contains("used"), "{miss}");
    for word in ["changed:", "added:", "removed:"] {
        assert!(
            !miss.contains(word),
            "nothing differs, yet the report lists {word}:\n{miss}"
        );
    }
    assert!(miss.contains("VCR_MODE=record"), "{miss}");
    complaint(vcr).await;
}

#[tokio::test]
async fn a_call_that_waits_for_an_earlier_one_is_a_third_finding() {
    let rig = Rig::recorded([
        (question("one"), Reply::text("1")),
        (question("two"), Reply::text("2")),
    ])
    .await;
    let vcr = rig.replay();
    let miss = chat(&vcr, &question("two")).await.miss();
    assert!(miss.contains("keyed"), "{miss}");
    assert!(
        miss.contains("one"),
        "the call that is waited for is not named:\n{miss}"
    );
    complaint(vcr).await;
}

#[tokio::test]
async fn every_front_says_that_the_equal_call_is_used() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.record();
        front.ask(&vcr, "hi", "ok").await;
        vcr_tests::rig::done(vcr).await;
        let vcr = rig.replay();
        assert_eq!(front.ask(&vcr, "hi", "live").await.good(), "ok");
        let got = front.ask(&vcr, "hi", "live").await;
        assert!(
            got.refused().contains("call 1 answered request 1"),
            "{front:?}: {got:?}"
        );
        complaint(vcr).await;
    }
}
