use crate::json::{compact, parse};
use crate::model::{BoundaryKind, ToolCall};
use crate::protocol::Wire;

use super::super::OpenAiResponses;
use super::recorder::{FINE, Recorded, events, record, record_unary, wire};

/// Records a body and checks that it comes back to the letter.
fn exact(status: u16, body: &str) -> Recorded {
    let recorded = record_unary(status, &parse(body).unwrap());
    assert_eq!(
        compact(&OpenAiResponses.render_unary(&recorded.answer())),
        body,
        "{}",
        recorded.template()
    );
    recorded
}

const BODY: &str = r#"{"id":"resp_1","object":"response","status":"completed","model":"gpt-x","output":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"sig"},{"id":"ws_1","type":"web_search_call","status":"completed"},{"id":"fc_1","type":"function_call","call_id":"call_1","name":"add","arguments":"{\"a\":1}","status":"completed"},{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]},{"type":"refusal","refusal":"No"}]}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13}}"#;

#[test]
fn a_body_leaves_its_canonical_parts_to_the_frames() {
    let recorded = exact(200, BODY);
    assert_eq!(recorded.text(|frame| frame.reasoning.as_deref()), "Hm");
    assert_eq!(recorded.text(|frame| frame.reasoning_signature.as_deref()), "sig");
    assert_eq!(recorded.text(|frame| Some(&frame.chunk)), "Hi");
    assert_eq!(recorded.text(|frame| frame.refusal.as_deref()), "No");
    let last = recorded.frames.last().unwrap();
    assert_eq!(last.tool_calls, [ToolCall::new("call_1", "add", r#"{"a":1}"#)]);
    assert_eq!(last.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(last.native_finish_reason.as_deref(), Some("completed"));
    assert_eq!(recorded.usage.as_ref().unwrap().total_tokens, 13);
    let template = recorded.template();
    for said in ["Hm", "\"sig\"", "Hi\"", "No\"", "call_1", "{\\\"a", "ws_1", "13"] {
        assert!(!template.contains(said), "{said} in {template}");
    }
}

#[test]
fn odd_bodies_come_back_to_the_letter() {
    for body in [
        r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[],"content":[],"encrypted_content":""}],"usage":null}"#,
        r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"$text"},{"type":"other","text":"x"},7]},3,{"content":[]}]}"#,
        r#"{"status":"completed","output":[{"type":"function_call","call_id":"","name":"f","arguments":""},{"type":"custom_tool_call","call_id":"c","name":"g","input":"x"}]}"#,
        r#"{"status":"queued","background":true,"output":[],"usage":null}"#,
        r#"{"status":"cancelled","output":[]}"#,
        r#"{"status":"completed","output":[{"type":"image_generation_call","result":"iVBOR"},{"type":"code_interpreter_call","code":"1"}],"usage":{"total_tokens":3,"input_tokens":1}}"#,
    ] {
        exact(200, body);
    }
    assert!(exact(200, r#"{"status":"queued","output":[]}"#).frames.is_empty());
}

#[test]
fn errors_are_read_wherever_they_stand() {
    for (status, body, kind, message) in [
        (
            400,
            r#"{"error":{"message":"m","type":"t","param":null,"code":null}}"#,
            "t",
            "m",
        ),
        (502, r#""Bad Gateway""#, "error", "Bad Gateway"),
        (200, r#"{"error":{"message":"m","type":"t"}}"#, "t", "m"),
        (
            200,
            r#"{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}"#,
            "server_error",
            "m",
        ),
    ] {
        let mut recorded = exact(status, body);
        let boundary = recorded.boundary.as_mut().unwrap();
        assert_eq!(
            (boundary.error_type.as_str(), boundary.message.as_str()),
            (kind, message),
            "{body}"
        );
        assert_eq!(boundary.status, (status >= 400).then_some(status));
        boundary.kind = BoundaryKind::Http;
        assert_eq!(compact(&OpenAiResponses.render_unary(&recorded.answer())), body);
    }
    for body in [r#"{"x":1}"#, "[]", r#"{"output":7}"#] {
        assert!(exact(200, body).tail.odd.is_some(), "{body}");
    }
}

#[test]
fn a_recorded_body_answers_a_stream_and_the_reverse() {
    let body = record_unary(200, &parse(BODY).unwrap());
    let streamed = record(&events(&wire(&body.rendered())), FINE);
    assert_eq!(streamed.tail.odd, None);
    assert_eq!(streamed.usage, body.usage);
    assert_eq!(compact(&OpenAiResponses.render_unary(&streamed.answer())), BODY);
}
