//! The answer as a caller has it once the stream is over, for comparing two streams of one answer.
//!
//! Texts continue, lists grow, of everything else the last value stands. `null` says as much as absence.

use crate::json::{Json, Object};

use super::endpoint::Endpoint;
use super::words::{MESSAGE, THINKING};

/// See the module.
pub(super) fn assemble(endpoint: &Endpoint, payloads: &[Json]) -> Json {
    let mut whole = Object::new();
    let mut strays = Vec::new();
    for payload in payloads {
        match payload {
            Json::Object(members) => merge(endpoint, &mut whole, members, !endpoint.has_message),
            other => strays.push(other.clone()),
        }
    }
    if !strays.is_empty() {
        whole.push("strays", strays);
    }
    whole.into()
}

fn merge(endpoint: &Endpoint, into: &mut Object, members: &Object, is_told: bool) {
    for (name, value) in members.iter() {
        let continues = is_told && (name == endpoint.text || name == THINKING);
        match (into.get_mut(name), value) {
            (_, Json::Null) => {}
            (Some(Json::String(known)), Json::String(more)) if continues => known.push_str(more),
            (Some(Json::Array(known)), Json::Array(more)) => known.extend(more.iter().cloned()),
            (Some(Json::Object(known)), Json::Object(more)) => {
                merge(endpoint, known, more, endpoint.has_message && name == MESSAGE);
            }
            (Some(known), value) => *known = value.clone(),
            (None, value) => into.push(name.clone(), value.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CHAT, GENERATE};
    use super::*;
    use crate::json::{compact, parse};

    fn of(endpoint: &Endpoint, lines: &[&str]) -> String {
        let lines: Vec<Json> = lines.iter().map(|line| parse(line).unwrap()).collect();
        compact(&assemble(endpoint, &lines))
    }

    #[test]
    fn texts_continue_and_lists_grow() {
        let whole = of(
            &CHAT,
            &[
                r#"{"model":"m","message":{"role":"assistant","content":"a","thinking":"x"},"done":false}"#,
                r#"{"model":"m","message":{"role":"assistant","content":"b","tool_calls":[1]},"done":false}"#,
                r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[2]},"done":true,"eval_count":null}"#,
            ],
        );
        assert_eq!(
            whole,
            r#"{"model":"m","message":{"role":"assistant","content":"ab","thinking":"x","tool_calls":[1,2]},"done":true}"#
        );
    }

    #[test]
    fn each_endpoint_has_its_own_texts() {
        let lines = [
            r#"{"response":"a","message":{"content":"x"}}"#,
            r#"{"response":"b","message":{"content":"y"}}"#,
        ];
        assert_eq!(
            of(&CHAT, &lines),
            r#"{"response":"b","message":{"content":"xy"}}"#
        );
        assert_eq!(
            of(&GENERATE, &lines),
            r#"{"response":"ab","message":{"content":"y"}}"#
        );
        assert_eq!(of(&CHAT, &["1", "{}"]), r#"{"strays":[1]}"#);
    }
}
