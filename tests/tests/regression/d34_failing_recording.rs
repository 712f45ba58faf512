//! A recording that was not finished leaves the cassette as it was, and what was paid for is not lost. What a failing
//! test does is in `verdict`: `a_failing_recording_goes_to_the_side_file` and `a_failing_first_recording_makes_no_cassette`.

use vcr_runtime::Mode;
use vcr_tests::rig::{Rig, ask, chat, done, question};
use vcr_tests::{Reply, Upstream};

#[tokio::test]
async fn a_recording_that_is_dropped_leaves_the_old_cassette() {
    let rig = Rig::recorded([(question("hi"), Reply::text("good"))]).await;
    let before = rig.cassette().text;
    let upstream = Upstream::start([Reply::text("half")]);
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &question("hi")).await;
    drop(vcr);
    assert_eq!(rig.cassette().text, before);
    let kept = rig.files().iter().any(|name| {
        std::fs::read_to_string(rig.directory().join(name)).is_ok_and(|text| text.contains("half"))
    });
    assert!(kept, "the paid answer is in none of {:?}", rig.files());
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &question("hi")).await.text(), "good");
    done(vcr).await;
}

#[tokio::test]
async fn new_keeps_what_matches_and_records_the_rest_as_a_new_take() {
    if !vcr_tests::ci::is_unset(
        "d34_failing_recording::new_keeps_what_matches_and_records_the_rest_as_a_new_take",
    ) {
        return;
    }
    let rig = Rig::recorded([(question("hi"), Reply::text("old"))]).await;
    let upstream = Upstream::start([Reply::text("fresh")]);
    let vcr = rig.builder(Mode::New).open().unwrap();
    assert_eq!(ask(&vcr, &upstream.v1(), &question("hi")).await.text(), "old");
    assert_eq!(ask(&vcr, &upstream.v1(), &question("more")).await.text(), "fresh");
    done(vcr).await;
    assert_eq!(upstream.count(), 1);
    assert_eq!(rig.cassette().takes(), 2);
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &question("hi")).await.text(), "old");
    assert_eq!(chat(&vcr, &question("more")).await.text(), "fresh");
    done(vcr).await;
}

#[tokio::test]
async fn a_recording_that_is_given_up_goes_beside_the_old_cassette_on_every_front() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.record();
        front.ask(&vcr, "hi", "good").await;
        done(vcr).await;
        let before = rig.cassette().text;
        let vcr = rig.record();
        front.ask(&vcr, "hi", "half").await;
        let report = vcr.abandon().await.unwrap();
        assert_eq!(rig.cassette().text, before, "{front:?}");
        let aside = std::fs::read_to_string(&report.set_aside[0]).unwrap();
        assert!(aside.contains("half"), "{front:?}: {aside}");
    }
}
