//! Answers that every protocol can give, in the words of each: payloads of a stream, one an event.

use serde_json::{Value, json};

/// Two signatures that look like secrets, and redacted thinking.
pub(super) const SIGNED: [&str; 2] = [
    "EqQBCkYIBRgCKkBzaWduYXR1cmUxMjM0NTY3ODkwYWJjZGVm",
    "EqQBCkYIBRgCKkBzaWduYXR1cmUyMjIyMjIyMjIyMjIyMjIy",
];
pub(super) const REDACTED: &str = "ZW5jcnlwdGVkLXBheWxvYWQ=";

fn chunk(delta: Value, finish: Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn candidate(parts: Value, finish: Option<&str>) -> Value {
    let mut chunk = json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}], "modelVersion": "m"});
    if let Some(finish) = finish {
        chunk["candidates"][0]["finishReason"] = finish.into();
    }
    chunk
}

fn line(message: Value) -> Value {
    json!({"model": "m", "created_at": "t", "message": message, "done": false})
}

fn last_line(reason: &str, counts: Value) -> Value {
    let mut last = line(json!({"role": "assistant", "content": ""}));
    last["done"] = true.into();
    last["done_reason"] = reason.into();
    for (name, value) in counts.as_object().into_iter().flatten() {
        last[name.as_str()] = value.clone();
    }
    last
}

fn message_start() -> Value {
    json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 12, "output_tokens": 0}}})
}

fn message_end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

/// A block with its deltas.
fn block(index: usize, start: Value, deltas: Vec<Value>) -> Vec<Value> {
    let start = json!({"type": "content_block_start", "index": index, "content_block": start});
    let deltas = deltas
        .into_iter()
        .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let stop = json!({"type": "content_block_stop", "index": index});
    [start].into_iter().chain(deltas).chain([stop]).collect()
}

fn text_block(index: usize, text: &str) -> Vec<Value> {
    block(
        index,
        json!({"type": "text", "text": ""}),
        vec![json!({"type": "text_delta", "text": text})],
    )
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({"id": "r", "object": "response", "created_at": 1, "model": "m", "status": status, "output": output})
}

fn created() -> Value {
    json!({"type": "response.created", "response": response("in_progress", &[])})
}

/// The events of a message item, and the item.
fn message_item(at: usize, text: &str) -> (Vec<Value>, Value) {
    let id = format!("msg_{at}");
    let part = |text: &str| json!({"type": "output_text", "annotations": [], "text": text});
    let item = |status: &str, content: Value| json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content});
    let done = item("completed", json!([part(text)]));
    let place = |kind: &str| json!({"type": kind, "item_id": id, "output_index": at, "content_index": 0});
    let with = |kind: &str, name: &str, value: Value| {
        let mut event = place(kind);
        event[name] = value;
        event
    };
    let events = vec![
        json!({"type": "response.output_item.added", "output_index": at, "item": item("in_progress", json!([]))}),
        with("response.content_part.added", "part", part("")),
        with("response.output_text.delta", "delta", text.into()),
        with("response.output_text.done", "text", text.into()),
        with("response.content_part.done", "part", part(text)),
        json!({"type": "response.output_item.done", "output_index": at, "item": done}),
    ];
    (events, done)
}

/// D07: cut for its length, with 12, 1 and 13 tokens, or without a word of them where `counted` is false.
pub(super) fn tail(protocol: &str, counted: bool) -> Vec<Value> {
    match protocol {
        "openai-chat" => {
            let mut chunks = vec![
                chunk(json!({"role": "assistant", "content": "ok"}), Value::Null),
                chunk(json!({}), json!("length")),
            ];
            if counted {
                let mut usage = chunk(json!({}), Value::Null);
                usage["choices"] = json!([]);
                usage["usage"] = json!({"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 13});
                chunks.push(usage);
            }
            chunks
        }
        "openai-responses" => {
            let (mut events, item) = message_item(0, "ok");
            let mut end = response("incomplete", &[item]);
            end["incomplete_details"] = json!({"reason": "max_output_tokens"});
            if counted {
                end["usage"] = json!({"input_tokens": 12, "output_tokens": 1, "total_tokens": 13});
            }
            events.insert(0, created());
            events.push(json!({"type": "response.incomplete", "response": end}));
            events
        }
        "anthropic-messages" => {
            let mut events = vec![message_start()];
            events.extend(text_block(0, "ok"));
            events.extend(message_end("max_tokens"));
            if !counted {
                events[0]["message"].as_object_mut().unwrap().remove("usage");
                let end = events.len() - 2;
                events[end].as_object_mut().unwrap().remove("usage");
            }
            events
        }
        "gemini" => {
            let mut last = candidate(json!([{"text": "k"}]), Some("MAX_TOKENS"));
            if counted {
                last["usageMetadata"] =
                    json!({"promptTokenCount": 12, "candidatesTokenCount": 1, "totalTokenCount": 13});
            }
            vec![candidate(json!([{"text": "o"}]), None), last]
        }
        "ollama-chat" => {
            let counts = json!({"prompt_eval_count": 12, "eval_count": 1});
            let counts = if counted { counts } else { json!({}) };
            vec![
                line(json!({"role": "assistant", "content": "ok"})),
                last_line("length", counts),
            ]
        }
        other => panic!("{other}"),
    }
}

/// D08: two calls, their pieces in each other's way where the protocol has pieces.
pub(super) fn tools(protocol: &str) -> Vec<Value> {
    match protocol {
        "openai-chat" => {
            let piece = |call: Value| chunk(json!({"tool_calls": [call]}), Value::Null);
            vec![
                piece(
                    json!({"index": 0, "id": "call_a", "type": "function", "function": {"name": "get_w", "arguments": ""}}),
                ),
                piece(
                    json!({"index": 1, "id": "call_b", "type": "function", "function": {"name": "get_t", "arguments": "{\"z\""}}),
                ),
                piece(json!({"index": 0, "function": {"arguments": "{\"city\":"}})),
                piece(json!({"index": 1, "function": {"arguments": ":1}"}})),
                piece(json!({"index": 0, "function": {"arguments": "\"Oslo\"}"}})),
                chunk(json!({}), json!("tool_calls")),
            ]
        }
        "openai-responses" => {
            let item = |at: usize, status: &str, arguments: &str| {
                let (call, name) = [("call_a", "get_w"), ("call_b", "get_t")][at];
                json!({"id": format!("fc_{at}"), "type": "function_call", "status": status, "call_id": call, "name": name, "arguments": arguments})
            };
            let added = |at: usize| json!({"type": "response.output_item.added", "output_index": at, "item": item(at, "in_progress", "")});
            let piece = |at: usize, text: &str| json!({"type": "response.function_call_arguments.delta", "item_id": format!("fc_{at}"), "output_index": at, "delta": text});
            let whole = [r#"{"city":"Oslo"}"#, r#"{"z":1}"#];
            let done = |at: usize| {
                let item = item(at, "completed", whole[at]);
                [
                    json!({"type": "response.function_call_arguments.done", "item_id": format!("fc_{at}"), "output_index": at, "arguments": whole[at]}),
                    json!({"type": "response.output_item.done", "output_index": at, "item": item}),
                ]
            };
            let mut events = vec![
                created(),
                added(0),
                added(1),
                piece(1, r#"{"z""#),
                piece(0, r#"{"city":"#),
                piece(1, ":1}"),
                piece(0, r#""Oslo"}"#),
            ];
            events.extend(done(0));
            events.extend(done(1));
            let output = [item(0, "completed", whole[0]), item(1, "completed", whole[1])];
            events.push(json!({"type": "response.completed", "response": response("completed", &output)}));
            events
        }
        "anthropic-messages" => {
            let start = |at: usize, id: &str, name: &str| json!({"type": "content_block_start", "index": at, "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}});
            let piece = |at: usize, text: &str| json!({"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": text}});
            let stop = |at: usize| json!({"type": "content_block_stop", "index": at});
            let mut events = vec![
                message_start(),
                start(0, "call_a", "get_w"),
                start(1, "call_b", "get_t"),
                piece(1, r#"{"z""#),
                piece(0, r#"{"city":"#),
                piece(1, ":1}"),
                piece(0, r#""Oslo"}"#),
                stop(0),
                stop(1),
            ];
            events.extend(message_end("tool_use"));
            events
        }
        "gemini" => vec![
            candidate(
                json!([{"functionCall": {"name": "get_w", "args": {"city": "Oslo"}}}]),
                None,
            ),
            candidate(
                json!([{"functionCall": {"name": "get_t", "args": {"z": 1}}}]),
                Some("STOP"),
            ),
        ],
        "ollama-chat" => {
            let call = |name: &str, arguments: Value| {
                line(
                    json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}),
                )
            };
            vec![
                call("get_w", json!({"city": "Oslo"})),
                call("get_t", json!({"z": 1})),
                last_line("stop", json!({})),
            ]
        }
        other => panic!("{other}"),
    }
}

/// D09: thinking in two blocks, each signed, with something redacted between them, then the text `ok`. Ollama's is one.
pub(super) fn thinking(protocol: &str) -> Vec<Value> {
    match protocol {
        "openai-chat" => {
            let think = |text: &str, at: u32| {
                let detail = json!({"type": "reasoning.text", "text": text, "index": at});
                chunk(
                    json!({"content": "", "reasoning": text, "reasoning_details": [detail]}),
                    Value::Null,
                )
            };
            let detail = |detail: Value| {
                chunk(
                    json!({"content": "", "reasoning": null, "reasoning_details": [detail]}),
                    Value::Null,
                )
            };
            vec![
                think("alpha", 0),
                detail(json!({"type": "reasoning.text", "signature": SIGNED[0], "index": 0})),
                detail(json!({"type": "reasoning.encrypted", "data": REDACTED, "index": 1})),
                think("beta", 2),
                detail(json!({"type": "reasoning.text", "signature": SIGNED[1], "index": 2})),
                chunk(json!({"content": "ok"}), Value::Null),
                chunk(json!({}), json!("stop")),
            ]
        }
        "openai-responses" => {
            let mut events = vec![created()];
            let mut output = Vec::new();
            for (at, text) in ["alpha", "beta"].into_iter().enumerate() {
                let id = format!("rs_{at}");
                let part = |text: &str| json!({"type": "summary_text", "text": text});
                let place = |kind: &str, name: &str, value: Value| {
                    let mut event =
                        json!({"type": kind, "item_id": id, "output_index": at, "summary_index": 0});
                    event[name] = value;
                    event
                };
                let done = json!({"id": id, "type": "reasoning", "summary": [part(text)], "encrypted_content": SIGNED[at]});
                events.extend([
                    json!({"type": "response.output_item.added", "output_index": at, "item": {"id": id, "type": "reasoning", "summary": []}}),
                    place("response.reasoning_summary_part.added", "part", part("")),
                    place("response.reasoning_summary_text.delta", "delta", text.into()),
                    place("response.reasoning_summary_text.done", "text", text.into()),
                    place("response.reasoning_summary_part.done", "part", part(text)),
                    json!({"type": "response.output_item.done", "output_index": at, "item": done}),
                ]);
                output.push(done);
            }
            let (more, item) = message_item(2, "ok");
            events.extend(more);
            output.push(item);
            events.push(json!({"type": "response.completed", "response": response("completed", &output)}));
            events
        }
        "anthropic-messages" => {
            let think = |at: usize, text: &str, signature: &str| {
                let deltas = vec![
                    json!({"type": "thinking_delta", "thinking": text}),
                    json!({"type": "signature_delta", "signature": signature}),
                ];
                block(
                    at,
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    deltas,
                )
            };
            let mut events = vec![message_start()];
            events.extend(think(0, "alpha", SIGNED[0]));
            events.extend(block(
                1,
                json!({"type": "redacted_thinking", "data": REDACTED}),
                Vec::new(),
            ));
            events.extend(think(2, "beta", SIGNED[1]));
            events.extend(text_block(3, "ok"));
            events.extend(message_end("end_turn"));
            events
        }
        "gemini" => vec![
            candidate(
                json!([{"text": "alpha", "thought": true, "thoughtSignature": SIGNED[0]}]),
                None,
            ),
            candidate(
                json!([{"text": "beta", "thought": true, "thoughtSignature": SIGNED[1]}]),
                None,
            ),
            candidate(json!([{"text": "ok"}]), Some("STOP")),
        ],
        "ollama-chat" => vec![
            line(json!({"role": "assistant", "content": "", "thinking": "alpha"})),
            line(json!({"role": "assistant", "content": "", "thinking": "beta"})),
            line(json!({"role": "assistant", "content": "ok"})),
            last_line("stop", json!({})),
        ],
        other => panic!("{other}"),
    }
}

/// D10: the text `Par`, then the provider's error, which is the last that comes.
pub(super) fn failure(protocol: &str) -> Vec<Value> {
    match protocol {
        "openai-chat" => vec![
            chunk(json!({"role": "assistant", "content": "Par"}), Value::Null),
            json!({"error": {"message": "Overloaded", "type": "server_error", "param": null, "code": null}}),
        ],
        "openai-responses" => {
            let (mut events, _) = message_item(0, "Par");
            events.truncate(3);
            events.insert(0, created());
            let mut end = response("failed", &[]);
            end["error"] = json!({"code": "server_error", "message": "Overloaded"});
            events.push(json!({"type": "response.failed", "response": end}));
            events
        }
        "anthropic-messages" => {
            let mut events = vec![message_start()];
            events.extend(text_block(0, "Par"));
            events.truncate(3);
            events.push(
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            );
            events
        }
        "gemini" => vec![
            candidate(json!([{"text": "Par"}]), None),
            json!({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}),
        ],
        "ollama-chat" => vec![
            line(json!({"role": "assistant", "content": "Par"})),
            json!({"error": "Overloaded"}),
        ],
        other => panic!("{other}"),
    }
}
