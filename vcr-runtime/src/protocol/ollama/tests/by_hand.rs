//! Answers without a template: written by hand, or recorded from another protocol.

use super::super::{CHAT, GENERATE};
use crate::json::{Json, compact};
use crate::model::{Boundary, BoundaryKind, Frame, ToolCall, Usage};
use crate::protocol::testing::Recorded;
use crate::protocol::{Wire, recognise};

fn frame(text: &str) -> Frame {
    Frame {
        chunk: text.to_owned(),
        ..Frame::default()
    }
}

fn by_hand() -> Recorded {
    let mut last = frame("");
    last.finish_reason = Some("tool_calls".to_owned());
    last.native_finish_reason = Some("tool_use".to_owned());
    last.reasoning_signature = Some("of another protocol".to_owned());
    last.tool_calls = vec![ToolCall::new("toolu_1", "add", r#"{"a":1}"#)];
    let other_choice = Frame {
        choice: 1,
        ..frame("not told")
    };
    Recorded {
        frames: vec![frame("Hi"), other_choice, last],
        usage: Some(Usage::new(3, 2)),
        ..Recorded::default()
    }
}

fn lines(wire: &dyn Wire, recorded: &Recorded) -> Vec<String> {
    recorded.rendered(wire).iter().map(compact).collect()
}

#[test]
fn an_answer_of_another_protocol_is_a_plausible_stream() {
    let head = r#""model":"model-of-request","created_at":"1970-01-01T00:00:00Z""#;
    let expected = [
        format!(r#"{{{head},"message":{{"role":"assistant","content":"Hi"}},"done":false}}"#),
        format!(
            r#"{{{head},"message":{{"role":"assistant","content":"","tool_calls":[{{"id":"toolu_1","function":{{"index":0,"name":"add","arguments":{{"a":1}}}}}}]}},"done":false}}"#
        ),
        format!(
            r#"{{{head},"message":{{"role":"assistant","content":""}},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}}"#
        ),
    ];
    assert_eq!(lines(&CHAT, &by_hand()), expected);
    assert_eq!(CHAT.frame(&Json::Null), "null\n");
    assert_eq!(CHAT.trailer(None), "");
}

#[test]
fn it_is_a_plausible_body_too() {
    assert_eq!(
        compact(&CHAT.render_unary(&by_hand().answer())),
        r#"{"model":"model-of-request","created_at":"1970-01-01T00:00:00Z","message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"toolu_1","function":{"index":0,"name":"add","arguments":{"a":1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#
    );
    assert!(compact(&GENERATE.render_unary(&by_hand().answer())).contains(r#""response":"Hi""#));
}

#[test]
fn a_call_without_arguments_has_empty_ones() {
    let mut recorded = by_hand();
    recorded.frames[2].tool_calls = vec![ToolCall::new("c", "f", "")];
    let body = compact(&CHAT.render_unary(&recorded.answer()));
    assert!(body.contains(r#""name":"f","arguments":{}"#), "{body}");
}

#[test]
fn a_client_never_waits_for_the_last_line() {
    let recorded = Recorded {
        frames: vec![frame("Hi")],
        ..Recorded::default()
    };
    let lines = lines(&GENERATE, &recorded);
    assert!(
        lines
            .last()
            .unwrap()
            .contains(r#""done":true,"done_reason":"stop""#),
        "{lines:?}"
    );
}

#[test]
fn failures_are_told_unless_the_transport_failed() {
    let last = |kind, error_type: &str| {
        let mut recorded = by_hand();
        recorded.frames.truncate(1);
        recorded.boundary = Some(Boundary {
            kind,
            error_type: error_type.to_owned(),
            message: "m".to_owned(),
            status: None,
            code: None,
        });
        assert_eq!(
            compact(&CHAT.render_unary(&recorded.answer())),
            r#"{"error":"m"}"#
        );
        lines(&CHAT, &recorded).pop().unwrap()
    };
    assert_eq!(last(BoundaryKind::Error, "RateLimitError"), r#"{"error":"m"}"#);
    assert!(last(BoundaryKind::Error, "reset").contains(r#""done":false"#));
    assert!(last(BoundaryKind::Truncated, "Truncated").contains(r#""done":false"#));
}

#[test]
fn the_registry_knows_both_endpoints() {
    for (path, name) in [("/api/chat", "ollama-chat"), ("/api/generate", "ollama-generate")] {
        let http = crate::protocol::HttpRequest {
            method: "POST",
            path,
            query: "",
            body: br#"{"model":"m"}"#,
        };
        assert_eq!(recognise(&http).unwrap().0.name(), name);
    }
}
