use serde_json::{Value, json};
use vcr_runtime::{Protocol, Vcr};
use vcr_tests::{Reply, Step};

const SIGNATURE: &str = "c2ln";
const ENCRYPTED: &str = "b3BhcXVl";

/// A provider's protocol, and what a provider answers in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Chat completions.
    OpenAi,
    /// The Responses API.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// `generateContent` and `streamGenerateContent`.
    Gemini,
    /// `/api/chat`.
    Ollama,
}

impl Wire {
    /// Where the message of a miss finds the prompt.
    pub(crate) fn prompt_path(self) -> &'static str {
        if self == Self::Gemini {
            "messages[0].parts[0].text"
        } else {
            "messages[0].content"
        }
    }

    /// What a client is given as its base where the session knows the protocol, as [`base_url_for`](Vcr::base_url_for)
    /// has it: without the version.
    pub(crate) fn own_base(self, vcr: &Vcr) -> String {
        let protocol = match self {
            Self::OpenAi | Self::Responses => Protocol::OpenAi,
            Self::Anthropic => Protocol::Anthropic,
            Self::Gemini => Protocol::Gemini,
            Self::Ollama => Protocol::Ollama,
        };
        let base = vcr.base_url(protocol).expect("the gateway");
        base.strip_suffix("/v1").map(str::to_owned).unwrap_or(base)
    }

    /// Whether a request carries a key.
    pub(crate) fn has_key(self) -> bool {
        self != Self::Ollama
    }

    /// Whether tool calls have ids.
    pub(crate) fn has_tool_ids(self) -> bool {
        !matches!(self, Self::Gemini | Self::Ollama)
    }

    /// What of a thought has to go back with the tool call that it led to.
    pub(crate) fn signature(self) -> Option<&'static str> {
        match self {
            Self::Anthropic | Self::Gemini => Some(SIGNATURE),
            Self::Responses => Some(ENCRYPTED),
            Self::OpenAi | Self::Ollama => None,
        }
    }

    /// A text of 2 tokens, after a prompt of 9.
    pub(crate) fn text(self, text: &str) -> Reply {
        Reply::json(&match self {
            Self::OpenAi => chat(json!({"role": "assistant", "content": text}), "stop"),
            Self::Responses => response("completed", &[output_text(text)]),
            Self::Anthropic => message(&json!([{"type": "text", "text": text}]), "end_turn"),
            Self::Gemini => generated(&json!([{"text": text}]), true),
            Self::Ollama => ollama(json!({"content": text}), true),
        })
    }

    /// A thought, then a call of `add` with 1 and 2. What signs the thought has to go back with the call.
    pub(crate) fn tool(self) -> Reply {
        let (text, input) = (r#"{"a":1,"b":2}"#, json!({"a": 1, "b": 2}));
        let function = json!({"name": "add", "arguments": text});
        Reply::json(&match self {
            Self::OpenAi => chat(
                json!({"role": "assistant", "content": null, "reasoning_content": "Hm",
                    "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}),
                "tool_calls",
            ),
            Self::Responses => response("completed", &[reasoning("Hm"), function_call("completed", text)]),
            Self::Anthropic => message(
                &json!([
                    {"type": "thinking", "thinking": "Hm", "signature": SIGNATURE},
                    {"type": "text", "text": "Let me add."},
                    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": input},
                ]),
                "tool_use",
            ),
            Self::Gemini => generated(
                &json!([
                    {"text": "Hm", "thought": true},
                    {"functionCall": {"name": "add", "args": input}, "thoughtSignature": SIGNATURE},
                ]),
                true,
            ),
            Self::Ollama => ollama(
                json!({"content": "", "thinking": "Hm",
                    "tool_calls": [{"function": {"name": "add", "arguments": input}}]}),
                true,
            ),
        })
    }

    /// A text in these pieces.
    pub(crate) fn text_stream(self, pieces: &[&str]) -> Reply {
        let deltas = pieces.iter();
        match self {
            Self::OpenAi => {
                let role = json!({"role": "assistant", "content": ""});
                let deltas = deltas.map(|piece| json!({"content": piece}));
                chat_stream(std::iter::once(role).chain(deltas).collect(), "stop")
            }
            Self::Responses => {
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                let mut item = output_text("");
                item["content"] = json!([]);
                item["status"] = json!("in_progress");
                let mut events = vec![
                    json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
                    json!({"type": "response.content_part.added", "item_id": "msg_1", "output_index": 0,
                        "content_index": 0, "part": part}),
                ];
                events.extend(deltas.map(|piece| {
                    json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
                        "content_index": 0, "delta": piece, "logprobs": []})
                }));
                let text = pieces.concat();
                let item = output_text(&text);
                events.extend([
                    json!({"type": "response.output_text.done", "item_id": "msg_1", "output_index": 0,
                        "content_index": 0, "text": text, "logprobs": []}),
                    json!({"type": "response.content_part.done", "item_id": "msg_1", "output_index": 0,
                        "content_index": 0, "part": item["content"][0]}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                ]);
                response_stream(events, &[item])
            }
            Self::Anthropic => {
                let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
                message_stream(
                    vec![(json!({"type": "text", "text": ""}), deltas.collect())],
                    "end_turn",
                )
            }
            Self::Gemini => {
                let last = pieces.len() - 1;
                let chunks = pieces.iter().enumerate();
                gemini_stream(chunks.map(|(at, piece)| generated(&json!([{"text": piece}]), at == last)))
            }
            Self::Ollama => {
                let lines = deltas.map(|piece| ollama(json!({"content": piece}), false));
                ndjson(lines.chain([ollama(json!({"content": ""}), true)]))
            }
        }
    }

    /// The same call as [`tool`](Self::tool), its arguments in pieces where the protocol has them so.
    pub(crate) fn tool_stream(self) -> Reply {
        let input = json!({"a": 1, "b": 2});
        match self {
            Self::OpenAi => {
                let function = |function: Value| json!({"tool_calls": [{"index": 0, "function": function}]});
                let mut first = function(json!({"name": "add", "arguments": ""}));
                first["tool_calls"][0]["id"] = json!("call_1");
                first["tool_calls"][0]["type"] = json!("function");
                let rest = ["{\"a\"", ":1,\"b\":2}"];
                let rest = rest.map(|piece| function(json!({"arguments": piece})));
                let thought = json!({"role": "assistant", "content": null, "reasoning_content": "Hm"});
                chat_stream([thought, first].into_iter().chain(rest).collect(), "tool_calls")
            }
            Self::Responses => {
                let text = r#"{"a":1,"b":2}"#;
                let delta = |piece: &str| {
                    json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 1,
                        "delta": piece})
                };
                let (thought, call) = (reasoning("Hm"), function_call("completed", text));
                let part = |kind: &str, part: &Value| {
                    json!({"type": format!("response.reasoning_summary_part.{kind}"), "item_id": "rs_1",
                        "output_index": 0, "summary_index": 0, "part": part})
                };
                let mut opened = thought.clone();
                opened["summary"] = json!([]);
                let events = vec![
                    json!({"type": "response.output_item.added", "output_index": 0, "item": opened}),
                    part("added", &json!({"type": "summary_text", "text": ""})),
                    json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0,
                        "summary_index": 0, "delta": "Hm"}),
                    json!({"type": "response.reasoning_summary_text.done", "item_id": "rs_1", "output_index": 0,
                        "summary_index": 0, "text": "Hm"}),
                    part("done", &thought["summary"][0]),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": thought}),
                    json!({"type": "response.output_item.added", "output_index": 1,
                        "item": function_call("in_progress", "")}),
                    delta("{\"a\""),
                    delta(":1,\"b\":2}"),
                    json!({"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 1,
                        "name": "add", "arguments": text}),
                    json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
                ];
                response_stream(events, &[thought, call])
            }
            Self::Anthropic => {
                let pieces = ["", "{\"a\": 1", ", \"b\": 2}"];
                let deltas = pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
                let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
                let thought = vec![
                    json!({"type": "thinking_delta", "thinking": "Hm"}),
                    json!({"type": "signature_delta", "signature": SIGNATURE}),
                ];
                let call = json!({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}});
                message_stream(vec![(thinking, thought), (call, deltas.to_vec())], "tool_use")
            }
            Self::Gemini => {
                let call =
                    json!({"functionCall": {"name": "add", "args": input}, "thoughtSignature": SIGNATURE});
                gemini_stream([
                    generated(&json!([{"text": "Hm", "thought": true}]), false),
                    generated(&json!([call]), false),
                    generated(&json!([{"text": ""}]), true),
                ])
            }
            Self::Ollama => {
                let call = json!({"function": {"index": 0, "name": "add", "arguments": input}});
                ndjson([
                    ollama(json!({"content": "", "thinking": "Hm"}), false),
                    ollama(json!({"content": "", "tool_calls": [call]}), false),
                    ollama(json!({"content": ""}), true),
                ])
            }
        }
    }

    /// The model does not exist.
    pub(crate) fn error(self) -> Reply {
        let message = "no such model";
        let body = match self {
            Self::OpenAi | Self::Responses => json!({"error": {"message": message,
                "type": "invalid_request_error", "param": null, "code": "model_not_found"}}),
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "not_found_error", "message": message},
                "request_id": "req_1"})
            }
            Self::Gemini => json!({"error": {"code": 404, "message": message, "status": "NOT_FOUND"}}),
            Self::Ollama => json!({"error": message}),
        };
        Reply::json_text(404, &body.to_string())
    }
}

fn chat(message: Value, finish: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m-1",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        "system_fingerprint": "fp_1",
    })
}

fn chat_stream(deltas: Vec<Value>, finish: &str) -> Reply {
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m-1",
            "system_fingerprint": "fp_1", "choices": choices, "usage": usage,
        })
    };
    let choice =
        |delta: Value, finish: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    let mut chunks: Vec<Value> = deltas
        .into_iter()
        .map(|delta| chunk(choice(delta, None), Value::Null))
        .collect();
    chunks.push(chunk(choice(json!({}), Some(finish)), Value::Null));
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11});
    chunks.push(chunk(json!([]), usage));
    let mut steps: Vec<Step> = chunks.iter().map(|chunk| data(chunk, "\n\n")).collect();
    steps.push(Step::Bytes(b"data: [DONE]\n\n".to_vec()));
    Reply::stream(steps)
}

fn response(status: &str, output: &[Value]) -> Value {
    let done = status == "completed";
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "status": status, "error": null,
        "incomplete_details": null, "instructions": null, "max_output_tokens": null, "model": "m-1",
        "output": output, "parallel_tool_calls": true, "previous_response_id": null, "store": true,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "metadata": {},
        "usage": if done {
            json!({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 11})
        } else {
            Value::Null
        },
    })
}

fn output_text(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]})
}

fn function_call(status: &str, arguments: &str) -> Value {
    json!({"id": "fc_1", "type": "function_call", "status": status, "call_id": "call_1", "name": "add",
        "arguments": arguments})
}

fn reasoning(text: &str) -> Value {
    json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": ENCRYPTED})
}

fn response_stream(events: Vec<Value>, output: &[Value]) -> Reply {
    let mut all = vec![
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        json!({"type": "response.in_progress", "response": response("in_progress", &[])}),
    ];
    all.extend(events);
    all.push(json!({"type": "response.completed", "response": response("completed", output)}));
    let numbered = all.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = json!(number);
        named(&event)
    });
    Reply::stream(numbered.collect())
}

fn message(content: &Value, stop: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": content,
        "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 2},
    })
}

/// Blocks as they start, each with its deltas.
fn message_stream(blocks: Vec<(Value, Vec<Value>)>, stop: &str) -> Reply {
    let mut start = message(&json!([]), stop);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, (block, deltas)) in blocks.into_iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "ping"}));
        let deltas = deltas.into_iter();
        events.extend(
            deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.extend([
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ]);
    Reply::stream(events.iter().map(named).collect())
}

fn generated(parts: &Value, last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut usage = json!({"promptTokenCount": 9, "totalTokenCount": 9});
    if last {
        candidate["finishReason"] = json!("STOP");
        usage = json!({"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11});
    }
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-1", "responseId": "r1"})
}

fn gemini_stream(chunks: impl IntoIterator<Item = Value>) -> Reply {
    Reply::stream(chunks.into_iter().map(|chunk| data(&chunk, "\r\n\r\n")).collect())
}

fn ollama(mut message: Value, done: bool) -> Value {
    message["role"] = json!("assistant");
    let mut line =
        json!({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done});
    if done {
        line["done_reason"] = json!("stop");
        for (name, value) in [
            ("total_duration", 900),
            ("load_duration", 100),
            ("prompt_eval_count", 9),
            ("prompt_eval_duration", 300),
            ("eval_count", 2),
            ("eval_duration", 500),
        ] {
            line[name] = json!(value);
        }
    }
    line
}

fn ndjson(lines: impl IntoIterator<Item = Value>) -> Reply {
    let lines = lines
        .into_iter()
        .map(|line| Step::Bytes(format!("{line}\n").into_bytes()));
    let mut reply = Reply::stream(lines.collect());
    reply.headers = vec![("content-type".to_owned(), "application/x-ndjson".to_owned())];
    reply
}

fn named(event: &Value) -> Step {
    let name = event["type"].as_str().expect("a type");
    Step::Bytes(format!("event: {name}\ndata: {event}\n\n").into_bytes())
}

fn data(payload: &Value, end: &str) -> Step {
    Step::Bytes(format!("data: {payload}{end}").into_bytes())
}
