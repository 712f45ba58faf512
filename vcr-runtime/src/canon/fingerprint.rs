use super::hash::members;
use super::number::{self, Value};
use crate::json::{Json, Number, Object};
use crate::model::{CanonicalRequest, RecordedRequest};

/// Odd constants without structure: the fractional digits of pi.
const K0: u64 = 0x243f_6a88_85a3_08d3;
const K1: u64 = 0x1319_8a2e_0370_7345;
const K2: u64 = 0xa409_3822_299f_31d1;
const K3: u64 = 0x082e_fa98_ec4e_6c89;
/// These two meet no other constant: a factor of zero would swallow the other one.
const K4: u64 = 0x4528_21e6_38d0_1377;
const K5: u64 = 0xbe54_66cf_34e9_0c6c;

/// Objects up to this size are looked through for repeated keys pair by pair, without allocating.
pub(super) const SMALL: usize = 32;

/// A number that equal requests share. It lives in memory only, so it may change with any release; it is not keyed,
/// so a match must still be compared by value.
pub(crate) fn fingerprint(request: &CanonicalRequest) -> u64 {
    parts(
        &request.protocol,
        &request.model,
        &request.messages,
        &request.parameters,
    )
}

/// The [`fingerprint`] of the request that was recorded; `None` where the record leaves something open, as records
/// written by hand do.
pub(crate) fn fingerprint_recorded(recorded: &RecordedRequest) -> Option<u64> {
    recorded.hash.as_ref()?;
    Some(parts(
        recorded.protocol.as_deref()?,
        recorded.model.as_deref()?,
        recorded.messages.as_deref()?,
        recorded.parameters.as_ref()?,
    ))
}

fn parts(protocol: &str, model: &str, messages: &[Json], parameters: &Object) -> u64 {
    let mut state = fold(string(protocol, K0), K1);
    state = fold(state ^ string(model, K1), K2);
    state = fold(state ^ array(messages), K3);
    fold(state ^ object(parameters, true), K0)
}

/// A number that equivalent values share.
pub(super) fn value(document: &Json) -> u64 {
    match document {
        Json::Null => K1,
        Json::Bool(false) => K2,
        Json::Bool(true) => K3,
        Json::Number(value) => number_of(value),
        Json::String(text) => string(text, K2),
        Json::Array(items) => array(items),
        Json::Object(members) => object(members, false),
    }
}

fn number_of(number: &Number) -> u64 {
    match number::value(number) {
        Value::Int(value) => fold(value.cast_unsigned() ^ K0, K3),
        Value::Fraction(value) => fold(value.to_bits() ^ K1, K2),
        Value::Large => string(&number::text(number), K3),
    }
}

fn array(items: &[Json]) -> u64 {
    items
        .iter()
        .fold(fold(items.len() as u64 ^ K2, K1), |state, item| {
            fold(state ^ value(item), K3)
        })
}

/// Adds up the members, so that their order does not count.
fn object(object: &Object, skip_null: bool) -> u64 {
    let mut sum = 0_u64;
    let mut count = 0_u64;
    each_member(object, |key, member| {
        if !(skip_null && member.is_null()) {
            sum = sum.wrapping_add(fold(string(key, K1) ^ K4, value(member) ^ K5));
            count += 1;
        }
    });
    fold(sum ^ K4, count ^ K5)
}

/// Visits the members that count: of a repeated key the last.
pub(super) fn each_member<'a>(object: &'a Object, mut visit: impl FnMut(&'a str, &'a Json)) {
    if object.len() > SMALL {
        members(object)
            .into_iter()
            .for_each(|(key, value)| visit(key, value));
        return;
    }
    for (index, (key, value)) in object.iter().enumerate() {
        if !is_shadowed(object, index) {
            visit(key, value);
        }
    }
}

/// Whether a later member has the key of this one.
pub(super) fn is_shadowed(object: &Object, index: usize) -> bool {
    let key = &object.0[index].0;
    object.0[index + 1..].iter().any(|(later, _)| later == key)
}

fn string(text: &str, seed: u64) -> u64 {
    let bytes = text.as_bytes();
    let mut low = seed ^ bytes.len() as u64;
    let mut high = seed ^ K0;
    // Two lanes of a multiplication each keep the multiplier busy.
    let blocks = bytes.chunks_exact(32);
    let mut rest = blocks.remainder();
    for block in blocks {
        low = fold(low ^ word(&block[..8]), word(&block[8..16]) ^ K1);
        high = fold(high ^ word(&block[16..24]), word(&block[24..]) ^ K2);
    }
    while rest.len() > 8 {
        low = fold(low ^ word(&rest[..8]), K3);
        rest = &rest[8..];
    }
    high ^= word(rest);
    fold(low ^ K4, high ^ K5)
}

/// Up to eight bytes as a number; the length of the text tells paddings apart.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    if let Ok(eight) = bytes.try_into() {
        return u64::from_le_bytes(eight);
    }
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The two halves of the product, folded into one: every bit of both factors reaches every bit of the result.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    let halves = (product as u64, (product >> 64) as u64);
    halves.0 ^ halves.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::testing::{json, recorded, request};

    #[test]
    fn every_byte_and_the_length_of_a_string_count() {
        for length in 0..100_usize {
            let text = "x".repeat(length);
            assert_ne!(string(&text, K2), string(&format!("{text}x"), K2), "{length}");
            assert_ne!(string(&text, K2), string(&format!("{text}\0"), K2), "{length}");
            for at in 0..length {
                let mut changed = text.clone();
                changed.replace_range(at..=at, "y");
                assert_ne!(string(&text, K2), string(&changed, K2), "{length} {at}");
            }
        }
    }

    #[test]
    fn values_of_different_kinds_differ() {
        let documents = [
            "null",
            "false",
            "true",
            "0",
            "1",
            "0.5",
            "\"\"",
            "\"0\"",
            "[]",
            "{}",
            "[[]]",
            "[{}]",
            "[0]",
            "[null]",
            "{\"a\":null}",
            "{\"\":0}",
            "[1,2]",
            "[2,1]",
            "{\"a\":1,\"b\":2}",
            "{\"a\":null,\"b\":null}",
            "{\"a\":true}",
            "{\"b\":true}",
            "{\"b\":false}",
            "{\"b\":null}",
            "{\"a\":2,\"b\":1}",
            "18446744073709551615",
            "\"18446744073709551615\"",
        ];
        let mut prints: Vec<_> = documents.iter().map(|text| value(&json(text))).collect();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), documents.len());
    }

    #[test]
    fn only_complete_records_have_a_fingerprint() {
        let live = request("m", r#"[{"role":"user","content":"x"}]"#, r#"{"n":1,"o":null}"#);
        let mut record = recorded(&live);
        record.parameters = json(r#"{"n":1.0}"#).as_object().cloned();
        assert_eq!(fingerprint_recorded(&record), Some(fingerprint(&live)));
        let mut open = record.clone();
        open.model = None;
        assert_eq!(fingerprint_recorded(&open), None);
        record.hash = None;
        assert_eq!(fingerprint_recorded(&record), None);
    }

    #[test]
    fn a_wide_object_counts_its_last_members_too() {
        let wide = |last: &str| {
            let many: String = (0..100).map(|index| format!("\"k{index}\":{index},")).collect();
            value(&json(&format!("{{{many}\"k7\":{last}}}")))
        };
        assert_eq!(wide("70"), wide("7e1"));
        assert_ne!(wide("70"), wide("7"));
    }
}
