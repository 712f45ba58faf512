//! The formats of the seeds: their examples load and replay as they say, and what we write has their shape.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};
use vcr_runtime::{Mode, Request, Speed};
use vcr_tests::Reply;
use vcr_tests::rig::{InProcess, Rig, Say, chat, complaint, done, stream_question};

/// A cassette in the seed's format, with every member that the format has and none of ours.
const SCHEMA: &str = r#"{
  "scenario": "greet",
  "latest_trace_id": "0a0b0c0d0e0f10111213141516171819",
  "history_keys": ["0a0b0c0d0e0f10111213141516171819"],
  "traces": {
    "0a0b0c0d0e0f10111213141516171819": {
      "trace_id": "0a0b0c0d0e0f10111213141516171819",
      "request_context": {
        "model": "demo-1",
        "provider": "openai",
        "messages": [{ "role": "user", "content": "hi" }],
        "parameters": { "temperature": null, "max_tokens": 16, "stream": true }
      },
      "network_metrics": { "ttfb_ms": 40.0, "total_duration_ms": 190.0 },
      "response_timeline": [
        { "delta_ms": 40.0, "chunk": "Hel" },
        { "delta_ms": 110.0, "chunk": "lo there" },
        { "delta_ms": 40.0, "chunk": "", "finish_reason": "stop" }
      ],
      "exception_boundary": { "occurred": false },
      "usage": { "prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4 }
    }
  }
}"#;

fn demo() -> Value {
    json!({"model": "demo-1", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 16, "stream": true})
}

fn demo_in_process() -> Request {
    Request::new("openai/demo-1")
        .user("hi")
        .parameter("max_tokens", 16)
}

#[tokio::test]
async fn the_schema_example_replays_through_the_gateway() {
    let rig = Rig::with_cassette(SCHEMA);
    let vcr = rig.replay();
    let delivered = chat(&vcr, &demo()).await;
    assert_eq!(
        delivered
            .header("content-type")
            .map(|text| text.starts_with("text/event-stream")),
        Some(true)
    );
    let answer = delivered.answer();
    assert_eq!((answer.text(), answer.finish()), ("Hello there", Some("stop")));
    assert!(answer.done, "{}", delivered.whole.text());
    let first: Value =
        serde_json::from_str(&vcr_tests::sdk::events(&delivered.whole.bytes())[0].data).unwrap();
    assert_eq!(
        first["id"], "vcr-0a0b0c0d",
        "an id that is stable and recognisable"
    );
    done(vcr).await;
    assert_eq!(rig.cassette().text, SCHEMA);
}

#[tokio::test]
async fn the_schema_example_replays_in_process() {
    let rig = Rig::with_cassette(SCHEMA);
    let vcr = rig.replay();
    let seen = InProcess::new(&vcr, []).send(demo_in_process()).await;
    assert_eq!(seen.pieces, ["Hel", "lo there"], "{seen:?}");
    assert_eq!(
        (seen.finish.as_deref(), seen.usage, seen.error),
        (Some("stop"), Some((1, 3)), None)
    );
    done(vcr).await;
}

#[tokio::test(start_paused = true)]
async fn real_time_is_the_sum_of_the_deltas_and_not_more() {
    let rig = Rig::with_cassette(SCHEMA);
    let vcr = rig.builder(Mode::Replay).speed(Speed::Real).open().unwrap();
    let start = tokio::time::Instant::now();
    InProcess::new(&vcr, []).send(demo_in_process()).await;
    assert_eq!(
        start.elapsed().as_millis(),
        190,
        "the first delta is the time to the first byte, not an addition to it"
    );
    done(vcr).await;
}

#[tokio::test]
async fn a_hand_written_cassette_is_compared_on_what_it_has() {
    let minimal = r#"{"latest_trace_id": "t", "traces": {"t": {
        "request_context": {"messages": [{"role": "user", "content": "hi"}]},
        "response_timeline": [{"chunk": "written by hand"}]}}}"#;
    let rig = Rig::with_cassette(minimal);
    let vcr = rig.replay();
    assert_eq!(chat(&vcr, &stream_question("hi")).await.text(), "written by hand");
    done(vcr).await;
    let vcr = rig.replay();
    let body = json!({"model": "any", "temperature": 0.3, "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(
        chat(&vcr, &body).await.text(),
        "written by hand",
        "unary from a timeline"
    );
    done(vcr).await;
    let vcr = rig.replay();
    assert_eq!(
        InProcess::new(&vcr, []).stream("hi").await.text(),
        "written by hand"
    );
    done(vcr).await;
    let vcr = rig.replay();
    assert!(
        chat(&vcr, &stream_question("hi!"))
            .await
            .miss()
            .contains("messages[0].content")
    );
    complaint(vcr).await;
}

#[tokio::test]
async fn an_exception_comes_after_the_last_frame_of_a_stream() {
    let text = SCHEMA
        .replace(r#"{ "delta_ms": 40.0, "chunk": "", "finish_reason": "stop" }"#, r#"{ "delta_ms": 40.0, "chunk": "!" }"#)
        .replace(
            r#""exception_boundary": { "occurred": false }"#,
            r#""exception_boundary": { "occurred": true, "error_type": "RateLimitError", "message": "quota exceeded" }"#,
        );
    let rig = Rig::with_cassette(&text);
    let vcr = rig.replay();
    let seen = InProcess::new(&vcr, []).send(demo_in_process()).await;
    assert_eq!(seen.text(), "Hello there!", "{seen:?}");
    assert!(
        seen.error
            .as_deref()
            .is_some_and(|error| error.contains("quota exceeded")),
        "{seen:?}"
    );
    done(vcr).await;
    let vcr = rig.replay();
    let delivered = chat(&vcr, &demo()).await;
    let answer = delivered.answer();
    assert_eq!(answer.text(), "Hello there!");
    let told = answer
        .error
        .is_some_and(|error| error.to_string().contains("quota exceeded"));
    assert!(
        told || delivered.whole.broken.is_some(),
        "the failure is lost: {}",
        delivered.whole.text()
    );
    done(vcr).await;
}

#[tokio::test]
async fn tool_calls_stand_on_the_last_frame() {
    let text = SCHEMA.replace(
        r#"{ "delta_ms": 40.0, "chunk": "", "finish_reason": "stop" }"#,
        r#"{ "delta_ms": 40.0, "chunk": "", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}}], "finish_reason": "tool_calls" }"#,
    );
    let rig = Rig::with_cassette(&text);
    let vcr = rig.replay();
    let answer = chat(&vcr, &demo()).await.answer();
    assert_eq!(answer.tools(), [("call_1", "add", "{\"a\": 1}")]);
    assert_eq!(answer.finish(), Some("tool_calls"));
    done(vcr).await;
    let vcr = rig.replay();
    let seen = InProcess::new(&vcr, []).send(demo_in_process()).await;
    assert_eq!(
        seen.tools,
        [("call_1".to_owned(), "add".to_owned(), "{\"a\": 1}".to_owned())]
    );
    done(vcr).await;
}

#[tokio::test]
async fn one_call_of_ours_has_the_seeds_shape() {
    let rig = Rig::new();
    let vcr = rig.record();
    let script = vec![
        Say::Text("Hel"),
        Say::Text("lo"),
        Say::Finish("stop"),
        Say::Usage(1, 2),
    ];
    InProcess::new(&vcr, [script]).send(demo_in_process()).await;
    done(vcr).await;
    let cassette = rig.cassette();
    assert_eq!(cassette.value["scenario"], "case");
    let id = cassette.value["latest_trace_id"].as_str().unwrap();
    assert!(
        id.len() == 32
            && id
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
        "{id}"
    );
    assert_eq!(cassette.value["history_keys"], json!([id]));
    let take = cassette.take();
    assert_eq!(take["trace_id"], id);
    assert!(take["calls"].is_null(), "a take of one call is flat");
    let context = &take["request_context"];
    assert_eq!(context["model"], "demo-1");
    assert_eq!(context["provider"], "openai");
    assert_eq!(context["messages"], json!([{"role": "user", "content": "hi"}]));
    assert_eq!(
        context["parameters"],
        json!({"temperature": null, "max_tokens": 16, "stream": true})
    );
    assert_eq!(take["exception_boundary"], json!({"occurred": false}));
    assert_eq!(take["usage"]["total_tokens"], 3);
    let frames = take["response_timeline"].as_array().unwrap();
    assert!(
        frames[0]["delta_ms"].is_f64() && frames[0]["chunk"].is_string(),
        "{take}"
    );
    assert_eq!(frames.last().unwrap()["finish_reason"], "stop");
    assert_eq!(take["network_metrics"]["ttfb_ms"], frames[0]["delta_ms"]);
    assert!(cassette.text.starts_with("{\n  \""), "two spaces");
}

#[tokio::test]
async fn a_unary_call_is_one_frame() {
    let rig = Rig::recorded([(vcr_tests::rig::question("hi"), Reply::text("whole"))]).await;
    let call = rig.cassette().call();
    assert_eq!(call.frames().len(), 1);
    assert_eq!(call.frames()[0]["chunk"], "whole");
    assert_eq!(call.0["request_context"]["parameters"]["stream"], false);
}

#[tokio::test]
async fn a_call_without_a_scenario_has_the_seeds_automatic_name() {
    // The vector of the seed is computed over one message and no invoker; the name shows its first eight digits.
    let directory = tempfile::tempdir().unwrap();
    let vcr = vcr_runtime::Vcr::builder()
        .invoker("unknown_invoker")
        .fixture_dir(directory.path())
        .mode(Mode::Record)
        .open()
        .unwrap();
    let request = Request::new("openai/demo-1").message(json!({"role": "user", "content": "Hi"}));
    InProcess::new(&vcr, [vec![Say::Text("ok")]]).send(request).await;
    done(vcr).await;
    let names: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["fixture_unknown_invoker_auto_ab6ed091.json"]);
}

#[tokio::test]
async fn metadata_is_for_us_alone() {
    let rig = Rig::new();
    let vcr = rig.record();
    let request = demo_in_process()
        .metadata("vcr_tick", "0")
        .metadata("vcr_speed", "max");
    InProcess::new(&vcr, [vec![Say::Text("ok"), Say::Finish("stop")]])
        .send(request)
        .await;
    done(vcr).await;
    assert!(
        !rig.cassette().text.contains("vcr_tick"),
        "{}",
        rig.cassette().text
    );
    let vcr = rig.replay();
    assert_eq!(
        InProcess::new(&vcr, []).send(demo_in_process()).await.text(),
        "ok"
    );
    done(vcr).await;
}
