use serde_json::{Value, json};

use super::{documents, merge, push};

/// The message that `get_final_message` gives.
pub(super) fn stream(body: &[u8]) -> Value {
    let mut message = json!({"content": []});
    let mut arguments: Vec<String> = Vec::new();
    for event in documents(body) {
        let index = usize::try_from(event["index"].as_u64().unwrap_or_default()).unwrap();
        match event["type"].as_str().expect("a type") {
            "message_start" => merge(&mut message, &event["message"]),
            "content_block_start" => {
                let blocks = message["content"].as_array_mut().expect("content");
                assert_eq!(blocks.len(), index, "blocks begin in order");
                blocks.push(event["content_block"].clone());
                arguments.push(String::new());
            }
            "content_block_delta" => {
                delta(
                    &mut message["content"][index],
                    &mut arguments[index],
                    &event["delta"],
                );
            }
            "content_block_stop" if !arguments[index].is_empty() => {
                message["content"][index]["input"] =
                    serde_json::from_str(&arguments[index]).unwrap_or_else(|_| json!(arguments[index]));
            }
            "message_delta" => {
                merge(&mut message, &event["delta"]);
                merge(&mut message["usage"], &event["usage"]);
                for (name, value) in event.as_object().into_iter().flatten() {
                    if !["type", "delta", "usage"].contains(&name.as_str()) {
                        message[name.as_str()] = value.clone();
                    }
                }
            }
            "message_stop" => message["stopped"] = true.into(),
            "error" => message["error"] = event["error"].clone(),
            _ => {}
        }
    }
    message
}

fn delta(block: &mut Value, arguments: &mut String, delta: &Value) {
    match delta["type"].as_str().expect("a type") {
        "text_delta" => push(&mut block["text"], &delta["text"]),
        "thinking_delta" => push(&mut block["thinking"], &delta["thinking"]),
        "signature_delta" => block["signature"] = delta["signature"].clone(),
        "input_json_delta" => arguments.push_str(delta["partial_json"].as_str().expect("text")),
        "citations_delta" => {
            if block["citations"].is_null() {
                block["citations"] = json!([]);
            }
            let citations = block["citations"].as_array_mut().expect("citations");
            citations.push(delta["citation"].clone());
        }
        other => panic!("no SDK knows {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_by_their_deltas() {
        let message = stream(
            br#"event: message_start
data: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"f","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

data: {"type":"message_stop"}

"#,
        );
        let expected = json!({
            "id": "m",
            "content": [
                {"type": "thinking", "thinking": "a", "signature": "s"},
                {"type": "tool_use", "name": "f", "input": {"x": 1}},
            ],
            "usage": {"input_tokens": 1, "output_tokens": 9},
            "stop_reason": "tool_use",
            "stopped": true,
        });
        assert_eq!(message, expected);
    }
}
