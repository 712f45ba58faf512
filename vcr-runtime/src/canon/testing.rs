//! What the tests of this module share.

use proptest::prelude::*;

use super::hash::request_hash;
use crate::json::{Json, Number, Object, parse};
use crate::model::{CanonicalRequest, RecordedRequest};

pub(super) fn json(text: &str) -> Json {
    parse(text).expect(text)
}

pub(super) fn request(model: &str, messages: &str, parameters: &str) -> CanonicalRequest {
    CanonicalRequest {
        protocol: "openai-chat".to_owned(),
        model: model.to_owned(),
        provider: "openai".to_owned(),
        messages: json(messages).as_array().expect(messages).to_vec(),
        parameters: json(parameters).as_object().expect(parameters).clone(),
    }
}

pub(super) fn recorded(live: &CanonicalRequest) -> RecordedRequest {
    RecordedRequest::recorded(live.clone(), request_hash(live))
}

/// Small documents out of few keys and values, so that equal and nearly equal pairs are common.
pub(super) fn any_json() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        prop::sample::select(
            &[
                "0",
                "-0.0",
                "1",
                "1.0",
                "1e0",
                "10e-1",
                "0.5",
                "5e-1",
                "0.50",
                "1e20",
                "100000000000000000000",
                "-1e400",
                "18446744073709551615",
                "9007199254740993",
                "9007199254740992",
                "1e-400",
                "1e16",
                "-2.5e-7",
            ][..]
        )
        .prop_map(|text| Json::Number(Number::from_text(text))),
        "[ab\u{e9}\u{1f980}\n\"]{0,3}".prop_map(Json::String),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec(("[abc]", inner.clone()), 0..5)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
            // Wide enough for the sorted path.
            ("[abc]", inner).prop_map(|(key, value)| {
                let mut object: Object = (0..40).map(|index| (format!("k{index}"), Json::Null)).collect();
                object.push(key, value);
                Json::Object(object)
            }),
        ]
    })
}

/// The same document in another spelling: members in another order, repeated keys before the one that counts,
/// numbers with other digits.
pub(super) fn respelt(document: &Json, seed: u64) -> Json {
    match document {
        Json::Number(number) => Json::Number(respelt_number(number, seed)),
        Json::Array(items) => Json::Array(items.iter().map(|item| respelt(item, next(seed))).collect()),
        Json::Object(object) => {
            let mut members: Vec<(String, Json)> = super::hash::members(object)
                .into_iter()
                .map(|(key, value)| (key.to_owned(), respelt(value, next(seed))))
                .collect();
            let mut random = seed;
            for index in (1..members.len()).rev() {
                random = next(random);
                members.swap(index, usize::try_from(random >> 33).unwrap() % (index + 1));
            }
            if let Some((key, _)) = members.last().cloned() {
                members.insert(0, (key, Json::Bool(true)));
            }
            Json::Object(members.into_iter().collect())
        }
        other => other.clone(),
    }
}

fn next(seed: u64) -> u64 {
    seed.wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}

fn respelt_number(number: &Number, seed: u64) -> Number {
    let text = number.to_string();
    let (mantissa, exponent) = text
        .split_once('e')
        .map_or((text.as_str(), 0), |(mantissa, exponent)| {
            (mantissa, exponent.parse::<i64>().unwrap())
        });
    let point = if mantissa.contains('.') { "" } else { "." };
    match seed >> 62 {
        0 => Number::from_text(&format!("{mantissa}{point}00E{exponent:+04}")),
        1 if point == "." && !mantissa.ends_with(['-', '.']) => {
            Number::from_text(&format!("{mantissa}0e{}", exponent - 1))
        }
        2 if exponent == 0 => Number::from_text(&format!("{mantissa}e0")),
        _ => number.clone(),
    }
}
