use crate::json::{Json, compact, parse};
use crate::model::{BoundaryKind, Frame, ToolCall, Usage};
use crate::protocol::testing::written;
use crate::protocol::{Event, Wire};

use super::super::OpenAiChat;
use super::recorder::{Recorded, events, record, record_unary};

/// Records a body and checks that it comes back to the letter.
fn exact(status: u16, body: &str) -> Recorded {
    let recorded = record_unary(status, &parse(body).unwrap());
    assert_eq!(
        compact(&OpenAiChat.render_unary(&recorded.answer())),
        body,
        "{}",
        recorded.template()
    );
    recorded
}

fn message(message: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{message},"logprobs":null,"finish_reason":"stop"}}]}}"#
    )
}

#[test]
fn a_body_leaves_its_canonical_parts_to_the_frames() {
    let recorded = exact(
        200,
        r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},"logprobs":null,"finish_reason":"function_call"}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":0}}}"#,
    );
    assert_eq!(
        recorded.template(),
        r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"$text","refusal":null,"tool_calls":"$tool_calls"},"logprobs":null,"finish_reason":"$finish_reason"}],"usage":"$usage"}"#
    );
    let [frame] = recorded.frames.as_slice() else {
        panic!("one frame")
    };
    assert_eq!(frame.chunk, "Hi");
    assert_eq!(frame.tool_calls, [ToolCall::new("call_1", "add", r#"{"a":1}"#)]);
    assert_eq!(frame.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(frame.native_finish_reason.as_deref(), Some("function_call"));
    assert_eq!(recorded.usage.as_ref().unwrap().total_tokens, 13);
}

#[test]
fn every_dialect_comes_back_to_the_letter() {
    for text in [
        r#"{"role":"assistant","content":""}"#,
        r#"{"role":"assistant","content":null,"refusal":"No."}"#,
        r#"{"content":"x","reasoning_content":"Hm","role":"assistant"}"#,
        r#"{"role":"assistant","reasoning":"Hm","content":null,"reasoning_details":[{"text":"Hm"}]}"#,
        r#"{"role":"assistant","reasoning":"a","reasoning_content":"b","content":"c"}"#,
        r#"{"role":"assistant","reasoning_content":"","reasoning":"b","content":"c"}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"Hi"}]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]},{"type":"text","text":"b"}]}"#,
        r#"{"role":"assistant","content":null,"function_call":{"arguments":"{}","name":"f"}}"#,
        r#"{"role":"assistant","content":"x","tool_calls":[],"function_call":null}"#,
        r#"{"tool_calls":[{"function":{"arguments":"","name":"f"},"id":"a","type":"function"},{"function":{"arguments":{"a":1},"name":"g"},"id":"","x":1}],"content":null}"#,
        r#"{"role":"assistant","content":"$text","audio":{"id":"a","data":"UklGRg==","transcript":"x"}}"#,
        r#"{"role":"assistant"}"#,
        "7",
    ] {
        exact(200, &message(text));
    }
    for body in [
        r#"{"choices":[],"usage":{"total_tokens":3,"prompt_tokens":1}}"#,
        r#"{"choices":[],"usage":null}"#,
        r#"{"choices":[{"finish_reason":"stop","native_finish_reason":"end_turn","message":{"content":"x"}}]}"#,
        r#"{"choices":[{"finish_reason":"model_length","message":{"content":"x"}},{"finish_reason":null,"message":{"content":"y"}}]}"#,
        r#"{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"}}]}"#,
    ] {
        exact(200, body);
    }
}

#[test]
fn error_bodies_are_their_own_templates() {
    for (body, message) in [
        (
            r#"{"error":{"message":"m","type":"t","param":null,"code":null}}"#,
            "m",
        ),
        (
            r#"{"error":{"code":400,"message":"m","n_ctx":512,"type":"exceed_context_size_error"}}"#,
            "m",
        ),
        (
            r#"{"object":"error","message":"m","type":"t","param":null,"code":"3051","raw_status_code":400}"#,
            "m",
        ),
        (
            r#"{"detail":[{"loc":["body"],"msg":"bad"}]}"#,
            r#"[{"loc":["body"],"msg":"bad"}]"#,
        ),
        (r#"{"error":"m"}"#, "m"),
        (r#""Bad Gateway""#, "Bad Gateway"),
        ("null", "null"),
        ("{}", "{}"),
    ] {
        let mut recorded = exact(429, body);
        let boundary = recorded.boundary.as_mut().unwrap();
        assert_eq!(
            (boundary.message.as_str(), boundary.status),
            (message, Some(429)),
            "{body}"
        );
        boundary.kind = BoundaryKind::Http;
        assert_eq!(compact(&OpenAiChat.render_unary(&recorded.answer())), body);
    }
}

#[test]
fn an_error_inside_a_200_is_an_error_and_anything_else_is_odd() {
    let mut out = Vec::new();
    let tail = OpenAiChat.unary(
        200,
        &parse(r#"{"error":{"message":"m","code":502}}"#).unwrap(),
        &mut out,
    );
    assert!(matches!(out.as_slice(), [Event::Error(error)] if error.status == Some(502)));
    assert_eq!(tail.odd, None);
    for body in [r#"{"x":1}"#, "[]", r#"{"choices":7}"#] {
        assert!(exact(200, body).tail.odd.is_some(), "{body}");
    }
}

#[test]
fn an_edited_answer_is_what_is_served() {
    let mut recorded = record_unary(
        200,
        &parse(&message(r#"{"role":"assistant","content":"old"}"#)).unwrap(),
    );
    recorded.frames[0].chunk = "new".to_owned();
    recorded.frames[0].tool_calls = vec![ToolCall::new("a", "f", "{}")];
    recorded.usage = Some(Usage::new(1, 1));
    let body = OpenAiChat.render_unary(&recorded.answer());
    // What the template does not expect is left to the tree.
    assert_eq!(written(&OpenAiChat, &recorded.answer()), None);
    let served = body
        .get("choices")
        .and_then(|choices| choices.at(0)?.get("message"))
        .unwrap();
    assert_eq!(
        compact(served),
        r#"{"role":"assistant","content":"new","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#
    );
}

#[test]
fn an_answer_written_by_hand_is_a_plausible_body() {
    let mut recorded = Recorded::default();
    recorded.frames.push(Frame {
        chunk: "Hi".to_owned(),
        finish_reason: Some("stop".to_owned()),
        ..Frame::default()
    });
    recorded.usage = Some(Usage::new(1, 2));
    assert_eq!(
        compact(&OpenAiChat.render_unary(&recorded.answer())),
        r#"{"id":"vcr-00000000","object":"chat.completion","created":0,"model":"model-of-request","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#
    );
}

#[test]
fn a_recorded_stream_answers_a_unary_request_and_the_reverse() {
    let recorded = record(&events(
        b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":null}\n\n",
    ));
    let body = OpenAiChat.render_unary(&recorded.answer());
    assert_eq!(
        compact(&body),
        r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null},"logprobs":null,"finish_reason":"stop"}]}"#
    );
    let unary = record_unary(200, &body);
    let chunks = unary.rendered();
    assert_eq!(chunks.len(), 3);
    assert_eq!(
        compact(&chunks[1]),
        r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#
    );
}

#[test]
fn padding_and_key_order_are_no_difference_of_bodies() {
    let body = |text: &str| OpenAiChat.comparable(&parse(text).unwrap());
    assert_eq!(
        body(r#"{"b":1,"a":{"d":1,"c":2},"obfuscation":"x"}"#),
        body(r#"{"a":{"c":2,"d":1},"p":"y","b":1}"#)
    );
    assert_ne!(body(r#"{"a":1}"#), body(r#"{"a":2}"#));
    assert_eq!(body("[]"), Json::Array(Vec::new()));
}
