//! Recorded calls that nobody asked for fail the session, each named.

use vcr_runtime::{ErrorKind, Mode};
use vcr_tests::Reply;
use vcr_tests::rig::{Rig, chat, complaint, done, question};

async fn three() -> Rig {
    Rig::recorded(["one", "two", "three"].map(|prompt| (question(prompt), Reply::text(prompt)))).await
}

#[tokio::test]
async fn the_one_that_is_left_is_named() {
    let rig = three().await;
    let vcr = rig.replay();
    chat(&vcr, &question("one")).await;
    chat(&vcr, &question("two")).await;
    let error = complaint(vcr).await;
    assert_eq!(error.kind(), ErrorKind::Verdict);
    let text = error.to_string();
    assert!(text.contains("three"), "{text}");
    assert!(
        !text.contains("\"one\"") && !text.contains("\"two\""),
        "used calls are no leftovers:\n{text}"
    );
    assert!(text.contains("fixture_rig_case.json"), "{text}");
}

#[tokio::test]
async fn all_of_them() {
    let rig = three().await;
    let text = complaint(rig.replay()).await.to_string();
    for prompt in ["one", "two", "three"] {
        assert!(text.contains(prompt), "{prompt} is not in:\n{text}");
    }
    assert!(text.contains("allow_unused"), "the way out is not named:\n{text}");
}

#[tokio::test]
async fn a_scenario_may_allow_it() {
    let rig = three().await;
    let vcr = rig.builder(Mode::Replay).allow_unused(true).open().unwrap();
    chat(&vcr, &question("one")).await;
    done(vcr).await;
}

#[tokio::test]
async fn the_one_that_is_left_is_named_on_every_front() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = vcr_tests::rig::Rig::new();
        let vcr = rig.record();
        for prompt in ["one", "two", "three"] {
            front.ask(&vcr, prompt, prompt).await;
        }
        done(vcr).await;
        let vcr = rig.replay();
        for prompt in ["one", "two"] {
            assert_eq!(front.ask(&vcr, prompt, "live").await.good(), prompt);
        }
        let error = complaint(vcr).await;
        assert_eq!(error.kind(), ErrorKind::Verdict, "{front:?}");
        assert!(error.message().contains("\"three\""), "{front:?}: {error}");
        assert!(!error.message().contains("\"two\""), "{front:?}: {error}");
    }
}
