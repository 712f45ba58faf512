use serde_json::{Value, json};

use super::{list, merge, push};

/// What a caller gathers from the lines: texts joined, tool calls in order, the last of everything else.
pub(super) fn stream(body: &[u8]) -> Value {
    let text = std::str::from_utf8(body).expect("lines in UTF-8");
    let mut whole = json!({"message": {}});
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let chunk: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in the line {line:?}"));
        let mut rest = chunk.clone();
        rest.as_object_mut().expect("an object").remove("message");
        // The time of each line differs; a caller keeps the last one.
        merge(&mut whole, &rest);
        message(&mut whole["message"], &chunk["message"]);
        if let Some(piece) = chunk["response"].as_str() {
            push(&mut whole["text"], &json!(piece));
        }
    }
    whole
}

fn message(whole: &mut Value, message: &Value) {
    for (name, value) in message.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("content" | "thinking", value) => push(&mut whole[name.as_str()], value),
            ("tool_calls", value) => {
                if whole["tool_calls"].is_null() {
                    whole["tool_calls"] = json!([]);
                }
                let calls = whole["tool_calls"].as_array_mut().expect("tool calls");
                calls.extend(list(value).iter().cloned());
            }
            (name, value) => whole[name] = value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_join_to_one_message() {
        let whole = stream(
            br#"{"message":{"role":"assistant","content":"a","thinking":"t"},"done":false}
{"message":{"role":"assistant","content":"b","tool_calls":[{"function":{"name":"f"}}]},"done":false}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":2}
"#,
        );
        let expected = json!({
            "message": {
                "role": "assistant", "content": "ab", "thinking": "t",
                "tool_calls": [{"function": {"name": "f"}}],
            },
            "done": true, "done_reason": "stop", "eval_count": 2,
        });
        assert_eq!(whole, expected);
    }
}
