//! How a stream comes: at once, broken off, cut in odd places, with odd line ends, and left early.

use serde_json::json;
use vcr_runtime::Mode;
use vcr_tests::protocols::{BEDROCK, Protocol, STREAMED};
use vcr_tests::rig::{RecordedCall, Rig, done, within};
use vcr_tests::{Gate, Reply, Split, Step, Upstream};

use super::pass::{LAYERS, pass, session};

const TEXT: &str = "caf\u{e9} \u{1f980}";

/// The events of a good answer; for Bedrock the bytes of one, which nobody reads.
fn events(protocol: &Protocol, text: &str) -> (Vec<Vec<u8>>, usize) {
    match protocol.name {
        "bedrock-converse" => (vec![text.as_bytes().to_vec(), b"\0\0end".to_vec()], 0),
        _ => protocol.events(&json!(text)),
    }
}

fn reply(protocol: &Protocol, steps: Vec<Step>) -> Reply {
    let mut reply = protocol.stream_reply(Vec::new());
    reply.steps = steps;
    reply
}

fn bytes(events: &[Vec<u8>]) -> Vec<Step> {
    events.iter().cloned().map(Step::Bytes).collect()
}

#[tokio::test]
async fn d01_the_text_is_seen_before_the_rest_is_sent() {
    for protocol in STREAMED.iter().chain([&BEDROCK]) {
        let (events, at) = events(protocol, "one");
        let gate = Gate::new();
        let mut steps = bytes(&events[..=at]);
        steps.push(Step::Wait(gate.clone()));
        steps.extend(bytes(&events[at + 1..]));
        let upstream = Upstream::start([reply(protocol, steps)]);
        let rig = Rig::new();
        let vcr = rig.builder(Mode::Record).tick_ms(60_000.0).open().unwrap();
        let mut response = within(protocol.ask(&vcr, &upstream.url(), true)).await;
        let mut seen = within(response.until("one")).await;
        gate.open();
        let rest = within(response.whole()).await;
        assert_eq!(rest.broken, None, "{}", protocol.name);
        seen.extend(rest.bytes());
        assert_eq!(seen, events.concat(), "{}", protocol.name);
        done(vcr).await;
    }
}

#[tokio::test]
async fn d02_what_broke_off_breaks_off_again() {
    for protocol in STREAMED.iter().chain([&BEDROCK]) {
        for fault in [Step::Reset, Step::CloseWithoutEnd] {
            for raw in LAYERS {
                let (events, at) = events(protocol, "partial");
                let mut steps = bytes(&events[..=at]);
                steps.push(fault.clone());
                let passed = pass(protocol, reply(protocol, steps), raw, 0.0).await;
                let case = format!("{} {fault:?}", passed.case);
                assert!(
                    passed.live.whole.broken.is_some(),
                    "{case}: the caller was told of no fault"
                );
                assert!(passed.call.failed(), "{case}: counts as complete");
                assert!(
                    passed.again.whole.broken.is_some(),
                    "{case}: was replayed as an end in order"
                );
                if protocol.name == BEDROCK.name {
                    assert_eq!(passed.again.whole.bytes(), passed.live.whole.bytes(), "{case}");
                } else {
                    assert_eq!(passed.same().call.text(), "partial", "{case}");
                }
            }
        }
    }
}

#[tokio::test]
async fn d02_an_end_in_order_that_the_protocol_does_not_know_is_a_cut_answer() {
    for protocol in &STREAMED {
        for raw in LAYERS {
            let (events, at) = events(protocol, "partial");
            let passed = pass(protocol, reply(protocol, bytes(&events[..=at])), raw, 0.0).await;
            assert_eq!(
                passed.same().call.boundary("kind"),
                "truncated",
                "{}",
                passed.case
            );
        }
    }
}

#[tokio::test]
async fn d03_a_cut_character_arrives_whole() {
    for protocol in &STREAMED {
        for raw in LAYERS {
            for split in [Split::Bytes(1), Split::Random(11)] {
                let body = events(protocol, TEXT).0.concat();
                let passed = pass(protocol, protocol.stream_reply(body).split(split), raw, 100.0).await;
                let case = format!("{} {split:?}", passed.case);
                assert!(
                    passed.same().call.text().starts_with(TEXT),
                    "{case}: {}",
                    passed.call.text()
                );
                let told = format!("{}{}", passed.call.0, passed.again.whole.text());
                assert!(!told.contains('\u{fffd}'), "{case}: {told}");
            }
        }
    }
}

#[tokio::test]
async fn d04_any_line_end_ends_a_line() {
    for protocol in &STREAMED {
        let ends: &[&str] = match protocol.name {
            // A line of JSON ends with LF; a CR before it is space.
            "ollama-chat" => &["\r\n"],
            _ => &["\r\n", "\r", "\n"],
        };
        for end in ends {
            for split in [Split::Whole, Split::Bytes(1)] {
                for raw in ["true", "false"] {
                    let text = String::from_utf8(events(protocol, "ok").0.concat()).unwrap();
                    let body = text.replace("\r\n", "\n").replace('\n', end);
                    let reply = protocol.stream_reply(body.clone().into_bytes()).split(split);
                    let passed = pass(protocol, reply, raw, 0.0).await;
                    let case = format!("{} {end:?} {split:?}", passed.case);
                    assert!(passed.call.text().starts_with("ok"), "{case}: {}", passed.call.0);
                    assert!(!passed.call.failed(), "{case}");
                    assert_eq!(passed.live.whole.bytes(), body.as_bytes(), "{case}");
                    if raw == "true" {
                        assert_eq!(
                            passed.again.whole.bytes(),
                            body.as_bytes(),
                            "{case}: raw keeps the line ends"
                        );
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn d05_what_only_keeps_the_connection_alive_is_no_data() {
    for protocol in &STREAMED {
        let idle: &[&[u8]] = match protocol.name {
            "ollama-chat" => &[b"\n", b"\r\n"],
            "anthropic-messages" => &[b": ping\n\n", b"event: ping\ndata: {\"type\":\"ping\"}\n\n"],
            _ => &[b": ping\n\n", b":\n\n"],
        };
        for raw in LAYERS {
            let (events, _) = events(protocol, "ok");
            let plain = pass(protocol, reply(protocol, bytes(&events)), raw, 0.0).await;
            for idle in idle {
                let mut with: Vec<Vec<u8>> = vec![idle.to_vec()];
                for event in &events {
                    with.extend([event.clone(), idle.to_vec()]);
                }
                let passed = pass(protocol, reply(protocol, bytes(&with)), raw, 0.0).await;
                let heard = passed.heard(&passed.same().again);
                assert_eq!(heard, plain.heard(&plain.again), "{}", passed.case);
                assert_eq!(
                    chunks(&passed.call),
                    chunks(&plain.call),
                    "{}: it is no frame",
                    passed.case
                );
                if raw == "true" {
                    assert_eq!(passed.again.whole.bytes(), with.concat(), "{}", passed.case);
                }
            }
        }
    }
}

fn chunks(call: &RecordedCall) -> Vec<String> {
    call.frames()
        .iter()
        .map(|frame| frame["chunk"].to_string())
        .collect()
}

/// Reads up to some text, and leaves while the upstream still holds the connection.
async fn left_after(protocol: &Protocol, needle: &str, raw: &str) -> Rig {
    let gate = Gate::new();
    let mut steps = bytes(&events(protocol, "ok").0);
    steps.push(Step::Wait(gate.clone()));
    let upstream = Upstream::start([reply(protocol, steps)]);
    let rig = Rig::new();
    let vcr = session(&rig, Mode::Record, raw, 0.0);
    let mut response = within(protocol.ask(&vcr, &upstream.url(), true)).await;
    within(response.until(needle)).await;
    drop(response);
    within(vcr.finish())
        .await
        .expect("leaving early is no fault of the session");
    gate.open();
    rig
}

#[tokio::test]
async fn d11_who_leaves_at_the_end_marker_has_the_whole_answer() {
    for protocol in &STREAMED {
        let end = match protocol.name {
            "openai-chat" => "[DONE]",
            "openai-responses" => r#""type":"response.completed""#,
            "anthropic-messages" => r#""type":"message_stop""#,
            "gemini" => "STOP",
            _ => r#""done":true"#,
        };
        for raw in LAYERS {
            let rig = within(left_after(protocol, end, raw)).await;
            let call = rig.cassette().call();
            let case = format!("{} raw={raw}", protocol.name);
            assert!(!call.failed(), "{case}: {}", call.0);
            assert!(call.text().starts_with("ok"), "{case}");
            let vcr = session(&rig, Mode::Replay, raw, 0.0);
            let again = within(protocol.send(&vcr, "http://127.0.0.1:1", true)).await;
            done(vcr).await;
            assert_eq!(again.whole.broken, None, "{case}");
            assert!(again.whole.text().contains(end), "{case}: {}", again.whole.text());
        }
    }
}

#[tokio::test]
async fn d11_an_open_answer_that_nobody_reads_on_is_not_complete() {
    for protocol in &STREAMED {
        let gate = Gate::new();
        let (events, at) = events(protocol, "ok");
        let mut steps = bytes(&events[..=at]);
        steps.push(Step::Wait(gate.clone()));
        let upstream = Upstream::start([reply(protocol, steps)]);
        let rig = Rig::new();
        let vcr = rig.record();
        let mut response = within(protocol.ask(&vcr, &upstream.url(), true)).await;
        within(response.until("ok")).await;
        drop(response);
        within(vcr.finish())
            .await
            .expect("leaving early is no fault of the session");
        gate.open();
        let call = rig.cassette().call();
        assert_eq!(
            call.boundary("kind"),
            "cancelled",
            "{}: {}",
            protocol.name,
            call.0
        );
        assert_eq!(call.text(), "ok", "{}", protocol.name);
    }
}
