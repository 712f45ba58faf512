//! The answer as a caller has it once the stream is over, for comparing two streams of one answer.
//!
//! Unsigned texts of a kind continue each other; which function calls came together counts, because the SDK answers the
//! calls of a chunk together. Of the members of chunks the last value stands, of those of candidates every new one.

use std::collections::BTreeMap;

use crate::json::{Json, Object};
use crate::protocol::common::object;

use super::parts::push_part;
use super::shape::number_of;
use super::words::{CANDIDATES, CONTENT, FINISH_REASON, FUNCTION_CALL, PARTS};

#[derive(Default)]
struct Candidate {
    /// Parts, groups of calls, and finish reasons, in their order.
    steps: Vec<Json>,
    content: Object,
    members: BTreeMap<String, Vec<Json>>,
}

/// See the module.
pub(super) fn assemble(payloads: &[Json]) -> Json {
    let mut whole = Object::new();
    let mut candidates: BTreeMap<u32, Candidate> = BTreeMap::new();
    let mut strays = Vec::new();
    for payload in payloads {
        let Some(members) = payload.as_object() else {
            strays.push(payload.clone());
            continue;
        };
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            match (name.as_str(), value) {
                (CANDIDATES, Json::Array(items)) => {
                    for (position, item) in items.iter().enumerate() {
                        candidates
                            .entry(number_of(position, item))
                            .or_default()
                            .take(item);
                    }
                }
                (_, value) => whole.set(name.clone(), value.clone()),
            }
        }
    }
    let candidates = candidates
        .into_iter()
        .map(|(number, candidate)| candidate.finish(number));
    whole.push(CANDIDATES, candidates.collect::<Vec<_>>());
    if !strays.is_empty() {
        whole.push("strays", strays);
    }
    whole.into()
}

impl Candidate {
    fn take(&mut self, item: &Json) {
        let Some(members) = item.as_object() else {
            self.steps.push(object([("stray", item.clone())]).into());
            return;
        };
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            match (name.as_str(), value) {
                (CONTENT, Json::Object(content)) => self.content(content),
                (FINISH_REASON, _) => {}
                _ => {
                    let values = self.members.entry(name.clone()).or_default();
                    if values.last() != Some(value) {
                        values.push(value.clone());
                    }
                }
            }
        }
        if let Some(reason) = members.get(FINISH_REASON).filter(|reason| !reason.is_null()) {
            self.steps.push(object([(FINISH_REASON, reason.clone())]).into());
        }
    }

    fn content(&mut self, content: &Object) {
        let mut calls = Vec::new();
        for (name, value) in content.iter() {
            match (name.as_str(), value) {
                (PARTS, Json::Array(parts)) => {
                    for part in parts {
                        if part.get(FUNCTION_CALL).is_some() {
                            calls.push(part.clone());
                        } else {
                            self.calls(&mut calls);
                            push_part(&mut self.steps, part);
                        }
                    }
                }
                (_, value) => self.content.set(name.clone(), value.clone()),
            }
        }
        self.calls(&mut calls);
    }

    fn calls(&mut self, calls: &mut Vec<Json>) {
        if !calls.is_empty() {
            self.steps.push(Json::Array(std::mem::take(calls)));
        }
    }

    fn finish(self, number: u32) -> Json {
        let members = self
            .members
            .into_iter()
            .map(|(name, values)| (name, Json::Array(values)));
        object([
            ("number", number.into()),
            ("steps", self.steps.into()),
            (CONTENT, self.content.into()),
            ("members", members.collect::<Object>().into()),
        ])
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    fn of(chunks: &[&str]) -> String {
        let chunks: Vec<Json> = chunks.iter().map(|chunk| parse(chunk).unwrap()).collect();
        compact(&assemble(&chunks))
    }

    fn parts(parts: &str) -> String {
        format!(r#"{{"candidates":[{{"content":{{"parts":{parts},"role":"model"}},"index":0}}]}}"#)
    }

    fn same(a: &[&str], b: &[&str]) -> bool {
        let of_parts = |chunks: &[&str]| {
            let chunks: Vec<String> = chunks.iter().map(|chunk| parts(chunk)).collect();
            of(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
        };
        of_parts(a) == of_parts(b)
    }

    #[test]
    fn cuts_in_unsigned_text_make_no_difference() {
        assert!(same(
            &[
                r#"[{"text":"H","thought":true}]"#,
                r#"[{"text":""}]"#,
                r#"[{"text":"a"},{"text":"b"}]"#
            ],
            &[r#"[{"text":"H","thought":true},{"text":"ab"}]"#]
        ));
    }

    #[test]
    fn everything_else_makes_one() {
        for (a, b) in [
            (
                &[r#"[{"text":"ab"}]"#][..],
                &[r#"[{"text":"a","thought":true},{"text":"b"}]"#][..],
            ),
            (
                &[r#"[{"text":"ab","thoughtSignature":"s"}]"#],
                &[r#"[{"text":"a"},{"text":"b","thoughtSignature":"s"}]"#],
            ),
            (
                &[r#"[{"text":"a"},{"text":"","thoughtSignature":"s"}]"#],
                &[r#"[{"text":"a"}]"#],
            ),
            (
                &[r#"[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}]"#],
                &[
                    r#"[{"functionCall":{"name":"f"}}]"#,
                    r#"[{"functionCall":{"name":"g"}}]"#,
                ],
            ),
            (
                &[r#"[{"functionCall":{"name":"f"}},{"text":""}]"#],
                &[r#"[{"functionCall":{"name":"f"}}]"#],
            ),
            (
                &[r#"[{"inlineData":{}},{"text":"a"}]"#],
                &[r#"[{"text":"a"},{"inlineData":{}}]"#],
            ),
        ] {
            assert!(!same(a, b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn reasons_keep_their_places_and_members_their_values() {
        let chunk = |rest: &str| {
            format!(r#"{{"candidates":[{{"index":0{rest}}}],"usageMetadata":{{"totalTokenCount":1}}}}"#)
        };
        let (plain, stop) = (chunk(""), chunk(r#","finishReason":"STOP""#));
        let (rated, safe) = (chunk(r#","safetyRatings":[1]"#), chunk(r#","safetyRatings":[2]"#));
        assert_eq!(of(&[&plain, &stop]), of(&[&stop]));
        assert_ne!(of(&[&stop, &stop]), of(&[&stop]));
        assert_eq!(of(&[&rated, &plain, &rated]), of(&[&rated]));
        assert_ne!(of(&[&rated, &safe]), of(&[&safe]));
        assert_ne!(of(&["1", &stop]), of(&[&stop]));
    }
}
