//! Time in replay: none at full speed, the recorded one in real time, and none of the wall's under a paused clock.

use std::time::{Duration, Instant};

use vcr_runtime::{Chaos, Mode, Speed};
use vcr_tests::rig::{InProcess, Rig, chat, done, stream_question};

/// 800 ms to the first frame, 200 ms to the second, 50 ms of silence.
const SLOW: &str = r#"{
  "scenario": "case",
  "latest_trace_id": "0a0b0c0d0e0f10111213141516171819",
  "history_keys": ["0a0b0c0d0e0f10111213141516171819"],
  "traces": {"0a0b0c0d0e0f10111213141516171819": {
    "trace_id": "0a0b0c0d0e0f10111213141516171819",
    "request_context": {"model": "gpt-4o-mini", "provider": "openai",
      "messages": [{"role": "user", "content": "hi"}],
      "parameters": {"temperature": null, "max_tokens": null, "stream": true}},
    "network_metrics": {"ttfb_ms": 800.0, "total_duration_ms": 1050.0},
    "response_timeline": [
      {"delta_ms": 800.0, "chunk": "Hel"},
      {"delta_ms": 200.0, "chunk": "lo", "finish_reason": "stop"}],
    "exception_boundary": {"occurred": false}
  }}
}"#;

/// The virtual time at which each piece came, under a paused clock.
async fn arrivals(speed: Speed, chaos: Chaos, seed: Option<u64>) -> Vec<u128> {
    let rig = Rig::with_cassette(SLOW);
    let mut builder = rig.builder(Mode::Replay).speed(speed).chaos(chaos);
    if let Some(seed) = seed {
        builder = builder.chaos_seed(seed);
    }
    let vcr = builder.open().unwrap();
    let start = tokio::time::Instant::now();
    let mut stream = InProcess::new(&vcr, []).open("hi").await;
    let mut times = Vec::new();
    while let Ok(piece) = stream.piece().await {
        if piece.is_empty() {
            break;
        }
        times.push(start.elapsed().as_millis());
    }
    done(vcr).await;
    times
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_replays_real_time_in_no_time() {
    let wall = Instant::now();
    assert_eq!(arrivals(Speed::Real, Chaos::None, None).await, [800, 1000]);
    assert_eq!(arrivals(Speed::Factor(4.0), Chaos::None, None).await, [200, 250]);
    assert_eq!(arrivals(Speed::Max, Chaos::None, None).await, [0, 0]);
    assert!(
        wall.elapsed() < Duration::from_millis(700),
        "the wall clock was waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn chaos_comes_on_top() {
    let fixed = Chaos::Fixed(Duration::from_millis(500));
    assert_eq!(
        arrivals(Speed::Max, fixed, None).await,
        [500, 500],
        "once, before the first frame"
    );
    assert_eq!(arrivals(Speed::Real, fixed, None).await, [1300, 1500]);
    let jitter = Chaos::Jitter {
        lo: Duration::from_millis(100),
        hi: Duration::from_millis(900),
    };
    let one = arrivals(Speed::Max, jitter, Some(7)).await;
    assert_eq!(
        one,
        arrivals(Speed::Max, jitter, Some(7)).await,
        "the same seed, the same jitter"
    );
    assert_ne!(one, arrivals(Speed::Max, jitter, Some(8)).await);
    assert!(
        one[0] >= 100 && one[0] <= 900 && one[1] >= one[0] + 100,
        "{one:?}"
    );
}

#[tokio::test]
async fn a_client_that_is_less_patient_than_the_recording() {
    let patience = Duration::from_millis(400);
    let rig = Rig::with_cassette(SLOW);
    let vcr = rig.replay();
    let answer = tokio::time::timeout(patience, chat(&vcr, &stream_question("hi"))).await;
    assert_eq!(answer.expect("full speed has no 800 ms").text(), "Hello");
    done(vcr).await;
    let vcr = rig.builder(Mode::Replay).speed(Speed::Real).open().unwrap();
    let answer = tokio::time::timeout(patience, chat(&vcr, &stream_question("hi"))).await;
    assert!(answer.is_err(), "real time has to time out as live would");
    done(vcr).await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_under_a_paused_clock_sees_the_recorded_time() {
    let rig = Rig::with_cassette(SLOW);
    let vcr = rig.builder(Mode::Replay).speed(Speed::Real).open().unwrap();
    let client = InProcess::new(&vcr, []);
    let answer = tokio::time::timeout(Duration::from_millis(500), client.stream("hi")).await;
    assert!(answer.is_err());
    done(vcr).await;
    let vcr = rig.builder(Mode::Replay).speed(Speed::Max).open().unwrap();
    let client = InProcess::new(&vcr, []);
    let answer = tokio::time::timeout(Duration::from_millis(500), client.stream("hi")).await;
    assert_eq!(answer.unwrap().text(), "Hello");
    done(vcr).await;
}

#[tokio::test(start_paused = true)]
async fn an_intercepted_call_takes_its_recorded_time_and_none_at_top_speed() {
    let rig = Rig::new();
    let ask = |vcr: vcr_runtime::Vcr| async move {
        let start = tokio::time::Instant::now();
        let answer: u8 = vcr
            .intercept("q", || async { Ok::<_, std::io::Error>(7) })
            .await
            .unwrap();
        assert_eq!(answer, 7);
        done(vcr).await;
        start.elapsed().as_millis()
    };
    ask(rig.record()).await;
    // As if it had taken 800 milliseconds.
    let mut cassette = rig.cassette().value;
    let id = cassette["latest_trace_id"].as_str().unwrap().to_owned();
    cassette["traces"][&id]["network_metrics"]["total_duration_ms"] = 800.0.into();
    std::fs::write(rig.path(), cassette.to_string()).unwrap();
    for (speed, chaos, expected) in [
        (Speed::Max, Chaos::None, 0),
        (Speed::Real, Chaos::None, 800),
        (Speed::Factor(4.0), Chaos::None, 200),
        (Speed::Max, Chaos::Fixed(Duration::from_millis(500)), 500),
    ] {
        let vcr = rig.builder(vcr_runtime::Mode::Replay).speed(speed).chaos(chaos);
        assert_eq!(ask(vcr.open().unwrap()).await, expected, "{speed:?} {chaos:?}");
    }
}
