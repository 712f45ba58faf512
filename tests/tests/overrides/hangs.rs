//! Answers that begin and do not end.

use std::path::PathBuf;

use super::*;

/// Waits as a driver from outside would, until the file is there.
async fn until_made(path: &std::path::Path) {
    while !path.exists() {
        tokio::task::yield_now().await;
    }
}

/// A document that hangs the second call and its retry, and the ready files of both.
fn hanging(rig: &Rig, frames: Option<usize>) -> (String, [PathBuf; 2]) {
    let files = ["first", "second"].map(|name| rig.directory().join(name));
    let hang = |file: &PathBuf| {
        let mut entry = json!({"kind": "hang", "readyFile": file});
        if let Some(frames) = frames {
            entry["frames"] = frames.into();
        }
        entry
    };
    let document =
        patches(&json!([{"before": 1, "entry": hang(&files[0])}, {"at": 1, "entry": hang(&files[1])}]));
    (document, files)
}

#[tokio::test]
async fn a_hang_is_cancelled_by_whoever_waits_for_its_file() {
    for front in Front::ALL {
        let rig = abc(front).await;
        let (document, files) = hanging(&rig, None);
        let vcr = overridden(&rig, &document);
        assert_eq!(front.ask(&vcr, "a", "live").await.good(), "A");
        for file in &files {
            let session = vcr.clone();
            let call = tokio::spawn(async move { front.ask(&session, "b", "live").await });
            within(until_made(file)).await;
            call.abort();
            assert!(call.await.unwrap_err().is_cancelled(), "{front:?}");
        }
        assert_eq!(front.ask(&vcr, "c", "live").await.good(), "C");
        done(vcr).await;
    }
}

async fn next(answer: &mut Response) -> String {
    String::from_utf8(within(answer.next()).await.unwrap().unwrap()).unwrap()
}

#[tokio::test]
async fn a_stream_hangs_behind_its_first_frames() {
    const TWO: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"par\"}}]}\n\n<|>data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"tial\"},\"finish_reason\":\"stop\"}]}\n\n<|>data: [DONE]\n\n";
    for raw in ["true", "false"] {
        let upstream = Upstream::start([Reply::text("a"), Reply::sse(TWO)]);
        let rig = Rig::new();
        let record = rig
            .builder(Mode::Record)
            .tick_ms(0.0)
            .include_raw(raw.parse().unwrap());
        let vcr = record.open().unwrap();
        ask(&vcr, &upstream.v1(), &question("a")).await;
        ask(&vcr, &upstream.v1(), &stream_question("b")).await;
        done(vcr).await;
        let (document, files) = hanging(&rig, Some(1));
        let vcr = overridden(&rig, &document);
        chat(&vcr, &question("a")).await;
        let url = vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap() + "/chat/completions";
        for file in &files {
            let mut answer = http::post(&url, &stream_question("b").to_string()).await;
            let mut text = String::new();
            while !text.contains("par") {
                text.push_str(&next(&mut answer).await);
            }
            within(until_made(file)).await;
            assert!(!text.contains("tial"), "{text}");
            // The caller leaves; nothing more was to come.
            drop(answer);
        }
        done(vcr).await;
    }
}

#[tokio::test]
async fn a_hang_without_frames_sends_no_head() {
    let rig = Rig::recorded([(stream_question("hi"), Reply::sse("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n<|>data: [DONE]\n\n"))]).await;
    let ready = rig.directory().join("ready");
    let vcr = overridden(
        &rig,
        &patches(&json!([{"before": 0, "entry": {"kind": "hang", "frames": 0, "readyFile": ready}}])),
    );
    let url = vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap() + "/chat/completions";
    let waiting = tokio::spawn(async move { http::post(&url, &stream_question("hi").to_string()).await });
    within(until_made(&ready)).await;
    assert!(!waiting.is_finished(), "a head came");
    waiting.abort();
    assert_eq!(chat(&vcr, &stream_question("hi")).await.text(), "ok");
    done(vcr).await;
}
