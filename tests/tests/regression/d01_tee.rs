//! Recording is a tee: the caller sees each chunk when it comes, not when the upstream closes.

use vcr_runtime::Protocol;
use vcr_tests::rig::{Delivered, InProcess, Rig, Say, ask, done, stream_question, within};
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

#[tokio::test]
async fn the_cassette_has_the_gaps() {
    let text = r#"data: {"choices":[{"index":0,"delta":{"content":"one "}}]}

<|><WAIT 120>data: {"choices":[{"index":0,"delta":{"content":"two"}}]}

<|><WAIT 120>data: [DONE]

"#;
    let upstream = Upstream::start([Reply::sse(text)]);
    let rig = Rig::new();
    let vcr = rig.record();
    assert_eq!(
        ask(&vcr, &upstream.v1(), &stream_question("hi")).await.text(),
        "one two"
    );
    done(vcr).await;
    let call = rig.cassette().call();
    let deltas: Vec<f64> = call
        .frames()
        .iter()
        .map(|frame| frame["delta_ms"].as_f64().unwrap())
        .collect();
    assert!(deltas.len() >= 2, "{deltas:?}");
    // On a busy machine the first piece is read late, and then the gap behind it is shorter by that.
    assert!(
        deltas[0] + deltas[1] >= 115.0,
        "the gap before the second frame is lost: {deltas:?}"
    );
    let metrics = &call.0["network_metrics"];
    assert_eq!(metrics["ttfb_ms"].as_f64().unwrap(), deltas[0]);
    let total = metrics["total_duration_ms"].as_f64().unwrap();
    assert!(total >= 230.0, "the silence before the end is lost: {total}");
    assert!(deltas.iter().sum::<f64>() <= total + 0.01);
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
