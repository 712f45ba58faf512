//! A broken cassette is reported with its place and likely cause, and never overwritten by a replay.

use vcr_runtime::{ErrorKind, Mode};
use vcr_tests::Reply;
use vcr_tests::rig::{Rig, question};

async fn good() -> String {
    Rig::recorded([(question("hi"), Reply::text("ok"))])
        .await
        .cassette()
        .text
}

async fn refused(bytes: &[u8]) -> vcr_runtime::Error {
    let rig = Rig::new();
    std::fs::write(rig.path(), bytes).unwrap();
    let error = rig.replay_error().await;
    assert_eq!(error.kind(), ErrorKind::CassetteBroken, "{error}");
    assert_eq!(error.path(), Some(rig.path().as_path()));
    assert!(error.to_string().contains("fixture_rig_case.json"), "{error}");
    assert!(!error.advice().is_empty());
    assert_eq!(
        std::fs::read(rig.path()).unwrap(),
        bytes,
        "replay changed the file"
    );
    if serde_json::from_slice::<serde_json::Value>(bytes).is_ok_and(|value| value.is_object()) {
        // Only a take is of the wrong shape; takes that are not played are kept as they are and not looked at.
        return error;
    }
    // Recording must not destroy it either: it may be all that is left of a paid run.
    vcr_tests::rig::refused(rig.builder(Mode::Record)).await;
    assert_eq!(
        std::fs::read(rig.path()).unwrap(),
        bytes,
        "a recording overwrote the file"
    );
    error
}

#[tokio::test]
async fn cut_at_every_place() {
    let text = good().await;
    let step = (text.len() / 40).max(1);
    for length in (1..text.trim_end().len()).step_by(step) {
        if text.is_char_boundary(length) {
            let error = refused(&text.as_bytes()[..length]).await;
            assert!(
                error.line().is_some() && error.column().is_some(),
                "no place: {error}"
            );
        }
    }
}

#[tokio::test]
async fn the_likely_causes_are_named() {
    let text = good().await;
    let half = refused(&text.as_bytes()[..text.len() / 2]).await.to_string();
    assert!(half.contains("cut") || half.contains("ends"), "{half}");
    let mut padded = text.clone().into_bytes();
    padded.extend([0; 512]);
    let padded = refused(&padded).await.to_string();
    assert!(padded.contains("NUL"), "{padded}");
    let empty = refused(b"").await.to_string();
    assert!(empty.contains("empty"), "{empty}");
    let lines = text.lines().collect::<Vec<_>>();
    let conflict = format!(
        "{}\n<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n{}\n",
        lines[0],
        lines[1],
        lines[1],
        lines[2..].join("\n")
    );
    let conflict = refused(conflict.as_bytes()).await;
    assert_eq!(conflict.line(), Some(2));
    assert!(conflict.to_string().contains("merge"), "{conflict}");
}

#[tokio::test]
async fn json_of_the_wrong_shape_names_its_path() {
    let text = good().await;
    for (from, to, path) in [
        (
            "\"response_timeline\": [",
            "\"response_timeline\": 7, \"x\": [",
            "response_timeline",
        ),
        ("\"delta_ms\": ", "\"delta_ms\": \"soon\", \"x\": ", "delta_ms"),
        ("\"messages\": [", "\"messages\": {}, \"x\": [", "messages"),
        ("\"traces\": {", "\"traces\": [], \"x\": {", "traces"),
    ] {
        assert!(text.contains(from), "{from} is not in {text}");
        let error = refused(text.replacen(from, to, 1).as_bytes()).await;
        assert!(error.to_string().contains(path), "{path} is not in {error}");
    }
}

#[tokio::test]
async fn not_utf8_and_too_deep() {
    refused(b"{\"scenario\": \"\xFF\"}").await;
    refused(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes()).await;
    refused(b"[]").await;
    refused(b"7").await;
}

#[tokio::test]
async fn a_take_that_is_named_but_not_there() {
    let text = r#"{"scenario":"case","latest_trace_id":"0a0b0c0d0e0f10111213141516171819","history_keys":[],"traces":{}}"#;
    let error = Rig::with_cassette(text).replay_error().await;
    assert!(
        error.to_string().contains("0a0b0c0d0e0f10111213141516171819"),
        "{error}"
    );
}
