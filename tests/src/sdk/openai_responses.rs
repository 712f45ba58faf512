use serde_json::{Value, json};

use super::{documents, push};

/// What the stream helper holds: the items as they grew, and the response that the last event brought.
pub(super) fn stream(body: &[u8]) -> Value {
    let mut whole = json!({"items": {}, "response": null});
    for event in documents(body) {
        let kind = event["type"].as_str().expect("a type");
        let at = event["output_index"].as_u64().unwrap_or_default().to_string();
        let item = |whole: &mut Value| whole["items"][at.as_str()].take();
        match kind {
            "response.output_item.added" => whole["items"][at.as_str()] = event["item"].clone(),
            "response.output_item.done" => {
                // What the deltas made, beside what the event says it has become.
                let grown = item(&mut whole);
                whole["items"][at.as_str()] = json!({"grown": texts(&grown), "done": event["item"]});
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                whole["response"] = event["response"].clone();
                whole["end"] = kind.into();
            }
            "error" => {
                let mut error = event.clone();
                error.as_object_mut().expect("an event").remove("sequence_number");
                whole["error"] = error;
            }
            _ if kind.ends_with(".delta") => {
                let mut grown = item(&mut whole);
                grow(&mut grown, kind, &event);
                whole["items"][at.as_str()] = grown;
            }
            _ => {}
        }
    }
    whole
}

fn grow(item: &mut Value, kind: &str, event: &Value) {
    let member = match kind {
        "response.output_text.delta" => "text",
        "response.refusal.delta" => "refusal",
        "response.function_call_arguments.delta" => "arguments",
        "response.reasoning_summary_text.delta" => "summary_text",
        "response.reasoning_text.delta" => "reasoning_text",
        other => panic!("no SDK knows {other}"),
    };
    let part = event["content_index"]
        .as_u64()
        .or(event["summary_index"].as_u64())
        .unwrap_or_default();
    push(&mut item["_deltas"][member][part.to_string()], &event["delta"]);
}

fn texts(item: &Value) -> Value {
    item["_deltas"].clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_grow_an_item_and_the_last_response_stays() {
        let whole = stream(
            br#"event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}

data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}

data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"b"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","x":1}}

data: {"type":"response.completed","response":{"id":"r"}}

"#,
        );
        let expected = json!({
            "items": {"0": {"grown": {"text": {"0": "ab"}}, "done": {"type": "message", "x": 1}}},
            "response": {"id": "r"},
            "end": "response.completed",
        });
        assert_eq!(whole, expected);
    }
}
