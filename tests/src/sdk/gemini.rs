use serde_json::{Value, json};

use super::{documents, list, merge, push};

/// What a caller of `generate_content_stream` gathers: texts joined, other parts in order, the last of everything else.
pub(super) fn stream(body: &[u8]) -> Value {
    let mut whole = json!({"candidates": {}});
    for chunk in documents(body) {
        for candidate in list(&chunk["candidates"]) {
            let index = candidate["index"].as_u64().unwrap_or_default().to_string();
            let into = &mut whole["candidates"][index.as_str()];
            if into.is_null() {
                *into = json!({"parts": []});
            }
            for part in list(&candidate["content"]["parts"]) {
                add(into["parts"].as_array_mut().expect("parts"), part);
            }
            let mut rest = candidate.clone();
            let rest = rest.as_object_mut().expect("a candidate");
            rest.remove("content");
            // Index 0 may be left out.
            rest.remove("index");
            merge(into, &Value::Object(rest.clone()));
        }
        let mut rest = chunk.clone();
        rest.as_object_mut().expect("a chunk").remove("candidates");
        merge(&mut whole, &rest);
    }
    whole
}

/// Joins a text to the one before when nothing but the text differs. An empty text without a signature says nothing.
fn add(parts: &mut Vec<Value>, part: &Value) {
    let text_only = |part: &Value| {
        part["text"].is_string()
            && part
                .as_object()
                .is_some_and(|members| members.keys().all(|name| name == "text" || name == "thought"))
    };
    if text_only(part) {
        if part["text"] == "" {
            return;
        }
        if let Some(last) = parts.last_mut()
            && text_only(last)
            && last["thought"] == part["thought"]
        {
            push(&mut last["text"], &part["text"]);
            return;
        }
    }
    parts.push(part.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_join_and_thoughts_stay_apart() {
        let whole = stream(
            br#"data: {"candidates":[{"content":{"parts":[{"text":"t","thought":true},{"text":"a"}]}}],"usageMetadata":{"x":1}}

data: {"candidates":[{"content":{"parts":[{"text":"b"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]},"finishReason":"STOP"}],"usageMetadata":{"x":2}}

"#,
        );
        let expected = json!({
            "candidates": {"0": {
                "parts": [
                    {"text": "t", "thought": true},
                    {"text": "ab"},
                    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"},
                ],
                "finishReason": "STOP",
            }},
            "usageMetadata": {"x": 2},
        });
        assert_eq!(whole, expected);
    }
}
