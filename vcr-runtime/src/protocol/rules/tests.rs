//! The engine on tables in the manner of each protocol.

use super::*;
use crate::json::parse;
use crate::protocol::Event;
use crate::protocol::paths::dotted;

fn rules(text: &str) -> &'static Rules {
    Box::leak(Box::new(
        Rules::parse(text, std::path::Path::new("rules.toml")).unwrap(),
    ))
}

/// Events in a short form.
fn told(events: &[Event]) -> Vec<String> {
    let show = |event: &Event| match event {
        Event::Text { choice, text } => format!("{choice} text {text}"),
        Event::Reasoning { choice, text } => format!("{choice} reasoning {text}"),
        Event::Signature { choice, text } => format!("{choice} signature {text}"),
        Event::Refusal { choice, text } => format!("{choice} refusal {text}"),
        Event::Tool {
            choice,
            index,
            id,
            name,
            arguments,
        } => {
            let (id, name) = (id.as_deref().unwrap_or("-"), name.as_deref().unwrap_or("-"));
            format!("{choice} tool {index} {id} {name} {arguments}")
        }
        Event::Finish {
            choice,
            reason,
            native,
        } => {
            format!("{choice} finish {reason} {}", native.as_deref().unwrap_or("-"))
        }
        Event::Usage(usage) => {
            let details: Vec<&str> = usage.details.iter().map(|(name, _)| name.as_str()).collect();
            let counts = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens);
            format!("usage {counts:?} {}", details.join(" "))
        }
        Event::Error(error) => format!("error {} {}", error.error_type, error.message),
        Event::Native { choice, .. } => format!("{choice} native"),
        Event::End => "end".to_owned(),
    };
    events.iter().map(show).collect()
}

fn read(rules: &'static Rules, payloads: &[&str]) -> (Vec<String>, Reader) {
    let mut reader = Reader::new(rules);
    let mut out = Vec::new();
    for payload in payloads {
        let reading = reader.event(None, &parse(payload).unwrap(), &mut out);
        assert_eq!(reading.odd, None, "{payload}");
    }
    (told(&out), reader)
}

const ANTHROPIC: &str = r#"
    [stream]
    names = "type"
    [[event]]
    when = { path = "type", is = "message_start" }
    usage = "message.usage"
    [[event]]
    when = [{ path = "type", is = "content_block_start" }, { path = "content_block.type", is = "tool_use" }]
    index = "index"
    tool = { id = "content_block.id", name = "content_block.name" }
    [[event]]
    when = [{ path = "type", is = "content_block_start" }, { path = "content_block.type", not = ["text", "thinking"] }]
    native = "content_block"
    [[event]]
    when = { path = "type", is = "content_block_delta" }
    index = "index"
    reasoning = "delta.thinking"
    signature = "delta.signature"
    text = "delta.text"
    [[event.kind]]
    when = { path = "delta.type", is = "input_json_delta" }
    tool = { arguments = "delta.partial_json", comes = "more" }
    [[event]]
    when = { path = "type", is = "message_delta" }
    finish = "delta.stop_reason"
    usage = "usage"
    [[event]]
    when = { path = "type", is = "message_stop" }
    end = true
    [[event]]
    when = { path = "type", is = "error" }
    error = "error"
    [finish]
    stop = ["end_turn", "stop_sequence"]
    tool_calls = ["tool_use"]
    [tools]
    numbering = "order"
    [usage]
    prompt = { sum = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] }
    completion = "output_tokens"
    merge = true
    [error]
    at = "error"
    type = "type"
    message = "message"
"#;

#[test]
fn typed_events_and_content_blocks() {
    let (told, reader) = read(
        rules(ANTHROPIC),
        &[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":20,"output_tokens":1}}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hi"}}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"add","input":{}}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    );
    assert_eq!(
        told,
        [
            "usage (23, 1, 24) cache_read_input_tokens",
            "0 reasoning Hm",
            "0 signature c2ln",
            "0 native",
            "0 text Hi",
            "0 tool 0 toolu_1 add ",
            "0 tool 0 - - ",
            "0 tool 0 - - {\"a\":1}",
            "0 finish tool_calls tool_use",
            "usage (23, 5, 28) cache_read_input_tokens",
            "end",
        ]
    );
    assert!(reader.is_complete() && !reader.has_failed());
}

#[test]
fn an_error_event_fails_the_answer() {
    let (told, reader) = read(
        rules(ANTHROPIC),
        &[r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#],
    );
    assert_eq!(told, ["error overloaded_error Overloaded"]);
    assert!(reader.is_complete() && reader.has_failed());
}

const GEMINI: &str = r#"
    [stream]
    closed_by = "finish"
    [[event]]
    usage = "usageMetadata"
    error = "error"
    [[event.part]]
    each = "candidates"
    choice = "index"
    finish = "finishReason"
    [[event.part.part]]
    each = "content.parts"
    signature = "thoughtSignature"
    [[event.part.part.kind]]
    when = { path = "thought", is = true }
    reasoning = "text"
    [[event.part.part.kind]]
    when = { path = "functionCall", present = true }
    tool = { id = "functionCall.id", name = "functionCall.name", arguments = "functionCall.args", comes = "whole" }
    [[event.part.part.kind]]
    when = { path = "text", present = true }
    text = "text"
    [[event.part.part.kind]]
    native = "."
    [finish]
    stop = ["STOP"]
    length = ["MAX_TOKENS"]
    [tools]
    finish = ["stop"]
    [usage]
    prompt = { sum = ["promptTokenCount", "toolUsePromptTokenCount"] }
    completion = { sum = ["candidatesTokenCount", "thoughtsTokenCount"] }
    total = "totalTokenCount"
"#;

#[test]
fn parts_of_candidates() {
    let (told, reader) = read(
        rules(GEMINI),
        &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm","thought":true},{"text":"Hi"}]},"index":0}],"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"add","args":{}}},{"inlineData":{}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":7,"totalTokenCount":13}}"#,
            r#"{"candidates":[{"finishReason":"STOP","index":0}]}"#,
            r#"{"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":7,"totalTokenCount":13}}"#,
        ],
    );
    assert_eq!(
        told,
        [
            "0 reasoning Hm",
            "0 text Hi",
            "usage (4, 0, 4) ",
            "0 signature c2ln",
            "0 tool 0 - add {\"a\":1}",
            "0 tool 1 - add {}",
            "0 native",
            "0 finish tool_calls STOP",
            "usage (4, 9, 13) thoughtsTokenCount",
        ]
    );
    assert!(reader.is_complete());
}

#[test]
fn lines_with_counters_at_the_top() {
    let ollama = r#"
        [[event]]
        when = { path = "error", present = true }
        error = "error"
        [[event]]
        reasoning = "message.thinking"
        text = "message.content"
        [[event.part]]
        each = "message.tool_calls"
        tool = { id = "id", name = "function.name", arguments = "function.arguments", comes = "whole" }
        [[event.part]]
        when = { path = "done", is = true }
        finish = "done_reason"
        finish_else = "stop"
        usage = "."
        end = true
        [tools]
        finish = ["stop"]
        [usage]
        prompt = "prompt_eval_count"
        completion = "eval_count"
        details = ["total_duration"]
        [error]
        at = "error"
    "#;
    let (told, reader) = read(
        rules(ollama),
        &[
            r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#,
            r#"{"model":"m","message":{"content":"","tool_calls":[{"function":{"name":"add","arguments":{"a":1}}}]},"done":false}"#,
            r#"{"model":"m","message":{"content":""},"done":true,"total_duration":9,"eval_count":9}"#,
        ],
    );
    assert_eq!(
        told,
        [
            "0 reasoning Hm",
            "0 tool 0 - add {\"a\":1}",
            "0 finish tool_calls stop",
            "usage (0, 9, 9) total_duration",
            "end"
        ]
    );
    assert!(reader.is_complete());
    let (told, reader) = read(rules(ollama), &[r#"{"error":"no model"}"#]);
    assert_eq!(told, ["error error no model"]);
    assert!(reader.has_failed());
}

#[test]
fn items_and_a_terminal_object() {
    let responses = r#"
        [stream]
        names = "type"
        [[event]]
        when = [{ path = "type", is = "response.output_item.added" }, { path = "item.type", is = "function_call" }]
        index = "output_index"
        tool = { id = "item.call_id", name = "item.name", arguments = "item.arguments" }
        [[event]]
        when = { path = "type", is = "response.function_call_arguments.delta" }
        index = "output_index"
        tool = { arguments = "delta", comes = "more" }
        [[event]]
        when = { path = "type", is = "response.output_text.delta" }
        text = "delta"
        [[event]]
        when = { path = "type", is = ["response.completed", "response.incomplete"] }
        finish = ["response.incomplete_details.reason", "response.status"]
        usage = "response.usage"
        end = true
        [finish]
        stop = ["completed"]
        length = ["max_output_tokens"]
        [tools]
        numbering = "order"
        finish = ["stop"]
        [usage]
        prompt = "input_tokens"
        completion = "output_tokens"
        total = "total_tokens"
    "#;
    let (told, _) = read(
        rules(responses),
        &[
            r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"add","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"{\"a\":1}"}"#,
            r#"{"type":"response.output_text.delta","output_index":2,"delta":"Hi"}"#,
            r#"{"type":"response.completed","response":{"status":"completed","incomplete_details":null,"usage":{"input_tokens":9,"output_tokens":4,"total_tokens":13}}}"#,
        ],
    );
    assert_eq!(
        told,
        [
            "0 tool 0 call_1 add ",
            "0 tool 0 - - {\"a\":1}",
            "0 text Hi",
            "0 finish tool_calls completed",
            "usage (9, 4, 13) ",
            "end",
        ]
    );
}

#[test]
fn hits_tell_what_stood_where() {
    let mut reader = Reader::new(rules(GEMINI));
    let mut payload = parse(
        r#"{"candidates":[{"index":2,"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}]}"#,
    )
    .unwrap();
    let mut out = Vec::new();
    let reading = reader.event(None, &payload, &mut out);
    let hits: Vec<_> = reading
        .hits
        .iter()
        .map(|hit| (hit.choice, hit.field, dotted(&hit.steps)))
        .collect();
    let at = |below: &str| format!("candidates.0.{below}");
    assert_eq!(
        hits,
        [
            (2, Field::Text, at("content.parts.0.text")),
            (2, Field::Tool, at("content.parts.1")),
            (2, Field::ToolName, at("content.parts.1.functionCall.name")),
            (2, Field::ToolArguments, at("content.parts.1.functionCall.args")),
            (2, Field::Finish, at("finishReason")),
        ]
    );
    let tool = &reading.hits[1];
    assert!(tool.is_new && tool.node.owns("functionCall") && !tool.node.owns("thoughtSignature"));
    reading.put_slots(&mut payload, &[Field::Text, Field::Finish]);
    assert_eq!(
        crate::json::compact(&payload),
        r#"{"candidates":[{"index":2,"content":{"parts":[{"text":"$text"},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"$finish_reason"}]}"#
    );
}

#[test]
fn what_a_table_does_not_expect_is_odd() {
    for (payload, odd) in [
        (r#"{"candidates":{}}"#, "has `candidates` that is an object"),
        (r#"{"candidates":[7]}"#, "has `candidates.0` that is a number"),
        (
            r#"{"candidates":[{"content":{"parts":[{"text":7}]}}]}"#,
            "has `candidates.0.content.parts.0.text` that is a number",
        ),
        (r#"{"usageMetadata":[]}"#, "has `usageMetadata` that is an array"),
    ] {
        let mut reader = Reader::new(rules(GEMINI));
        let reading = reader.event(None, &parse(payload).unwrap(), &mut Vec::new());
        assert_eq!(reading.odd.as_deref(), Some(odd), "{payload}");
    }
}

#[test]
fn mistakes_in_a_table_name_file_line_and_key() {
    for (text, line, message) in [
        ("[stream]\nend = 1", 2, "`end` must be a text, not integer"),
        (
            "[[event]]\ntxt = \"a\"",
            2,
            "the key `txt` is not known, did you mean `text`?",
        ),
        (
            "[[event]]\ntext = \"a..b\"",
            2,
            "`text` holds `a..b`, which is no path",
        ),
        (
            "[[event]]\n\nwhen = { path = \"a\" }",
            3,
            "`when` must be `{ path",
        ),
        ("[tools]\nnumbering = \"x\"", 2, "`numbering` must be `\"order\"`"),
        (
            "[[event]]\ntool = { comes = 1 }",
            2,
            "`comes` must be `fragments`",
        ),
        ("event = 1", 1, "`event` must be a table or a list of tables"),
        ("[usage]\nprompt = { summ = \"a\" }", 2, "did you mean `sum`?"),
        ("x", 1, ""),
    ] {
        let error = Rules::parse(text, std::path::Path::new("/p/x.toml")).unwrap_err();
        assert_eq!(error.line(), Some(line), "{error}");
        assert_eq!(error.path(), Some(std::path::Path::new("/p/x.toml")));
        assert!(error.message().contains(message), "{error}");
    }
}
