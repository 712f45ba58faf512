//! Calls without a response are calls too: refused, timed out, reset; and the earlier ones are not lost with them.

use std::time::{Duration, Instant};

use vcr_runtime::Vcr;
use vcr_tests::rig::{InProcess, Rig, Say, done, question, within};
use vcr_tests::upstream::BeforeHead;
use vcr_tests::{Gate, Reply, Upstream, http};

/// The client's patience is counted in real time: it is the client that gives up.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug, PartialEq)]
enum Outcome {
    Answer(u16),
    TimedOut,
    Broken,
}

async fn call(vcr: &Vcr, upstream: &str, prompt: &str, patience: Option<Duration>) -> Outcome {
    let url = format!("{}/chat/completions", vcr.base_url_for(upstream).unwrap());
    let body = question(prompt).to_string();
    let send = http::send(
        "POST",
        &url,
        &[("content-type", "application/json")],
        body.as_bytes(),
    );
    let answer = match patience {
        Some(time) => match tokio::time::timeout(time, send).await {
            Ok(answer) => answer,
            Err(_) => return Outcome::TimedOut,
        },
        None => within(send).await,
    };
    answer.map_or(Outcome::Broken, |answer| Outcome::Answer(answer.status))
}

#[tokio::test]
async fn four_calls_four_outcomes() {
    let never = Gate::new();
    let upstream = Upstream::start([
        Reply::text("ok"),
        Reply::text("too late").after(&never),
        Reply::nothing(BeforeHead::Reset),
        Reply::nothing(BeforeHead::Close),
    ]);
    let rig = Rig::new();
    let vcr = rig.record();
    assert_eq!(
        call(&vcr, &upstream.v1(), "answers", None).await,
        Outcome::Answer(200)
    );
    let refused = call(&vcr, &Upstream::nobody(), "refused", None).await;
    assert_eq!(
        call(&vcr, &upstream.v1(), "hangs", Some(PATIENCE)).await,
        Outcome::TimedOut
    );
    let reset = call(&vcr, &upstream.v1(), "reset", None).await;
    let closed = call(&vcr, &upstream.v1(), "closed", None).await;
    within(vcr.finish()).await.unwrap();

    let calls = rig.cassette().calls();
    assert_eq!(calls.len(), 5, "calls are lost: {}", rig.cassette().text);
    assert!(!calls[0].failed());
    assert!(
        calls[1..].iter().all(|call| call.failed()),
        "{}",
        rig.cassette().text
    );
    assert_eq!(calls[1].boundary("error_type"), "connect");
    assert_eq!(calls[2].boundary("kind"), "cancelled");

    let start = Instant::now();
    let vcr = rig.replay();
    assert_eq!(
        call(&vcr, &upstream.v1(), "answers", None).await,
        Outcome::Answer(200)
    );
    assert_eq!(call(&vcr, &upstream.v1(), "refused", None).await, refused);
    // The client gave up then; now it is told at once that there is no answer, or gives up again.
    let hangs = call(&vcr, &upstream.v1(), "hangs", Some(PATIENCE)).await;
    assert_ne!(hangs, Outcome::Answer(200), "an answer was made up");
    assert_eq!(call(&vcr, &upstream.v1(), "reset", None).await, reset);
    assert_eq!(call(&vcr, &upstream.v1(), "closed", None).await, closed);
    done(vcr).await;
    assert!(start.elapsed() < Duration::from_secs(10));
    never.open();
}

#[tokio::test]
async fn in_process() {
    let rig = Rig::new();
    let vcr = rig.record();
    let client = InProcess::new(
        &vcr,
        [
            vec![Say::Text("ok"), Say::Finish("stop")],
            vec![Say::Fail("connection refused")],
            vec![Say::Text("end")],
        ],
    );
    assert_eq!(client.unary("one").await.text(), "ok");
    assert!(client.unary("two").await.error.is_some());
    assert_eq!(client.unary("three").await.text(), "end");
    done(vcr).await;
    assert_eq!(rig.cassette().calls().len(), 3);
    let vcr = rig.replay();
    let client = InProcess::new(&vcr, []);
    assert_eq!(client.unary("one").await.text(), "ok");
    assert!(
        client
            .unary("two")
            .await
            .error
            .is_some_and(|error| error.contains("connection refused"))
    );
    assert_eq!(client.unary("three").await.text(), "end");
    done(vcr).await;
}

#[tokio::test]
async fn an_intercepted_call_that_failed_fails_the_same_way() {
    let rig = Rig::new();
    for mode in [vcr_runtime::Mode::Record, vcr_runtime::Mode::Replay] {
        let vcr = rig.builder(mode).open().unwrap();
        let answer: Result<u8, _> = vcr
            .intercept("q", || async {
                Err(std::io::Error::new(
                    std::io::ErrorKind::TimedOut,
                    "no bytes for a while",
                ))
            })
            .await;
        match (mode, answer.unwrap_err()) {
            (vcr_runtime::Mode::Record, vcr_runtime::InterceptError::Live(error)) => {
                assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
            }
            (vcr_runtime::Mode::Replay, vcr_runtime::InterceptError::Replayed(failure)) => {
                assert!(failure.to_string().contains("no bytes for a while"), "{failure}");
            }
            (mode, error) => panic!("{mode:?}: {error:?}"),
        }
        done(vcr).await;
    }
}
