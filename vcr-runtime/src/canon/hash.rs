use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::number;
use crate::json::{Json, Object, quote_into};
use crate::model::{CanonicalRequest, RecordedRequest};

/// The text that is hashed: the envelope in fixed order, every object below it with sorted keys, no white space.
///
/// Two requests have the same text exactly when they are the same request: key order, number spelling, and options
/// that are `null` do not count, array order and every character of a string do.
pub(crate) fn canonical_text(request: &CanonicalRequest) -> String {
    let mut out = String::with_capacity(1024);
    out.push_str("{\"protocol\":");
    quote_into(&request.protocol, &mut out);
    out.push_str(",\"model\":");
    quote_into(&request.model, &mut out);
    out.push_str(",\"messages\":");
    array_into(&request.messages, &mut out);
    out.push_str(",\"parameters\":");
    let parameters = members(&request.parameters);
    members_into(
        parameters.into_iter().filter(|(_, value)| !value.is_null()),
        &mut out,
    );
    out.push('}');
    out
}

/// `sha256:` and the 64 lower-case hexadecimal digits of [`canonical_text`].
pub(crate) fn request_hash(request: &CanonicalRequest) -> String {
    let digest = Sha256::digest(canonical_text(request).as_bytes());
    format!("sha256:{}", hex(&digest))
}

/// The canonical text of any document: sorted keys, no white space, numbers by value.
pub(crate) fn value_text(document: &Json) -> String {
    let mut out = String::with_capacity(1024);
    value_into(document, &mut out);
    out
}

/// The request that a record describes, so that its hash can be recomputed from the file. Members that the file
/// lacks become empty ones.
pub(crate) fn from_recorded(recorded: &RecordedRequest) -> CanonicalRequest {
    CanonicalRequest {
        protocol: recorded.protocol.clone().unwrap_or_default(),
        model: recorded.model.clone().unwrap_or_default(),
        provider: recorded.provider.clone().unwrap_or_default(),
        messages: recorded.messages.clone().unwrap_or_default(),
        parameters: recorded.parameters.clone().unwrap_or_default(),
    }
}

/// The members that count, sorted by the bytes of their keys: of a repeated key the last.
pub(super) fn members(object: &Object) -> Vec<(&str, &Json)> {
    let mut sorted: Vec<(&str, &Json)> = object.iter().map(|(key, value)| (key.as_str(), value)).collect();
    // Stable, and from behind: of equal keys the last one written comes first and survives.
    sorted.reverse();
    sorted.sort_by_key(|(key, _)| *key);
    sorted.dedup_by_key(|(key, _)| *key);
    sorted
}

/// Lower-case hexadecimal digits; the digest types have lost `LowerHex`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02x}");
            out
        })
}

/// Appends the canonical text of one value.
pub(super) fn value_into(document: &Json, out: &mut String) {
    match document {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => number::text_into(number, out),
        Json::String(text) => quote_into(text, out),
        Json::Array(items) => array_into(items, out),
        Json::Object(object) => members_into(members(object).into_iter(), out),
    }
}

fn array_into(items: &[Json], out: &mut String) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        value_into(item, out);
    }
    out.push(']');
}

fn members_into<'a>(members: impl Iterator<Item = (&'a str, &'a Json)>, out: &mut String) {
    out.push('{');
    for (index, (key, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        quote_into(key, out);
        out.push(':');
        value_into(value, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::testing::request;

    /// Written by hand and hashed with another tool: Python's `hashlib.sha256(text.encode()).hexdigest()`.
    const TEXT: &str = "{\"protocol\":\"openai-chat\",\"model\":\"demo-1\",\"messages\":[{\"content\":\"Hé\\n\\u001b\u{2028}/🦀\",\
        \"role\":\"user\"}],\"parameters\":{\"max_tokens\":16,\"nested\":{\"a\":null,\"b\":[1,5e-1]},\"seed\":9007199254740993,\
        \"stream\":false,\"temperature\":1}}";

    #[test]
    fn the_canonical_text_and_its_hash_are_pinned() {
        let request = request(
            "demo-1",
            r#"[{"role":"user","content":"Hé\n\u001b\u2028\/🦀"}]"#,
            r#"{"temperature":1.0,"stream":false,"top_p":null,"seed":9007199254740993,"max_tokens":7,
                "nested":{"b":[1,0.50],"a":1,"a":null},"max_tokens":16}"#,
        );
        assert_eq!(canonical_text(&request), TEXT);
        assert_eq!(
            request_hash(&request),
            "sha256:d4751467d5df35fafcbd58bbc06477e5445d1b7b794607c28a8dea40b8e53bff"
        );
    }

    #[test]
    fn keys_are_sorted_by_bytes_and_not_by_utf16() {
        let request = request(
            "m",
            "[]",
            "{\"\u{10000}\":1,\"\u{ff61}\":2,\"a\":3,\"B\":4,\"\":5}",
        );
        assert_eq!(
            canonical_text(&request),
            "{\"protocol\":\"openai-chat\",\"model\":\"m\",\"messages\":[],\"parameters\":\
             {\"\":5,\"B\":4,\"a\":3,\"\u{ff61}\":2,\"\u{10000}\":1}}"
        );
    }

    #[test]
    fn null_is_absent_only_at_the_top_of_the_parameters() {
        let absent = request_hash(&request("m", "[]", "{}"));
        assert_eq!(request_hash(&request("m", "[]", r#"{"a":null}"#)), absent);
        assert_eq!(request_hash(&request("m", "[]", r#"{"a":1,"a":null}"#)), absent);
        assert_ne!(
            request_hash(&request("m", "[]", r#"{"a":{"b":null}}"#)),
            request_hash(&request("m", "[]", r#"{"a":{}}"#))
        );
        assert_ne!(request_hash(&request("m", "[null]", "{}")), absent);
    }

    #[test]
    fn a_hash_can_be_recomputed_from_the_record_and_knows_no_provider() {
        let mut live = request("m", r#"[{"role":"user"}]"#, r#"{"n":1}"#);
        let hash = request_hash(&live);
        live.provider = "elsewhere".to_owned();
        assert_eq!(
            request_hash(&from_recorded(&RecordedRequest::recorded(live, hash.clone()))),
            hash
        );
    }
}
