//! The envelope that is hashed.

use sha2::{Digest, Sha256};

use super::number;
use super::pointers::{CanonicalError, Pointers};
use super::query;
use crate::json::{Json, Object, quote_into};

/// What of a request counts: never its headers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Canonical {
    /// In upper case.
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// Without what is ignored, keys sorted; `Null` where the body is no JSON.
    pub(crate) body: Json,
}

impl Canonical {
    /// # Errors
    /// When a pointer does not fit the body.
    pub(crate) fn of(
        method: &str,
        path: &str,
        query: &str,
        body: Option<Json>,
        ignored: &Pointers,
    ) -> Result<Self, CanonicalError> {
        let mut body = body.unwrap_or(Json::Null);
        ignored.apply(&mut body)?;
        Ok(Self {
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            query: query::canonical(query),
            body: sorted(body),
        })
    }

    /// One whose parts are canonical already.
    pub(super) fn parts(method: &str, path: &str, query: &str, body: Json) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            body: sorted(body),
        }
    }

    /// The envelope that a file holds; `None` when it is none.
    pub(crate) fn stored(envelope: &Json) -> Option<Self> {
        let text = |key| envelope.get(key)?.as_str();
        let body = envelope.get("canonical_body")?.clone();
        Some(Self::parts(
            text("method")?,
            text("path")?,
            text("canonical_query")?,
            body,
        ))
    }

    /// The envelope as a document, in the order of its members.
    pub(crate) fn document(&self) -> Json {
        let mut envelope = Object::new();
        envelope.push("method", self.method.as_str());
        envelope.push("path", self.path.as_str());
        envelope.push("canonical_query", self.query.as_str());
        envelope.push("canonical_body", self.body.clone());
        Json::Object(envelope)
    }

    /// The text that is hashed.
    pub(crate) fn text(&self) -> String {
        let mut out = String::with_capacity(1024);
        for (name, text) in [
            ("{\"method\":", &self.method),
            (",\"path\":", &self.path),
            (",\"canonical_query\":", &self.query),
        ] {
            out.push_str(name);
            quote_into(text, &mut out);
        }
        out.push_str(",\"canonical_body\":");
        value_into(&self.body, &mut out);
        out.push('}');
        out
    }

    /// 64 lower-case hexadecimal digits.
    pub(crate) fn hash(&self) -> String {
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
        let digest = Sha256::digest(self.text().as_bytes());
        digest
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect()
    }
}

/// Whether two documents say the same, whatever the order of their keys and the spelling of their numbers.
pub(super) fn same(one: &Json, other: &Json) -> bool {
    value_text(&sorted(one.clone())) == value_text(&sorted(other.clone()))
}

/// Keys sorted by their bytes at every depth; of a repeated key the last stays.
fn sorted(value: Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.into_iter().map(sorted).collect()),
        Json::Object(object) => {
            let mut members: Vec<(String, Json)> = object.0;
            // Stable, and from behind: of equal keys the last one written comes first and survives.
            members.reverse();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            members.dedup_by(|(one, _), (other, _)| one == other);
            Json::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect(),
            )
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value,
    }
}

/// The text of one value as it is hashed.
pub(super) fn value_text(value: &Json) -> String {
    let mut out = String::new();
    value_into(value, &mut out);
    out
}

fn value_into(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => number::text_into(number, out),
        Json::String(text) => quote_into(text, out),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                value_into(item, out);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Json::Object(object) => {
            for (index, (key, value)) in object.iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                quote_into(key, out);
                out.push(':');
                value_into(value, out);
            }
            out.push_str(if object.is_empty() { "{}" } else { "}" });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    const CHAT: &str = "/v1/chat/completions";

    fn canonical(query: &str, body: &str, ignored: &[&str]) -> Canonical {
        let ignored: Vec<String> = ignored.iter().map(|text| (*text).to_owned()).collect();
        let pointers = Pointers::parse(&ignored).unwrap();
        Canonical::of("post", CHAT, query, parse(body).ok(), &pointers).unwrap()
    }

    #[test]
    fn the_published_hashes() {
        for (query, body, ignored, hash) in [
            (
                "",
                r#"{"model":"gpt-test","messages":[{"role":"user","content":"hi"}]}"#,
                &[][..],
                "e32ae6519ec4dd863df69cb02d6080d850387a4d61c43099162fc2b62674cdc2",
            ),
            (
                "z=last&a=2&a=1",
                r#"{"metadata":{"run_id":"abc"},"model":"gpt-test","stream":false}"#,
                &["/metadata/run_id"],
                "ac2181951e57a68d80e4d9b62abbd71d2e06538144f829247853b82117fce40d",
            ),
            (
                "",
                r#"{"model":"made-up-1","messages":[{"role":"user","content":"ping"}]}"#,
                &[],
                "79f1cbf038273398bb97915487d67d28d842a8d798af828d7c515f7e8eb0b2ca",
            ),
            (
                "",
                r#"{"model":"made-up-1","messages":[{"role":"user","content":"ping"}],"stream":true}"#,
                &[],
                "f613efec1bbf93ca89f6b0a708b470a571c9c5baa44b634180d8c95f8b0ba55c",
            ),
            (
                "",
                "{}",
                &[],
                "20793467582a70c1ddae675cdeb3c8397c0416a3e83bb245af07132f5871fa1e",
            ),
        ] {
            assert_eq!(canonical(query, body, ignored).hash(), hash, "{body}");
        }
    }

    #[test]
    fn the_envelope_has_one_spelling() {
        let canonical = canonical(
            "b=2&a=1",
            "{\"z\":[1, 1.0, {\"b\":1,\"a\":2}],\"a\":1,\"a\":{\"é\":\"\\u0001\\/\\u007f\\u2028\\n\"}}",
            &[],
        );
        assert_eq!(
            canonical.text(),
            "{\"method\":\"POST\",\"path\":\"/v1/chat/completions\",\"canonical_query\":\"a=1&b=2\",\"canonical_body\":\
             {\"a\":{\"é\":\"\\u0001/\u{7f}\u{2028}\\n\"},\"z\":[1,1.0,{\"a\":2,\"b\":1}]}}"
        );
        assert_eq!(Canonical::stored(&canonical.document()), Some(canonical));
        let none = Canonical::of("POST", CHAT, "", None, &Pointers::default()).unwrap();
        assert!(none.text().ends_with(",\"canonical_body\":null}"));
    }
}
