//! A miss that the application swallowed still fails the session.

use serde_json::json;
use vcr_runtime::ErrorKind;
use vcr_tests::Reply;
use vcr_tests::rig::{InProcess, Rig, Say, chat, complaint, question};

#[tokio::test]
async fn through_the_gateway() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let vcr = rig.replay();
    // What a forgiving application does with a refusal.
    let _ = chat(&vcr, &question("hi!")).await.answer().text().to_owned();
    let error = complaint(vcr).await;
    assert!(
        matches!(error.kind(), ErrorKind::Miss | ErrorKind::Verdict),
        "{:?}",
        error.kind()
    );
    let text = error.to_string();
    assert!(text.contains("messages[0].content"), "{text}");
    assert!(text.contains("hi!"), "{text}");
}

#[tokio::test]
async fn the_first_one_stands_first() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let vcr = rig.replay();
    chat(&vcr, &question("first of two")).await.miss();
    chat(&vcr, &question("second of two")).await.miss();
    let text = complaint(vcr).await.to_string();
    let (first, second) = (text.find("first of two"), text.find("second of two"));
    assert!(first.is_some(), "{text}");
    assert!(second.is_none() || first < second, "{text}");
}

#[tokio::test]
async fn a_miss_is_not_forgiven_with_the_leftovers() {
    let rig = Rig::recorded([(question("hi"), Reply::text("ok"))]).await;
    let vcr = rig
        .builder(vcr_runtime::Mode::Replay)
        .allow_unused(true)
        .open()
        .unwrap();
    chat(&vcr, &question("hi!")).await.miss();
    complaint(vcr).await;
}

#[tokio::test]
async fn intercept() {
    let rig = Rig::new();
    let vcr = rig.record();
    vcr.intercept(&json!({"q": 1}), || async { Ok::<_, std::io::Error>(1) })
        .await
        .unwrap();
    vcr_tests::rig::done(vcr).await;
    let vcr = rig.replay();
    let answer: u32 = vcr
        .intercept(&json!({"q": 2}), || async {
            Err(std::io::Error::other("called"))
        })
        .await
        .unwrap_or_default();
    assert_eq!(answer, 0);
    assert!(complaint(vcr).await.to_string().contains('q'));
}

#[tokio::test]
async fn in_process() {
    let rig = Rig::new();
    let vcr = rig.record();
    InProcess::new(&vcr, [vec![Say::Text("ok")]]).unary("hi").await;
    vcr_tests::rig::done(vcr).await;
    let vcr = rig.replay();
    let _ = InProcess::new(&vcr, []).unary("hi!").await;
    assert!(complaint(vcr).await.to_string().contains("messages[0].content"));
}
