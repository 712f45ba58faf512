use super::super::Gemini;
use crate::json::{Json, compact, parse};
use crate::protocol::Wire;
use crate::protocol::testing::{Recorded, WIDE, difference, record_payloads, record_texts};

/// A chunk with these parts and rest of the candidate.
fn chunk(parts: &str, rest: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"parts":{parts},"role":"model"}}{rest},"index":0}}],"modelVersion":"g","responseId":"r"}}"#
    )
}

const STOP: &str = r#","finishReason":"STOP""#;

fn recorded(chunks: &[String]) -> Recorded {
    record_texts(&Gemini, &chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

fn lost(recorded: &Recorded, chunks: &[String]) -> Option<String> {
    let original: Vec<Json> = chunks.iter().map(|chunk| parse(chunk).unwrap()).collect();
    difference(
        &Gemini.assemble(&original),
        &Gemini.assemble(&recorded.rendered(&Gemini)),
        "",
    )
}

/// Renders to what an SDK cannot tell from the original, at any tick.
fn equal(chunks: &[String]) -> Recorded {
    let fine = recorded(chunks);
    assert_eq!(lost(&fine, chunks), None, "{}", fine.template());
    let payloads: Vec<Json> = chunks.iter().map(|chunk| parse(chunk).unwrap()).collect();
    assert_eq!(lost(&record_payloads(&Gemini, &payloads, WIDE), chunks), None);
    fine
}

#[test]
fn thoughts_text_and_calls_become_frames() {
    let recorded = equal(&[
        chunk(r#"[{"text":"Hm","thought":true}]"#, ""),
        chunk(r#"[{"text":"Hi"}]"#, ""),
        chunk(
            r#"[{"functionCall":{"name":"add","args":{"b":1.0,"a":[2]}},"thoughtSignature":"s1"},{"functionCall":{"name":"add","args":{},"id":"c"}}]"#,
            STOP,
        ),
    ]);
    assert!(recorded.tail.complete);
    let [thought, text, end] = recorded.frames.as_slice() else {
        panic!("{:?}", recorded.frames);
    };
    assert_eq!(thought.reasoning.as_deref(), Some("Hm"));
    assert_eq!(text.chunk, "Hi");
    assert_eq!(end.reasoning_signature.as_deref(), Some("s1"));
    assert_eq!(end.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(end.native_finish_reason.as_deref(), Some("STOP"));
    assert_eq!(end.tool_calls[0].function.arguments, r#"{"b":1.0,"a":[2]}"#);
    assert!(end.tool_calls[0].id.starts_with("vcr_call_0_"));
    assert_eq!(end.tool_calls[1].id, "c");
    assert_eq!(
        recorded.template(),
        r#"{"chunk":{"modelVersion":"g","responseId":"r"},"signatures":{"0":["call 0"]}}"#
    );
    let rendered = recorded.rendered(&Gemini);
    assert_eq!(rendered.len(), 3, "the calls stay together");
    assert!(!compact(&rendered[2]).contains("vcr_call"));
}

#[test]
fn a_signature_stands_on_any_part() {
    for parts in [
        r#"[{"text":"a","thought":true,"thoughtSignature":"s"}]"#,
        r#"[{"text":"a","thoughtSignature":"s"}]"#,
        r#"[{"text":"","thoughtSignature":"s"}]"#,
        r#"[{"text":"","thought":true,"thoughtSignature":"s"}]"#,
        r#"[{"text":"a"},{"text":"","thoughtSignature":"s"},{"text":"b"}]"#,
        r#"[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}},"thoughtSignature":"s"}]"#,
        r#"[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"},{"functionCall":{"name":"g","args":{}},"thoughtSignature":"t"}]"#,
        r#"[{"text":"a","thoughtSignature":"s"},{"functionCall":{"name":"g","args":{}},"thoughtSignature":"t"}]"#,
        r#"[{"executableCode":{"code":"x"},"thoughtSignature":"s"}]"#,
    ] {
        let chunks = [chunk(parts, ""), chunk(r#"[{"text":""}]"#, STOP)];
        equal(&chunks);
        let whole = [chunk(parts, STOP)];
        let recorded = equal(&whole);
        let body = Gemini.render_unary(&recorded.answer());
        let original = parse(&whole[0]).unwrap();
        assert_eq!(difference(&original, &body, ""), None, "{parts}");
    }
}

#[test]
fn how_calls_come_in_chunks_is_kept() {
    let call = |name: &str| chunk(&format!(r#"[{{"functionCall":{{"name":"{name}"}}}}]"#), "");
    let recorded = equal(&[call("f"), call("g"), chunk(r#"[{"text":""}]"#, STOP)]);
    assert_eq!(recorded.frames.len(), 1);
    assert_eq!(recorded.frames[0].tool_calls[0].function.arguments, "");
    assert!(
        recorded.template().contains(r#""calls":{"0":[1,1]}"#),
        "{}",
        recorded.template()
    );
    assert_eq!(recorded.rendered(&Gemini).len(), 3);
}

#[test]
fn calls_keep_their_place_among_the_parts() {
    let call = |name: &str| format!(r#"{{"functionCall":{{"name":"{name}","args":{{}}}}}}"#);
    let (f, g, h) = (call("f"), call("g"), call("h"));
    for parts in [
        vec![format!("[{f}]"), r#"[{"text":"a"}]"#.to_owned(), format!("[{g}]"), r#"[{"text":"b"}]"#.to_owned()],
        vec![format!(r#"[{f},{g},{{"text":"a","thought":true}},{h}]"#)],
        vec![format!(r#"[{f},{{"text":"a"}},{g}]"#), format!("[{f},{h}]")],
        vec![format!("[{f}]"), format!("[{g}]"), r#"[{"executableCode":{"code":"1"}}]"#.to_owned(), format!("[{h}]")],
        vec![format!(r#"[{f},{{"text":"","thoughtSignature":"s"}},{g}]"#)],
        vec![r#"[{"functionCall":{"name":"f"},"thoughtSignature":"s"},{"text":"a"},{"functionCall":{"name":"g"},"thoughtSignature":"t"}]"#.to_owned()],
    ] {
        let mut chunks: Vec<String> = parts.iter().map(|parts| chunk(parts, "")).collect();
        *chunks.last_mut().unwrap() = chunk(parts.last().unwrap(), STOP);
        let recorded = equal(&chunks);
        let end = recorded.frames.last().unwrap();
        assert!(end.tool_calls.len() >= 2, "calls stand on the last frame: {:?}", recorded.frames);
        assert!(recorded.frames.iter().any(|frame| frame.native.is_some()));
    }
}

#[test]
fn a_call_keeps_its_place_before_an_empty_end() {
    equal(&[
        chunk(r#"[{"functionCall":{"name":"f"}},{"text":"later"}]"#, ""),
        chunk("[]", STOP),
    ]);
}

#[test]
fn a_marker_that_a_person_has_changed_asks_for_no_call_twice() {
    let parts = r#"[{"functionCall":{"name":"f"}},{"text":"a"},{"functionCall":{"name":"g"}}]"#;
    for count in ["0", "2", "18446744073709551615"] {
        let mut recorded = recorded(&[chunk(parts, STOP)]);
        recorded.frames[0].native = Some(parse(&format!(r#"{{"functionCalls":{count}}}"#)).unwrap());
        let text: String = recorded.rendered(&Gemini).iter().map(compact).collect();
        assert_eq!(text.matches(r#""name":"f""#).count(), 1, "{text}");
        assert_eq!(text.matches(r#""name":"g""#).count(), 1, "{text}");
        assert!(!text.contains("functionCalls"), "{text}");
    }
}

#[test]
fn a_reason_may_come_twice_with_text_between() {
    let recorded = equal(&[
        chunk(r#"[{"executableCode":{"code":"1","language":"PYTHON"}}]"#, STOP),
        chunk(r#"[{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}]"#, ""),
        chunk(r#"[{"text":"one"}]"#, STOP),
    ]);
    let reasons: Vec<_> = recorded
        .frames
        .iter()
        .map(|frame| frame.finish_reason.as_deref())
        .collect();
    assert_eq!(reasons, [Some("stop"), None, Some("stop")]);
    assert!(recorded.frames[0].native.is_some() && recorded.frames[1].native.is_some());
    assert_eq!(recorded.frames[2].chunk, "one");
}

#[test]
fn the_last_usage_stands() {
    let usage = |counts: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}],"role":"model"}},"index":0}}],"usageMetadata":{{{counts}}}}}"#
        )
    };
    let recorded = equal(&[
        usage(r#""promptTokenCount":4,"totalTokenCount":4"#),
        usage(
            r#""promptTokenCount":4,"candidatesTokenCount":2,"totalTokenCount":113,"thoughtsTokenCount":7,"toolUsePromptTokenCount":100,"trafficType":"ON_DEMAND""#,
        ),
        r#"{"candidates":[{"finishReason":"MAX_TOKENS","index":0}]}"#.to_owned(),
    ]);
    let usage = recorded.usage.as_ref().unwrap();
    assert_eq!(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (104, 9, 113)
    );
    assert_eq!(
        recorded.frames.last().unwrap().finish_reason.as_deref(),
        Some("length")
    );
    assert!(recorded.tail.complete);
}

#[test]
fn a_usage_without_counts_and_a_chunk_of_its_own() {
    let recorded = equal(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"}}],"usageMetadata":{"trafficType":"ON_DEMAND"}}"#.to_owned(),
        r#"{"candidates":[{"finishReason":"STOP","avgLogprobs":-0.1}]}"#.to_owned(),
        r#"{"usageMetadata":{"promptTokenCount":1,"totalTokenCount":1},"createTime":"t"}"#.to_owned(),
    ]);
    assert!(
        recorded.template().contains(r#""index":false"#),
        "{}",
        recorded.template()
    );
    assert_eq!(recorded.usage.as_ref().map(|usage| usage.total_tokens), Some(1));
}

#[test]
fn a_refused_prompt_is_a_content_filter() {
    let recorded = equal(&[r#"{"promptFeedback":{"blockReason":"OTHER"},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4},"modelVersion":"g"}"#.to_owned()]);
    assert!(recorded.tail.complete);
    let [frame] = recorded.frames.as_slice() else {
        panic!("{:?}", recorded.frames)
    };
    assert_eq!(frame.finish_reason.as_deref(), Some("content_filter"));
    assert_eq!(frame.native_finish_reason.as_deref(), Some("OTHER"));
}

#[test]
fn candidates_are_choices() {
    let two = |a: &str, b: &str, rest: &str| {
        let one = |number: u32, text: &str| {
            format!(
                r#"{{"content":{{"parts":[{{"text":"{text}"}}],"role":"model"}}{rest},"index":{number}}}"#
            )
        };
        format!(r#"{{"candidates":[{},{}]}}"#, one(0, a), one(1, b))
    };
    let recorded = equal(&[two("a", "x", ""), two("b", "y", STOP)]);
    let texts: Vec<_> = recorded
        .frames
        .iter()
        .map(|frame| (frame.choice, frame.chunk.as_str()))
        .collect();
    assert_eq!(texts, [(0, "a"), (1, "x"), (0, "b"), (1, "y")]);
}

#[test]
fn an_error_ends_the_answer() {
    let error = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE","details":[]}}"#;
    let recorded = equal(&[chunk(r#"[{"text":"a"}]"#, ""), error.to_owned()]);
    assert!(recorded.tail.complete);
    let boundary = recorded.boundary.as_ref().unwrap();
    assert_eq!(
        (boundary.error_type.as_str(), boundary.status),
        ("UNAVAILABLE", Some(503))
    );
    assert_eq!(
        recorded.rendered(&Gemini).last().map(compact).as_deref(),
        Some(error)
    );
    assert_eq!(equal(&[error.to_owned()]).rendered(&Gemini).len(), 1);
}

#[test]
fn calls_in_pieces_are_kept_and_put_together() {
    let recorded = equal(&[
        chunk(r#"[{"functionCall":{"name":"f","willContinue":true}}]"#, ""),
        chunk(
            r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}}]"#,
            "",
        ),
        chunk(
            r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"y"}],"willContinue":true}}]"#,
            "",
        ),
        chunk(r#"[{"functionCall":{}}]"#, STOP),
    ]);
    let end = recorded.frames.last().unwrap();
    assert_eq!(end.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(end.tool_calls[0].function.arguments, r#"{"a":"xy"}"#);
}

#[test]
fn a_stream_that_stops_is_not_complete() {
    let recorded = equal(&[chunk(r#"[{"text":"a"}]"#, "")]);
    assert!(!recorded.tail.complete);
    let nothing = recorded_nothing();
    assert_eq!((nothing.tail.complete, nothing.tail.template), (false, None));
}

fn recorded_nothing() -> Recorded {
    recorded(&[])
}

#[test]
fn what_has_no_canonical_form_is_seen_as_lost() {
    for chunks in [
        [
            chunk(r#"[{"text":"a","videoMetadata":{}}]"#, ""),
            chunk(r#"[{"text":""}]"#, STOP),
        ],
        [
            chunk(r#"[{"text":"a"}]"#, r#","citationMetadata":{"a":1}"#),
            chunk(r#"[{"text":"b"}]"#, STOP),
        ],
        [
            chunk(r#"[{"functionCall":{"name":"f","x":1}}]"#, ""),
            chunk("[]", STOP),
        ],
    ] {
        let recorded = recorded(&chunks);
        assert!(lost(&recorded, &chunks).is_some(), "{chunks:?}");
    }
}

#[test]
fn odd_chunks_are_named() {
    let odd = |chunk: &str| record_texts(&Gemini, &[chunk]).tail.odd.unwrap_or_default();
    assert_eq!(odd(&chunk(r#"[{"text":"a"}]"#, STOP)), "");
    assert_eq!(odd("[1]"), "event 1 is an array, not an object");
    assert!(odd("{").starts_with("event 1 is no JSON"));
    assert!(odd(r#"{"candidates":{}}"#).contains("candidates"));
    assert!(odd(r#"{"candidates":[{"content":{"parts":[{"text":1}]}}]}"#).contains("text"));
}
