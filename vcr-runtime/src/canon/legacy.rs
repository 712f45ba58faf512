//! The file names that the seed's own recorder made up: an MD5 over Python's JSON text of the messages.

use std::fmt::Write as _;

use md5::{Digest, Md5};

use super::hash::{hex, members};
use crate::json::{Json, Number};

/// The id from which an unnamed cassette takes its name: 32 lower-case hexadecimal digits, the same for the same
/// invoker and messages. Its first eight digits go into the file name.
pub(crate) fn auto_trace_id(invoker: Option<&str>, messages: &[Json]) -> String {
    let messages = if messages.is_empty() {
        "empty".to_owned()
    } else {
        let mut text = String::new();
        array_into(messages, &mut text);
        md5_hex(&text)[..16].to_owned()
    };
    let invoker = invoker.map_or_else(|| "unknown_invoker".to_owned(), flatten_invoker);
    md5_hex(&format!("vcr_seed_{invoker}_auto_{messages}"))
}

/// The invoker as file names have it: the separators of module paths become `_`.
pub(crate) fn flatten_invoker(invoker: &str) -> String {
    invoker.replace("::", "_").replace('.', "_")
}

fn md5_hex(text: &str) -> String {
    hex(&Md5::digest(text.as_bytes()))
}

/// Appends what Python's `json.dumps(value, sort_keys=True)` prints for the value as `json.loads` reads it.
fn python_into(document: &Json, out: &mut String) {
    match document {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => python_number_into(number, out),
        Json::String(text) => python_string_into(text, out),
        Json::Array(items) => array_into(items, out),
        Json::Object(object) => {
            out.push('{');
            // Python sorts by code points, which is the order of the UTF-8 bytes.
            for (index, (key, value)) in members(object).into_iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                python_string_into(key, out);
                out.push_str(": ");
                python_into(value, out);
            }
            out.push('}');
        }
    }
}

fn array_into(items: &[Json], out: &mut String) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        python_into(item, out);
    }
    out.push(']');
}

fn python_string_into(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

fn python_number_into(number: &Number, out: &mut String) {
    let text = number.to_string();
    if !text.contains(['.', 'e', 'E']) {
        // An int keeps its digits, except that Python has no integer -0.
        out.push_str(if text == "-0" { "0" } else { &text });
        return;
    }
    let double = number.as_f64();
    if double.is_infinite() {
        out.push_str(if double < 0.0 { "-Infinity" } else { "Infinity" });
        return;
    }
    // Shortest digits as Python finds them; only the place of the point is another.
    let shortest = format!("{double:e}");
    let exponent: i32 = shortest
        .rsplit('e')
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = double.to_string();
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
        return;
    }
    let mantissa = shortest.split('e').next().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a String cannot fail.
    let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::testing::json;

    fn python(text: &str) -> String {
        let mut out = String::new();
        python_into(&json(text), &mut out);
        out
    }

    #[test]
    fn the_known_ids_come_out() {
        let messages = [json(r#"{"role":"user","content":"Hi"}"#)];
        assert_eq!(auto_trace_id(None, &messages), "ab6ed091085ecc9f893473efe5f65c0c");
        let mut text = String::new();
        array_into(&messages, &mut text);
        assert_eq!(&md5_hex(&text)[..16], "5b97f4a25d621607");
        assert_eq!(
            md5_hex(&format!(
                "vcr_seed_{}_soft_rule_intent",
                flatten_invoker("e2e.router.pytest")
            )),
            "6e129baa49171e1a4f8225c04285907b"
        );
        // From Python: hashlib.md5(b"vcr_seed_a_b_c_auto_empty").hexdigest().
        assert_eq!(
            auto_trace_id(Some("a::b.c"), &[]),
            "d20c547e832648a71685145aafe55e48"
        );
    }

    #[test]
    fn the_text_is_that_of_python() {
        // Each right side is the output of Python 3: json.dumps(json.loads(left), sort_keys=True).
        for (text, expected) in [
            (
                r#"{"b":1,"a":[true,null,"x"],"b":2}"#,
                r#"{"a": [true, null, "x"], "b": 2}"#,
            ),
            (r#"{}"#, r#"{}"#),
            (r#"[]"#, r#"[]"#),
            (
                r#"[1.0,1e5,1e15,1e16,123456789012345680.0,0.0001,0.00001,-1.0e-07,1.5e300,-0.0,-0,0.1,0.10000000000000001,5e-324,1e400,-1e400]"#,
                r#"[1.0, 100000.0, 1000000000000000.0, 1e+16, 1.2345678901234568e+17, 0.0001, 1e-05, -1e-07, 1.5e+300, -0.0, 0, 0.1, 0.1, 5e-324, Infinity, -Infinity]"#,
            ),
            (
                r#"[1e22,1.7976931348623157e308,9007199254740993,123456789012345678901234567890,2.5,100.0,9999999999999998.0,0.00012345]"#,
                r#"[1e+22, 1.7976931348623157e+308, 9007199254740993, 123456789012345678901234567890, 2.5, 100.0, 9999999999999998.0, 0.00012345]"#,
            ),
            (
                r#""\u00e9\ud83e\udd80\u007f\u0000\u001b\n\r\t\b\f\/\\\"""#,
                r#""\u00e9\ud83e\udd80\u007f\u0000\u001b\n\r\t\b\f/\\\"""#,
            ),
            (
                r#"{"\uff61":1,"\ud800\udc00":2,"a":3,"B":4}"#,
                r#"{"B": 4, "a": 3, "\uff61": 1, "\ud800\udc00": 2}"#,
            ),
        ] {
            assert_eq!(python(text), expected, "{text}");
        }
    }
}
