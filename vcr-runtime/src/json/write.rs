use std::fmt::Write as _;

use super::Json;
use super::scalar::next_special;

/// The document without white space.
pub(crate) fn compact(document: &Json) -> String {
    let mut out = String::with_capacity(128);
    compact_into(document, &mut out);
    out
}

/// The most numbers of a list that stand on lines of their own. More of them are a vector or a list of times, in which
/// nobody looks for one line: they share a line, so that a changed vector is one changed line.
const MAX_NUMBER_LINES: usize = 8;

/// The document as cassettes are written: two spaces, non-ASCII as is, long lists of numbers on one line, no final newline.
#[cfg(test)]
pub(crate) fn pretty(document: &Json) -> String {
    let mut out = String::with_capacity(256);
    pretty_at(document, 0, &mut out);
    out
}

/// Appends the document without white space.
pub(crate) fn compact_into(document: &Json, out: &mut String) {
    match document {
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                compact_into(item, out);
            }
            out.push(']');
        }
        Json::Object(object) => {
            out.push('{');
            for (index, (key, value)) in object.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote_into(key, out);
                out.push(':');
                compact_into(value, out);
            }
            out.push('}');
        }
        scalar => scalar_into(scalar, out),
    }
}

/// Appends the pretty form of `document`, whose first line stands at nesting `depth` already.
pub(crate) fn pretty_at(document: &Json, depth: usize, out: &mut String) {
    match document {
        Json::Array(items) if is_vector(items) => compact_into(document, out),
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ",\n" } else { "\n" });
                indent(depth + 1, out);
                pretty_at(item, depth + 1, out);
            }
            out.push('\n');
            indent(depth, out);
            out.push(']');
        }
        Json::Object(object) if !object.is_empty() => {
            out.push('{');
            for (index, (key, value)) in object.iter().enumerate() {
                out.push_str(if index > 0 { ",\n" } else { "\n" });
                indent(depth + 1, out);
                quote_into(key, out);
                out.push_str(": ");
                pretty_at(value, depth + 1, out);
            }
            out.push('\n');
            indent(depth, out);
            out.push('}');
        }
        Json::Array(_) => out.push_str("[]"),
        Json::Object(_) => out.push_str("{}"),
        scalar => scalar_into(scalar, out),
    }
}

fn is_vector(items: &[Json]) -> bool {
    items.len() > MAX_NUMBER_LINES && items.iter().all(|item| matches!(item, Json::Number(_)))
}

fn indent(depth: usize, out: &mut String) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn scalar_into(document: &Json, out: &mut String) {
    match document {
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{number}");
        }
        Json::String(text) => quote_into(text, out),
        Json::Null | Json::Array(_) | Json::Object(_) => out.push_str("null"),
    }
}

fn quote_into(text: &str, out: &mut String) {
    out.push('"');
    escape_into(text, out);
    out.push('"');
}

/// Appends `text` with the escapes that JSON requires and no others: `"`, `\`, and the controls below U+0020.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    // Most texts need no escape, and those that do need room for a few.
    out.reserve(text.len() + text.len() / 16 + 2);
    let mut written = 0;
    loop {
        let at = next_special(bytes, written);
        out.push_str(&text[written..at]);
        let Some(byte) = bytes.get(at) else {
            return;
        };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            control => {
                const HEX: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
                ];
                out.push_str("\\u00");
                out.push(HEX[usize::from(control >> 4)]);
                out.push(HEX[usize::from(control & 15)]);
            }
        }
        written = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn both_forms_reread_as_the_same_document() {
        let text = "{\"a\":[],\"b\":{},\"c\":[1,{\"d\":\"é\\u0000\\u001b\\u2028\\\"\\\\\"}],\"n\":-1.0e-07}";
        let document = parse(text).unwrap();
        assert_eq!(parse(&compact(&document)).unwrap(), document);
        assert_eq!(parse(&pretty(&document)).unwrap(), document);
        assert_eq!(
            pretty(&document),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": \"é\\u0000\\u001b\u{2028}\\\"\\\\\"\n    }\n  ],\n  \"n\": -1.0e-07\n}"
        );
    }

    #[test]
    fn a_vector_is_one_line_and_rereads_to_the_letter() {
        let numbers = |count: usize| vec!["-0.1e-2"; count].join(",");
        let document = parse(&format!(
            r#"{{"few":[{}],"many":[{}],"mixed":[{},"x"]}}"#,
            numbers(8),
            numbers(9),
            numbers(9)
        ))
        .unwrap();
        let text = pretty(&document);
        assert!(
            text.contains(&format!("  \"many\": [{}],\n", numbers(9))),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1 + 10 + 1 + 12 + 1);
        let reread = parse(&text).unwrap();
        assert_eq!(reread, document);
        assert_eq!(pretty(&reread), text);
    }
}
