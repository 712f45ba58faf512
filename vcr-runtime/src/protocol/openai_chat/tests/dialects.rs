//! One test a rule of the wire format, on streams written by hand.

use crate::json::{compact, parse};
use crate::model::{ToolCall, Usage};
use crate::protocol::{Wire, WireEvent};

use super::super::OpenAiChat;
use super::recorder::{Recorded, difference, events, payloads, record, stream};

/// Records, and checks that nothing but the canonical form and the template is needed.
fn lossless(events: &[WireEvent]) -> Recorded {
    let recorded = record(events);
    assert_eq!(lost(events, &recorded), None, "{}", recorded.template());
    recorded
}

fn lost(events: &[WireEvent], recorded: &Recorded) -> Option<String> {
    difference(
        &OpenAiChat.assemble(&payloads(events)),
        &OpenAiChat.assemble(&recorded.rendered()),
        "",
    )
}

/// A stream of choice 0: its deltas, then the finish reason.
fn deltas(deltas: &[&str], finish: &str) -> Vec<WireEvent> {
    let chunk = |delta: &str, finish: &str| {
        format!(
            r#"{{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
        )
    };
    let mut chunks: Vec<String> = deltas.iter().map(|delta| chunk(delta, "null")).collect();
    chunks.push(chunk("{}", &format!("{finish:?}")));
    stream(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

fn text(recorded: &Recorded) -> String {
    recorded.frames.iter().map(|frame| frame.chunk.as_str()).collect()
}

fn reasoning(recorded: &Recorded) -> String {
    recorded
        .frames
        .iter()
        .filter_map(|frame| frame.reasoning.as_deref())
        .collect()
}

fn tools(recorded: &Recorded) -> Vec<ToolCall> {
    recorded
        .frames
        .iter()
        .flat_map(|frame| frame.tool_calls.clone())
        .collect()
}

#[test]
fn parallel_tool_calls_are_told_apart_by_index() {
    let recorded = lossless(&deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"get_w","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"get_t","arguments":"{\"z\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]}"#,
        ],
        "tool_calls",
    ));
    let expected = [
        ToolCall::new("call_a", "get_w", r#"{"city":"Oslo"}"#),
        ToolCall::new("call_b", "get_t", r#"{"z":1}"#),
    ];
    assert_eq!(tools(&recorded), expected);
    assert_eq!(recorded.frames.len(), 1);
}

#[test]
fn whole_calls_without_an_index_are_two_calls() {
    let recorded = lossless(&deltas(
        &[
            r#"{"tool_calls":[{"id":"call_c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"id":"call_d","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    ));
    let expected = [
        ToolCall::new("call_c", "f", "{}"),
        ToolCall::new("call_d", "f", "{}"),
    ];
    assert_eq!(tools(&recorded), expected);
}

#[test]
fn whole_calls_that_share_an_index_are_two_calls_and_keep_the_raw_layer() {
    let events = deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    let recorded = record(&events);
    assert_eq!(
        tools(&recorded),
        [ToolCall::new("a", "f", "{}"), ToolCall::new("b", "g", "{}")]
    );
    assert!(lost(&events, &recorded).is_some());
}

#[test]
fn names_repeated_on_every_fragment_count_once() {
    let recorded = lossless(&deltas(
        &[
            r#"{"content":null,"tool_calls":[{"index":0,"id":"0","type":"function","function":{"name":"f","arguments":"{"}}]}"#,
            r#"{"content":null,"tool_calls":[{"index":0,"id":"0","type":"function","function":{"name":"f","arguments":"}"}}]}"#,
        ],
        "tool_calls",
    ));
    assert_eq!(tools(&recorded), [ToolCall::new("0", "f", "{}")]);
}

#[test]
fn a_tool_without_arguments_has_empty_text() {
    let call =
        r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}"#;
    assert_eq!(
        tools(&lossless(&deltas(&[call], "tool_calls"))),
        [ToolCall::new("a", "f", "")]
    );
}

#[test]
fn what_tool_calls_have_besides_is_kept_once() {
    let call = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}"#;
    let recorded = lossless(&deltas(&[call], "tool_calls"));
    assert!(recorded.template().contains("thought_signature"));
}

#[test]
fn a_call_without_finish_reason_still_has_its_tools() {
    let recorded = lossless(&stream(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"0","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}"#,
    ]));
    assert_eq!(tools(&recorded).len(), 1);
    assert!(recorded.tail.complete);
}

#[test]
fn the_old_function_call_is_a_tool_call_and_comes_back_old() {
    let recorded = lossless(&deltas(
        &[
            r#"{"role":"assistant","function_call":{"name":"f","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{\"a\""}}"#,
            r#"{"function_call":{"arguments":":1}"}}"#,
        ],
        "function_call",
    ));
    assert_eq!(tools(&recorded), [ToolCall::new("", "f", r#"{"a":1}"#)]);
    assert_eq!(recorded.frames[0].finish_reason.as_deref(), Some("tool_calls"));
}

#[test]
fn reasoning_has_several_names() {
    for key in ["reasoning", "reasoning_content"] {
        let thought = format!(r#"{{"{key}":"Hm"}}"#);
        let recorded = lossless(&deltas(
            &[r#"{"role":"assistant"}"#, &thought, r#"{"content":"Hi"}"#],
            "stop",
        ));
        assert_eq!(
            (reasoning(&recorded).as_str(), text(&recorded).as_str()),
            ("Hm", "Hi")
        );
    }
}

#[test]
fn thinking_parts_in_the_content_are_reasoning() {
    let recorded = lossless(&deltas(
        &[
            r#"{"role":"assistant","content":""}"#,
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}"#,
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"!"}]}]}"#,
            r#"{"content":[{"type":"reference","reference_ids":[1]}]}"#,
            r#"{"content":"Hi"}"#,
        ],
        "stop",
    ));
    assert_eq!(
        (reasoning(&recorded).as_str(), text(&recorded).as_str()),
        ("Hm!", "Hi")
    );
    assert!(recorded.frames.iter().any(|frame| frame.native.is_some()));
}

#[test]
fn a_usage_tail_without_choices_comes_back_as_one() {
    let recorded = lossless(&stream(&[
        r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":null}],"usage":null}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"length"}],"usage":null}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":1,"total_tokens":13}}"#,
    ]));
    assert_eq!(recorded.usage, Some(Usage::new(12, 1)));
    assert_eq!(
        recorded.frames.last().unwrap().finish_reason.as_deref(),
        Some("length")
    );
    let tail = recorded.rendered().pop().unwrap();
    assert_eq!(
        compact(&tail),
        r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":1,"total_tokens":13}}"#
    );
}

#[test]
fn no_usage_is_invented() {
    let recorded = lossless(&deltas(&[r#"{"content":"ok"}"#], "stop"));
    assert_eq!(recorded.usage, None);
    assert!(
        recorded
            .rendered()
            .iter()
            .all(|chunk| chunk.get("usage").is_none())
    );
}

#[test]
fn the_last_usage_stands_and_groqs_twin_only_alone() {
    let usage = |tokens: u32| {
        format!(
            r#"{{"prompt_tokens":1,"completion_tokens":{tokens},"total_tokens":{}}}"#,
            tokens + 1
        )
    };
    let chunk = |members: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":null}}],{members}}}"#)
    };
    let finish = |members: &str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}],{members}}}"#)
    };

    let twin = finish(&format!(r#""x_groq":{{"usage":{}}}"#, usage(5)));
    assert_eq!(
        lossless(&stream(&[&chunk(r#""a":1"#), &twin])).usage,
        Some(Usage::new(1, 5))
    );

    let own = chunk(&format!(r#""usage":{}"#, usage(7)));
    assert_eq!(record(&stream(&[&own, &twin])).usage, Some(Usage::new(1, 7)));

    // vLLM's continuous usage statistics.
    let last = finish(&format!(r#""usage":{}"#, usage(9)));
    assert_eq!(
        lossless(&stream(&[&own, &own, &last])).usage,
        Some(Usage::new(1, 9))
    );
}

#[test]
fn an_error_beside_empty_choices_is_no_usage_tail() {
    let recorded = lossless(&stream(&[
        r#"{"id":"gen-1","choices":[{"index":0,"delta":{"content":"Par"}}]}"#,
        r#"{"id":"gen-1","choices":[],"error":{"code":502,"message":"provider limit reached"},"usage":{"prompt_tokens":1}}"#,
    ]));
    let boundary = recorded.boundary.as_ref().unwrap();
    assert_eq!(boundary.message, "provider limit reached");
    assert_eq!(
        (boundary.code.as_deref(), boundary.status),
        (Some("502"), Some(502))
    );
    assert_eq!(text(&recorded), "Par");
    assert!(recorded.tail.complete);
}

#[test]
fn an_error_alone_comes_back_alone() {
    let error = r#"{"error":{"message":"boom","type":"server_error","param":null,"code":null}}"#;
    let recorded = lossless(&stream(&[error]));
    assert_eq!(recorded.boundary.as_ref().unwrap().error_type, "server_error");
    assert_eq!(recorded.rendered(), [parse(error).unwrap()]);
}

#[test]
fn an_event_named_error_needs_no_error_member() {
    let events = events(b"event: error\ndata: {\"message\":\"m\",\"type\":\"t\"}\n\n");
    let recorded = lossless(&events);
    assert_eq!(recorded.boundary.as_ref().unwrap().message, "m");
    assert_eq!(recorded.tail.odd.as_deref(), Some("event 1 is named `error`"));
    assert_eq!(OpenAiChat.trailer(recorded.tail.template.as_ref()), "");
}

#[test]
fn an_event_named_error_is_framed_as_one_again() {
    let text = "event: error\ndata: {\"error\":{\"message\":\"m\"}}\n\n";
    let recorded = lossless(&events(text.as_bytes()));
    assert_eq!(recorded.tail.odd, None);
    let template = recorded.tail.template.as_ref();
    let framed = |template| {
        let mut out = String::new();
        OpenAiChat.write_frame_as_recorded(&compact(&recorded.rendered()[0]), template, &mut out);
        out
    };
    assert_eq!(framed(template), text);
    assert!(!framed(None).contains("event:"));
}

#[test]
fn an_error_inside_a_choice_is_an_error() {
    let recorded = lossless(&stream(&[
        r#"{"choices":[{"index":0,"delta":{"content":"Par"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"m"}}]}"#,
    ]));
    assert_eq!(recorded.boundary.as_ref().unwrap().message, "m");
    assert_eq!(
        recorded.frames.last().unwrap().finish_reason.as_deref(),
        Some("error")
    );
}

#[test]
fn finish_reasons_belong_to_their_choice_and_keep_the_providers_word() {
    let recorded = lossless(&stream(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":1,"delta":{"role":"assistant","content":"b"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":1,"delta":{},"finish_reason":"model_length"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    ]));
    let ends: Vec<_> = recorded
        .frames
        .iter()
        .filter_map(|frame| {
            Some((
                frame.choice,
                frame.finish_reason.as_deref()?,
                frame.native_finish_reason.as_deref(),
            ))
        })
        .collect();
    assert_eq!(ends, [(1, "length", Some("model_length")), (0, "stop", None)]);
}

#[test]
fn openrouters_native_reason_has_its_own_member() {
    let recorded = lossless(&stream(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":null,"native_finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"end_turn"}]}"#,
    ]));
    let last = recorded.frames.last().unwrap();
    assert_eq!(last.native_finish_reason.as_deref(), Some("end_turn"));
}

#[test]
fn openrouters_details_repeat_the_reasoning() {
    let detail = |index: u8, text: &str, rest: &str| {
        format!(
            r#"{{"content":"","reasoning":"{text}","reasoning_details":[{{"type":"reasoning.text","text":"{text}","index":{index},"format":null}}{rest}]}}"#
        )
    };
    let events = deltas(
        &[
            &detail(0, "We ", ""),
            &detail(0, "need", ""),
            r#"{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","index":0}]}"#,
            &detail(
                1,
                "more",
                r#",{"type":"reasoning.encrypted","data":"b3BhcXVl","index":2}"#,
            ),
            r#"{"content":"","reasoning":"so","reasoning_details":[{"type":"reasoning.summary","summary":"so","index":3}]}"#,
            r#"{"content":"ok","reasoning":null,"reasoning_details":[]}"#,
        ],
        "stop",
    );
    let mut recorded = lossless(&events);
    assert_eq!(reasoning(&recorded), "We needmoreso");
    assert_eq!(text(&recorded), "ok");
    let form = r#""reasoning_details":{"type":"reasoning.text","text":"$reasoning","index":0,"format":null}"#;
    assert!(recorded.template().contains(form), "{}", recorded.template());
    let natives: Vec<String> = recorded
        .frames
        .iter()
        .filter_map(|frame| frame.native.as_ref().map(compact))
        .collect();
    assert_eq!(
        natives,
        [
            r#"{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","index":0}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"$reasoning","index":1,"format":null}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"b3BhcXVl","index":2}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"$reasoning","index":3}]}"#,
        ]
    );
    recorded.coalesce();
    assert_eq!(lost(&events, &recorded), None);
}

#[test]
fn openrouters_details_that_say_something_else_are_kept() {
    let said = |details: &str| {
        let delta = format!(r#"{{"reasoning":"a","reasoning_details":{details}}}"#);
        lossless(&deltas(&[&delta, r#"{"content":"ok"}"#], "stop"))
    };
    for details in [
        r#"[{"type":"reasoning.text","text":"b","index":0}]"#,
        r#"[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"a","index":1}]"#,
        r#"[{"type":"reasoning.text","text":null,"index":0}]"#,
        r#"["a"]"#,
    ] {
        assert!(
            said(details).frames.iter().any(|frame| frame.native.is_some()),
            "{details}"
        );
    }
}

#[test]
fn what_has_no_canonical_form_makes_a_difference() {
    for (first, second) in [
        (
            r#"{"audio":{"id":"audio_1"}}"#,
            r#"{"audio":{"transcript":"Hel"}}"#,
        ),
        (
            r#"{"content":"a","annotations":[{"url":"x"}]}"#,
            r#"{"content":"b","annotations":[{"url":"y"}]}"#,
        ),
        (
            r#"{"reasoning":"a","reasoning_content":"a"}"#,
            r#"{"reasoning":"b","reasoning_content":"b"}"#,
        ),
        (r#"{"content":[{"type":"text","text":"a"}]}"#, "{}"),
        (r#"{"image":"x"}"#, "{}"),
    ] {
        let events = deltas(&[r#"{"role":"assistant","content":""}"#, first, second], "stop");
        assert!(lost(&events, &record(&events)).is_some(), "{first}");
    }
    let logprobs = stream(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant"},"logprobs":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"b"},"logprobs":{"content":[{"token":"b"}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}"#,
    ]);
    assert!(lost(&logprobs, &record(&logprobs)).is_some());
}

#[test]
fn identity_that_varies_still_stands_on_every_chunk() {
    let recorded = lossless(&stream(&[
        r#"{"id":"c","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        r#"{"id":"c","created":2,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#,
        r#"{"id":"c","created":3,"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}"#,
        r#"{"id":"c","created":4,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    ]));
    assert!(
        recorded
            .rendered()
            .iter()
            .all(|chunk| chunk.get("created").is_some())
    );
}

#[test]
fn completeness_needs_an_end_marker_or_every_finish_reason() {
    let open = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    let close = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let wire = |payloads: &[&str]| -> Vec<u8> {
        payloads
            .iter()
            .flat_map(|payload| format!("data: {payload}\n\n").into_bytes())
            .collect()
    };
    let cut = record(&events(&wire(&[open])));
    assert!(!cut.tail.complete);
    let unmarked = record(&events(&wire(&[open, close])));
    assert!(unmarked.tail.complete && !unmarked.ended);
    assert_eq!(OpenAiChat.trailer(unmarked.tail.template.as_ref()), "");
    let marked = record(&stream(&[open, close]));
    assert!(marked.tail.complete && marked.ended);
    assert_eq!(
        OpenAiChat.trailer(marked.tail.template.as_ref()),
        "data: [DONE]\n\n"
    );
    assert!(!record(&[]).tail.complete);
}

#[test]
fn oddities_are_told_and_never_panic() {
    for (body, odd) in [
        ("data: {\"choices\":\n\n", "event 1 is no JSON"),
        ("data: 7\n\n", "event 1 is a number, not an object"),
        (
            "data: {\"choices\":{}}\n\n",
            "event 1 has `choices` that is an object",
        ),
        (
            "data: {\"choices\":[1]}\n\n",
            "event 1 has `choices.0` that is a number",
        ),
        (
            "data: {\"choices\":[{\"delta\":\"x\"}]}\n\n",
            "event 1 has `choices.0.delta` that is a string",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":7}}]}\n\n",
            "event 1 has `choices.0.delta.content` that is a number",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":{}}}]}\n\n",
            "event 1 has `choices.0.delta.tool_calls` that is an object",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[7]}}]}\n\n",
            "event 1 has `choices.0.delta.tool_calls.0` that is a number",
        ),
        (
            "data: {\"choices\":[{\"finish_reason\":7}]}\n\n",
            "event 1 has `choices.0.finish_reason` that is a number",
        ),
        ("data: [DONE]\n\ndata: {}\n\n", "event 2 comes after [DONE]"),
        ("event: ping\ndata: {}\n\n", "event 1 is named `ping`"),
    ] {
        let recorded = record(&events(body.as_bytes()));
        let told = recorded.tail.odd.unwrap_or_default();
        assert!(told.starts_with(odd), "{body:?}: {told}");
    }
    let broken = record(&events(
        b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xFF\"}}]}\n\n",
    ));
    assert_eq!(
        broken.tail.odd.as_deref(),
        Some("event 1 has bytes that are no UTF-8")
    );
    assert_eq!(text(&broken), "a\u{FFFD}");
}
