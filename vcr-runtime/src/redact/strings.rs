use std::ops::Range;

use super::names::is_opaque_type;
use crate::json::next_special;

/// A string of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    /// Between the quotes, escapes as they are.
    pub(super) range: Range<usize>,
    /// The member that it is the value of, directly or as an element of an array.
    pub(super) member: Option<&'a str>,
    /// Whether it is a member's name itself.
    pub(super) is_name: bool,
    /// Whether it is the `data` of an encrypted block.
    pub(super) is_opaque: bool,
}

#[derive(Default)]
struct Level<'a> {
    member: Option<&'a str>,
    is_array: bool,
    /// `data` members, until the level's `type` is known.
    data: Vec<Item<'a>>,
    is_opaque: bool,
}

/// Calls `visit` for every string of a JSON text; `data` members come after the rest of their object. The text may be cut
/// anywhere: arguments of tools can be, and nothing here fails.
pub(super) fn strings<'a>(text: &'a str, mut visit: impl FnMut(Item<'a>)) {
    let bytes = text.as_bytes();
    let mut levels = vec![Level::default()];
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        match byte {
            b'{' | b'[' => {
                let member = levels
                    .last()
                    .and_then(|level| level.member)
                    .filter(|_| byte == b'[');
                levels.push(Level {
                    member,
                    is_array: byte == b'[',
                    ..Level::default()
                });
            }
            // The outermost level stays: a text that was cut at its beginning closes what it never opened.
            b'}' | b']' if levels.len() > 1 => close(&mut levels, &mut visit),
            b'"' => {
                let range = at..end_of_string(bytes, at);
                at = (range.end + 1).min(bytes.len());
                if let Some(level) = levels.last_mut() {
                    string(level, text, range, &mut visit);
                }
            }
            _ => {}
        }
    }
    while !levels.is_empty() {
        close(&mut levels, &mut visit);
    }
}

fn close<'a>(levels: &mut Vec<Level<'a>>, visit: &mut impl FnMut(Item<'a>)) {
    if let Some(level) = levels.pop() {
        for item in level.data {
            visit(Item {
                is_opaque: level.is_opaque,
                ..item
            });
        }
    }
}

fn string<'a>(level: &mut Level<'a>, text: &'a str, range: Range<usize>, visit: &mut impl FnMut(Item<'a>)) {
    let after = text[range.end..].strip_prefix('"').unwrap_or_default();
    let is_name = !level.is_array && after.trim_start_matches([' ', '\t', '\r', '\n']).starts_with(':');
    if is_name {
        level.member = text.get(range.clone());
    } else if level.member == Some("type") {
        level.is_opaque |= is_opaque_type(&text[range.clone()]);
    }
    let item = Item {
        member: level.member.filter(|_| !is_name),
        range,
        is_name,
        is_opaque: false,
    };
    if item.member == Some("data") {
        level.data.push(item);
    } else {
        visit(item);
    }
}

/// The place of the closing quote, or the end of the text.
fn end_of_string(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        at = next_special(bytes, at);
        match bytes.get(at) {
            Some(b'"') | None => return at,
            Some(b'\\') => at += 2,
            // Elsewhere than in a JSON document.
            Some(_) => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<String> {
        let mut seen = Vec::new();
        strings(text, |item| {
            let mark = match (item.is_name, item.is_opaque) {
                (true, _) => "name ",
                (_, true) => "opaque ",
                _ => "",
            };
            let member = item.member.map_or(String::new(), |member| format!("{member}="));
            seen.push(format!("{mark}{member}{}", &text[item.range]));
        });
        seen
    }

    #[test]
    fn members_arrays_and_nesting() {
        assert_eq!(
            seen(r#"{"a" : "x", "b": ["y", {"c": 1, "d": "z\\"}, ["w"]], "e": "q\\"}"#),
            [
                "name a", "a=x", "name b", "b=y", "name c", "name d", r"d=z\\", "b=w", "name e", r"e=q\\"
            ]
        );
    }

    #[test]
    fn data_of_encrypted_blocks_is_opaque_wherever_the_type_stands() {
        for text in [
            r#"{"type":"redacted_thinking","data":"x"}"#,
            r#"{"data":"x","type":"redacted_thinking"}"#,
            r#"[{"data":"x","index":1,"type":"reasoning.encrypted"}]"#,
        ] {
            assert!(seen(text).contains(&"opaque data=x".to_owned()), "{text}");
        }
        let text = r#"{"type":"redacted_thinking","inner":{"data":"x","type":"image"}}"#;
        assert!(seen(text).contains(&"data=x".to_owned()));
    }

    #[test]
    fn cut_texts_are_read_as_far_as_they_go() {
        assert_eq!(seen(r#"{"a":"x"#), ["name a", "a=x"]);
        assert_eq!(seen(r#"1}]}, {"a":"x"}"#), ["name a", "a=x"]);
        assert_eq!(seen("{\"a\":\"é\\"), ["name a", "a=é\\"]);
        assert_eq!(seen("no json"), [""; 0]);
    }
}
