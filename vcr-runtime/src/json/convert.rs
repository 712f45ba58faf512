use serde::Serialize;
use serde_json::Value;

use super::{Json, Number, Object, parse};

/// The tree of a `serde_json` value; strings are moved, not copied.
pub(crate) fn from_value(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(value),
        Value::Number(number) => Json::Number(from_serde_number(&number)),
        Value::String(text) => Json::String(text),
        Value::Array(items) => Json::Array(items.into_iter().map(from_value).collect()),
        Value::Object(members) => Json::Object(
            members
                .into_iter()
                .map(|(key, value)| (key, from_value(value)))
                .collect(),
        ),
    }
}

fn from_serde_number(number: &serde_json::Number) -> Number {
    if let Some(value) = number.as_u64() {
        return Number::from_u64(value);
    }
    // With `arbitrary_precision` this is the text as written, without it the shortest text of the double.
    Number::from_text(&number.to_string())
}

/// The `serde_json` value of a tree. Integers beyond 64 bits become doubles unless `arbitrary_precision` is on.
pub(crate) fn to_value(document: &Json) -> Value {
    match document {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(Number::Int(value)) => Value::from(*value),
        Json::Number(number @ Number::Text(_)) => {
            serde_json::from_str(&number.to_string()).unwrap_or(Value::Null)
        }
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(to_value).collect()),
        Json::Object(object) => Value::Object(
            object
                .iter()
                .map(|(key, value)| (key.clone(), to_value(value)))
                .collect(),
        ),
    }
}

/// The tree of anything that serialises to JSON.
///
/// # Errors
/// What `serde_json` says: a map key that is no string, or the type's own refusal.
pub(crate) fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
    let text = serde_json::to_string(value)?;
    parse(&text).map_err(serde::ser::Error::custom)
}

impl From<Object> for Vec<(String, Json)> {
    fn from(object: Object) -> Self {
        object.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_there_and_back() {
        let value = serde_json::json!({"a": [1, -2, 1.5, 1e300, u64::MAX, "é", null, true], "b": {}});
        let document = from_value(value.clone());
        assert_eq!(to_value(&document), value);
        assert_eq!(from_serialize(&value).unwrap().get("a"), document.get("a"));
    }
}
