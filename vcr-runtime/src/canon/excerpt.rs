//! Values as a line of a report has room for them.

use crate::json::{Json, Object, escape_into};

/// About how many characters a value may take.
const WIDTH: usize = 80;
/// How many characters of agreement stand around a difference.
const AROUND: usize = 24;
/// How many characters a member has inside a shortened object.
const INSIDE: usize = 30;
/// More numbers than this are an embedding or tokens; they mean nothing to a reader.
pub(super) const MAX_NUMBERS: usize = 16;

/// One value: scalars as JSON, long strings and containers cut.
pub(super) fn short(document: &Json) -> String {
    short_within(document, WIDTH)
}

/// Two different values; of long strings the part around their first difference.
pub(super) fn pair(before: &Json, after: &Json) -> (String, String) {
    match (before, after) {
        (Json::String(before), Json::String(after)) => text_pair(before, after),
        _ => (short(before), short(after)),
    }
}

/// Two different strings.
pub(super) fn text_pair(before: &str, after: &str) -> (String, String) {
    if fits(before, WIDTH) && fits(after, WIDTH) {
        return (quoted("", before, ""), quoted("", after, ""));
    }
    let prefix = common_prefix(before, after);
    let suffix = common_suffix(&before[prefix..], &after[prefix..]);
    let start = window_start(before, prefix);
    let window = |text: &str| {
        // The agreement before the difference is the same in both, so both windows start at one place.
        let end = forward(text, text.len() - suffix, AROUND).min(forward(text, start, WIDTH));
        let (left, right) = (mark(start > 0), mark(end < text.len()));
        quoted(left, &text[start..end], right)
    };
    (window(before), window(after))
}

fn mark(cut: bool) -> &'static str {
    if cut { "…" } else { "" }
}

/// Some characters before the difference, from the start of a word where there is one.
fn window_start(text: &str, difference: usize) -> usize {
    let start = text[..difference]
        .char_indices()
        .rev()
        .nth(AROUND - 1)
        .map_or(0, |(at, _)| at);
    if start == 0 {
        return 0;
    }
    text[start..difference]
        .char_indices()
        .find(|(_, character)| character.is_whitespace())
        .map_or(start, |(at, character)| start + at + character.len_utf8())
}

/// `count` characters after `from`.
fn forward(text: &str, from: usize, count: usize) -> usize {
    text[from..]
        .char_indices()
        .nth(count)
        .map_or(text.len(), |(at, _)| from + at)
}

/// Bytes that are compared at once: a slice comparison is fast even in an unoptimised build.
const BLOCK: usize = 64;

/// Bytes of the common start, never inside a character.
pub(super) fn common_prefix(a: &str, b: &str) -> usize {
    let (one, other) = (a.as_bytes(), b.as_bytes());
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let start = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one[start..].iter().zip(&other[start..]);
    let mut length = start + rest.take_while(|(one, other)| one == other).count();
    while !a.is_char_boundary(length) {
        length -= 1;
    }
    length
}

/// Bytes of the common end, never inside a character.
pub(super) fn common_suffix(a: &str, b: &str) -> usize {
    let (one, other) = (a.as_bytes(), b.as_bytes());
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK));
    let start = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let (one, other) = (&one[..one.len() - start], &other[..other.len() - start]);
    let rest = one.iter().rev().zip(other.iter().rev());
    let mut length = start + rest.take_while(|(one, other)| one == other).count();
    while !a.is_char_boundary(a.len() - length) {
        length -= 1;
    }
    length
}

fn short_within(document: &Json, width: usize) -> String {
    let mut whole = Bounded {
        out: String::new(),
        room: width,
    };
    if !is_vector(document) && whole.value(document).is_some() {
        return whole.out;
    }
    match document {
        Json::String(text) => quoted("", &text[..forward(text, 0, width - 1)], "…"),
        Json::Array(items) => array_mark(items),
        Json::Object(object) if width > INSIDE => short_object(object),
        Json::Object(_) => "{…}".to_owned(),
        // A number of many digits.
        other => {
            let text = crate::json::compact(other);
            format!("{}…", &text[..forward(&text, 0, width - 1)])
        }
    }
}

fn array_mark(items: &[Json]) -> String {
    let plural = if items.len() == 1 { "" } else { "s" };
    format!("[… {} item{plural}]", items.len())
}

fn short_object(object: &Object) -> String {
    let mut out = String::from("{");
    for (index, (key, value)) in object.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let key = short_within(&Json::String(key[..forward(key, 0, INSIDE)].to_owned()), WIDTH);
        let member = format!("{comma}{key}:{}", short_within(value, INSIDE));
        if out.chars().count() + member.chars().count() > WIDTH {
            out.push_str(comma);
            out.push('…');
            break;
        }
        out.push_str(&member);
    }
    out.push('}');
    out
}

/// Whether it is a list of numbers too long to print.
pub(super) fn is_vector(document: &Json) -> bool {
    document.as_array().is_some_and(|items| {
        items.len() > MAX_NUMBERS && items.iter().all(|item| matches!(item, Json::Number(_)))
    })
}

fn fits(text: &str, width: usize) -> bool {
    forward(text, 0, width) == text.len()
}

fn quoted(left: &str, text: &str, right: &str) -> String {
    let mut out = format!("\"{left}");
    escape_into(text, &mut out);
    out.push_str(right);
    out.push('"');
    out
}

/// Writes compact JSON and gives up when it has used up its room, whatever the size of the document.
struct Bounded {
    out: String,
    room: usize,
}

impl Bounded {
    fn push(&mut self, text: &str) -> Option<()> {
        // A character has at most four bytes: most texts without room need not be counted.
        if text.len() > self.room.saturating_mul(4) {
            return None;
        }
        self.room = self.room.checked_sub(text.chars().count())?;
        self.out.push_str(text);
        Some(())
    }

    fn text(&mut self, text: &str) -> Option<()> {
        if !fits(text, self.room) {
            return None;
        }
        self.push(&quoted("", text, ""))
    }

    fn value(&mut self, document: &Json) -> Option<()> {
        match document {
            Json::String(text) => self.text(text),
            Json::Array(items) => {
                self.push("[")?;
                for (index, item) in items.iter().enumerate() {
                    self.push(if index > 0 { "," } else { "" })?;
                    self.value(item)?;
                }
                self.push("]")
            }
            Json::Object(object) => {
                self.push("{")?;
                for (index, (key, value)) in object.iter().enumerate() {
                    self.push(if index > 0 { "," } else { "" })?;
                    self.text(key)?;
                    self.push(":")?;
                    self.value(value)?;
                }
                self.push("}")
            }
            scalar => self.push(&crate::json::compact(scalar)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::testing::json;

    #[test]
    fn short_values_stand_whole_and_long_ones_are_cut() {
        for (text, expected) in [
            ("0.70", "0.70"),
            ("null", "null"),
            (r#""a\n\"é""#, r#""a\n\"é""#),
            (r#"{"a":[1,{"b":"c"}]}"#, r#"{"a":[1,{"b":"c"}]}"#),
            ("[]", "[]"),
        ] {
            assert_eq!(short(&json(text)), expected);
        }
        let numbers = |count: usize| Json::Array((0..count).map(|_| Json::from(7_u64)).collect());
        assert_eq!(short(&numbers(17)), "[… 17 items]");
        assert_eq!(short(&numbers(16)), "[7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7]");
        assert_eq!(short(&Json::Array(vec!["y".repeat(100).into()])), "[… 1 item]");
        assert_eq!(short(&"é".repeat(500).into()), format!("\"{}…\"", "é".repeat(79)));
        assert_eq!(short(&json(&"7".repeat(500))), format!("{}…", "7".repeat(79)));
        let message = json(&format!(
            r#"{{"role":"system","content":"{}","blocks":[{}0],"more":{{"deep":"{}"}}}}"#,
            "You are a helpful assistant. ".repeat(50),
            "0,".repeat(1535),
            "z".repeat(70)
        ));
        assert_eq!(
            short(&message),
            r#"{"role":"system","content":"You are a helpful assistant. …",…}"#
        );
        assert_eq!(
            short(&json(&format!(
                r#"{{"vector":[{}0],"deep":{{"a":"{}"}}}}"#,
                "0,".repeat(1535),
                "z".repeat(70)
            ))),
            r#"{"vector":[… 1536 items],"deep":{…}}"#
        );
    }

    #[test]
    fn long_strings_show_their_first_difference() {
        let filler = "Answer in one word. ".repeat(100);
        let pair = |a: String, b: String| text_pair(&a, &b);
        assert_eq!(
            pair(
                format!("{filler}What is the capital of Norway?"),
                format!("{filler}What is the capital of Sweden?")
            ),
            (
                r#""…What is the capital of Norway?""#.to_owned(),
                r#""…What is the capital of Sweden?""#.to_owned()
            )
        );
        assert_eq!(
            pair(format!("A {filler}"), format!("B {filler}")),
            (
                r#""A Answer in one word. Ans…""#.to_owned(),
                r#""B Answer in one word. Ans…""#.to_owned()
            )
        );
        assert_eq!(
            pair(filler.clone(), format!("{filler}!")).1,
            r#""…Answer in one word. !""#
        );
        assert_eq!(
            pair("What is the capital of Norway?".to_owned(), "Hi".to_owned()),
            (
                r#""What is the capital of Norway?""#.to_owned(),
                r#""Hi""#.to_owned()
            )
        );
    }

    proptest::proptest! {
        #[test]
        fn excerpts_are_short_and_different(
            start in "[é🦀漢a ]{0,150}", a in "[é🦀漢漣a]{0,150}", b in "[é🦀漢漣a]{0,150}", end in "[é🦀漢a ]{0,150}"
        ) {
            let (one, two) = (format!("{start}{a}{end}"), format!("{start}{b}{end}"));
            proptest::prop_assume!(one != two);
            let (before, after) = text_pair(&one, &two);
            proptest::prop_assert_ne!(&before, &after);
            let (prefix, suffix) = (common_prefix(&one, &two), common_suffix(&one, &two));
            proptest::prop_assert!(prefix >= start.len() && one[..prefix] == two[..prefix]);
            proptest::prop_assert_ne!(one[prefix..].chars().next(), two[prefix..].chars().next());
            let (one_end, two_end) = (one.len() - suffix, two.len() - suffix);
            proptest::prop_assert!(suffix >= end.len() && one[one_end..] == two[two_end..]);
            proptest::prop_assert_ne!(one[..one_end].chars().last(), two[..two_end].chars().last());
            for text in [before, after] {
                proptest::prop_assert!(text.chars().count() <= WIDTH + 4, "{}", text);
            }
        }
    }
}
