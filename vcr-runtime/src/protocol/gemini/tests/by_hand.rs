//! Answers without a template: written by hand, or recorded from another protocol.

use super::super::Gemini;
use crate::json::{Json, compact};
use crate::model::{Boundary, BoundaryKind, Frame, ToolCall, Usage};
use crate::protocol::testing::Recorded;
use crate::protocol::{HttpRequest, Wire, recognise};

fn frame(text: &str) -> Frame {
    Frame {
        chunk: text.to_owned(),
        ..Frame::default()
    }
}

fn by_hand() -> Recorded {
    let mut thinking = frame("");
    thinking.reasoning = Some("Hm".to_owned());
    thinking.reasoning_signature = Some("of another protocol".to_owned());
    let mut native = frame("");
    native.native = Some("of another protocol".into());
    let mut last = frame("");
    last.finish_reason = Some("tool_calls".to_owned());
    last.native_finish_reason = Some("tool_use".to_owned());
    last.tool_calls = vec![
        ToolCall::new("toolu_1", "add", r#"{"a":1}"#),
        ToolCall::new("", "add", ""),
    ];
    Recorded {
        frames: vec![thinking, frame("Hi"), native, last],
        usage: Some(Usage::new(3, 2)),
        ..Recorded::default()
    }
}

fn chunks(recorded: &Recorded) -> Vec<String> {
    recorded.rendered(&Gemini).iter().map(compact).collect()
}

#[test]
fn an_answer_of_another_protocol_is_a_plausible_stream() {
    let tail = r#""modelVersion":"model-of-request","responseId":"vcr-00000000""#;
    let chunk = |part: &str| {
        format!(r#"{{"candidates":[{{"content":{{"parts":[{part}],"role":"model"}},"index":0}}],{tail}}}"#)
    };
    let expected = [
        chunk(r#"{"text":"Hm","thought":true}"#),
        chunk(r#"{"text":"Hi"}"#),
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"id":"toolu_1","name":"add","args":{{"a":1}}}}}},{{"functionCall":{{"name":"add"}}}}],"role":"model"}},"finishReason":"STOP","index":0}}],{tail},"usageMetadata":{{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}}}"#
        ),
    ];
    assert_eq!(chunks(&by_hand()), expected);
    assert_eq!(Gemini.frame(&Json::Null), "data: null\r\n\r\n");
    assert_eq!(Gemini.trailer(None), "");
}

#[test]
fn it_is_a_plausible_body_too() {
    assert_eq!(
        compact(&Gemini.render_unary(&by_hand().answer())),
        r#"{"candidates":[{"content":{"parts":[{"text":"Hm","thought":true},{"text":"Hi"},{"functionCall":{"id":"toolu_1","name":"add","args":{"a":1}}},{"functionCall":{"name":"add"}}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"model-of-request","responseId":"vcr-00000000","usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}"#
    );
    let silent = Recorded::default();
    assert!(compact(&Gemini.render_unary(&silent.answer())).contains(r#""finishReason":"STOP""#));
}

#[test]
fn a_stream_never_looks_cut() {
    let recorded = Recorded {
        frames: vec![frame("Hi")],
        ..Recorded::default()
    };
    assert!(
        chunks(&recorded)
            .last()
            .unwrap()
            .contains(r#""finishReason":"STOP""#)
    );
}

#[test]
fn failures_are_told_unless_the_transport_failed() {
    let last = |kind, error_type: &str| {
        let mut recorded = by_hand();
        recorded.frames.truncate(2);
        recorded.usage = None;
        recorded.boundary = Some(Boundary {
            kind,
            error_type: error_type.to_owned(),
            message: "m".to_owned(),
            status: Some(429),
            code: None,
        });
        chunks(&recorded).pop().unwrap()
    };
    let error = r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}"#;
    assert_eq!(last(BoundaryKind::Error, "RateLimitError"), error);
    assert!(last(BoundaryKind::Error, "reset").contains(r#""text":"Hi""#));
    assert!(!last(BoundaryKind::Truncated, "Truncated").contains("finishReason"));
}

#[test]
fn the_registry_knows_it_under_any_prefix() {
    for path in [
        "/v1beta/models/m:generateContent",
        "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent",
    ] {
        let http = HttpRequest {
            method: "POST",
            path,
            query: "key=secret",
            body: br#"{"contents":[]}"#,
        };
        let (wire, request) = recognise(&http).unwrap();
        assert_eq!((wire.name(), request.model.as_str()), ("gemini", "m"));
        assert!(!format!("{request:?}").contains("secret"));
    }
}
