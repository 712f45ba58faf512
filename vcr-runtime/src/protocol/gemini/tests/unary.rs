use super::super::Gemini;
use crate::json::{compact, parse};
use crate::model::BoundaryKind;
use crate::protocol::Wire;
use crate::protocol::testing::{difference, record_payloads, record_unary};

const WHOLE: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm","thought":true},{"text":"Hi"},{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0,"groundingMetadata":{"x":[1]}}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":7,"totalTokenCount":13},"modelVersion":"gemini-x","responseId":"r1"}"#;

#[test]
fn a_body_comes_back_whatever_is_in_it() {
    for body in [
        WHOLE,
        r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"executableCode":{"code":"1"}},{"codeExecutionResult":{}},{"text":"b"}],"role":"model"},"finishReason":"STOP"}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}],"role":"model"},"finishReason":"STOP","index":0},{"finishReason":"MAX_TOKENS","index":1}],"usageMetadata":{"totalTokenCount":3,"promptTokenCount":3}}"#,
        r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}"#,
        r#"{"candidates":[{"content":{},"finishReason":"SAFETY","safetyRatings":[{"blocked":true}]}],"usageMetadata":{"trafficType":"x"}}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g","args":{},"id":"c"}}],"role":"model"},"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"text":"a"},{"functionCall":{"name":"g"},"thoughtSignature":"s"},{"text":"b","thought":true}],"role":"model"},"finishReason":"STOP"}]}"#,
    ] {
        let document = parse(body).unwrap();
        let recorded = record_unary(&Gemini, 200, &document);
        let rendered = Gemini.render_unary(&recorded.answer());
        assert_eq!(difference(&document, &rendered, ""), None, "{body}");
        assert_eq!(recorded.tail.odd, None, "{body}");
    }
}

#[test]
fn canonical_parts_leave_the_template() {
    let recorded = record_unary(&Gemini, 200, &parse(WHOLE).unwrap());
    let said: Vec<_> = recorded
        .frames
        .iter()
        .map(|frame| (frame.reasoning.as_deref(), frame.chunk.as_str()))
        .collect();
    assert_eq!(said, [(Some("Hm"), "Hi"), (None, "")]);
    let end = &recorded.frames[1];
    assert_eq!(end.reasoning_signature.as_deref(), Some("c2ln"));
    assert_eq!(end.tool_calls[0].function.arguments, r#"{"a":1}"#);
    assert_eq!(end.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(
        recorded.template(),
        r#"{"candidates":[{"content":{"role":"model","parts":"$parts"},"finishReason":"$finish_reason","index":0,"groundingMetadata":{"x":[1]}}],"usageMetadata":"$usage","modelVersion":"gemini-x","responseId":"r1","signatures":{"0":["call 0"]}}"#
    );
}

#[test]
fn an_http_error_is_its_own_template() {
    let plain = r#"{"error":{"code":404,"message":"no model","status":"NOT_FOUND"}}"#;
    for (body, edited) in [
        (
            plain.to_owned(),
            r#"{"error":{"code":404,"message":"new","status":"NOT_FOUND"}}"#.to_owned(),
        ),
        (
            format!("[{plain}]"),
            r#"[{"error":{"code":404,"message":"new","status":"NOT_FOUND"}}]"#.to_owned(),
        ),
    ] {
        let mut recorded = record_unary(&Gemini, 404, &parse(&body).unwrap());
        let boundary = recorded.boundary.as_ref().unwrap();
        assert_eq!(boundary.kind, BoundaryKind::Http);
        assert_eq!(
            (boundary.error_type.as_str(), boundary.message.as_str()),
            ("NOT_FOUND", "no model")
        );
        assert_eq!(compact(&Gemini.render_unary(&recorded.answer())), body);
        recorded.boundary.as_mut().unwrap().message = "new".to_owned();
        assert_eq!(compact(&Gemini.render_unary(&recorded.answer())), edited);
    }
    let page = record_unary(&Gemini, 502, &"Bad Gateway".into());
    assert_eq!(page.boundary.as_ref().unwrap().message, "Bad Gateway");
    assert_eq!(compact(&Gemini.render_unary(&page.answer())), r#""Bad Gateway""#);
}

#[test]
fn a_body_becomes_a_stream_and_a_stream_a_body() {
    let body = parse(WHOLE).unwrap();
    let unary = record_unary(&Gemini, 200, &body);
    let streamed = record_payloads(&Gemini, &unary.rendered(&Gemini), 0);
    assert_eq!(streamed.usage, unary.usage);
    let again = Gemini.render_unary(&streamed.answer());
    for name in ["usageMetadata", "modelVersion", "responseId"] {
        assert_eq!(
            difference(again.get(name).unwrap(), body.get(name).unwrap(), ""),
            None
        );
    }
    let parts = |body: &crate::json::Json| {
        let candidate = body
            .get("candidates")
            .and_then(|candidates| candidates.at(0))
            .cloned()
            .unwrap();
        candidate.get("content").cloned().unwrap()
    };
    assert_eq!(difference(&parts(&again), &parts(&body), ""), None);
}

#[test]
fn bodies_of_other_shapes_are_odd() {
    for body in ["[]", "{}", "null", "1"] {
        let recorded = record_unary(&Gemini, 200, &parse(body).unwrap());
        assert!(recorded.tail.odd.is_some(), "{body}");
        assert!(recorded.frames.is_empty(), "{body}");
    }
}
