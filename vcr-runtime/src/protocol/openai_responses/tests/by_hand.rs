use crate::json::{Json, compact, parse};
use crate::model::{Boundary, BoundaryKind, Frame, ToolCall, Usage};
use crate::protocol::Wire;

use super::super::OpenAiResponses;
use super::recorder::{COARSE, FINE, Recorded, difference, payloads, record, stream};

/// Records a stream and checks that it comes back, however its frames are cut.
fn exact(events: &[&str]) -> Recorded {
    let wired = stream(events);
    let original = OpenAiResponses.assemble(&payloads(&wired));
    for tick in [COARSE, FINE] {
        let recorded = record(&wired, tick);
        let rendered = OpenAiResponses.assemble(&recorded.rendered());
        assert_eq!(
            difference(&original, &rendered, ""),
            None,
            "{}",
            recorded.template()
        );
    }
    record(&wired, FINE)
}

fn kinds(events: &[Json]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event.get("type").and_then(Json::as_str).unwrap_or_default())
        .collect()
}

const CREATED: &str = r#"{"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","error":null,"incomplete_details":null,"model":"m","output":[],"usage":null},"sequence_number":0}"#;

fn terminal(kind: &str, members: &str) -> String {
    format!(
        r#"{{"type":"response.{kind}","response":{{"id":"r","object":"response","status":"{kind}","error":null,"incomplete_details":null,"model":"m",{members}}},"sequence_number":99}}"#
    )
}

const USAGE: &str = r#""usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13}"#;

#[test]
fn text_that_is_told_four_times_is_read_once() {
    let item = r#"{"id":"m1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi!","annotations":[]}]}"#;
    let recorded = exact(&[
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","status":"in_progress","role":"assistant","content":[]},"sequence_number":1}"#,
        r#"{"type":"response.content_part.added","item_id":"m1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]},"sequence_number":2}"#,
        r#"{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Hi","obfuscation":"xyz","sequence_number":3}"#,
        r#"{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"!","obfuscation":"x","sequence_number":4}"#,
        r#"{"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":"Hi!","sequence_number":5}"#,
        r#"{"type":"response.content_part.done","item_id":"m1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Hi!","annotations":[]},"sequence_number":6}"#,
        &format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{item},"sequence_number":7}}"#
        ),
        &terminal("completed", &format!(r#""output":[{item}],{USAGE}"#)),
    ]);
    assert_eq!(recorded.text(|frame| Some(&frame.chunk)), "Hi!");
    assert!(recorded.ended);
    let last = recorded.frames.last().unwrap();
    assert_eq!(
        (
            last.finish_reason.as_deref(),
            last.native_finish_reason.as_deref()
        ),
        (Some("stop"), Some("completed"))
    );
    let usage = recorded.usage.as_ref().unwrap();
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (9, 4, 13)
    );
    assert_eq!(usage.details.len(), 2);
    assert_eq!(
        recorded.template(),
        concat!(
            r#"{"response":{"id":"r","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"m","output":"$items","usage":"$usage"},"#,
            r#""items":[{"id":"m1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"$text","annotations":[]}]}],"#,
            r#""start":{"response.created":{}}}"#
        )
    );
}

#[test]
fn text_without_deltas_is_read_from_wherever_it_stands_first() {
    let done = r#"{"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":"Hi","sequence_number":5}"#;
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","content":[]},"sequence_number":1}"#;
    let item = r#"{"id":"m1","type":"message","content":[{"type":"output_text","text":"Hi"}]}"#;
    let item_done = format!(
        r#"{{"type":"response.output_item.done","output_index":0,"item":{item},"sequence_number":7}}"#
    );
    let end = terminal("completed", &format!(r#""output":[{item}],"usage":null"#));
    for events in [
        vec![CREATED, added, done, &item_done, &end],
        vec![CREATED, added, &item_done, &end],
        vec![CREATED, &item_done, &end],
    ] {
        assert_eq!(exact(&events).text(|frame| Some(&frame.chunk)), "Hi");
    }
    // What only the last event has is read too; that no item came before makes it a case for the raw layer.
    let recorded = record(&stream(&[CREATED, &end]), FINE);
    assert_eq!(recorded.text(|frame| Some(&frame.chunk)), "Hi");
}

#[test]
fn reasoning_is_summary_thought_and_signature() {
    let first = r#"{"id":"rs1","type":"reasoning","summary":[{"type":"summary_text","text":"Plan"},{"type":"summary_text","text":"More"}],"content":[{"type":"reasoning_text","text":"Hm"}],"encrypted_content":"gAAA+/=="}"#;
    let second = r#"{"id":"rs2","type":"reasoning","summary":[],"encrypted_content":"second"}"#;
    let recorded = exact(&[
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs1","type":"reasoning","summary":[],"content":[],"encrypted_content":"early"},"sequence_number":1}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""},"sequence_number":2}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs1","output_index":0,"summary_index":0,"delta":"Plan","sequence_number":3}"#,
        r#"{"type":"response.reasoning_summary_text.done","item_id":"rs1","output_index":0,"summary_index":0,"text":"Plan","sequence_number":4}"#,
        r#"{"type":"response.reasoning_summary_part.done","item_id":"rs1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Plan"},"sequence_number":5}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""},"sequence_number":6}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs1","output_index":0,"summary_index":1,"delta":"More","sequence_number":7}"#,
        r#"{"type":"response.reasoning_summary_text.done","item_id":"rs1","output_index":0,"summary_index":1,"text":"More","sequence_number":8}"#,
        r#"{"type":"response.reasoning_summary_part.done","item_id":"rs1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":"More"},"sequence_number":9}"#,
        r#"{"type":"response.content_part.added","item_id":"rs1","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":""},"sequence_number":10}"#,
        r#"{"type":"response.reasoning_text.delta","item_id":"rs1","output_index":0,"content_index":0,"delta":"Hm","sequence_number":11}"#,
        r#"{"type":"response.reasoning_text.done","item_id":"rs1","output_index":0,"content_index":0,"text":"Hm","sequence_number":12}"#,
        r#"{"type":"response.content_part.done","item_id":"rs1","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":"Hm"},"sequence_number":13}"#,
        &format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{first},"sequence_number":14}}"#
        ),
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"rs2","type":"reasoning","summary":[],"encrypted_content":"second"},"sequence_number":15}"#,
        &format!(
            r#"{{"type":"response.output_item.done","output_index":1,"item":{second},"sequence_number":16}}"#
        ),
        &terminal(
            "completed",
            &format!(r#""output":[{first},{second}],"usage":null"#),
        ),
    ]);
    assert_eq!(recorded.text(|frame| frame.reasoning.as_deref()), "PlanMoreHm");
    let signatures = recorded
        .frames
        .iter()
        .filter_map(|frame| frame.reasoning_signature.as_deref());
    assert_eq!(signatures.collect::<Vec<_>>(), ["gAAA+/==", "second"]);
}

#[test]
fn tool_calls_are_told_apart_by_their_item_and_named_by_their_call_id() {
    let events = [
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_a","type":"function_call","status":"in_progress","call_id":"call_a","name":"f","arguments":""},"sequence_number":1}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"ct_b","type":"custom_tool_call","status":"in_progress","call_id":"call_b","name":"g","input":""},"sequence_number":2}"#,
        r#"{"type":"response.custom_tool_call_input.delta","item_id":"ct_b","output_index":1,"delta":"1+","sequence_number":3}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"fc_a","output_index":0,"delta":"{\"x\"","sequence_number":4}"#,
        r#"{"type":"response.custom_tool_call_input.delta","item_id":"ct_b","output_index":1,"delta":"1","sequence_number":5}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"fc_a","output_index":0,"delta":":1}","sequence_number":6}"#,
        r#"{"type":"response.function_call_arguments.done","item_id":"fc_a","output_index":0,"name":"f","arguments":"{\"x\":1}","sequence_number":7}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_a","type":"function_call","status":"completed","call_id":"call_a","name":"f","arguments":"{\"x\":1}"},"sequence_number":8}"#,
        r#"{"type":"response.custom_tool_call_input.done","item_id":"ct_b","output_index":1,"input":"1+1","sequence_number":9}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"ct_b","type":"custom_tool_call","status":"completed","call_id":"call_b","name":"g","input":"1+1"},"sequence_number":10}"#,
        r#"{"type":"response.completed","response":{"id":"r","status":"completed"},"sequence_number":11}"#,
    ];
    let recorded = record(&stream(&events), FINE);
    let last = recorded.frames.last().unwrap();
    assert_eq!(last.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(
        last.tool_calls,
        [
            ToolCall::new("call_a", "f", r#"{"x":1}"#),
            ToolCall::new("call_b", "g", "1+1")
        ]
    );
    assert_eq!(recorded.tail.odd, None);
    // One after the other they come back without the raw layer.
    let order = [0, 1, 4, 6, 7, 8, 2, 3, 5, 9, 10, 11];
    let one_by_one = order.map(|at| events[at]);
    assert_eq!(exact(&one_by_one).frames.last(), Some(last));
}

#[test]
fn blocks_of_the_server_and_their_events_are_kept() {
    let search = r#"{"id":"ws1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}"#;
    let message = r#"{"id":"m1","type":"message","status":"completed","content":[{"type":"output_text","text":"See here.","annotations":[{"type":"url_citation","url":"u"}]}]}"#;
    let recorded = exact(&[
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"ws1","type":"web_search_call","status":"in_progress"},"sequence_number":1}"#,
        r#"{"type":"response.web_search_call.in_progress","output_index":0,"item_id":"ws1","sequence_number":2}"#,
        r#"{"type":"response.web_search_call.completed","output_index":0,"item_id":"ws1","sequence_number":3}"#,
        &format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{search},"sequence_number":4}}"#
        ),
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"m1","type":"message","status":"in_progress","content":[]},"sequence_number":5}"#,
        r#"{"type":"response.content_part.added","item_id":"m1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]},"sequence_number":6}"#,
        r#"{"type":"response.output_text.delta","item_id":"m1","output_index":1,"content_index":0,"delta":"See","sequence_number":7}"#,
        r#"{"type":"response.output_text.annotation.added","item_id":"m1","output_index":1,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","url":"u"},"sequence_number":8}"#,
        r#"{"type":"response.output_text.delta","item_id":"m1","output_index":1,"content_index":0,"delta":" here.","sequence_number":9}"#,
        r#"{"type":"response.output_text.done","item_id":"m1","output_index":1,"content_index":0,"text":"See here.","sequence_number":10}"#,
        r#"{"type":"response.content_part.done","item_id":"m1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"See here.","annotations":[{"type":"url_citation","url":"u"}]},"sequence_number":11}"#,
        &format!(
            r#"{{"type":"response.output_item.done","output_index":1,"item":{message},"sequence_number":12}}"#
        ),
        &terminal(
            "completed",
            &format!(r#""output":[{search},{message}],"usage":null"#),
        ),
    ]);
    let native: Vec<String> = recorded
        .frames
        .iter()
        .filter_map(|frame| frame.native.as_ref().map(compact))
        .collect();
    assert_eq!(native, [search]);
    assert_eq!(recorded.text(|frame| Some(&frame.chunk)), "See here.");
}

#[test]
fn a_failure_after_text_is_the_text_and_the_failure() {
    let text = [
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","status":"in_progress","content":[]},"sequence_number":1}"#,
        r#"{"type":"response.content_part.added","item_id":"m1","output_index":0,"content_index":0,"part":{"type":"output_text","text":""},"sequence_number":2}"#,
        r#"{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Par","sequence_number":3}"#,
    ];
    let nested = r#"{"type":"error","sequence_number":4,"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"no more","param":null}}"#;
    let flat =
        r#"{"type":"error","sequence_number":4,"code":"server_error","message":"no more","param":null}"#;
    let failed = r#"{"type":"response.failed","response":{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"no more"},"incomplete_details":null,"model":"m","output":[],"usage":null},"sequence_number":5}"#;
    for (ends, error_type) in [
        (vec![nested, failed], "insufficient_quota"),
        (vec![flat, failed], "error"),
        (vec![failed], "server_error"),
        (vec![nested], "insufficient_quota"),
    ] {
        let events: Vec<&str> = text.iter().copied().chain(ends.iter().copied()).collect();
        let mut recorded = exact(&events);
        assert!(recorded.tail.complete);
        assert_eq!(recorded.text(|frame| Some(&frame.chunk)), "Par");
        let boundary = recorded.boundary.as_mut().unwrap();
        assert_eq!(
            (boundary.error_type.as_str(), boundary.message.as_str()),
            (error_type, "no more")
        );
        if ends.contains(&failed) {
            let last = recorded.frames.last().unwrap();
            assert_eq!(last.finish_reason.as_deref(), Some("error"));
        }
        // An edited message is what is served, wherever it stood.
        recorded.boundary.as_mut().unwrap().message = "edited".to_owned();
        let rendered = compact(&Json::Array(recorded.rendered()));
        assert!(!rendered.contains("no more"), "{rendered}");
        let body = OpenAiResponses.render_unary(&recorded.answer());
        assert_eq!(
            body.get("error").and_then(|error| error.get("message")),
            Some(&"edited".into())
        );
        assert_eq!(body.get("status"), Some(&"failed".into()));
    }
}

#[test]
fn an_incomplete_response_says_why() {
    for (reason, word) in [
        ("max_output_tokens", "length"),
        ("content_filter", "content_filter"),
    ] {
        let end = format!(
            r#"{{"type":"response.incomplete","response":{{"id":"r","status":"incomplete","incomplete_details":{{"reason":"{reason}"}},"output":[],"usage":null}},"sequence_number":1}}"#
        );
        let recorded = exact(&[CREATED, &end]);
        assert!(recorded.ended);
        let frame = &recorded.frames[0];
        assert_eq!(frame.finish_reason.as_deref(), Some(word));
        assert_eq!(frame.native_finish_reason.as_deref().unwrap_or(word), reason);
    }
}

#[test]
fn a_stream_without_its_last_event_is_truncated() {
    let recorded = record(&stream(&[CREATED]), FINE);
    assert_eq!((recorded.tail.complete, recorded.ended), (false, false));
    assert_eq!(kinds(&recorded.rendered()), ["response.created"]);
}

#[test]
fn what_is_no_event_of_ours_is_odd_and_never_lost() {
    for bad in [
        "[1]",
        r#"{"type":"response.output_text.delta","output_index":7,"delta":"x","sequence_number":1}"#,
    ] {
        let recorded = record(&stream(&[bad]), FINE);
        assert!(recorded.tail.odd.is_some(), "{bad}");
    }
    let mut events = stream(&[CREATED]);
    events[0].event = Some("response.other".to_owned());
    assert!(record(&events, FINE).tail.odd.is_some());
    // Deltas and what repeats them must agree.
    let unlike = [
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","content":[]},"sequence_number":1}"#,
        r#"{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"a","sequence_number":2}"#,
        r#"{"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":"b","sequence_number":3}"#,
    ];
    let recorded = record(&stream(&unlike), FINE);
    assert_eq!(
        recorded.tail.odd.as_deref(),
        Some("event 4 says something else than the deltas before")
    );
}

fn by_hand() -> Recorded {
    let frame = |chunk: &str| Frame {
        chunk: chunk.to_owned(),
        ..Frame::default()
    };
    Recorded {
        frames: vec![
            frame("Hello"),
            Frame {
                tool_calls: vec![ToolCall::new("call_1", "add", "{}")],
                finish_reason: Some("tool_calls".to_owned()),
                ..frame(" you")
            },
        ],
        usage: Some(Usage::new(1, 2)),
        ..Recorded::default()
    }
}

#[test]
fn an_answer_written_by_hand_is_the_full_sequence_of_events() {
    let recorded = by_hand();
    let rendered = recorded.rendered();
    assert_eq!(
        kinds(&rendered),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, event) in (0_u64..).zip(&rendered) {
        assert_eq!(event.get("sequence_number").and_then(Json::as_u64), Some(number));
        let kind = event.get("type").and_then(Json::as_str).unwrap();
        assert!(
            OpenAiResponses
                .frame(event)
                .starts_with(&format!("event: {kind}\ndata: {{\"type\":\"{kind}\","))
        );
    }
    assert_eq!(
        compact(&rendered[4]),
        r#"{"type":"response.output_text.delta","item_id":"msg_vcr-00000000_0","output_index":0,"content_index":0,"delta":"Hello","logprobs":[],"sequence_number":4}"#
    );
    let last = rendered[13].get("response").unwrap();
    assert_eq!(last, &OpenAiResponses.render_unary(&recorded.answer()));
    assert_eq!(last.get("output").and_then(Json::as_array).unwrap().len(), 2);
    assert_eq!(
        compact(last.get("usage").unwrap()),
        r#"{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":3}"#
    );
    assert_eq!(OpenAiResponses.trailer(None), "");
}

#[test]
fn a_failure_written_by_hand_ends_the_stream_where_it_happened() {
    let mut recorded = by_hand();
    recorded.frames.truncate(1);
    let mut boundary = Boundary {
        kind: BoundaryKind::Error,
        error_type: "server_error".to_owned(),
        message: "boom".to_owned(),
        status: None,
        code: None,
    };
    recorded.boundary = Some(boundary.clone());
    let rendered = recorded.rendered();
    assert_eq!(
        kinds(&rendered)[4..],
        ["response.output_text.delta", "error", "response.failed"]
    );
    let failed = rendered[6].get("response").unwrap();
    assert_eq!(failed.get("status"), Some(&"failed".into()));
    let again = record(
        &stream(
            &rendered
                .iter()
                .map(compact)
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        ),
        FINE,
    );
    let told = again.boundary.unwrap();
    assert_eq!(
        (told.error_type.as_str(), told.message.as_str()),
        ("server_error", "boom")
    );
    boundary.kind = BoundaryKind::Cutoff;
    recorded.boundary = Some(boundary);
    assert_eq!(
        kinds(&recorded.rendered()).last(),
        Some(&"response.output_text.delta")
    );
}

#[test]
fn an_edited_answer_is_what_is_served() {
    let item = r#"{"id":"m1","type":"message","status":"completed","content":[{"type":"output_text","text":"old text"}]}"#;
    let done = format!(
        r#"{{"type":"response.output_item.done","output_index":0,"item":{item},"sequence_number":2}}"#
    );
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","status":"in_progress","content":[]},"sequence_number":1}"#;
    let end = terminal("completed", &format!(r#""output":[{item}],"usage":null"#));
    let mut recorded = exact(&[CREATED, added, &done, &end]);
    recorded.frames.last_mut().unwrap().finish_reason = Some("length".to_owned());
    recorded.frames.last_mut().unwrap().native_finish_reason = None;
    recorded.frames.last_mut().unwrap().tool_calls = vec![ToolCall::new("c", "f", "{}")];
    recorded.frames[0].chunk = "new".to_owned();
    recorded.usage = Some(Usage::new(1, 1));
    let last = recorded.rendered().pop().unwrap();
    let response = last.get("response").unwrap();
    assert_eq!(last.get("type"), Some(&"response.incomplete".into()));
    assert_eq!(
        compact(response.get("output").unwrap()),
        concat!(
            r#"[{"id":"m1","type":"message","status":"completed","content":[{"type":"output_text","text":"new"}]},"#,
            r#"{"id":"fc_vcr-00000000_1","type":"function_call","status":"completed","arguments":"{}","call_id":"c","name":"f"}]"#
        )
    );
    assert_eq!(
        response.get("incomplete_details").map(compact).as_deref(),
        Some(r#"{"reason":"max_output_tokens"}"#)
    );
    assert_eq!(
        response.get("usage").and_then(|usage| usage.get("total_tokens")),
        Some(&parse("2").unwrap())
    );
}

#[test]
fn the_example_of_the_reference_is_read() {
    let recorded = record(
        &stream(&[
            r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress"}}"#,
            r#"{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"add","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_1","output_index":0,"delta":"{\"a\":1}"}"#,
            r#"{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Hi","logprobs":[]}"#,
            r#"{"type":"response.completed","sequence_number":4,"response":{"id":"resp_1","status":"completed","usage":{"input_tokens":9,"output_tokens":4,"total_tokens":13}}}"#,
        ]),
        COARSE,
    );
    assert_eq!(recorded.text(|frame| Some(&frame.chunk)), "Hi");
    assert_eq!(
        recorded.frames.last().unwrap().tool_calls,
        [ToolCall::new("call_1", "add", r#"{"a":1}"#)]
    );
    assert_eq!(recorded.usage, Some(Usage::new(9, 4)));
}
