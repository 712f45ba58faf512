//! Streams and bodies that went wrong somewhere, or could.

use crate::json::{Json, parse};
use crate::model::BoundaryKind;
use crate::protocol::Wire;

use super::super::Messages;
use super::recorder::{
    difference, events, loss, payloads, record_merged, record_text, record_unary, stream, unary_loss,
};

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn end(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":5}}}}"#
    )
}

/// A whole stream of blocks, each as its start and its deltas.
fn blocks(blocks: &[(&str, &[&str])], reason: &str) -> String {
    let mut payloads = vec![START.to_owned()];
    for (index, (start, deltas)) in blocks.iter().enumerate() {
        payloads.push(format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#
        ));
        for delta in *deltas {
            payloads.push(format!(
                r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#
            ));
        }
        payloads.push(format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
    }
    payloads.extend([end(reason), STOP.to_owned()]);
    stream(&payloads.iter().map(String::as_str).collect::<Vec<_>>())
}

const TEXT: &str = r#"{"type":"text","text":""}"#;
const THINKING: &str = r#"{"type":"thinking","thinking":"","signature":""}"#;
const TOOL: &str = r#"{"type":"tool_use","id":"toolu_1","name":"add","input":{}}"#;

/// What merged frames tell; fine and merged frames must both lose nothing.
fn told(body: &str) -> Vec<String> {
    let recorded = record_text(body);
    assert_eq!(recorded.tail.odd, None);
    assert!(recorded.tail.complete);
    assert_eq!(loss(body, &recorded), None);
    let merged = record_merged(&events(body));
    assert_eq!(loss(body, &merged), None);
    assert_eq!(merged.tail, recorded.tail);
    merged.told()
}

#[test]
fn d06_events_are_named_pings_are_no_text_and_final_counts_replace_early_ones() {
    let named = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"id":"msg_01","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#,
        "\n\nevent: content_block_start\n",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
        "\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0   }\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let nameless: String = named
        .lines()
        .filter(|line| !line.starts_with("event:"))
        .map(|line| format!("{line}\n"))
        .collect();
    for body in [named, &nameless] {
        let recorded = record_text(body);
        assert_eq!(recorded.told(), ["says Hi", "ends stop"]);
        let usage = recorded.usage.as_ref().unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (9, 3, 12)
        );
        assert_eq!(
            recorded.frames[1].native_finish_reason.as_deref(),
            Some("end_turn")
        );
        assert_eq!(loss(body, &recorded), None);
        let names: Vec<String> = events(&recorded.wire())
            .into_iter()
            .filter_map(|event| event.event)
            .collect();
        assert_eq!(
            names,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
    }
}

#[test]
fn d09_thinking_blocks_stay_apart_and_signatures_and_redacted_data_are_kept_to_the_byte() {
    let first =
        r#"{"type":"signature_delta","signature":"EqQBCkYIBRgCKkBzaWduYXR1cmUxMjM0NTY3ODkwYWJjZGVm"}"#;
    let second =
        r#"{"type":"signature_delta","signature":"EqQBCkYIBRgCKkBzaWduYXR1cmUyMjIyMjIyMjIyMjIyMjIy"}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"ZW5jcnlwdGVkLXBheWxvYWQ="}"#;
    let body = blocks(
        &[
            (
                THINKING,
                &[r#"{"type":"thinking_delta","thinking":"alpha"}"#, first],
            ),
            (redacted, &[]),
            (
                THINKING,
                &[r#"{"type":"thinking_delta","thinking":"beta"}"#, second],
            ),
        ],
        "end_turn",
    );
    // As in the report, without the message around the blocks.
    let bare: Vec<String> = payloads(&events(&body))
        .iter()
        .filter(|payload| {
            !["message_start", "message_delta"].contains(&payload.get("type").unwrap().as_str().unwrap())
        })
        .map(|payload| Messages.frame(payload))
        .collect();
    let frames = [
        "thinks alpha, signs EqQBCkYIBRgCKkBzaWduYXR1cmUxMjM0NTY3ODkwYWJjZGVm",
        redacted,
        "thinks beta, signs EqQBCkYIBRgCKkBzaWduYXR1cmUyMjIyMjIyMjIyMjIyMjIy",
    ];
    assert_eq!(told(&bare.concat()), frames);
    assert_eq!(told(&body)[..2], frames[..2]);
    let content = Messages.assemble(&record_text(&bare.concat()).rendered());
    let content = content.get("content").and_then(Json::as_array).unwrap();
    assert_eq!(content.len(), 3);
    assert_eq!(content[1], parse(redacted).unwrap());
}

#[test]
fn d10_an_error_inside_a_stream_is_a_recorded_fault_and_comes_back() {
    let body = stream(&[
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Par"}}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    ]);
    let recorded = record_text(&body);
    let boundary = recorded.boundary.as_ref().unwrap();
    assert_eq!(
        (boundary.kind, boundary.error_type.as_str()),
        (BoundaryKind::Error, "overloaded_error")
    );
    assert_eq!(boundary.message, "Overloaded");
    assert_eq!(recorded.told(), ["says Par"]);
    assert!(recorded.tail.complete && !recorded.ended);
    assert_eq!(loss(&body, &recorded), None);
    let wire = recorded.wire();
    assert!(wire.ends_with("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"));
    assert!(!wire.contains("message_stop") && !wire.contains("content_block_stop"));
}

#[test]
fn d11_the_end_marker_completes_the_answer_and_nothing_else_does() {
    let body = blocks(&[(TEXT, &[r#"{"type":"text_delta","text":"Hi"}"#])], "end_turn");
    let all = events(&body);
    for count in 1..=all.len() {
        let part: String = all[..count]
            .iter()
            .map(|event| String::from_utf8(event.bytes.clone()).unwrap())
            .collect();
        let recorded = record_text(&part);
        let whole = count == all.len();
        assert_eq!(
            (recorded.tail.complete, recorded.ended),
            (whole, whole),
            "{count}"
        );
        assert_eq!(loss(&part, &recorded), None, "{count}");
        assert_eq!(recorded.wire().contains("message_stop"), whole, "{count}");
        assert_eq!(recorded.wire(), record_text(&recorded.wire()).wire(), "{count}");
    }
}

#[test]
fn the_counts_of_a_cut_stream_are_those_it_began_with() {
    let recorded = record_text(&stream(&[START]));
    let usage = recorded.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (23, 1));
}

#[test]
fn the_order_of_blocks_survives() {
    let words = |word: &str| format!(r#"{{"type":"text_delta","text":"{word}"}}"#);
    let (a, b, c) = (words("a"), words("b"), words("c"));
    let json = r#"{"type":"input_json_delta","partial_json":"{\"x\": 2}"}"#;
    let second = r#"{"type":"tool_use","id":"toolu_2","name":"sub","input":{}}"#;
    let body = blocks(
        &[
            (TEXT, &[&a]),
            (TOOL, &[json]),
            (TEXT, &[&b]),
            (TEXT, &[&c]),
            (second, &[json]),
        ],
        "tool_use",
    );
    assert_eq!(
        told(&body),
        [
            "says a",
            r#"{"type":"tool_use"}"#,
            "says b",
            r#"{"type":"text"}"#,
            r#"says c, toolu_1 add({"x": 2}), toolu_2 sub({"x": 2}), ends tool_calls"#
        ]
    );
    // Usual orders need no marks.
    let usual = blocks(&[(TEXT, &[&a]), (TOOL, &[json]), (second, &[json])], "tool_use");
    assert_eq!(
        told(&usual),
        [r#"says a, toolu_1 add({"x": 2}), toolu_2 sub({"x": 2}), ends tool_calls"#]
    );
}

#[test]
fn a_tool_without_arguments_has_an_empty_object() {
    let empty = r#"{"type":"input_json_delta","partial_json":""}"#;
    for deltas in [&[empty][..], &[]] {
        assert_eq!(
            told(&blocks(&[(TOOL, deltas)], "tool_use")),
            ["toolu_1 add({}), ends tool_calls"]
        );
    }
    let whole = r#"{"type":"tool_use","id":"toolu_1","name":"add","input":{"b":1.0,"a":[2]}}"#;
    assert_eq!(
        told(&blocks(&[(whole, &[])], "tool_use")),
        [r#"toolu_1 add({"b":1.0,"a":[2]}), ends tool_calls"#]
    );
}

#[test]
fn arguments_that_were_cut_stay_as_they_are() {
    let cut = r#"{"type":"input_json_delta","partial_json":"{\"x\": \"ab"}"#;
    assert_eq!(
        told(&blocks(&[(TOOL, &[cut])], "max_tokens")),
        [r#"toolu_1 add({"x": "ab), ends length"#]
    );
}

#[test]
fn server_tools_results_citations_and_unknown_blocks_keep_their_place() {
    let server = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#;
    let result = r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"u"}]}"#;
    let cited = r#"{"type":"text","text":"","citations":[]}"#;
    let citation =
        r#"{"type":"citations_delta","citation":{"type":"web_search_result_location","cited_text":"c"}}"#;
    let a = r#"{"type":"text_delta","text":"a"}"#;
    let b = r#"{"type":"text_delta","text":"b"}"#;
    let body = blocks(
        &[
            (TEXT, &[a]),
            (
                server,
                &[
                    r#"{"type":"input_json_delta","partial_json":"{\"query\":"}"#,
                    r#"{"type":"input_json_delta","partial_json":" \"q\"}"}"#,
                ],
            ),
            (result, &[]),
            (cited, &[citation, b]),
            (TEXT, &[b]),
            (r#"{"type":"brand_new","x":{"input":1}}"#, &[]),
            (TEXT, &[a]),
        ],
        "pause_turn",
    );
    assert_eq!(
        told(&body),
        [
            "says a",
            r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}"#,
            result,
            r#"{"type":"text","citations":[]}"#,
            citation,
            "says b",
            r#"{"type":"text"}"#,
            "says b",
            r#"{"type":"brand_new","x":{"input":1}}"#,
            "says a, ends pause",
        ]
    );
}

#[test]
fn blocks_that_say_nothing_are_blocks() {
    let a = r#"{"type":"text_delta","text":"a"}"#;
    let thought = r#"{"type":"thinking_delta","thinking":"t"}"#;
    let sign = r#"{"type":"signature_delta","signature":"s"}"#;
    for body in [
        blocks(&[(TEXT, &[]), (TOOL, &[])], "tool_use"),
        blocks(&[(TEXT, &[]), (TEXT, &[]), (TEXT, &[a])], "end_turn"),
        blocks(&[(THINKING, &[]), (TEXT, &[a])], "end_turn"),
        blocks(
            &[(THINKING, &[sign]), (THINKING, &[thought, sign]), (TEXT, &[a])],
            "end_turn",
        ),
        blocks(
            &[
                (THINKING, &[thought]),
                (THINKING, &[sign]),
                (THINKING, &[thought]),
            ],
            "end_turn",
        ),
        blocks(
            &[(TOOL, &[]), (THINKING, &[thought]), (TOOL, &[]), (TEXT, &[])],
            "end_turn",
        ),
        blocks(&[], "refusal"),
    ] {
        told(&body);
    }
}

#[test]
fn members_that_blocks_have_besides_are_learned_once() {
    let tool = |caller: &str| {
        format!(r#"{{"type":"tool_use","id":"i","name":"n","input":{{}},"caller":{{"type":"{caller}"}}}}"#)
    };
    let (direct, other) = (tool("direct"), tool("code"));
    let same = blocks(&[(&direct, &[]), (&direct, &[])], "tool_use");
    assert_eq!(told(&same), ["i n({}), i n({}), ends tool_calls"]);
    assert!(
        record_text(&same)
            .template()
            .contains(r#""tool":{"caller":{"type":"direct"}}"#)
    );
    let mixed = blocks(&[(&direct, &[]), (&other, &[]), (&direct, &[])], "tool_use");
    assert_eq!(
        told(&mixed),
        [
            r#"{"type":"tool_use","caller":{"type":"direct"}}"#,
            r#"{"type":"tool_use","caller":{"type":"code"}}, i n({}), i n({}), i n({}), ends tool_calls"#
        ]
    );
    // Servers that imitate this protocol have no signatures.
    let unsigned = r#"{"type":"thinking","thinking":""}"#;
    let body = blocks(
        &[(unsigned, &[r#"{"type":"thinking_delta","thinking":"t"}"#])],
        "end_turn",
    );
    assert_eq!(told(&body), ["thinks t, ends stop"]);
}

#[test]
fn what_has_no_canonical_form_is_seen() {
    let strange = r#"{"type":"brand_new_delta","x":1}"#;
    for body in [
        blocks(&[(TEXT, &[strange])], "end_turn"),
        blocks(&[(r#"{"type":"brand_new"}"#, &[strange])], "end_turn"),
        stream(&[START, r#"{"type":"brand_new","x":1}"#, STOP]),
        stream(&[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"t"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}"#,
            STOP,
        ]),
        stream(&[
            START,
            r#"{"type":"content_block_start","index":5,"content_block":{"type":"text","text":"a"}}"#,
            STOP,
        ]),
    ] {
        assert!(loss(&body, &record_text(&body)).is_some(), "{body}");
    }
    for (body, odd) in [
        ("data: {}\n\n", "event 1 has no type"),
        ("data: [1]\n\n", "event 1 is an array, not an object"),
        (
            "event: ping\ndata: {\"type\":\"message_stop\"}\n\n",
            "event 1 is named `ping`, unlike its payload",
        ),
        (
            "data: {\"type\":\"message_stop\"}\n\ndata: {\"type\":\"x\"}\n\n",
            "event 2 comes after message_stop",
        ),
    ] {
        assert_eq!(record_text(body).tail.odd.as_deref(), Some(odd));
    }
    assert!(
        record_text("data: {\n\n")
            .tail
            .odd
            .unwrap()
            .starts_with("event 1 is no JSON")
    );
}

#[test]
fn members_of_the_end_and_of_the_usage_come_back() {
    let body = stream(&[
        START,
        r#"{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END","container":{"id":"c"}},"usage":{"input_tokens":30,"output_tokens":5,"server_tool_use":{"web_search_requests":1},"cache_read_input_tokens":null},"context_management":{"applied_edits":[]}}"#,
        STOP,
    ]);
    let recorded = record_text(&body);
    assert_eq!(loss(&body, &recorded), None);
    let usage = recorded.usage.as_ref().unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (50, 5));
    assert_eq!(
        recorded.frames[0].native_finish_reason.as_deref(),
        Some("stop_sequence")
    );
}

#[test]
fn unary_bodies_come_back() {
    for body in [
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"Hm","signature":"c2ln"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,"output_tokens":5}}"#,
        r#"{"content":[{"type":"text","text":"a","citations":[{"cited_text":"c"}]},{"type":"text","text":"b"},{"type":"text","text":"c","citations":null},{"type":"tool_use","id":"1","name":"n","input":{}},{"type":"redacted_thinking","data":"ZA=="}],"stop_reason":null,"usage":{"output_tokens":5}}"#,
        r#"{"type":"message","content":[],"stop_reason":"refusal","usage":null}"#,
        r#"{"type":"message","content":"odd","stop_reason":7}"#,
        "[]",
        "7",
    ] {
        assert_eq!(unary_loss(200, &parse(body).unwrap()), None, "{body}");
    }
}

#[test]
fn error_bodies_come_back() {
    for (status, text) in [
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#,
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#,
        ),
        (502, r#""<html>Bad Gateway</html>""#),
    ] {
        let body = parse(text).unwrap();
        let recorded = record_unary(status, &body);
        let boundary = recorded.boundary.as_ref().unwrap();
        assert_eq!(boundary.status, Some(status));
        assert!(recorded.frames.is_empty());
        assert_eq!(
            difference(&body, &Messages.render_unary(&recorded.answer()), ""),
            None
        );
    }
}

#[test]
fn what_every_stream_has_is_in_no_template() {
    let usual = blocks(&[(TEXT, &[r#"{"type":"text_delta","text":"a"}"#])], "end_turn");
    let usual = usual.replace(
        r#""usage":{"output_tokens":5}"#,
        r#""usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,"output_tokens":5}"#,
    );
    told(&usual);
    assert_eq!(
        record_text(&usual).template(),
        r#"{"message":{"id":"msg_1","model":"claude-x","usage":{"output_tokens":1}},"end":true}"#
    );
}
