//! The protocol's end marker decides whether an answer is complete, not the socket.

use vcr_tests::rig::{InProcess, Rig, Say, chat, done, stream_question, within};
use vcr_tests::{Gate, Reply, Step, Upstream, http};

const HEAD: &[u8] =
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";

async fn read_until_and_leave(needle: &str, steps: Vec<Step>) -> Rig {
    let upstream = Upstream::start([Reply::stream(steps)]);
    let rig = Rig::new();
    let vcr = rig.record();
    let url = format!("{}/chat/completions", vcr.base_url_for(&upstream.v1()).unwrap());
    let mut response = within(http::post(&url, &stream_question("hi").to_string())).await;
    within(response.until(needle)).await;
    drop(response);
    within(vcr.finish())
        .await
        .expect("leaving early is no fault of the session");
    rig
}

#[tokio::test]
async fn a_caller_that_leaves_at_the_end_marker_has_a_complete_answer() {
    let gate = Gate::new();
    let steps = vec![
        Step::Bytes(HEAD.to_vec()),
        Step::Bytes(b"data: [DONE]\n\n".to_vec()),
        Step::Wait(gate.clone()),
    ];
    let rig = within(read_until_and_leave("[DONE]", steps)).await;
    let call = rig.cassette().call();
    assert!(!call.failed(), "{}", call.0);
    let vcr = rig.replay();
    let again = chat(&vcr, &stream_question("hi")).await;
    done(vcr).await;
    assert_eq!((again.text().as_str(), again.whole.broken), ("x", None));
    gate.open();
}

#[tokio::test]
async fn a_caller_that_leaves_before_it_has_cancelled() {
    let gate = Gate::new();
    let text = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n".to_vec();
    let steps = vec![
        Step::Bytes(text),
        Step::Wait(gate.clone()),
        Step::Bytes(b"data: [DONE]\n\n".to_vec()),
    ];
    let rig = within(read_until_and_leave("\"x\"", steps)).await;
    let call = rig.cassette().call();
    assert_eq!(call.boundary("kind"), "cancelled", "{}", call.0);
    assert_eq!(call.text(), "x");
    gate.open();
}

#[tokio::test]
async fn the_same_in_replay_is_no_complaint() {
    let upstream = Upstream::start([Reply::text_stream(&["x", "y"])]);
    let rig = Rig::new();
    let vcr = rig.record();
    vcr_tests::rig::ask(&vcr, &upstream.v1(), &stream_question("hi")).await;
    done(vcr).await;
    let vcr = rig.replay();
    let url = format!(
        "{}/chat/completions",
        vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap()
    );
    let mut response = http::post(&url, &stream_question("hi").to_string()).await;
    response.until("[DONE]").await;
    drop(response);
    done(vcr).await;
}

#[tokio::test]
async fn in_process_a_dropped_stream_is_a_cancelled_call() {
    let rig = Rig::new();
    let vcr = rig.record();
    let client = InProcess::new(&vcr, [vec![Say::Text("x"), Say::Text("y"), Say::Finish("stop")]]);
    let mut stream = client.open("hi").await;
    assert_eq!(stream.piece().await, Ok("x".to_owned()));
    drop(stream);
    done(vcr).await;
    assert_eq!(rig.cassette().call().boundary("kind"), "cancelled");
}
