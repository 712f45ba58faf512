use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;

use crate::canon::equivalent;
use crate::json::{Json, compact, parse};
use crate::model::{Boundary, BoundaryKind, Frame, ToolCall, Usage};
use crate::protocol::{Answer, Event, Framer, Framing, HttpRequest, Tail, Wire};
use crate::protocol::{Timeline, Told};

use super::Converse;
use super::content::{from_messages, to_messages};

struct Recorded {
    told: Told,
    tail: Tail,
}

fn record_unary(status: u16, body: &Json) -> Recorded {
    let mut out = Vec::new();
    let tail = Converse.unary(status, body, &mut out);
    let mut timeline = Timeline::unary();
    timeline.push(0, out);
    Recorded {
        told: timeline.finish(),
        tail,
    }
}

fn record_stream(pieces: &[&[u8]]) -> Recorded {
    let mut framer = Framer::new(Framing::Opaque);
    let mut decoder = Converse.decoder();
    let mut timeline = Timeline::unary();
    for piece in pieces {
        let mut events = Vec::new();
        framer.push(piece, &mut events);
        for event in &events {
            let mut out: Vec<Event> = Vec::new();
            decoder.event(event, &mut out);
            timeline.push(0, out);
        }
    }
    Recorded {
        told: timeline.finish(),
        tail: decoder.finish(),
    }
}

fn answer<'a>(frames: &'a [Frame], usage: Option<&'a Usage>, template: Option<&'a Json>) -> Answer<'a> {
    Answer {
        frames,
        usage,
        boundary: None,
        template,
        model: "m",
        id: "vcr-01234567",
    }
}

fn rendered(recorded: &Recorded) -> Json {
    let boundary = recorded.told.error.as_ref().map(|error| Boundary {
        kind: BoundaryKind::Http,
        error_type: error.error_type.clone(),
        message: error.message.clone(),
        status: error.status,
        code: None,
    });
    Converse.render_unary(&Answer {
        boundary: boundary.as_ref(),
        ..answer(
            &recorded.told.frames,
            recorded.told.usage.as_ref(),
            recorded.tail.template.as_ref(),
        )
    })
}

/// A message of a binary stream, with checksums of zero.
fn message(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        block.push(u8::try_from(name.len()).unwrap());
        block.extend(name.as_bytes());
        block.push(7);
        block.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        block.extend(value.as_bytes());
    }
    let length = u32::try_from(16 + block.len() + payload.len()).unwrap();
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(block.len()).unwrap().to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(block);
    bytes.extend(payload.as_bytes());
    bytes.extend([0; 4]);
    bytes
}

fn event(name: &str, payload: &str) -> Vec<u8> {
    message(&[(":message-type", "event"), (":event-type", name)], payload)
}

fn stream() -> Vec<u8> {
    [
        event("messageStart", r#"{"role":"assistant","p":"abc"}"#),
        event(
            "contentBlockDelta",
            r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm"}}}"#,
        ),
        event(
            "contentBlockDelta",
            r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}"#,
        ),
        event("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        event(
            "contentBlockDelta",
            r#"{"contentBlockIndex":1,"delta":{"text":"Hi"}}"#,
        ),
        event(
            "contentBlockStart",
            r#"{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t1","name":"add"}}}"#,
        ),
        event(
            "contentBlockDelta",
            r#"{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"a\":"}}}"#,
        ),
        event(
            "contentBlockDelta",
            r#"{"contentBlockIndex":2,"delta":{"toolUse":{"input":"1}"}}}"#,
        ),
        event("messageStop", r#"{"stopReason":"tool_use"}"#),
        event(
            "metadata",
            r#"{"usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5},"metrics":{"latencyMs":7}}"#,
        ),
    ]
    .concat()
}

#[test]
fn unary_bodies_come_back() {
    for body in [
        r#"{"metrics":{"latencyMs":353},"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"Hm","signature":"c2ln"}}},{"text":"a"},{"toolUse":{"toolUseId":"t1","name":"add","input":{"x":20,"y":2.50}}}],"role":"assistant"}},"stopReason":"tool_use","usage":{"inputTokens":434,"outputTokens":21,"serverToolUsage":{},"totalTokens":455}}"#,
        r#"{"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"Hm"}}},{"reasoningContent":{"redactedContent":"ZA=="}},{"text":"a"},{"text":"b"},{"toolUse":{"toolUseId":"t","name":"n","input":{}}},{"text":""},{"citationsContent":{"content":[]}},{"toolUse":{"toolUseId":"u","name":"n","input":{},"type":"server_tool_use"}}],"role":"assistant"}},"stopReason":"guardrail_intervened","usage":{"inputTokens":1,"outputTokens":2}}"#,
        r#"{"output":{"message":{"role":"assistant"}},"stopReason":"end_turn"}"#,
        r#"{"output":{}}"#,
        "[]",
    ] {
        let body = parse(body).unwrap();
        let recorded = record_unary(200, &body);
        assert_eq!(recorded.tail.odd, None);
        let again = rendered(&recorded);
        assert!(
            equivalent(&body, &again),
            "{}\n{}",
            compact(&body),
            compact(&again)
        );
    }
}

#[test]
fn a_unary_body_is_read() {
    let body = r#"{"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"Hm","signature":"c2ln"}}},{"text":"a"},{"toolUse":{"toolUseId":"t1","name":"add","input":{"x": 20}}}],"role":"assistant"}},"stopReason":"tool_use","usage":{"inputTokens":4,"outputTokens":2,"totalTokens":6}}"#;
    let Told { frames, usage, .. } = record_unary(200, &parse(body).unwrap()).told;
    assert_eq!(frames.len(), 1);
    let frame = &frames[0];
    assert_eq!(
        (frame.reasoning.as_deref(), frame.reasoning_signature.as_deref()),
        (Some("Hm"), Some("c2ln"))
    );
    assert_eq!(
        (frame.chunk.as_str(), frame.tool_calls[0].id.as_str()),
        ("a", "t1")
    );
    assert_eq!(frame.tool_calls[0].function.arguments, r#"{"x":20}"#);
    assert_eq!(frame.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(usage, Some(Usage::new(4, 2)));
}

#[test]
fn error_bodies_come_back() {
    let body = parse(r#"{"message":"Too many requests"}"#).unwrap();
    let recorded = record_unary(429, &body);
    let error = recorded.told.error.as_ref().unwrap();
    assert_eq!(
        (error.message.as_str(), error.status),
        ("Too many requests", Some(429))
    );
    assert_eq!(rendered(&recorded), body);
}

#[test]
fn an_answer_from_elsewhere_is_a_plausible_body() {
    let frame = Frame {
        chunk: "Hi".to_owned(),
        finish_reason: Some("content_filter".to_owned()),
        ..Frame::default()
    };
    let body = Converse.render_unary(&answer(&[frame], Some(&Usage::new(3, 2)), None));
    assert_eq!(
        compact(&body),
        r#"{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"content_filtered","usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5},"metrics":{"latencyMs":0}}"#
    );
}

#[test]
fn a_binary_stream_is_read_for_people_and_kept() {
    let recorded = record_stream(&[&stream()]);
    let frame = &recorded.told.frames[0];
    assert_eq!(
        (frame.reasoning.as_deref(), frame.reasoning_signature.as_deref()),
        (Some("Hm"), Some("c2ln"))
    );
    assert_eq!(
        (frame.chunk.as_str(), frame.finish_reason.as_deref()),
        ("Hi", Some("tool_calls"))
    );
    assert_eq!(frame.tool_calls[0].function.arguments, r#"{"a":1}"#);
    assert_eq!(recorded.told.usage, Some(Usage::new(3, 2)));
    assert!(recorded.tail.complete);
    // An oddity is what makes the recorder keep the bytes.
    assert!(recorded.tail.odd.is_some());
}

#[test]
fn an_exception_inside_a_stream_is_an_error() {
    let exception = message(
        &[
            (":message-type", "exception"),
            (":exception-type", "throttlingException"),
        ],
        r#"{"message":"slow down"}"#,
    );
    let text = event(
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"text":"Par"}}"#,
    );
    let recorded = record_stream(&[&text, &exception]);
    let error = recorded.told.error.unwrap();
    assert_eq!(
        (error.error_type.as_str(), error.message.as_str()),
        ("throttlingException", "slow down")
    );
    assert_eq!(recorded.told.frames[0].chunk, "Par");
    assert!(recorded.tail.complete);
}

#[test]
fn what_is_no_event_stream_is_odd_and_never_complete() {
    for bytes in [
        &b"{\"message\":\"x\"}"[..],
        &[0; 40],
        &[0xFF; 40],
        &message(&[("", "")], "")[..15],
    ] {
        let recorded = record_stream(&[bytes]);
        assert!(!recorded.tail.complete && recorded.tail.odd.is_some());
    }
}

#[test]
fn real_recordings_are_read() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/real-traffic");
    let root = std::env::var_os("VCR_REAL_TRAFFIC").map_or_else(|| default.into(), std::path::PathBuf::from);
    if !root.is_dir() {
        println!("skipped: no recordings; VCR_REAL_TRAFFIC names their directory");
        return;
    }
    let exchange = |name: &str| {
        let text = std::fs::read_to_string(root.join("bedrock").join(name)).unwrap();
        let exchange = parse(&text)
            .unwrap()
            .get("exchanges")
            .unwrap()
            .at(0)
            .unwrap()
            .clone();
        let request = exchange.get("request").unwrap();
        let path = request
            .get("path")
            .or_else(|| request.get("url"))
            .unwrap()
            .as_str()
            .unwrap();
        let http = HttpRequest {
            method: "POST",
            path,
            query: "",
            body: request.get("body_text").unwrap().as_str().unwrap().as_bytes(),
        };
        let canonical = Converse.request(&http).unwrap();
        (canonical, exchange.get("response").unwrap().clone())
    };
    let (request, response) = exchange("unary-converse-tool.exchanges.json");
    assert_eq!(
        (request.model.as_str(), request.stream()),
        ("amazon.nova-lite-v1:0", false)
    );
    let body = parse(response.get("body_text").unwrap().as_str().unwrap()).unwrap();
    assert!(equivalent(&body, &rendered(&record_unary(200, &body))));

    let (request, response) = exchange("stream-converse-binary.exchanges.json");
    assert_eq!(
        (request.model.as_str(), request.stream()),
        ("openai.gpt-oss-120b-1:0", true)
    );
    let bytes = BASE64
        .decode(response.get("body_base64").unwrap().as_str().unwrap())
        .unwrap();
    let recorded = record_stream(&bytes.chunks(100).collect::<Vec<_>>());
    let text: String = recorded
        .told
        .frames
        .iter()
        .map(|frame| frame.chunk.as_str())
        .collect();
    assert_eq!(text, "Hello! How can I help you today?");
    assert!(recorded.tail.complete);
    let usage = recorded.told.usage.unwrap();
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (70, 43, 113)
    );
}

/// What the frames of a whole answer say.
fn said(frames: &[Frame]) -> (String, String, Vec<(String, String)>, Option<String>) {
    let calls = frames.iter().flat_map(|frame| &frame.tool_calls);
    (
        frames
            .iter()
            .filter_map(|frame| frame.reasoning.as_deref())
            .collect(),
        frames.iter().map(|frame| frame.chunk.as_str()).collect(),
        calls
            .map(|call| {
                (
                    call.id.clone(),
                    format!("{} {}", call.function.name, call.function.arguments),
                )
            })
            .collect(),
        frames.iter().rev().find_map(|frame| frame.finish_reason.clone()),
    )
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let word = || "[a-z\u{e9}\u{1F980}\"\\\\\n ]{1,8}";
    let tools = prop::collection::vec(("[a-z]{1,5}", "[a-z0-9]{0,4}"), 0..3);
    let reason = prop::sample::select(vec!["stop", "length", "content_filter"]);
    (prop::option::of(word()), word(), tools, reason).prop_map(|(reasoning, chunk, tools, reason)| {
        let calls = tools.iter().enumerate();
        let tool_calls: Vec<ToolCall> = calls
            .map(|(at, (name, value))| {
                ToolCall::new(format!("t{at}"), name, format!(r#"{{"{name}":"{value}"}}"#))
            })
            .collect();
        let called = !tool_calls.is_empty() && reason == "stop";
        let thought = reasoning.map(|text| Frame {
            reasoning: Some(text),
            ..Frame::default()
        });
        let end = Frame {
            chunk,
            tool_calls,
            finish_reason: Some(if called { "tool_calls" } else { reason }.to_owned()),
            ..Frame::default()
        };
        thought.into_iter().chain([end]).collect()
    })
}

proptest! {
    #[test]
    fn canonical_to_wire_to_canonical_is_the_identity(frames in frames(), tokens in (0_u64..1000, 0_u64..1000)) {
        let usage = Usage::new(tokens.0, tokens.1);
        let body = Converse.render_unary(&answer(&frames, Some(&usage), None));
        let recorded = record_unary(200, &body);
        prop_assert_eq!(said(&recorded.told.frames), said(&frames));
        prop_assert_eq!(recorded.told.usage.as_ref(), Some(&usage));
        prop_assert_eq!(&recorded.tail.odd, &None);
        // What was learned from the body gives the same body again.
        prop_assert_eq!(compact(&rendered(&recorded)), compact(&body));
    }

    #[test]
    fn any_split_of_the_bytes_says_the_same(cuts in prop::collection::vec(0_usize..2000, 0..8), keep in 0_usize..2000) {
        let whole = stream();
        let keep = keep.min(whole.len());
        let bytes = &whole[..keep];
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(keep)).collect();
        cuts.extend([0, keep]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let (split, once) = (record_stream(&pieces), record_stream(&[bytes]));
        prop_assert_eq!(split.told.frames, once.told.frames);
        prop_assert_eq!(&split.tail, &once.tail);
        // Without its last event the answer may be whole; without a piece of any it is not.
        let ends: Vec<usize> = [event("metadata", r#"{"usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5},"metrics":{"latencyMs":7}}"#).len(), 0].into_iter().map(|rest| whole.len() - rest).collect();
        prop_assert_eq!(once.tail.complete, ends.contains(&keep));
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0_usize..400) {
        record_stream(&[&bytes]);
        let mut noisy = stream();
        let at = at.min(noisy.len());
        noisy.splice(at.., bytes);
        record_stream(&[&noisy]);
    }

    #[test]
    fn blocks_of_messages_come_back(text in ".{0,8}", signature in "[a-z]{1,6}") {
        for block in [
            format!(r#"{{"text":{}}}"#, compact(&Json::from(text.as_str()))),
            format!(r#"{{"reasoningContent":{{"reasoningText":{{"text":"t","signature":"{signature}"}}}}}}"#),
            format!(r#"{{"toolUse":{{"toolUseId":"{signature}","name":"n","input":{{}}}}}}"#),
            r#"{"image":{"format":"png"}}"#.to_owned(),
        ] {
            let block = parse(&block).unwrap();
            prop_assert_eq!(from_messages(to_messages(&block)), Some(block));
        }
    }
}
