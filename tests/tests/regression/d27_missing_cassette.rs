//! Replay never records and never calls: a missing cassette is an error that says how to make one.

use vcr_runtime::{ErrorKind, Mode};
use vcr_tests::rig::{Rig, ask, complaint, done, question, refused};
use vcr_tests::{Reply, Upstream};

#[tokio::test]
async fn no_file() {
    let rig = Rig::new();
    let error = rig.replay_error().await;
    assert_eq!(error.kind(), ErrorKind::CassetteMissing);
    let text = error.to_string();
    assert!(text.contains("fixture_rig_case.json"), "{text}");
    assert!(text.contains("VCR_MODE=record"), "{text}");
    assert_eq!(error.path(), Some(rig.path().as_path()));
    assert_eq!(rig.files(), Vec::<String>::new(), "replay made a file");
}

#[tokio::test]
async fn no_directory() {
    let rig = Rig::new();
    let missing = rig.directory().join("not/there");
    let error = refused(rig.builder(Mode::Replay).fixture_dir(&missing)).await;
    assert_eq!(error.kind(), ErrorKind::CassetteMissing);
    assert!(!missing.exists(), "replay made a directory");
}

#[tokio::test]
async fn a_file_without_calls() {
    let text = r#"{"scenario":"case","latest_trace_id":"0a0b0c0d0e0f10111213141516171819","history_keys":["0a0b0c0d0e0f10111213141516171819"],
        "traces":{"0a0b0c0d0e0f10111213141516171819":{"trace_id":"0a0b0c0d0e0f10111213141516171819","calls":[]}}}"#;
    let rig = Rig::with_cassette(text);
    let upstream = Upstream::start([Reply::text("live")]);
    let vcr = rig.replay();
    ask(&vcr, &upstream.v1(), &question("hi")).await.miss();
    complaint(vcr).await;
    assert_eq!(upstream.count(), 0, "a miss went live");
    assert_eq!(rig.cassette().text, text);
}

#[tokio::test]
async fn auto_records_once_and_with_ci_set_never() {
    // What `CI` does to `auto` and `new` needs a process of its own: see `verdict` for the generated project.
    let rig = Rig::new();
    let upstream = Upstream::start([Reply::text("live")]);
    if std::env::var_os("CI").is_some() {
        assert_eq!(
            refused(rig.builder(Mode::Auto)).await.kind(),
            ErrorKind::CassetteMissing
        );
    }
    if !vcr_tests::ci::is_unset("d27_missing_cassette::auto_records_once_and_with_ci_set_never") {
        return;
    }
    for _ in 0..2 {
        let vcr = rig.builder(Mode::Auto).open().unwrap();
        assert_eq!(ask(&vcr, &upstream.v1(), &question("hi")).await.text(), "live");
        done(vcr).await;
    }
    assert_eq!(upstream.count(), 1, "once recorded it is replayed");
    assert_eq!(rig.cassette().call().text(), "live");
}

#[tokio::test]
async fn no_file_on_every_front() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.replay();
        let got = front.ask(&vcr, "hi", "live").await;
        for part in ["fixture_rig_case.json", "VCR_MODE=record"] {
            assert!(got.refused().contains(part), "{front:?}: {got:?}");
        }
        assert_eq!(complaint(vcr).await.kind(), ErrorKind::CassetteMissing);
        assert_eq!(rig.files(), Vec::<String>::new(), "{front:?}");
    }
}
