//! Answers without a template: written by hand, or recorded from another protocol.

use crate::json::{Json, compact, parse};
use crate::model::{Boundary, BoundaryKind, Frame, ToolCall, Usage};
use crate::protocol::{Answer, Wire};

use super::super::Messages;

fn answer<'a>(frames: &'a [Frame], usage: Option<&'a Usage>, boundary: Option<&'a Boundary>) -> Answer<'a> {
    Answer {
        frames,
        usage,
        boundary,
        template: None,
        model: "m",
        id: "vcr-01234567",
    }
}

fn frames() -> Vec<Frame> {
    vec![
        Frame {
            reasoning: Some("Hm".to_owned()),
            ..Frame::default()
        },
        Frame {
            chunk: "Hi".to_owned(),
            native: Some(parse(r#"{"executableCode":{}}"#).unwrap()),
            ..Frame::default()
        },
        Frame {
            tool_calls: vec![ToolCall::new("call_1", "add", "{\"a\":1}")],
            finish_reason: Some("tool_calls".to_owned()),
            native_finish_reason: Some("STOP".to_owned()),
            ..Frame::default()
        },
        Frame {
            chunk: "another choice".to_owned(),
            choice: 1,
            ..Frame::default()
        },
    ]
}

#[test]
fn an_answer_from_elsewhere_is_a_plausible_stream() {
    let mut usage = Usage::new(9, 4);
    usage.details.push("prompt_tokens_details", Json::Null);
    let frames = frames();
    let events: Vec<String> = Messages
        .render_stream(&answer(&frames, Some(&usage), None))
        .iter()
        .map(|(frame, payload)| format!("{frame} {}", compact(payload)))
        .collect();
    let expected = [
        r#"0 {"type":"message_start","message":{"id":"vcr-01234567","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#,
        r#"0 {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"0 {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
        r#"1 {"type":"content_block_stop","index":0}"#,
        r#"1 {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"1 {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}"#,
        r#"2 {"type":"content_block_stop","index":1}"#,
        r#"2 {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_1","name":"add","input":{}}}"#,
        r#"2 {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
        r#"3 {"type":"content_block_stop","index":2}"#,
        r#"3 {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":4}}"#,
        r#"3 {"type":"message_stop"}"#,
    ];
    assert_eq!(events, expected);
}

#[test]
fn an_answer_from_elsewhere_is_a_plausible_body() {
    let frames = frames();
    let body = Messages.render_unary(&answer(&frames, Some(&Usage::new(9, 4)), None));
    assert_eq!(
        compact(&body),
        r#"{"id":"vcr-01234567","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Hm","signature":""},{"type":"text","text":"Hi"},{"type":"tool_use","id":"call_1","name":"add","input":{"a":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":4}}"#
    );
    // The SDKs refuse a message without usage or content.
    let body = Messages.render_unary(&answer(&[], None, None));
    let end = r#""content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}"#;
    assert!(compact(&body).ends_with(end), "{}", compact(&body));
}

#[test]
fn failures_are_told_unless_the_transport_failed() {
    let frames = [Frame {
        chunk: "Par".to_owned(),
        ..Frame::default()
    }];
    let last = |kind, error_type: &str| {
        let boundary = Boundary {
            kind,
            error_type: error_type.to_owned(),
            message: "m".to_owned(),
            status: None,
            code: None,
        };
        let answer = answer(&frames, None, Some(&boundary));
        let body = Messages.render_unary(&answer);
        assert_eq!(
            body.get("error").and_then(|error| error.get("message")),
            Some(&Json::from("m"))
        );
        compact(&Messages.render_stream(&answer).last().unwrap().1)
    };
    let told = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    assert_eq!(last(BoundaryKind::Error, "overloaded_error"), told);
    assert!(last(BoundaryKind::Error, "reset").contains("text_delta"));
    assert!(last(BoundaryKind::Cutoff, "quota").contains("text_delta"));
}

#[test]
fn templates_of_other_protocols_say_nothing() {
    let frames = frames();
    for template in [
        r#"{"chunk":{"id":"chatcmpl-1"},"error":{"error":{"message":"m"}}}"#,
        r#"{"choices":[],"usage":"$usage"}"#,
        r#"{"error":{"message":"m","type":"t"}}"#,
        r#"{"converse":{"output":{}}}"#,
    ] {
        let template = parse(template).unwrap();
        let with = Answer {
            template: Some(&template),
            ..answer(&frames, None, None)
        };
        let without = answer(&frames, None, None);
        assert_eq!(Messages.render_stream(&with), Messages.render_stream(&without));
        assert_eq!(Messages.render_unary(&with), Messages.render_unary(&without));
    }
}
