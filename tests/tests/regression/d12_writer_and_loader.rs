//! Whatever is written is loaded again, and comes back as it was.

use serde_json::{Value, json};
use vcr_runtime::Mode;
use vcr_tests::rig::{Delivered, Rig, ask, done, question, stream_question};
use vcr_tests::{Reply, Upstream};

fn answer(message: &Value, finish: &str) -> Reply {
    Reply::json(&json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}))
}

fn call() -> Value {
    json!([{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}])
}

async fn round_trip(reply: Reply, body: &Value) -> (Delivered, Rig) {
    let mut last = None;
    for raw in ["auto", "true", "false"] {
        let upstream = Upstream::start([reply.clone(), reply.clone()]);
        let rig = Rig::new();
        let vcr = rig
            .builder(Mode::Record)
            .include_raw(raw.parse().unwrap())
            .open()
            .unwrap();
        let live = ask(&vcr, &upstream.v1(), body).await;
        done(vcr).await;
        let written = rig.cassette().text;
        assert!(
            written.ends_with("}\n") && !written.ends_with("\n\n"),
            "one final newline"
        );
        let vcr = rig.replay();
        let again = ask(&vcr, &upstream.v1(), body).await;
        done(vcr).await;
        assert_eq!(again.answer(), live.answer(), "raw={raw} in {written}");
        assert_eq!(upstream.count(), 1);
        assert_eq!(rig.cassette().text, written, "replay writes nothing");
        last = Some((again, rig));
    }
    last.unwrap()
}

#[tokio::test]
async fn an_empty_answer() {
    round_trip(
        answer(&json!({"role": "assistant", "content": ""}), "stop"),
        &question("hi"),
    )
    .await;
}

#[tokio::test]
async fn no_text_but_a_tool_call() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": call()});
    round_trip(answer(&message, "tool_calls"), &question("hi")).await;
}

#[tokio::test]
async fn text_and_a_tool_call_and_a_refusal() {
    let message = json!({"role": "assistant", "content": "x", "refusal": "no", "tool_calls": call()});
    round_trip(answer(&message, "tool_calls"), &question("hi")).await;
}

#[tokio::test]
async fn a_stream_without_text() {
    round_trip(Reply::text_stream(&[]), &stream_question("hi")).await;
    round_trip(Reply::sse("data: [DONE]\n\n"), &stream_question("hi")).await;
    round_trip(Reply::sse(""), &stream_question("hi")).await;
}

#[tokio::test]
async fn a_body_that_is_empty_or_no_object() {
    // No canonical form holds these, so without the raw layer they are lost; with it they come back.
    for text in ["", "null", "[]", "7", "\"x\"", "{}", "not json"] {
        for raw in ["auto", "true"] {
            let upstream = Upstream::start([Reply::json_text(200, text)]);
            let rig = Rig::new();
            for mode in [Mode::Record, Mode::Replay] {
                let vcr = rig
                    .builder(mode)
                    .include_raw(raw.parse().unwrap())
                    .open()
                    .unwrap();
                assert_eq!(
                    ask(&vcr, &upstream.v1(), &question("hi")).await.whole.text(),
                    text,
                    "{mode:?} {raw}"
                );
                done(vcr).await;
            }
        }
    }
}

#[tokio::test]
async fn a_body_with_no_message() {
    round_trip(
        Reply::json(&json!({"choices": [], "usage": {"prompt_tokens": 1}})),
        &question("hi"),
    )
    .await;
    round_trip(Reply::json(&json!({"choices": [{"index": 0}]})), &question("hi")).await;
}

#[tokio::test]
async fn a_scenario_without_calls() {
    let rig = Rig::new();
    done(rig.record()).await;
    if rig.files().is_empty() {
        return;
    }
    done(rig.replay()).await;
}

#[tokio::test]
async fn an_older_take_is_written_again_as_it_was() {
    let upstream = Upstream::start([
        Reply::json_text(
            200,
            r#"{"z":1.50,"choices":[{"message":{"content":"a\u00e9\/"},"index":0,"finish_reason":"stop"}],"a":1e3}"#,
        ),
        Reply::text("another"),
    ]);
    let rig = Rig::new();
    let mut takes = Vec::new();
    for _ in 0..2 {
        let vcr = rig
            .builder(Mode::Record)
            .include_raw("true".parse().unwrap())
            .open()
            .unwrap();
        ask(&vcr, &upstream.v1(), &question("hi")).await;
        done(vcr).await;
        takes.push(rig.cassette());
    }
    assert_eq!((takes[0].takes(), takes[1].takes()), (1, 2));
    let id = takes[0].value["latest_trace_id"].as_str().unwrap();
    let block = |text: &str| {
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.trim_end_matches(',').to_owned())
            .collect();
        let start = lines
            .iter()
            .position(|line| line.trim_start().starts_with(&format!("\"{id}\": {{")))
            .unwrap();
        let depth = |line: &String| line.len() - line.trim_start().len();
        let end = (start + 1..lines.len())
            .find(|at| depth(&lines[*at]) <= depth(&lines[start]))
            .unwrap();
        lines[start..=end].to_vec()
    };
    assert_eq!(block(&takes[0].text), block(&takes[1].text));
    assert!(
        takes[1].text.contains("1.50"),
        "numbers are kept as they were spelt: {}",
        takes[1].text
    );
}

#[tokio::test]
async fn an_answer_that_says_nothing_is_one_on_every_front() {
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.record();
        assert_eq!(front.ask(&vcr, "hi", "").await.good(), "");
        done(vcr).await;
        let vcr = rig.replay();
        let got = front.ask(&vcr, "hi", "live").await;
        assert_eq!((got.good(), got.live), ("", false), "{front:?}");
        done(vcr).await;
        let differences = vcr_runtime::verify(rig.directory()).unwrap();
        assert!(differences.is_empty(), "{front:?}: {differences:?}");
    }
}
