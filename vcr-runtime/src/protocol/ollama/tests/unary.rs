use super::super::{CHAT, GENERATE};
use crate::json::{compact, parse};
use crate::model::BoundaryKind;
use crate::protocol::Wire;
use crate::protocol::testing::{difference, record_payloads, record_unary};

const WHOLE: &str = r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"Hi","thinking":"Hm","tool_calls":[{"id":"c","function":{"index":0,"name":"f","arguments":{"x":1}}},{"function":{"name":"g","arguments":{}}}]},"done":true,"done_reason":"stop","total_duration":9,"prompt_eval_count":4,"eval_count":2,"extra":{"a":null}}"#;

#[test]
fn a_body_comes_back_whatever_is_in_it() {
    for (wire, body) in [
        (&CHAT, WHOLE),
        (
            &CHAT,
            r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":""},"done_reason":"load","done":true}"#,
        ),
        (
            &CHAT,
            r#"{"model":"m","message":{"role":"assistant","content":"x"},"done":false}"#,
        ),
        (
            &GENERATE,
            r#"{"model":"m","response":"x","thinking":"y","done":true,"context":[1],"eval_count":1}"#,
        ),
        (
            &GENERATE,
            r#"{"model":"m","response":"","done":true,"done_reason":"unload"}"#,
        ),
    ] {
        let body = parse(body).unwrap();
        let recorded = record_unary(wire, 200, &body);
        let rendered = wire.render_unary(&recorded.answer());
        assert_eq!(difference(&body, &rendered, ""), None, "{}", compact(&body));
        assert_eq!(recorded.tail.odd, None);
    }
}

#[test]
fn canonical_parts_leave_the_template() {
    let recorded = record_unary(&CHAT, 200, &parse(WHOLE).unwrap());
    let [frame] = recorded.frames.as_slice() else {
        panic!("{:?}", recorded.frames);
    };
    assert_eq!(
        (frame.chunk.as_str(), frame.reasoning.as_deref()),
        ("Hi", Some("Hm"))
    );
    assert_eq!(frame.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(frame.tool_calls[1].function.name, "g");
    assert!(frame.tool_calls[1].id.starts_with("vcr_call_1_"));
    assert_eq!(
        recorded.template(),
        r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"$text","thinking":"$reasoning","tool_calls":[{"id":"$id","function":{"index":"$index","name":"$name","arguments":"$arguments"}},{"function":{"name":"$name","arguments":"$arguments"}}]},"done":true,"done_reason":"$finish_reason","extra":{"a":null}}"#
    );
}

#[test]
fn an_http_error_is_its_own_template() {
    for (status, body) in [
        (404, r#"{"error":"model 'x' not found"}"#),
        (200, r#"{"error":"m"}"#),
    ] {
        let body = parse(body).unwrap();
        let mut recorded = record_unary(&CHAT, status, &body);
        let boundary = recorded.boundary.as_mut().unwrap();
        assert_eq!(boundary.kind == BoundaryKind::Http, status == 404);
        assert_eq!(boundary.status, (status == 404).then_some(404));
        assert_eq!(CHAT.render_unary(&recorded.answer()), body);
        recorded.boundary.as_mut().unwrap().message = "edited".to_owned();
        assert_eq!(
            compact(&CHAT.render_unary(&recorded.answer())),
            r#"{"error":"edited"}"#
        );
    }
    let page = record_unary(&CHAT, 502, &"Bad Gateway".into());
    assert_eq!(page.boundary.as_ref().unwrap().message, "Bad Gateway");
    assert_eq!(compact(&CHAT.render_unary(&page.answer())), r#""Bad Gateway""#);
}

#[test]
fn a_body_becomes_a_stream_and_a_stream_a_body() {
    let body = parse(WHOLE).unwrap();
    let unary = record_unary(&CHAT, 200, &body);
    let streamed = record_payloads(&CHAT, &unary.rendered(&CHAT), 0);
    assert_eq!(streamed.usage, unary.usage);
    let again = CHAT.render_unary(&streamed.answer());
    for path in [
        "model",
        "created_at",
        "done_reason",
        "prompt_eval_count",
        "total_duration",
    ] {
        assert_eq!(again.get(path), body.get(path), "{path}");
    }
    let calls = |document: &crate::json::Json| {
        document
            .get("message")
            .and_then(|message| message.get("content").cloned())
    };
    assert_eq!(calls(&again), calls(&body));
}

#[test]
fn bodies_of_other_shapes_are_odd() {
    for body in ["[]", "{}", "null", "1"] {
        let recorded = record_unary(&CHAT, 200, &parse(body).unwrap());
        assert!(recorded.tail.odd.is_some(), "{body}");
        assert!(recorded.frames.is_empty(), "{body}");
    }
}
