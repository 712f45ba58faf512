use super::scalar::next_special;
use super::{Json, Object, Sink};

/// The document without white space.
pub(crate) fn compact(document: &Json) -> String {
    let mut out = Vec::with_capacity(128);
    compact_into(document, &mut out);
    // Made of texts, so it is one.
    String::from_utf8(out).unwrap_or_default()
}

/// The most numbers of a list that are spaced out. More of them are a vector or a list of times, in which nobody looks
/// for one number.
const MAX_SPACED_NUMBERS: usize = 8;

/// Texts of which no second room is taken while they are written.
const LARGE: usize = 64 << 10;

/// The columns that a line of [`fitted`] may take, but for its longest text.
const WIDTH: usize = 120;

/// Appends the document without white space.
pub(crate) fn compact_into(document: &Json, out: &mut impl Sink) {
    match document {
        Json::Array(items) => {
            out.put("[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.put(",");
                }
                compact_into(item, out);
            }
            out.put("]");
        }
        Json::Object(object) => {
            out.put("{");
            for (index, (key, value)) in object.iter().enumerate() {
                if index > 0 {
                    out.put(",");
                }
                quote_into(key, out);
                out.put(":");
                compact_into(value, out);
            }
            out.put("}");
        }
        scalar => scalar_into(scalar, out),
    }
}

/// Appends the document as one line: `{"a": 1, "b": [2, 3]}`.
pub(crate) fn line_into(document: &Json, out: &mut String) {
    match document {
        Json::Array(items) if is_vector(items) => compact_into(document, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                line_into(item, out);
            }
            out.push(']');
        }
        Json::Object(object) => {
            out.push('{');
            for (index, (key, value)) in object.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                quote_into(key, out);
                out.push_str(": ");
                line_into(value, out);
            }
            out.push('}');
        }
        scalar => scalar_into(scalar, out),
    }
}

/// Where a part of a document begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// How many objects and lists it stands in.
    depth: usize,
    column: usize,
}

/// Appends a part of a document: on one line where that is short, else one member a line. Its longest text does not count,
/// so a message is one line however long it is.
pub(crate) fn fitted(document: &Json, place: Place, out: &mut String) {
    let mut room = Room {
        left: WIDTH.saturating_sub(place.column),
        longest: 0,
    };
    if room.takes(document) {
        line_into(document, out);
    } else {
        block(document, place, out, |_, part, place, out| {
            fitted(part, place, out);
        });
    }
}

/// Appends a document with every member on a line of its own; its first line stands at nesting `depth` already.
#[cfg(feature = "harness")]
pub(crate) fn pretty_at(document: &Json, depth: usize, out: &mut String) {
    let place = Place {
        depth,
        column: 2 * depth,
    };
    block(document, place, out, |_, part, place, out| {
        pretty_at(part, place.depth, out);
    });
}

/// Appends an object or a list one member a line, each as `part` writes it by its name (empty in a list) and place.
pub(crate) fn block(
    document: &Json,
    place: Place,
    out: &mut String,
    part: impl Fn(&str, &Json, Place, &mut String),
) {
    let depth = place.depth + 1;
    let column = 2 * depth;
    let line = |first: bool, out: &mut String| {
        out.push_str(if first { "\n" } else { ",\n" });
        indent(depth, out);
    };
    let (open, close) = match document {
        Json::Array(items) if !items.is_empty() && !is_vector(items) => ('[', ']'),
        Json::Object(members) if !members.is_empty() => ('{', '}'),
        other => return line_into(other, out),
    };
    out.push(open);
    for (index, item) in document.as_array().into_iter().flatten().enumerate() {
        line(index == 0, out);
        part("", item, Place { depth, column }, out);
    }
    for (index, (name, value)) in document
        .as_object()
        .into_iter()
        .flat_map(Object::iter)
        .enumerate()
    {
        line(index == 0, out);
        quote_into(name, out);
        out.push_str(": ");
        let column = column + name.len() + 4;
        part(name, value, Place { depth, column }, out);
    }
    out.push('\n');
    indent(place.depth, out);
    out.push(close);
}

/// Whether a document is a short line; measured only as far as it may be.
struct Room {
    left: usize,
    /// Of the texts so far, which were not counted.
    longest: usize,
}

impl Room {
    fn takes(&mut self, document: &Json) -> bool {
        match document {
            Json::Array(items) => {
                let mut items = items.iter().enumerate();
                self.take(2) && items.all(|(at, item)| self.take(2 * at.min(1)) && self.takes(item))
            }
            Json::Object(object) => {
                let mut members = object.iter().enumerate();
                self.take(2)
                    && members.all(|(at, (key, value))| {
                        self.take(2 * at.min(1) + key.len() + 4) && self.takes(value)
                    })
            }
            Json::String(text) => {
                let counted = text.len().min(self.longest);
                self.longest = self.longest.max(text.len());
                self.take(counted + 2)
            }
            Json::Number(number) => self.take(number.columns()),
            Json::Bool(_) | Json::Null => self.take(4),
        }
    }

    fn take(&mut self, columns: usize) -> bool {
        let left = self.left.checked_sub(columns);
        self.left = left.unwrap_or_default();
        left.is_some()
    }
}

fn is_vector(items: &[Json]) -> bool {
    items.len() > MAX_SPACED_NUMBERS && items.iter().all(|item| matches!(item, Json::Number(_)))
}

fn indent(depth: usize, out: &mut String) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn scalar_into(document: &Json, out: &mut impl Sink) {
    match document {
        Json::Bool(true) => out.put("true"),
        Json::Bool(false) => out.put("false"),
        Json::Number(number) => number.write(out),
        Json::String(text) => quote_into(text, out),
        Json::Null | Json::Array(_) | Json::Object(_) => out.put("null"),
    }
}

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn quote_into(text: &str, out: &mut impl Sink) {
    out.put("\"");
    out.put_escaped(text);
    out.put("\"");
}

/// Appends `text` with the escapes that JSON requires and no others: `"`, `\`, and the controls below U+0020.
pub(crate) fn escape_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    if bytes.len() >= LARGE {
        // Growing to twice its room would take as much again as the text.
        out.reserve_exact(bytes.len() + bytes.len() / 8);
    } else {
        // Most texts need no escape, and those that do need room for a few.
        out.reserve(bytes.len() + bytes.len() / 16 + 2);
    }
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

    fn shown(text: &str) -> String {
        let document = parse(text).unwrap();
        let mut out = String::new();
        fitted(&document, Place::default(), &mut out);
        assert_eq!(parse(&out).unwrap(), document);
        assert_eq!(parse(&compact(&document)).unwrap(), document);
        out
    }

    #[test]
    fn what_is_short_is_one_line() {
        for (text, line) in [
            (
                r#"{"a":[],"b":{},"c":[1,{"d":"é\u0000\u001b\u2028\"\\"}],"n":-1.0e-07,"t":[true,null]}"#,
                "{\"a\": [], \"b\": {}, \"c\": [1, {\"d\": \"é\\u0000\\u001b\u{2028}\\\"\\\\\"}], \"n\": -1.0e-07, \"t\": [true, null]}",
            ),
            ("[]", "[]"),
            (r#""x""#, r#""x""#),
        ] {
            assert_eq!(shown(text), line);
        }
    }

    #[test]
    fn the_longest_text_does_not_count() {
        let text = "x".repeat(500);
        let line = format!(r#"{{"role": "user", "content": "{text}"}}"#);
        assert_eq!(shown(&line), line);
        let two = format!(r#"{{"content":"{text}","reasoning":"{text}"}}"#);
        assert_eq!(
            shown(&two),
            format!("{{\n  \"content\": \"{text}\",\n  \"reasoning\": \"{text}\"\n}}")
        );
    }

    #[test]
    fn what_is_not_short_is_a_line_a_member() {
        let item = r#"{"name": "a name", "value": 12345678901}"#;
        let list = |count: usize, between: &str| vec![item; count].join(between);
        // One of the names is not counted: 120 columns are left.
        let fits = format!("[{}]", list(3, ", "));
        assert_eq!(fits.len(), 120 + "a name".len());
        assert_eq!(shown(&fits), fits);
        assert_eq!(
            shown(&fits.replacen("12345678901", "123456789012", 1)),
            format!(
                "[\n  {}\n]",
                list(3, ",\n  ").replacen("12345678901", "123456789012", 1)
            )
        );
        assert_eq!(
            shown(&format!(r#"{{"list":{fits}}}"#)),
            format!("{{\n  \"list\": [\n    {}\n  ]\n}}", list(3, ",\n    "))
        );
    }

    #[test]
    fn a_vector_is_one_line_and_rereads_to_the_letter() {
        let numbers = |count: usize, between: &str| vec!["-0.1e-2"; count].join(between);
        let text = shown(&format!(
            r#"{{"few":[{}],"many":[[{}],[{}]],"mixed":[{},"x"]}}"#,
            numbers(8, ","),
            numbers(60, ","),
            numbers(9, ","),
            numbers(40, ",")
        ));
        let expected = format!(
            "{{\n  \"few\": [{}],\n  \"many\": [\n    [{}],\n    [{}]\n  ],\n  \"mixed\": [\n    {},\n    \"x\"\n  ]\n}}",
            numbers(8, ", "),
            numbers(60, ","),
            numbers(9, ","),
            numbers(40, ",\n    ")
        );
        assert_eq!(text, expected);
    }
}
