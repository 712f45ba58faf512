//! Parts of a prompt that differ from run to run: dates, times, UUIDs, absolute paths.

use std::collections::HashMap;
use std::ops::Range;

use super::compare::equivalent;
use super::diff::Change;
use super::hash::members;
use crate::json::Json;
use crate::model::{CanonicalRequest, RecordedRequest, is_absent};

/// What a volatile part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Volatile {
    /// `2031-04-05`, alone or with a time of day.
    Date,
    /// `14:05` or `14:05:59.123Z`.
    Time,
    /// The hyphenated form.
    Uuid,
    /// Of at least two steps, `/srv/app` or `C:\work\app`.
    Path,
}

/// What the requests differ in, such as `a date`, when they would be equal but for their volatile parts.
///
/// UUIDs keep their identity: two of them swapped are another request. `changes` is what [`diff`](super::diff::diff)
/// says of the two.
pub(crate) fn differs_only_in(
    changes: &[Change],
    recorded: &RecordedRequest,
    live: &CanonicalRequest,
) -> Option<&'static str> {
    let is_change = |change: &Change| matches!(change, Change::Changed { .. });
    if changes.is_empty() || !changes.iter().all(is_change) {
        return None;
    }
    let mut walk = Walk::default();
    let alike = recorded.model.as_ref().is_none_or(|model| *model == live.model)
        && recorded
            .protocol
            .as_ref()
            .is_none_or(|protocol| *protocol == live.protocol)
        && recorded
            .messages
            .as_ref()
            .is_none_or(|messages| walk.items(messages, &live.messages))
        && recorded.parameters.as_ref().is_none_or(|parameters| {
            members(parameters).into_iter().all(|(key, value)| {
                let other = live.parameters.get(key);
                is_absent(Some(value)) || other.is_some_and(|other| walk.values(value, other))
            })
        });
    if alike && walk.keeps_identities() {
        walk.name()
    } else {
        None
    }
}

/// The volatile parts that stand for each other in two documents of one shape.
#[derive(Default)]
struct Walk<'a> {
    uuids: Vec<(&'a str, &'a str)>,
    changed: Vec<Volatile>,
}

impl<'a> Walk<'a> {
    /// Whether the values are equal but for their volatile parts.
    fn values(&mut self, before: &'a Json, after: &'a Json) -> bool {
        match (before, after) {
            (Json::String(before), Json::String(after)) => self.texts(before, after),
            (Json::Array(before), Json::Array(after)) => self.items(before, after),
            (Json::Object(before), Json::Object(after)) => {
                let (before, after) = (members(before), members(after));
                before.len() == after.len()
                    && before
                        .iter()
                        .zip(&after)
                        .all(|(one, other)| one.0 == other.0 && self.values(one.1, other.1))
            }
            _ => equivalent(before, after),
        }
    }

    fn items(&mut self, before: &'a [Json], after: &'a [Json]) -> bool {
        before.len() == after.len()
            && before
                .iter()
                .zip(after)
                .all(|(one, other)| self.values(one, other))
    }

    fn texts(&mut self, before: &'a str, after: &'a str) -> bool {
        let (ones, others) = (find(before), find(after));
        if ones.len() != others.len() {
            return false;
        }
        let (mut from, mut other_from) = (0, 0);
        for ((kind, one), (other_kind, other)) in ones.into_iter().zip(others) {
            if kind != other_kind || before[from..one.start] != after[other_from..other.start] {
                return false;
            }
            (from, other_from) = (one.end, other.end);
            let (one, other) = (&before[one], &after[other]);
            if kind == Volatile::Uuid {
                self.uuids.push((one, other));
            }
            if one != other && !self.changed.contains(&kind) {
                self.changed.push(kind);
            }
        }
        before[from..] == after[other_from..]
    }

    /// Whether each UUID became one other, and none became another one of the recording.
    fn keeps_identities(&self) -> bool {
        let (mut there, mut back) = (HashMap::new(), HashMap::new());
        let consistent = self.uuids.iter().all(|(one, other)| {
            *there.entry(*one).or_insert(*other) == *other && *back.entry(*other).or_insert(*one) == *one
        });
        consistent
            && self
                .uuids
                .iter()
                .all(|(one, other)| one == other || !there.contains_key(other))
    }

    fn name(&self) -> Option<&'static str> {
        let has = |kind| self.changed.contains(&kind);
        let (date, time) = (has(Volatile::Date), has(Volatile::Time));
        Some(match (date || time, has(Volatile::Uuid), has(Volatile::Path)) {
            (false, false, false) => return None,
            (true, false, false) if date => "a date",
            (true, false, false) => "a time",
            (false, true, false) => "a UUID",
            (false, false, true) => "an absolute path",
            (true, true, false) => "dates and UUIDs",
            (true, false, true) => "dates and absolute paths",
            (false, true, true) => "UUIDs and absolute paths",
            (true, true, true) => "dates, UUIDs and absolute paths",
        })
    }
}

/// The volatile parts of a text, in order.
fn find(text: &str) -> Vec<(Volatile, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let word_before = at > 0 && is_word(bytes[at - 1]);
        match if word_before { None } else { volatile(bytes, at) } {
            Some((kind, length)) => {
                found.push((kind, at..at + length));
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What begins at `at`, where no word goes on, and its length.
fn volatile(text: &[u8], at: usize) -> Option<(Volatile, usize)> {
    let rest = &text[at..];
    let whole = |length: &usize| !rest.get(*length).copied().is_some_and(is_word);
    match rest[0] {
        b'/' => unix_path(text, at).map(|length| (Volatile::Path, length)),
        first if first.is_ascii_hexdigit() || first.is_ascii_alphabetic() => None
            .or_else(|| uuid(rest).filter(whole).map(|length| (Volatile::Uuid, length)))
            .or_else(|| date(rest).filter(whole).map(|length| (Volatile::Date, length)))
            .or_else(|| time(rest).filter(whole).map(|length| (Volatile::Time, length)))
            .or_else(|| windows_path(rest).map(|length| (Volatile::Path, length))),
        _ => None,
    }
}

/// Whether the text begins with that shape: `h` a hexadecimal digit, `d` a digit, anything else itself.
fn has_shape(text: &[u8], shape: &str) -> bool {
    text.len() >= shape.len()
        && text.iter().zip(shape.bytes()).all(|(byte, wanted)| match wanted {
            b'h' => byte.is_ascii_hexdigit(),
            b'd' => byte.is_ascii_digit(),
            other => *byte == other,
        })
}

/// Two digits as a number; the shape is known.
fn two(text: &[u8], at: usize) -> u8 {
    (text[at] - b'0') * 10 + (text[at + 1] - b'0')
}

fn uuid(text: &[u8]) -> Option<usize> {
    const SHAPE: &str = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
    has_shape(text, SHAPE).then_some(SHAPE.len())
}

fn date(text: &[u8]) -> Option<usize> {
    let is_date =
        has_shape(text, "dddd-dd-dd") && (1..=12).contains(&two(text, 5)) && (1..=31).contains(&two(text, 8));
    if !is_date {
        return None;
    }
    match text.get(10) {
        Some(b'T' | b't' | b' ') => Some(time(&text[11..]).map_or(10, |length| 11 + length)),
        _ => Some(10),
    }
}

fn time(text: &[u8]) -> Option<usize> {
    if !(has_shape(text, "dd:dd") && two(text, 0) < 24 && two(text, 3) < 60) {
        return None;
    }
    let mut length = 5;
    if has_shape(&text[length..], ":dd") {
        length += 3;
        if has_shape(&text[length..], ".d") {
            let digits = text[length + 1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            length += 1 + digits;
        }
    }
    Some(length + zone(&text[length..]))
}

fn zone(text: &[u8]) -> usize {
    match text.first() {
        Some(b'Z' | b'z') => 1,
        Some(b'+' | b'-') if has_shape(&text[1..], "dd:dd") => 6,
        Some(b'+' | b'-') if has_shape(&text[1..], "dddd") => 5,
        _ => 0,
    }
}

fn unix_path(text: &[u8], at: usize) -> Option<usize> {
    // After these a slash goes on with something: a URL, a fraction, a relative path, a closing tag.
    if at > 0
        && matches!(
            text[at - 1],
            b'/' | b'.' | b'-' | b'~' | b'<' | b')' | b']' | b'}' | 0x80..
        )
    {
        return None;
    }
    path_length(&text[at..], |byte| byte == b'/')
}

fn windows_path(text: &[u8]) -> Option<usize> {
    let is_drive = text[0].is_ascii_alphabetic() && text.get(1) == Some(&b':');
    let length = path_length(text.get(2..).filter(|_| is_drive)?, |byte| {
        matches!(byte, b'/' | b'\\')
    })?;
    Some(2 + length)
}

/// Two steps or more, each after a separator and not empty.
fn path_length(text: &[u8], is_separator: impl Fn(u8) -> bool) -> Option<usize> {
    let is_step = |byte: u8| is_word(byte) || byte >= 0x80 || b".-~+@%".contains(&byte);
    if !is_separator(*text.first()?) || !text.get(1).copied().is_some_and(is_step) {
        return None;
    }
    let mut length = text
        .iter()
        .take_while(|byte| is_step(**byte) || is_separator(**byte))
        .count();
    // The full stop of a sentence is no part of it.
    while text[length - 1] == b'.' {
        length -= 1;
    }
    let steps = text[..length]
        .split(|byte| is_separator(*byte))
        .filter(|step| !step.is_empty())
        .count();
    (steps >= 2).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::diff::diff;
    use crate::canon::testing::{recorded, request};
    use crate::json::escape_into;

    #[test]
    fn volatile_parts_are_found_where_they_stand() {
        for (text, expected) in [
            ("Today is 2031-04-05.", &[(Volatile::Date, "2031-04-05")][..]),
            (
                "at 2031-04-05T10:11:12.123+02:00,",
                &[(Volatile::Date, "2031-04-05T10:11:12.123+02:00")],
            ),
            (
                "2031-04-05 10:11Z 2031-04-05 x",
                &[
                    (Volatile::Date, "2031-04-05 10:11Z"),
                    (Volatile::Date, "2031-04-05"),
                ],
            ),
            (
                "(14:05) and 23:59:59",
                &[(Volatile::Time, "14:05"), (Volatile::Time, "23:59:59")],
            ),
            (
                "2031-13-05 2031-04-32 24:00 12:60 x12:30 12031-04-05 2031-04-056",
                &[],
            ),
            (
                "id=3f2b8c1e-1111-4a22-8b33-abcdefabcdef; 3f2b8c1e-1111-4a22-8b33-abcdefabcdef0",
                &[(Volatile::Uuid, "3f2b8c1e-1111-4a22-8b33-abcdefabcdef")],
            ),
            (
                "Dir /srv/u1/proj. \"/home/é/x y\"",
                &[(Volatile::Path, "/srv/u1/proj"), (Volatile::Path, "/home/é/x")],
            ),
            (
                r"in C:\work\app or D:/a/b",
                &[(Volatile::Path, r"C:\work\app"), (Volatile::Path, "D:/a/b")],
            ),
            (
                "https://host/a/b and/or 1/2 ./a/b a/b/c /help </div/x> ~/a/b é/a/b /",
                &[],
            ),
            ("오늘은 2031-04-05입니다", &[(Volatile::Date, "2031-04-05")]),
        ] {
            let found: Vec<_> = find(text)
                .into_iter()
                .map(|(kind, range)| (kind, &text[range]))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    fn hint(before: &str, after: &str) -> Option<&'static str> {
        let say = |text: &str| {
            let mut escaped = String::new();
            escape_into(text, &mut escaped);
            request(
                "m",
                &format!(r#"[{{"role":"system","content":["{escaped}"]}}]"#),
                r#"{"n":1,"o":null}"#,
            )
        };
        let (record, live) = (recorded(&say(before)), say(after));
        differs_only_in(&diff(&record, &live), &record, &live)
    }

    #[test]
    fn the_difference_is_named() {
        const A: &str = "3f2b8c1e-1111-4a22-8b33-abcdefabcdef";
        const B: &str = "99999999-1111-4a22-8b33-abcdefabcdef";
        const C: &str = "00000000-1111-4a22-8b33-abcdefabcdef";
        let prompt = |date: &str, id: &str, dir: &str| format!("Today is {date}. Session {id}. Dir {dir}");
        let before = prompt("2031-04-05", A, "/srv/u1/proj");
        for (after, expected) in [
            (prompt("2032-01-31", A, "/srv/u1/proj"), Some("a date")),
            (prompt("2031-04-05", B, "/srv/u1/proj"), Some("a UUID")),
            (prompt("2031-04-05", A, "/tmp/x"), Some("an absolute path")),
            (
                prompt("2031-04-06", B, "/tmp/x"),
                Some("dates, UUIDs and absolute paths"),
            ),
            (
                prompt("2031-04-06", A, "/tmp/x"),
                Some("dates and absolute paths"),
            ),
            (prompt("2031-04-05", A, "/srv/u1/proj"), None),
            (prompt("2031-04-06", A, "/srv/u1/proj") + "!", None),
            (prompt("soon", A, "/srv/u1/proj"), None),
        ] {
            assert_eq!(hint(&before, &after), expected, "{after}");
        }
        assert_eq!(hint("at 10:11", "at 10:12"), Some("a time"));
        assert_eq!(hint(&format!("{A} {B}"), &format!("{B} {A}")), None, "a swap");
        assert_eq!(
            hint(&format!("{A} {B}"), &format!("{C} {C}")),
            None,
            "one for two"
        );
        assert_eq!(
            hint(&format!("{A} {A}"), &format!("{B} {C}")),
            None,
            "two for one"
        );
        assert_eq!(
            hint(&format!("{A} {A} {B}"), &format!("{C} {C} {B}")),
            Some("a UUID")
        );
    }

    #[test]
    fn another_difference_beside_it_is_not_hidden() {
        let record = recorded(&request("m", r#"["2031-04-05"]"#, r#"{"n":1}"#));
        for (model, messages, parameters, expected) in [
            ("m", r#"["2031-04-06"]"#, r#"{"n":1.0}"#, Some("a date")),
            ("m", r#"["2031-04-06"]"#, r#"{"n":2}"#, None),
            ("m", r#"["2031-04-06"]"#, r#"{"n":1,"o":2}"#, None),
            ("m", r#"["2031-04-06","x"]"#, r#"{"n":1}"#, None),
            ("m-2031-04-05", r#"["2031-04-06"]"#, r#"{"n":1}"#, None),
        ] {
            let live = request(model, messages, parameters);
            assert_eq!(
                differs_only_in(&diff(&record, &live), &record, &live),
                expected,
                "{messages} {parameters}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[0-9a:/T.é🦀 -]{0,60}") {
            let mut end = 0;
            for (_, range) in find(&text) {
                proptest::prop_assert!(range.start >= end && text.get(range.clone()).is_some_and(|part| !part.is_empty()));
                end = range.end;
            }
        }
    }
}
