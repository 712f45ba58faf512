//! What a stream says: the facts at its end, tool calls, thinking, and errors.

use serde_json::Value;
use vcr_tests::protocols::{Protocol, STREAMED};
use vcr_tests::{Reply, Split};

use super::answers::{REDACTED, SIGNED, failure, tail, thinking, tools};
use super::pass::{Pass, pass};

fn reply(protocol: &Protocol, payloads: &[Value]) -> Reply {
    let mut events: Vec<Vec<u8>> = payloads.iter().map(|payload| protocol.event(payload)).collect();
    let failed = payloads.last().is_some_and(|last| last.get("error").is_some());
    if protocol.name == "openai-chat" && !failed {
        events.push(b"data: [DONE]\n\n".to_vec());
    }
    protocol.stream_reply(events.concat())
}

/// Every layer, fine and coarse frames, cut in odd places.
const WAYS: [(&str, f64, Split); 4] = [
    ("auto", 100.0, Split::Random(3)),
    ("true", 0.0, Split::Bytes(7)),
    ("false", 0.0, Split::Bytes(7)),
    ("false", 60_000.0, Split::Whole),
];

async fn passes(protocol: &Protocol, payloads: &[Value]) -> Vec<Pass> {
    let mut passes = Vec::new();
    for (raw, tick, split) in WAYS {
        let passed = pass(protocol, reply(protocol, payloads).split(split), raw, tick).await;
        passed.same();
        passes.push(passed);
    }
    passes
}

#[tokio::test]
async fn d06_events_have_their_names_even_where_the_upstream_named_none() {
    for protocol in STREAMED
        .iter()
        .filter(|protocol| ["openai-responses", "anthropic-messages"].contains(&protocol.name))
    {
        let payloads = tail(protocol.name, true);
        for named in [true, false] {
            let events: Vec<Vec<u8>> = payloads
                .iter()
                .map(|payload| match named {
                    true => protocol.event(payload),
                    false => protocol.frame(payload.to_string().as_bytes(), None),
                })
                .collect();
            let passed = pass(protocol, protocol.stream_reply(events.concat()), "false", 0.0).await;
            let text = passed.again.whole.text();
            for block in text.split_terminator("\n\n") {
                let (name, data) = block
                    .split_once("\ndata: ")
                    .unwrap_or_else(|| panic!("{}: {block}", passed.case));
                let payload: Value = serde_json::from_str(data).unwrap();
                assert_eq!(
                    name.strip_prefix("event: "),
                    payload["type"].as_str(),
                    "{}",
                    passed.case
                );
            }
            assert_eq!(passed.same().call.text(), "ok", "{}", passed.case);
        }
    }
}

#[tokio::test]
async fn d07_usage_and_finish_reason_survive_and_none_is_invented() {
    for protocol in &STREAMED {
        for counted in [true, false] {
            for passed in passes(protocol, &tail(protocol.name, counted)).await {
                let (case, call) = (format!("{} counted={counted}", passed.case), &passed.call);
                assert_eq!(
                    (call.text().as_str(), call.finish()),
                    ("ok", Some("length")),
                    "{case}"
                );
                let usage = &call.0["usage"];
                if counted {
                    assert_eq!(
                        (&usage["prompt_tokens"], &usage["completion_tokens"]),
                        (&12.into(), &1.into()),
                        "{case}: {usage}"
                    );
                } else {
                    assert_eq!(*usage, Value::Null, "{case}");
                }
            }
        }
    }
}

#[tokio::test]
async fn d08_pieces_of_parallel_calls_stay_with_their_call() {
    for protocol in &STREAMED {
        for passed in passes(protocol, &tools(protocol.name)).await {
            let calls = passed.call.tools();
            let said: Vec<(&str, Value)> = calls
                .iter()
                .map(|(_, name, arguments)| (name.as_str(), serde_json::from_str(arguments).unwrap()))
                .collect();
            let expected = [
                ("get_w", serde_json::json!({"city": "Oslo"})),
                ("get_t", serde_json::json!({"z": 1})),
            ];
            assert_eq!(said, expected, "{}", passed.case);
            if !["gemini", "ollama-chat"].contains(&protocol.name) {
                let ids: Vec<&str> = calls.iter().map(|(id, _, _)| id.as_str()).collect();
                assert_eq!(ids, ["call_a", "call_b"], "{}", passed.case);
            }
            assert_eq!(passed.call.finish(), Some("tool_calls"), "{}", passed.case);
        }
    }
}

#[tokio::test]
async fn d09_thinking_is_no_text_and_its_signatures_are_kept_to_the_byte() {
    for protocol in &STREAMED {
        let kept: &[&str] = match protocol.name {
            "ollama-chat" => &[],
            "openai-responses" | "gemini" => &SIGNED,
            _ => &[SIGNED[0], REDACTED, SIGNED[1]],
        };
        for passed in passes(protocol, &thinking(protocol.name)).await {
            let frames = passed.call.frames();
            let thought: String = frames
                .iter()
                .filter_map(|frame| frame["reasoning"].as_str())
                .collect();
            assert_eq!(
                (passed.call.text().as_str(), thought.as_str()),
                ("ok", "alphabeta"),
                "{}",
                passed.case
            );
            let mut rest = passed.again.whole.text();
            for word in kept {
                let at = rest
                    .find(word)
                    .unwrap_or_else(|| panic!("{}: {word} is not in its place", passed.case));
                rest = rest.split_off(at + word.len());
            }
        }
    }
}

#[tokio::test]
async fn d10_an_error_inside_a_stream_is_a_fault_and_comes_back() {
    for protocol in &STREAMED {
        for passed in passes(protocol, &failure(protocol.name)).await {
            let call = &passed.call;
            assert_eq!(
                (call.text().as_str(), call.boundary("kind")),
                ("Par", "error"),
                "{}: {}",
                passed.case,
                call.0
            );
            assert_eq!(call.boundary("message"), "Overloaded", "{}", passed.case);
            assert!(
                passed.again.whole.text().contains("Overloaded"),
                "{}",
                passed.case
            );
        }
    }
}
