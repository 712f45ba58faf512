use super::fingerprint::{SMALL, each_member, is_shadowed};
use super::hash::{members, request_hash};
use super::number;
use crate::json::{Json, Object};
use crate::model::{CanonicalRequest, RecordedRequest, is_absent};

/// Whether two values are the same by the notion of the request hash: member order and number spelling do not
/// count, and of a repeated key the last member does.
pub(crate) fn equivalent(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::Number(a), Json::Number(b)) => number::same(a, b),
        (Json::String(a), Json::String(b)) => a == b,
        (Json::Array(a), Json::Array(b)) => same_items(a, b),
        (Json::Object(a), Json::Object(b)) => same_members(a, b, false),
        _ => false,
    }
}

/// Whether a record answers a live request.
///
/// A record made by us (it has a hash) must agree in everything; a record written by hand in the members that it
/// has. The provider never counts.
pub(crate) fn same_request(recorded: &RecordedRequest, live: &CanonicalRequest) -> bool {
    let (Some(_), Some(protocol), Some(model), Some(messages), Some(parameters)) = (
        &recorded.hash,
        &recorded.protocol,
        &recorded.model,
        &recorded.messages,
        &recorded.parameters,
    ) else {
        return same_where_stated(recorded, live);
    };
    *protocol == live.protocol
        && *model == live.model
        && same_items(messages, &live.messages)
        && same_members(parameters, &live.parameters, true)
}

fn same_where_stated(recorded: &RecordedRequest, live: &CanonicalRequest) -> bool {
    if let Some(hash) = &recorded.hash {
        // The file keeps the hash but not the request: the hash is all there is to go by.
        return *hash == request_hash(live);
    }
    recorded
        .protocol
        .as_ref()
        .is_none_or(|protocol| *protocol == live.protocol)
        && recorded.model.as_ref().is_none_or(|model| *model == live.model)
        && recorded
            .messages
            .as_ref()
            .is_none_or(|messages| same_items(messages, &live.messages))
        && recorded
            .parameters
            .as_ref()
            .is_none_or(|named| has_parameters(&live.parameters, named))
}

/// Whether every parameter named has its value, or its absence where it is named as `null`.
fn has_parameters(live: &Object, named: &Object) -> bool {
    let mut all = true;
    each_member(named, |key, expected| {
        all = all && same_parameter(Some(expected), live.get(key));
    });
    all
}

/// Whether two options at the top level of the parameters say the same; `null` says nothing.
pub(super) fn same_parameter(a: Option<&Json>, b: Option<&Json>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => equivalent(a, b),
        (a, b) => is_absent(a) && is_absent(b),
    }
}

fn same_items(a: &[Json], b: &[Json]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equivalent(a, b))
}

fn same_members(a: &Object, b: &Object, skip_null: bool) -> bool {
    if a.len().max(b.len()) > SMALL {
        let counted = |object| {
            let mut members = members(object);
            members.retain(|(_, value)| !(skip_null && value.is_null()));
            members
        };
        let (a, b) = (counted(a), counted(b));
        return a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.0 == b.0 && equivalent(a.1, b.1));
    }
    let counts = |object: &Object, index: usize| {
        let says_nothing = skip_null && object.0[index].1.is_null();
        !(says_nothing || is_shadowed(object, index))
    };
    let mut balance = (0..b.len()).filter(|index| counts(b, *index)).count();
    for index in (0..a.len()).filter(|index| counts(a, *index)) {
        let (key, value) = &a.0[index];
        if !get_near(b, key, index).is_some_and(|other| equivalent(value, other)) || balance == 0 {
            return false;
        }
        balance -= 1;
    }
    balance == 0
}

/// [`Object::get`], which looks first where the other object has the key: one program builds one order.
fn get_near<'a>(object: &'a Object, key: &str, index: usize) -> Option<&'a Json> {
    match object.0.get(index) {
        Some((name, value)) if name == key && !is_shadowed(object, index) => Some(value),
        _ => object.get(key),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canon::fingerprint::{fingerprint, fingerprint_recorded};
    use crate::canon::hash::canonical_text;
    use crate::canon::testing::{any_json, json, recorded, request, respelt};

    #[test]
    fn a_record_of_ours_is_compared_in_full() {
        let live = request(
            "m",
            r#"[{"role":"user","content":"hi"}]"#,
            r#"{"temperature":1,"tools":[{"name":"a"}]}"#,
        );
        let record = recorded(&live);
        assert!(same_request(&record, &live));
        for (messages, parameters) in [
            (
                r#"[{"role":"user","content":"hi!"}]"#,
                r#"{"temperature":1,"tools":[{"name":"a"}]}"#,
            ),
            (
                r#"[{"role":"user","content":"hi"}]"#,
                r#"{"temperature":0,"tools":[{"name":"a"}]}"#,
            ),
            (
                r#"[{"role":"user","content":"hi"}]"#,
                r#"{"temperature":1,"tools":[{"name":"a"},{"name":"b"}]}"#,
            ),
            (
                r#"[{"role":"user","content":"hi"}]"#,
                r#"{"temperature":1,"tools":[{"name":"a"}],"top_p":1}"#,
            ),
            (r#"[{"role":"user","content":"hi"}]"#, r#"{"temperature":1}"#),
            (
                r#"[{"role":"system","content":"s"},{"role":"user","content":"hi"}]"#,
                r#"{"temperature":1,"tools":[{"name":"a"}]}"#,
            ),
        ] {
            assert!(
                !same_request(&record, &request("m", messages, parameters)),
                "{messages} {parameters}"
            );
        }
        let mut other = live.clone();
        other.provider = "127.0.0.1:41001".to_owned();
        assert!(same_request(&record, &other), "the provider does not count");
        other.model = "n".to_owned();
        assert!(!same_request(&record, &other));
        let mut other = live;
        other.protocol = "anthropic".to_owned();
        assert!(!same_request(&record, &other));
    }

    #[test]
    fn order_and_number_spelling_do_not_count_but_digits_do() {
        let live = request(
            "m",
            "[]",
            r#"{"seed":9007199254740993,"temperature":1.0,"top_p":0.7}"#,
        );
        for (parameters, expected) in [
            (r#"{"top_p":0.7,"temperature":1.0,"seed":9007199254740993}"#, true),
            (r#"{"seed":9007199254740993,"temperature":1,"top_p":0.70}"#, true),
            (
                r#"{"seed":9007199254740993,"temperature":1.0,"top_p":0.7000001}"#,
                false,
            ),
            (
                r#"{"seed":9007199254740992,"temperature":1.0,"top_p":0.7}"#,
                false,
            ),
        ] {
            let other = request("m", "[]", parameters);
            assert_eq!(same_request(&recorded(&live), &other), expected, "{parameters}");
            assert_eq!(
                fingerprint(&live) == fingerprint(&other),
                expected,
                "{parameters}"
            );
            assert_eq!(
                request_hash(&live) == request_hash(&other),
                expected,
                "{parameters}"
            );
        }
    }

    #[test]
    fn a_record_written_by_hand_is_compared_where_it_speaks() {
        let live = request(
            "m",
            r#"[{"role":"user","content":"hi"}]"#,
            r#"{"stream":true,"temperature":0.5,"n":null}"#,
        );
        assert!(same_request(&RecordedRequest::default(), &live));
        let named = |parameters: &str| RecordedRequest {
            parameters: json(parameters).as_object().cloned(),
            ..RecordedRequest::default()
        };
        for (parameters, expected) in [
            ("{}", true),
            (r#"{"stream":true}"#, true),
            (r#"{"stream":false}"#, false),
            (r#"{"temperature":5e-1}"#, true),
            (r#"{"temperature":null}"#, false),
            (r#"{"n":null,"max_tokens":null}"#, true),
            (r#"{"max_tokens":16}"#, false),
            (r#"{"stream":false,"stream":true}"#, true),
        ] {
            assert_eq!(same_request(&named(parameters), &live), expected, "{parameters}");
        }
        let messages = RecordedRequest {
            model: Some("m".to_owned()),
            messages: Some(vec![]),
            ..RecordedRequest::default()
        };
        assert!(!same_request(&messages, &live));
    }

    #[test]
    fn a_hash_alone_still_identifies_its_request() {
        let live = request("m", "[]", "{}");
        let record = RecordedRequest {
            hash: Some(request_hash(&live)),
            ..RecordedRequest::default()
        };
        assert!(same_request(&record, &live));
        assert!(!same_request(&record, &request("n", "[]", "{}")));
    }

    #[test]
    fn shadowed_members_do_not_count() {
        for (a, b, expected) in [
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true),
            (r#"{"a":2}"#, r#"{"a":1,"a":2}"#, true),
            (r#"{"a":1,"a":2}"#, r#"{"a":1}"#, false),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, false),
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"a":1}"#, false),
            (r#"{"a":1,"a":1}"#, r#"{"a":1,"b":2}"#, false),
            (r#"{"a":null}"#, "{}", false),
        ] {
            assert_eq!(equivalent(&json(a), &json(b)), expected, "{a} {b}");
        }
    }

    /// A request around arbitrary parameters, members of its messages included.
    fn around(content: &Json, parameters: &Json) -> CanonicalRequest {
        let mut request = request("m", "[]", "{}");
        request.messages = vec![content.clone()];
        request.parameters = match parameters {
            Json::Object(object) => object.clone(),
            other => [("value".to_owned(), other.clone())].into_iter().collect(),
        };
        request
    }

    proptest! {
        #[test]
        fn equality_is_that_of_the_canonical_text(a in any_json(), b in any_json(), c in any_json()) {
            let (one, two) = (around(&a, &c), around(&b, &c));
            let same = canonical_text(&one) == canonical_text(&two);
            prop_assert_eq!(equivalent(&a, &b), same);
            prop_assert_eq!(same_request(&recorded(&one), &two), same);
            prop_assert_eq!(fingerprint(&one) == fingerprint(&two), same);
            let (one, two) = (around(&c, &a), around(&c, &b));
            let same = canonical_text(&one) == canonical_text(&two);
            prop_assert_eq!(same_request(&recorded(&one), &two), same);
            prop_assert_eq!(fingerprint(&one) == fingerprint(&two), same);
        }

        #[test]
        fn another_spelling_is_the_same_request(a in any_json(), b in any_json(), seed in any::<u64>()) {
            let one = around(&a, &b);
            let two = around(&respelt(&a, seed), &respelt(&b, seed));
            prop_assert_eq!(canonical_text(&one), canonical_text(&two));
            prop_assert!(equivalent(&Json::Array(one.messages.clone()), &Json::Array(two.messages.clone())));
            prop_assert_eq!(fingerprint_recorded(&recorded(&one)), Some(fingerprint(&two)));
            prop_assert!(same_request(&recorded(&one), &two));
        }
    }
}
