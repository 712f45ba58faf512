use crate::gate::Gate;
use crate::http;

use super::{BeforeHead, Length, Reply, Step, Upstream};

fn bytes(text: &str) -> Step {
    Step::Bytes(text.as_bytes().to_vec())
}

#[tokio::test]
async fn requests_are_kept_and_answered_in_order() {
    let upstream = Upstream::start([
        Reply::text("one"),
        Reply::json_text(429, "{}").header("retry-after", "20"),
    ]);
    let first = http::post(
        &format!("{}/chat?a=1", upstream.v1()),
        r#"{"messages":[{"content":"hi"}]}"#,
    )
    .await;
    assert_eq!(first.json().await["choices"][0]["message"]["content"], "one");
    let second = http::post(&upstream.url(), "{}").await;
    assert_eq!((second.status, second.header("retry-after")), (429, Some("20")));
    assert_eq!(http::post(&upstream.url(), "{}").await.status, 418);
    let received = upstream.received();
    assert_eq!(upstream.count(), 3);
    assert_eq!(
        (received[0].path.as_str(), received[0].query.as_str()),
        ("/v1/chat", "a=1")
    );
    assert_eq!(received[0].prompt(), "hi");
    assert_eq!(received[1].path, "/");
}

#[tokio::test]
async fn each_step_is_a_chunk_and_waits_for_its_gate() {
    let (gate, reached) = (Gate::new(), Gate::new());
    let steps = vec![
        bytes("one "),
        Step::Wait(gate.clone()),
        bytes("two"),
        Step::Reached(reached.clone()),
    ];
    let upstream = Upstream::start([Reply::stream(steps)]);
    let mut response = http::post(&upstream.url(), "{}").await;
    assert_eq!(response.next().await.unwrap().unwrap(), b"one ");
    assert!(!reached.is_open());
    gate.open();
    let rest = response.whole().await;
    assert_eq!(rest.pieces, [b"two"]);
    assert_eq!(rest.broken, None);
    reached.passed().await;
}

#[tokio::test]
async fn every_way_to_break_a_body_is_seen_as_one() {
    for length in [Length::Chunked, Length::Counted] {
        for end in [Step::Reset, Step::CloseWithoutEnd] {
            let mut reply = Reply::stream(vec![bytes("part"), end.clone(), bytes("never")]);
            reply.length = length;
            let upstream = Upstream::start([reply]);
            let whole = http::post(&upstream.url(), "{}").await.whole().await;
            assert!(
                whole.broken.is_some(),
                "{length:?} {end:?} ended in order with {:?}",
                whole.text()
            );
            assert!(!whole.text().contains("never"));
        }
    }
    let upstream = Upstream::start([Reply::sse("data: 1\n\n").length(Length::UntilClose)]);
    let whole = http::post(&upstream.url(), "{}").await.whole().await;
    assert_eq!((whole.text().as_str(), whole.broken), ("data: 1\n\n", None));
}

#[tokio::test]
async fn no_head_at_all() {
    for before in [BeforeHead::Close, BeforeHead::Reset] {
        let upstream = Upstream::start([Reply::nothing(before.clone())]);
        let answer = http::send("POST", &upstream.url(), &[], b"{}").await;
        assert!(answer.is_err(), "{before:?} was answered");
        assert_eq!(upstream.count(), 1);
    }
    let refused = http::send("POST", &Upstream::nobody(), &[], b"{}").await;
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn the_head_waits_for_its_gate() {
    let gate = Gate::new();
    let upstream = Upstream::start([Reply::text("late").after(&gate)]);
    let url = upstream.url();
    let call = tokio::spawn(async move { http::post(&url, "{}").await.status });
    upstream.arrived(1).await;
    assert!(!call.is_finished());
    gate.open();
    assert_eq!(call.await.unwrap(), 200);
}
