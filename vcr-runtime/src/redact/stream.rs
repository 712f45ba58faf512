use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::finder::Reach;
use super::names::{is_opaque_member, is_opaque_type};
use super::{PLACEHOLDER, Redactor};
use crate::json::{Json, Object};

/// How many times the pieces are searched again after a change.
const ROUNDS: usize = 8;

impl Redactor {
    /// A text that was cut into consecutive pieces, as a stream cuts it. A secret may reach over several: the
    /// placeholder comes into the piece where it begins, and the others lose their part. Returns whether any changed.
    pub(crate) fn pieces(&self, pieces: &mut [&mut String]) -> bool {
        let mut changed = false;
        for _ in 0..ROUNDS {
            let joined: String = pieces.iter().map(|piece| piece.as_str()).collect();
            let spans = self.spans(&joined, Reach::Everything);
            if spans.is_empty() {
                break;
            }
            changed = true;
            let mut start = 0;
            for piece in pieces.iter_mut() {
                let whole = start..start + piece.len();
                start = whole.end;
                let cut = spans
                    .iter()
                    .filter(|span| span.range.start < whole.end && whole.start < span.range.end);
                let cut: Vec<_> = cut.map(|span| span.range.clone()).collect();
                if !cut.is_empty() {
                    **piece = without(&joined, whole, &cut);
                }
            }
        }
        changed
    }

    /// The JSON payloads of a stream, in order: each by itself, then the texts that continue from payload to payload,
    /// such as `choices[0].delta.content`. Returns whether any changed.
    pub(crate) fn stream(&self, payloads: &mut [Json]) -> bool {
        let mut changed = false;
        for payload in payloads.iter_mut() {
            changed |= self.json(payload);
        }
        let mut runs = BTreeMap::new();
        for payload in payloads {
            collect(payload, &mut String::new(), &mut runs);
        }
        for mut run in runs.into_values() {
            // Ids and model names are the same in each payload, and no parts of anything.
            let constant = run.windows(2).all(|pair| pair[0] == pair[1]);
            if run.len() > 1 && !constant {
                changed |= self.pieces(&mut run);
            }
        }
        changed
    }
}

/// The part `whole` of the joined text, where what lies in `cut` is replaced or, if it began earlier, left out.
fn without(joined: &str, whole: Range<usize>, cut: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(whole.len());
    let mut written = whole.start;
    for range in cut {
        if range.start >= whole.start {
            out.push_str(&joined[written..range.start]);
            out.push_str(PLACEHOLDER);
        }
        written = range.end.min(whole.end);
    }
    out.push_str(&joined[written..whole.end]);
    out
}

/// Gathers the texts of a payload by their place. An `index` belongs to the place: it tells parallel tool calls and
/// content blocks apart, which share the rest of it.
fn collect<'a>(value: &'a mut Json, place: &mut String, runs: &mut BTreeMap<String, Vec<&'a mut String>>) {
    let length = place.len();
    match value {
        Json::String(text) => match runs.get_mut(place.as_str()) {
            Some(run) => run.push(text),
            None => {
                runs.insert(place.clone(), vec![text]);
            }
        },
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(place, "[{index}]");
                collect(item, place, runs);
                place.truncate(length);
            }
        }
        Json::Object(object) => {
            if let Some(index) = object.get("index").and_then(Json::as_u64) {
                let _ = write!(place, "#{index}");
            }
            let length_here = place.len();
            let skipped = opaque_data(object);
            for (name, value) in &mut object.0 {
                if is_opaque_member(name) || (skipped && name == "data") {
                    continue;
                }
                place.push('.');
                place.push_str(name);
                collect(value, place, runs);
                place.truncate(length_here);
            }
            place.truncate(length);
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn opaque_data(object: &Object) -> bool {
    object
        .get("type")
        .and_then(Json::as_str)
        .is_some_and(is_opaque_type)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::config::{Environment, RedactRules};
    use crate::json::{compact, parse};

    const KEY: &str = "sk-proj-q7ZtR0123456789abcdef";

    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
        Redactor::new(
            &RedactRules::default(),
            &Environment::from_pairs([("A_KEY", "canary-value")]),
        )
        .unwrap()
    });

    fn pieces(texts: &[&str]) -> (Vec<String>, bool) {
        let mut owned: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let changed = REDACTOR.pieces(&mut owned.iter_mut().collect::<Vec<_>>());
        (owned, changed)
    }

    #[test]
    fn a_secret_that_spans_pieces_goes_whole() {
        for (texts, expected) in [
            (
                ["key sk-pr", "oj-q7ZtR012345", "6789abcdef.", ""],
                ["key [REDACTED]", "", ".", ""],
            ),
            (
                ["canary-", "value", "canary-value", "x"],
                ["[REDACTED]", "", "[REDACTED]", "x"],
            ),
            (
                ["a", "ca", "nary-value b canary", "-value"],
                ["a", "[REDACTED]", " b [REDACTED]", ""],
            ),
            // A part of a word is no key, wherever the word is cut.
            (
                ["di", "sk-proj-q7ZtR0123456789abcdef", "", "."],
                ["di", "sk-proj-q7ZtR0123456789abcdef", "", "."],
            ),
        ] {
            let (found, changed) = pieces(&texts);
            assert_eq!(found, expected);
            assert_eq!(changed, texts.as_slice() != expected.as_slice());
        }
    }

    #[test]
    fn every_cut_of_a_text_gives_the_same_text() {
        let text = format!("é {KEY} and canary-value, Bearer abcdefghij0123456789. {{\"x\":1}}");
        let whole = REDACTOR.text(&text).into_owned();
        assert_eq!(whole.matches(PLACEHOLDER).count(), 3, "{whole}");
        for first in 0..text.len() {
            for second in first..text.len() {
                if text.is_char_boundary(first) && text.is_char_boundary(second) {
                    let (found, _) = pieces(&[&text[..first], &text[first..second], &text[second..]]);
                    assert_eq!(found.concat(), whole);
                }
            }
        }
    }

    #[test]
    fn arguments_that_arrive_in_pieces_lose_members_by_name() {
        let (found, _) = pieces(&["{\"passw", "ord\":\"hun", "ter", "2\",\"user\":\"u\"}"]);
        assert_eq!(found.concat(), "{\"password\":\"[REDACTED]\",\"user\":\"u\"}");
    }

    #[test]
    fn payloads_of_a_stream_are_joined_by_place_and_index() {
        let payload = |index: u32, part: &str| {
            parse(&format!(
                r#"{{"id":"c1","choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"function":{{"arguments":"{part}"}}}}]}}}}]}}"#
            ))
            .unwrap()
        };
        let mut payloads = [
            payload(0, "canary"),
            payload(1, "canary"),
            payload(0, "-value"),
            payload(1, "-bird"),
        ];
        assert!(REDACTOR.stream(&mut payloads));
        let texts: Vec<String> = payloads.iter().map(compact).collect();
        assert!(texts[0].contains(r#""arguments":"[REDACTED]""#), "{}", texts[0]);
        assert!(texts[1].contains(r#""arguments":"canary""#));
        assert!(texts[2].contains(r#""arguments":"""#));
        assert!(texts[3].contains(r#""arguments":"-bird""#));
        assert!(!REDACTOR.stream(&mut payloads));
    }
}
