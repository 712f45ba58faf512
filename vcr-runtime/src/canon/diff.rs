use std::fmt;

use super::align::{Step, align};
use super::compare::equivalent;
use super::excerpt;
use super::hash::members;
use crate::json::{Json, Object, escape_into};
use crate::model::{CanonicalRequest, RecordedRequest};

/// One line of a report on a miss. Values are shortened already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Only the live request has it; the path counts in the live request.
    Added { path: String, value: String },
    /// Only the recorded request has it; the path counts in the recorded request.
    Removed { path: String },
    /// Both have it; the path counts in the live request.
    Changed {
        path: String,
        before: String,
        after: String,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { path, value } => write!(formatter, "added: {path}: {value}"),
            Self::Removed { path } => write!(formatter, "removed: {path}"),
            Self::Changed { path, before, after } => {
                write!(formatter, "changed: {path}: {before} -> {after}")
            }
        }
    }
}

/// How a live request differs from a recorded one, in what the record states.
///
/// Parameters stand at the top, as the caller wrote them. Within an object come the removed members, then the added
/// ones, then the changes below the others, each sorted; an array is followed element by element.
pub(crate) fn diff(recorded: &RecordedRequest, live: &CanonicalRequest) -> Vec<Change> {
    let parameters = recorded.parameters.as_ref();
    let parameters = parameters.map(|parameters| stated(parameters, recorded.hash.is_some(), live));
    let Split { removed, added, both } = parameters.unwrap_or_default();
    let mut parts: Vec<(&str, Part<'_>)> = both
        .into_iter()
        .map(|(key, before, after)| (key, Part::Values(before, after)))
        .collect();
    if let Some(model) = &recorded.model {
        parts.push(("model", Part::Texts(model, &live.model)));
    }
    if let Some(protocol) = &recorded.protocol {
        parts.push(("protocol", Part::Texts(protocol, &live.protocol)));
    }
    if let Some(messages) = &recorded.messages {
        parts.push(("messages", Part::Items(messages, &live.messages)));
    }
    parts.sort_by_key(|(key, _)| *key);
    let mut walk = Walk::default();
    walk.one_sided(&removed, &added);
    for (key, part) in parts {
        walk.below_member(key, |walk| match part {
            Part::Values(before, after) => walk.values(before, after),
            Part::Items(before, after) => walk.items(before, after),
            Part::Texts(before, after) => walk.texts(before, after),
        });
    }
    walk.changes
}

/// A member of the request that both sides have.
enum Part<'a> {
    Values(&'a Json, &'a Json),
    Items(&'a [Json], &'a [Json]),
    Texts(&'a str, &'a str),
}

/// The parameters to compare: `null` is absent, and an incomplete record speaks only of those it names.
fn stated<'a>(parameters: &'a Object, is_complete: bool, live: &'a CanonicalRequest) -> Split<'a> {
    let (mut before, mut after) = (members(parameters), members(&live.parameters));
    before.retain(|(_, value)| !value.is_null());
    after.retain(|(key, value)| !value.is_null() && (is_complete || parameters.get(key).is_some()));
    Split::of(before, after)
}

type Member<'a> = (&'a str, &'a Json);

/// The members of two objects, each list sorted by key.
#[derive(Default)]
struct Split<'a> {
    removed: Vec<&'a str>,
    added: Vec<Member<'a>>,
    both: Vec<(&'a str, &'a Json, &'a Json)>,
}

impl<'a> Split<'a> {
    /// Both lists must be sorted.
    fn of(before: Vec<Member<'a>>, after: Vec<Member<'a>>) -> Self {
        let mut split = Self::default();
        let mut after = after.into_iter().peekable();
        for (key, value) in before {
            while let Some(earlier) = after.next_if(|(other, _)| *other < key) {
                split.added.push(earlier);
            }
            match after.next_if(|(other, _)| *other == key) {
                Some((_, other)) => split.both.push((key, value, other)),
                None => split.removed.push(key),
            }
        }
        split.added.extend(after);
        split
    }
}

#[derive(Default)]
struct Walk {
    path: String,
    changes: Vec<Change>,
}

impl Walk {
    fn values(&mut self, before: &Json, after: &Json) {
        match (before, after) {
            (Json::Object(before), Json::Object(after)) => {
                let split = Split::of(members(before), members(after));
                self.one_sided(&split.removed, &split.added);
                for (key, before, after) in split.both {
                    self.below_member(key, |walk| walk.values(before, after));
                }
            }
            (Json::Array(one), Json::Array(other))
                if !excerpt::is_vector(before) && !excerpt::is_vector(after) =>
            {
                self.items(one, other);
            }
            _ if equivalent(before, after) => {}
            _ => {
                let (before, after) = excerpt::pair(before, after);
                self.changed(before, after);
            }
        }
    }

    fn texts(&mut self, before: &str, after: &str) {
        if before != after {
            let (before, after) = excerpt::text_pair(before, after);
            self.changed(before, after);
        }
    }

    fn items(&mut self, before: &[Json], after: &[Json]) {
        for step in align(before, after) {
            match step {
                Step::Pair(i, j) => self.below_item(j, |walk| walk.values(&before[i], &after[j])),
                Step::Removed(i) => self.below_item(i, Self::removed),
                Step::Added(j) => self.below_item(j, |walk| walk.added(&after[j])),
            }
        }
    }

    fn one_sided(&mut self, removed: &[&str], added: &[Member<'_>]) {
        for key in removed {
            self.below_member(key, Self::removed);
        }
        for (key, value) in added {
            self.below_member(key, |walk| walk.added(value));
        }
    }

    fn removed(&mut self) {
        self.changes.push(Change::Removed {
            path: self.path.clone(),
        });
    }

    fn added(&mut self, value: &Json) {
        self.changes.push(Change::Added {
            path: self.path.clone(),
            value: excerpt::short(value),
        });
    }

    fn changed(&mut self, before: String, after: String) {
        self.changes.push(Change::Changed {
            path: self.path.clone(),
            before,
            after,
        });
    }

    fn below_member(&mut self, key: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        let is_plain =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '$' | '/');
        if key.is_empty() || !key.chars().all(is_plain) {
            // A dot in a key must not look like a step down.
            self.path.push_str("[\"");
            escape_into(key, &mut self.path);
            self.path.push_str("\"]");
        } else {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(key);
        }
        visit(self);
        self.path.truncate(length);
    }

    fn below_item(&mut self, index: usize, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&format!("[{index}]"));
        visit(self);
        self.path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::compare::same_request;
    use crate::canon::testing::{any_json, json, recorded, request};

    const MESSAGES: &str = r#"[{"role":"user","content":"hi"}]"#;

    fn lines(record: &RecordedRequest, messages: &str, parameters: &str) -> Vec<String> {
        diff(record, &request("m", messages, parameters))
            .iter()
            .map(Change::to_string)
            .collect()
    }

    #[test]
    fn each_change_is_a_line_at_its_path() {
        let record = recorded(&request(
            "m",
            MESSAGES,
            r#"{"temperature":0.7,"tools":[{"function":{"name":"a"}}],"stream":true,"seed":1,"n":null}"#,
        ));
        let same = r#"{"seed":1.0,"stream":true,"tools":[{"function":{"name":"a"}}],"temperature":7e-1,"top_p":null}"#;
        assert_eq!(lines(&record, MESSAGES, same), [""; 0]);
        assert_eq!(
            lines(
                &record,
                r#"[{"role":"user","content":"hi!","name":"x"}]"#,
                r#"{"zeta":{"a":1},"temperature":0.7000001,"tools":[{"function":{"name":"a"}},{"function":{"name":"b"}}],"n":2}"#
            ),
            [
                "removed: seed",
                "removed: stream",
                "added: n: 2",
                r#"added: zeta: {"a":1}"#,
                r#"added: messages[0].name: "x""#,
                r#"changed: messages[0].content: "hi" -> "hi!""#,
                "changed: temperature: 0.7 -> 0.7000001",
                r#"added: tools[1]: {"function":{"name":"b"}}"#,
            ]
        );
    }

    #[test]
    fn a_message_in_front_is_one_line() {
        let record = recorded(&request("m", MESSAGES, "{}"));
        let more = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]"#;
        assert_eq!(
            lines(&record, more, "{}"),
            [r#"added: messages[0]: {"role":"system","content":"Be brief."}"#]
        );
        let longer = recorded(&request("m", more, "{}"));
        assert_eq!(lines(&longer, MESSAGES, "{}"), ["removed: messages[0]"]);
    }

    #[test]
    fn model_and_protocol_are_named() {
        let record = recorded(&request("m", MESSAGES, "{}"));
        let mut live = request("n", MESSAGES, "{}");
        live.protocol = "anthropic".to_owned();
        live.provider = "elsewhere".to_owned();
        let lines: Vec<_> = diff(&record, &live).iter().map(Change::to_string).collect();
        assert_eq!(
            lines,
            [
                r#"changed: model: "m" -> "n""#,
                r#"changed: protocol: "openai-chat" -> "anthropic""#
            ]
        );
    }

    #[test]
    fn a_record_written_by_hand_is_silent_about_what_it_lacks() {
        let record = RecordedRequest {
            parameters: json(r#"{"temperature":null,"top_p":1,"max_tokens":5}"#)
                .as_object()
                .cloned(),
            ..RecordedRequest::default()
        };
        assert_eq!(
            lines(
                &record,
                "[1,2]",
                r#"{"stream":true,"temperature":1,"max_tokens":6}"#
            ),
            [
                "removed: top_p",
                "added: temperature: 1",
                "changed: max_tokens: 5 -> 6"
            ]
        );
    }

    #[test]
    fn odd_keys_are_quoted_and_vectors_are_not_printed() {
        let vector = |first: &str| format!("[{first},{}0]", "0.25,".repeat(1534));
        let parameters = |first: &str, text: &str| {
            format!(
                r#"{{"a.b":{{"":"{text}","x y":[1,2]}},"input":{},"metadata":{{"k":"{text}"}}}}"#,
                vector(first)
            )
        };
        let record = recorded(&request("m", "[]", &parameters("0.5", "1")));
        assert_eq!(
            lines(&record, "[]", &parameters("0.75", "2")),
            [
                r#"changed: ["a.b"][""]: "1" -> "2""#,
                "changed: input: [… 1536 items] -> [… 1536 items]",
                r#"changed: metadata.k: "1" -> "2""#,
            ]
        );
        assert_eq!(lines(&record, "[]", &parameters("5e-1", "1")), [""; 0]);
    }

    proptest::proptest! {
        #[test]
        fn there_is_a_line_exactly_when_the_requests_differ(a in any_json(), b in any_json(), open in proptest::bool::ANY) {
            let around = |value: &Json| {
                let mut request = request("m", "[]", "{}");
                request.messages = vec![value.clone(), Json::Null];
                request.parameters = value.as_object().cloned().unwrap_or_default();
                request
            };
            let (mut record, live) = (recorded(&around(&a)), around(&b));
            if open {
                record.hash = None;
            }
            proptest::prop_assert_eq!(diff(&record, &live).is_empty(), same_request(&record, &live));
        }
    }
}
