//! The second step of an agent is another request than the first: the whole transcript is compared.

use serde_json::{Value, json};
use vcr_tests::Reply;
use vcr_tests::rig::{Rig, chat, complaint, done};

fn tool_call(id: &str) -> Value {
    json!({"role": "assistant", "content": null,
           "tool_calls": [{"id": id, "type": "function", "function": {"name": "search", "arguments": "{}"}}]})
}

fn request(rest: &[Value]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "find it"})];
    messages.extend_from_slice(rest);
    json!({"model": "m", "messages": messages})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

async fn recorded() -> Rig {
    let asks = Reply::json(
        &json!({"choices": [{"index": 0, "message": tool_call("call_1"), "finish_reason": "tool_calls"}]}),
    );
    Rig::recorded([
        (request(&[]), asks),
        (
            request(&[tool_call("call_1"), result("call_1", "found")]),
            Reply::text("done"),
        ),
    ])
    .await
}

#[tokio::test]
async fn both_steps_get_their_own_answers() {
    let rig = recorded().await;
    let vcr = rig.replay();
    assert_eq!(
        chat(&vcr, &request(&[])).await.answer().tools(),
        [("call_1", "search", "{}")]
    );
    let second = request(&[tool_call("call_1"), result("call_1", "found")]);
    assert_eq!(chat(&vcr, &second).await.text(), "done");
    done(vcr).await;
}

#[tokio::test]
async fn a_loop_is_a_miss_and_not_the_first_answer_again() {
    let rig = recorded().await;
    let vcr = rig.replay();
    chat(&vcr, &request(&[])).await;
    let miss = chat(&vcr, &request(&[])).await.miss();
    assert!(miss.contains("consumed") || miss.contains("used"), "{miss}");
    complaint(vcr).await;
}

#[tokio::test]
async fn another_tool_result_is_another_request() {
    let rig = recorded().await;
    for (rest, path) in [
        (
            vec![tool_call("call_1"), result("call_1", "rejected")],
            "messages[2].content",
        ),
        (
            vec![tool_call("call_2"), result("call_2", "found")],
            "messages[1].tool_calls[0].id",
        ),
    ] {
        let vcr = rig.replay();
        chat(&vcr, &request(&[])).await;
        let miss = chat(&vcr, &request(&rest)).await.miss();
        assert!(miss.contains(path), "{path} is not in:\n{miss}");
        complaint(vcr).await;
    }
}

#[tokio::test]
async fn the_whole_transcript_counts_on_every_front() {
    let second = |text: &str| request(&[tool_call("call_1"), result("call_1", text)]);
    for front in vcr_tests::rig::Front::ALL {
        let rig = Rig::new();
        let vcr = rig.record();
        front.send(&vcr, &request(&[]), Ok("first")).await;
        front.send(&vcr, &second("found"), Ok("done")).await;
        done(vcr).await;
        let vcr = rig.replay();
        assert_eq!(front.send(&vcr, &request(&[]), Ok("live")).await.good(), "first");
        // A loop, another result, then the right one: nothing that was refused was used up.
        for (body, word) in [
            (request(&[]), "used"),
            (second("rejected"), "messages[2].content"),
        ] {
            let got = front.send(&vcr, &body, Ok("live")).await;
            assert!(got.refused().contains(word), "{front:?}: {got:?}");
        }
        assert_eq!(
            front.send(&vcr, &second("found"), Ok("live")).await.good(),
            "done"
        );
        complaint(vcr).await;
    }
}
