use super::super::{CHAT, GENERATE};
use crate::json::{Json, compact, parse};
use crate::protocol::testing::{Recorded, difference, record_texts};
use crate::protocol::{Event, Wire, WireEvent};

/// Renders to what an SDK cannot tell from the original.
fn equal(wire: &dyn Wire, lines: &[&str]) -> Recorded {
    let recorded = record_texts(wire, lines);
    assert_eq!(lost(wire, &recorded, lines), None);
    recorded
}

fn lost(wire: &dyn Wire, recorded: &Recorded, lines: &[&str]) -> Option<String> {
    let original: Vec<Json> = lines.iter().map(|line| parse(line).unwrap()).collect();
    difference(
        &wire.assemble(&original),
        &wire.assemble(&recorded.rendered(wire)),
        "",
    )
}

#[test]
fn thinking_text_and_calls_become_frames() {
    let recorded = equal(
        &CHAT,
        &[
            r#"{"model":"m","created_at":"t1","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
            r#"{"model":"m","created_at":"t2","message":{"role":"assistant","content":"Hi"},"done":false}"#,
            r#"{"model":"m","created_at":"t3","message":{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"add","arguments":{"b":1.0,"a":[2]}}}]},"done":false}"#,
            r#"{"model":"m","created_at":"t4","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":9,"prompt_eval_count":4,"eval_count":9}"#,
        ],
    );
    assert!(recorded.tail.complete);
    assert_eq!(
        recorded.template(),
        r#"{"line":{"model":"m","created_at":"t4"},"message":{"role":"assistant"}}"#
    );
    let [thinking, text, end] = recorded.frames.as_slice() else {
        panic!("{:?}", recorded.frames);
    };
    assert_eq!(thinking.reasoning.as_deref(), Some("Hm"));
    assert_eq!(text.chunk, "Hi");
    assert_eq!(end.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(end.native_finish_reason.as_deref(), Some("stop"));
    let call = &end.tool_calls[0];
    assert_eq!((call.id.as_str(), call.function.name.as_str()), ("c1", "add"));
    assert_eq!(call.function.arguments, r#"{"b":1.0,"a":[2]}"#);
    let usage = recorded.usage.as_ref().unwrap();
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (4, 9, 13)
    );
}

#[test]
fn calls_without_an_id_get_one_that_is_not_rendered() {
    let call = |name: &str| {
        format!(
            r#"{{"model":"m","message":{{"role":"assistant","content":"","tool_calls":[{{"function":{{"name":"{name}","arguments":{{}}}}}}]}},"done":false}}"#
        )
    };
    let (one, two) = (call("f"), call("f"));
    let end = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#;
    let recorded = equal(&CHAT, &[&one, &two, end]);
    let calls = &recorded.frames[0].tool_calls;
    assert_eq!(calls.len(), 2);
    assert!(calls[0].id.starts_with("vcr_call_0_") && calls[1].id.starts_with("vcr_call_1_"));
    assert!(
        recorded.template().contains("tool_call"),
        "{}",
        recorded.template()
    );
}

#[test]
fn generate_has_its_text_in_the_line() {
    let recorded = equal(
        &GENERATE,
        &[
            r#"{"model":"m","created_at":"t","response":"","thinking":"Hm","done":false}"#,
            r#"{"model":"m","created_at":"t","response":"Hi","done":false}"#,
            r#"{"model":"m","created_at":"u","response":"","done":true,"done_reason":"length","context":[1,2],"eval_count":2}"#,
        ],
    );
    assert_eq!(recorded.frames[1].chunk, "Hi");
    assert_eq!(recorded.frames[2].finish_reason.as_deref(), Some("length"));
    assert_eq!(
        recorded.template(),
        r#"{"line":{"model":"m","created_at":"u"},"last":{"context":[1,2]},"usage_lacks":["prompt_eval_count"]}"#
    );
}

#[test]
fn an_end_without_a_reason_is_a_stop() {
    let recorded = equal(
        &CHAT,
        &[r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"x"},"done":true}"#],
    );
    assert_eq!(recorded.frames[0].finish_reason.as_deref(), Some("stop"));
    assert!(recorded.template().contains(r#""done_reason":false"#));
}

#[test]
fn durations_without_counts_stay_where_they_are() {
    let line = r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":""},"done":true,"done_reason":"load","total_duration":5}"#;
    let recorded = equal(&CHAT, &[line]);
    assert_eq!(recorded.usage, None);
    assert_eq!(recorded.frames[0].finish_reason.as_deref(), Some("load"));
}

#[test]
fn an_error_line_ends_the_answer() {
    let lines = [
        r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"Hi"},"done":false}"#,
        r#"{"error":"an error was encountered while running the model"}"#,
    ];
    let recorded = equal(&CHAT, &lines);
    assert!(recorded.tail.complete);
    let boundary = recorded.boundary.as_ref().unwrap();
    assert_eq!(
        boundary.message,
        "an error was encountered while running the model"
    );
    assert_eq!(
        recorded.rendered(&CHAT).last().map(compact).as_deref(),
        Some(lines[1])
    );
    // The first line may be the error.
    assert_eq!(
        equal(&CHAT, &lines[1..]).template(),
        r#"{"line":{},"error":{"error":"an error was encountered while running the model"}}"#
    );
}

#[test]
fn a_stream_that_stops_is_not_complete() {
    let line = r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"Hi"},"done":false}"#;
    let recorded = equal(&CHAT, &[line]);
    assert!(!recorded.tail.complete);
    assert_eq!(recorded.frames[0].chunk, "Hi");
    let nothing = record_texts(&CHAT, &[]);
    assert_eq!((nothing.tail.complete, nothing.tail.template), (false, None));
}

#[test]
fn what_has_no_canonical_form_is_seen_as_lost() {
    for line in [
        r#"{"model":"m","message":{"content":"x","images":["aGk="]},"done":false}"#,
        r#"{"model":"m","message":{"content":"x"},"logprobs":[{"token":"x"}],"done":false}"#,
        r#"{"model":"m","message":{"content":"x","tool_calls":[{"function":{"name":"f","arguments":"text"}}]},"done":false}"#,
        r#"{"model":"m","message":{"thinking":"x"},"done":false}"#,
    ] {
        let lines = [
            line,
            r#"{"model":"m","message":{"role":"assistant"},"done":true,"done_reason":"stop"}"#,
        ];
        let recorded = record_texts(&CHAT, &lines);
        assert!(lost(&CHAT, &recorded, &lines).is_some(), "{line}");
    }
}

#[test]
fn odd_lines_are_named() {
    let odd = |lines: &[&str]| record_texts(&CHAT, lines).tail.odd.unwrap_or_default();
    let end = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#;
    assert_eq!(odd(&[end]), "");
    assert_eq!(odd(&["[1]"]), "event 1 is an array, not an object");
    assert!(odd(&["{"]).starts_with("event 1 is no JSON"));
    assert_eq!(odd(&[end, end]), "event 2 comes after the last line");
    assert_eq!(odd(&[r#"{"message":"x"}"#]), "");
    assert_eq!(
        odd(&[r#"{"message":{"tool_calls":{}}}"#]),
        "event 1 has `message.tool_calls` that is an object"
    );
    let mut decoder = CHAT.decoder();
    let mut out: Vec<Event> = Vec::new();
    let event = WireEvent {
        data: end.to_owned(),
        odd: true,
        ..WireEvent::default()
    };
    decoder.event(&event, &mut out);
    assert_eq!(out.last(), Some(&Event::End));
    assert_eq!(
        decoder.finish().odd.as_deref(),
        Some("event 1 has bytes that are no UTF-8")
    );
}
