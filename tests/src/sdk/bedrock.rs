use serde_json::Value;

/// The bytes themselves: nothing here reads the binary framing, so nothing here forgives a difference.
pub(super) fn stream(body: &[u8]) -> Value {
    body.iter().map(|byte| Value::from(*byte)).collect()
}
