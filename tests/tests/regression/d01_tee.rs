//! Recording is a tee: the caller sees each chunk when it comes, not when the upstream closes.

use std::time::Duration;

use vcr_runtime::Protocol;
use vcr_tests::rig::{Delivered, InProcess, RecordedCall, Rig, Say, ask, done, stream_question, within};
use vcr_tests::upstream::Length;
use vcr_tests::{Gate, Reply, Step, Upstream, http};

fn event(text: &str) -> Step {
    let event = format!(
        "data: {{\"id\":\"c1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
    );
    Step::Bytes(event.into_bytes())
}

fn end() -> Step {
    Step::Bytes(b"data: [DONE]\n\n".to_vec())
}

#[tokio::test]
async fn a_chunk_is_seen_before_the_next_one_is_sent() {
    for (tick, length) in [
        (0.0, Length::Chunked),
        (100.0, Length::Chunked),
        (60_000.0, Length::UntilClose),
    ] {
        let gates = [Gate::new(), Gate::new()];
        let steps = vec![
            event("one "),
            Step::Wait(gates[0].clone()),
            event("two"),
            Step::Wait(gates[1].clone()),
            end(),
        ];
        let upstream = Upstream::start([Reply::stream(steps).length(length)]);
        let rig = Rig::new();
        let vcr = rig
            .builder(vcr_runtime::Mode::Record)
            .tick_ms(tick)
            .open()
            .unwrap();
        let url = format!("{}/chat/completions", vcr.base_url_for(&upstream.v1()).unwrap());
        let body = stream_question("hi").to_string();
        let mut response = within(http::post(&url, &body)).await;
        within(response.until("one ")).await;
        gates[0].open();
        within(response.until("two")).await;
        gates[1].open();
        assert!(within(response.text()).await.contains("[DONE]"));
        done(vcr).await;
        assert_eq!(rig.cassette().call().text(), "one two");
    }
}

/// What passes between two things that a test knows to have happened in this order; the recorded gap is no shorter.
const GAP: Duration = Duration::from_millis(60);

/// Lets the provider be silent, then speak. Time must pass here: it is what is recorded.
async fn silence(gate: &Gate) {
    tokio::time::sleep(GAP).await;
    gate.open();
}

fn has_the_gaps(call: &RecordedCall) {
    let milliseconds = |value: &serde_json::Value| value.as_f64().unwrap();
    let frames = call.frames();
    let deltas: Vec<f64> = frames
        .iter()
        .map(|frame| milliseconds(&frame["delta_ms"]))
        .collect();
    let gap = GAP.as_secs_f64() * 1000.0;
    assert_eq!(call.text(), "one two");
    // Each gap by itself: one that is lost must not hide behind another that is long.
    assert_eq!(deltas.len(), 2, "{deltas:?}");
    assert!(
        deltas[0] >= gap,
        "the silence before the first frame is lost: {deltas:?}"
    );
    assert!(
        deltas[1] >= gap,
        "the gap before the second frame is lost: {deltas:?}"
    );
    let metrics = &call.0["network_metrics"];
    assert_eq!(milliseconds(&metrics["ttfb_ms"]), deltas[0]);
    let total = milliseconds(&metrics["total_duration_ms"]);
    let rest = total - deltas.iter().sum::<f64>();
    assert!(rest >= gap, "the silence before the end is lost: {rest}");
}

#[tokio::test]
async fn the_cassette_has_the_gaps() {
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let steps = vec![
        Step::Wait(gates[0].clone()),
        event("one "),
        Step::Wait(gates[1].clone()),
        event("two"),
        Step::Wait(gates[2].clone()),
        end(),
    ];
    let upstream = Upstream::start([Reply::stream(steps)]);
    let rig = Rig::new();
    let vcr = rig
        .builder(vcr_runtime::Mode::Record)
        .tick_ms(0.0)
        .open()
        .unwrap();
    let url = format!("{}/chat/completions", vcr.base_url_for(&upstream.v1()).unwrap());
    let response = tokio::spawn(async move { http::post(&url, &stream_question("hi").to_string()).await });
    // The call has started, for its request is there. What the caller has seen has been recorded, what waits at the gate has
    // not: no hurry and no delay on either side can make the recorded gap shorter than the silence.
    within(upstream.arrived(1)).await;
    silence(&gates[0]).await;
    let mut response = within(response).await.unwrap();
    within(response.until("one ")).await;
    silence(&gates[1]).await;
    within(response.until("two")).await;
    silence(&gates[2]).await;
    assert!(within(response.text()).await.contains("[DONE]"));
    done(vcr).await;
    has_the_gaps(&rig.cassette().call());
}

#[tokio::test]
async fn the_cassette_has_the_gaps_in_process() {
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let script = vec![
        Say::Wait(gates[0].clone()),
        Say::Text("one "),
        Say::Wait(gates[1].clone()),
        Say::Text("two"),
        Say::Wait(gates[2].clone()),
    ];
    let rig = Rig::new();
    let vcr = rig
        .builder(vcr_runtime::Mode::Record)
        .tick_ms(0.0)
        .open()
        .unwrap();
    let client = InProcess::new(&vcr, [script]);
    let mut stream = client.open("hi").await;
    silence(&gates[0]).await;
    assert_eq!(within(stream.piece()).await, Ok("one ".to_owned()));
    silence(&gates[1]).await;
    assert_eq!(within(stream.piece()).await, Ok("two".to_owned()));
    silence(&gates[2]).await;
    within(stream.rest()).await;
    done(vcr).await;
    has_the_gaps(&rig.cassette().call());
}

#[tokio::test]
async fn other_streams_are_teed_as_well() {
    for content_type in [
        "application/x-ndjson",
        "application/octet-stream",
        "text/event-stream",
    ] {
        let gate = Gate::new();
        let mut reply = Reply::stream(vec![
            Step::Bytes(b"{\"message\":{\"content\":\"one\"}}\n".to_vec()),
            Step::Wait(gate.clone()),
            Step::Bytes(b"{\"done\":true}\n".to_vec()),
        ]);
        reply.headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let upstream = Upstream::start([reply]);
        let rig = Rig::new();
        let vcr = rig.record();
        let url = format!("{}/api/chat", vcr.base_url_for(&upstream.url()).unwrap());
        let mut response = within(http::post(&url, r#"{"model":"m","messages":[]}"#)).await;
        within(response.until("one")).await;
        gate.open();
        assert!(within(response.text()).await.contains("done"), "{content_type}");
        done(vcr).await;
    }
}

#[tokio::test]
async fn in_process() {
    let gate = Gate::new();
    let script = vec![
        Say::Text("one "),
        Say::Wait(gate.clone()),
        Say::Text("two"),
        Say::Finish("stop"),
    ];
    let rig = Rig::new();
    let vcr = rig.record();
    let client = InProcess::new(&vcr, [script]);
    let mut stream = client.open("hi").await;
    assert_eq!(within(stream.piece()).await, Ok("one ".to_owned()));
    gate.open();
    assert_eq!(within(stream.piece()).await, Ok("two".to_owned()));
    within(stream.rest()).await;
    done(vcr).await;
    assert_eq!(rig.cassette().call().text(), "one two");
}

#[tokio::test]
async fn two_callers_do_not_wait_for_each_other() {
    let gate = Gate::new();
    let slow = Reply::text("slow").after(&gate);
    let mut replies = vec![slow, Reply::text("quick")].into_iter();
    let upstream = Upstream::with(move |_| replies.next().unwrap());
    let rig = Rig::new();
    let vcr = rig.record();
    vcr.base_url(Protocol::OpenAi).unwrap();
    let base = vcr.base_url_for(&upstream.v1()).unwrap();
    let url = format!("{base}/chat/completions");
    let first = tokio::spawn({
        let (url, body) = (url.clone(), vcr_tests::rig::question("slow").to_string());
        async move { Delivered::of(http::post(&url, &body).await).await.text() }
    });
    within(upstream.arrived(1)).await;
    let quick = within(ask(&vcr, &upstream.v1(), &vcr_tests::rig::question("quick"))).await;
    assert_eq!(quick.text(), "quick");
    gate.open();
    assert_eq!(within(first).await.unwrap(), "slow");
    done(vcr).await;
}
