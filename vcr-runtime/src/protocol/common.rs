//! What several protocols share: bodies from members, tool arguments that are documents, failures told in a stream.

use crate::json::{Json, Object, parse};
use crate::model::{Boundary, BoundaryKind};

use super::request_body::LEADING;

/// Names that recordings give to failures of the transport; those are replayed as such, not told in the stream.
const TRANSPORT: [&str; 4] = ["connect", "timeout", "reset", "body"];

/// What the ids begin with that this tool gave to tool calls without one.
const SYNTHETIC: &str = "vcr_call_";

/// An object of these members.
pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Object {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// An error of ours in the shape that most SDKs read a message from.
pub(crate) fn refusal(code: &str, message: &str) -> Json {
    let error = object([
        ("type", code.into()),
        ("message", message.into()),
        ("param", Json::Null),
        ("code", code.into()),
    ]);
    object([("type", "error".into()), ("error", error.into())]).into()
}

/// The leading parameters, all unset.
pub(super) fn leading() -> Object {
    object(LEADING.map(|name| (name, Json::Null)))
}

/// The members of `parameters` that stood in the request, less `skipped`.
#[cfg(test)]
pub(super) fn stated<'a>(
    parameters: &'a Object,
    skipped: &'a [&str],
) -> impl Iterator<Item = &'a (String, Json)> {
    parameters.iter().filter(|(name, value)| {
        let placeholder = LEADING.contains(&name.as_str()) && value.is_null();
        !placeholder && !skipped.contains(&name.as_str())
    })
}

/// The document of an argument text; `None` for an empty one.
///
/// Text that is no object (cut, or a model's mistake that another protocol let through) cannot be an argument here:
/// it becomes the one member `arguments`, so that it is at least seen.
pub(super) fn arguments_document(text: &str) -> Option<Json> {
    if text.is_empty() {
        return None;
    }
    Some(match parse(text) {
        Ok(document @ Json::Object(_)) => document,
        _ => object([("arguments", text.into())]).into(),
    })
}

/// A stable id for a call that came without one: by its place and by what it says, so that the calls of two turns
/// are not mixed up.
pub(super) fn synthetic_id(index: u32, name: &str, arguments: &str) -> String {
    // FNV-1a; nothing depends on its strength.
    let mut hash = 0x811c_9dc5_u32;
    for byte in name.bytes().chain([0]).chain(arguments.bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    format!("{SYNTHETIC}{index}_{hash:08x}")
}

/// Whether an id is one of ours, which no provider has seen.
pub(super) fn is_synthetic(id: &str) -> bool {
    id.is_empty() || id.starts_with(SYNTHETIC)
}

/// Whether a failure without a payload of its own is told to the caller, rather than seen in how the stream ends.
pub(super) fn is_told(boundary: &Boundary) -> bool {
    boundary.kind == BoundaryKind::Error && !TRANSPORT.contains(&boundary.error_type.as_str())
}

/// Appends a text to one that may be large already, which must not take twice its room for growing.
pub(super) fn append(to: &mut String, text: &str) {
    const LARGE: usize = 64 << 10;
    if to.len() >= LARGE && to.capacity() - to.len() < text.len() {
        to.reserve_exact(text.len() + to.len() / 8);
    }
    to.push_str(text);
}

/// Puts a text where its slot is; without one only where there is something to say.
pub(super) fn fill_text(members: &mut Object, key: &str, slot: &str, text: &str) {
    let has_slot = members.get(key).and_then(Json::as_str) == Some(slot);
    if has_slot || !text.is_empty() {
        members.set(key, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compact;

    #[test]
    fn arguments_are_texts_and_documents() {
        let again = |text| arguments_document(text).map(|document| compact(&document));
        for text in ["{}", r#"{"b":1.50,"a":[null]}"#] {
            assert_eq!(again(text).as_deref(), Some(text));
        }
        assert_eq!(again(""), None);
        assert_eq!(again(r#"{"a":"#).as_deref(), Some(r#"{"arguments":"{\"a\":"}"#));
    }

    #[test]
    fn synthetic_ids_are_stable_and_known_again() {
        let id = synthetic_id(0, "add", r#"{"a":1}"#);
        assert_eq!(id, synthetic_id(0, "add", r#"{"a":1}"#));
        assert_ne!(id, synthetic_id(0, "add", r#"{"a":2}"#));
        assert_ne!(id, synthetic_id(1, "add", r#"{"a":1}"#));
        assert!(is_synthetic(&id) && !is_synthetic("call_1"));
    }
}
