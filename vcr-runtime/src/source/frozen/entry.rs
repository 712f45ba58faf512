//! One line of the file: the grammar of an entry, its rules in a fixed order.

use super::reason::Reason;
use crate::config::Ceilings;
use crate::json::{JsonError, Limits, Parser, compact};

/// What a line may hold; it is untrusted.
const STRICT: Limits = Limits {
    depth: 64,
    nodes: 100_000,
    unique_keys: true,
    finite_numbers: true,
};

/// The bytes of a request's hash.
pub(super) type Key = [u8; 32];

/// A line that keeps all the rules. Its answers are where they are, not parsed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// Where in the line each answer begins.
    pub(super) starts: Vec<usize>,
}

/// The members of an entry, each as it is written.
#[derive(Default)]
struct Members<'a> {
    version: Option<&'a str>,
    hash: Option<String>,
    has_hash: bool,
    response: Option<(usize, &'a str)>,
    responses: Option<(usize, &'a str)>,
    unknown: bool,
}

/// Reads one line.
pub(super) fn read(line: &str, ceilings: &Ceilings) -> Result<Entry, Reason> {
    let mut parser = Parser::new(line, STRICT);
    let whole = parser
        .skip()
        .and_then(|_| parser.end())
        .map_err(|_| Reason::InvalidJson);
    whole?;
    if !line.trim_start().starts_with('{') {
        return Err(Reason::EntryNotAnObject);
    }
    let members = members(line).map_err(|_| Reason::InvalidJson)?;
    if members.unknown {
        return Err(Reason::UnknownEntryKey);
    }
    if members.version != Some("1") {
        return Err(Reason::SchemaVersionInvalid);
    }
    let key = members.hash.as_deref().filter(|_| members.has_hash).and_then(key);
    let key = key.ok_or(Reason::RequestHashInvalid)?;
    let answers = match (members.response, members.responses) {
        (Some(_), Some(_)) => return Err(Reason::ResponseAmbiguous),
        (None, None) => return Err(Reason::ResponseMissing),
        (Some(one), None) => vec![one],
        (None, Some(list)) => elements(list, ceilings.responses).ok_or(Reason::ResponsesInvalid)?,
    };
    if !answers.iter().all(|(_, text)| text.starts_with('{')) {
        return Err(Reason::ResponsesInvalid);
    }
    if !answers.iter().all(|(_, text)| fits(text, ceilings.result)) {
        return Err(Reason::ResponseTooLarge);
    }
    let starts = answers.into_iter().map(|(start, _)| start).collect();
    Ok(Entry { key, starts })
}

fn members(line: &str) -> Result<Members<'_>, JsonError> {
    let mut found = Members::default();
    let mut parser = Parser::new(line, Limits::default());
    parser.members(|parser, name| {
        match name.as_ref() {
            "schema_version" => found.version = Some(parser.skip()?),
            "request_hash" => {
                found.has_hash = true;
                found.hash = parser.value()?.as_str().map(str::to_owned);
            }
            "response" => found.response = Some(placed(parser)?),
            "responses" => found.responses = Some(placed(parser)?),
            _ => {
                found.unknown = true;
                parser.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// The next value's text and where it begins.
fn placed<'a>(parser: &mut Parser<'a>) -> Result<(usize, &'a str), JsonError> {
    parser.ahead();
    let start = parser.position();
    Ok((start, parser.skip()?))
}

/// The elements of a list that is not empty and not longer than `most`.
fn elements((start, text): (usize, &str), most: usize) -> Option<Vec<(usize, &str)>> {
    let mut elements = Vec::new();
    let mut parser = Parser::new(text, Limits::default());
    parser
        .items(|parser, _| {
            let (at, element) = placed(parser)?;
            if elements.len() <= most {
                elements.push((start + at, element));
            }
            Ok::<_, JsonError>(())
        })
        .ok()?;
    (1..=most).contains(&elements.len()).then_some(elements)
}

/// Whether an answer's compact form is within the ceiling; it is never longer than the text as it stands.
fn fits(text: &str, ceiling: usize) -> bool {
    text.len() <= ceiling
        || crate::json::parse(text).is_ok_and(|document| compact(&document).len() <= ceiling)
}

/// The bytes of `sha256:` and 64 lower-case hexadecimal digits.
pub(super) fn key(text: &str) -> Option<Key> {
    let digits = text.strip_prefix("sha256:")?.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HASH: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn read(line: &str) -> Result<Entry, Reason> {
        super::read(&line.replace("$H", HASH), &Ceilings::default())
    }

    #[test]
    fn an_entry_has_one_answer_or_several() {
        let one = read("{\"schema_version\":1,\"request_hash\":\"$H\",\"response\":{}}").unwrap();
        assert_eq!(
            (one.key[..3].to_vec(), one.starts.len()),
            (vec![0x01, 0x23, 0x45], 1)
        );
        let line = " { \"responses\" : [ {\"a\":1} ,{}] , \"request_hash\":\"$H\",\"schema_version\": 1 }\r";
        let several = read(line).unwrap();
        let line = line.replace("$H", HASH);
        let texts: Vec<&str> = several.starts.iter().map(|start| &line[*start..][..2]).collect();
        assert_eq!(texts, ["{\"", "{}"]);
    }

    #[test]
    fn each_rule_has_its_reason_in_the_order_of_the_rules() {
        // Every line breaks its own rule and all the rules behind it that it can.
        for (line, reason) in [
            ("{\"x\":1,\"x\":2}", Reason::InvalidJson),
            ("{\"x\":}", Reason::InvalidJson),
            ("{} {}", Reason::InvalidJson),
            ("{\"schema_version\":1e999}", Reason::InvalidJson),
            ("[]", Reason::EntryNotAnObject),
            ("\"x\"", Reason::EntryNotAnObject),
            ("1", Reason::EntryNotAnObject),
            ("{\"x\":1,\"schema_version\":2}", Reason::UnknownEntryKey),
            ("{}", Reason::SchemaVersionInvalid),
            (
                "{\"schema_version\":1.0,\"request_hash\":1}",
                Reason::SchemaVersionInvalid,
            ),
            ("{\"schema_version\":\"1\"}", Reason::SchemaVersionInvalid),
            ("{\"schema_version\":1}", Reason::RequestHashInvalid),
            (
                "{\"schema_version\":1,\"request_hash\":1,\"response\":1,\"responses\":1}",
                Reason::RequestHashInvalid,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H0\"}",
                Reason::RequestHashInvalid,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H\",\"response\":1,\"responses\":1}",
                Reason::ResponseAmbiguous,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H\",\"response\":null,\"responses\":null}",
                Reason::ResponseAmbiguous,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H\"}",
                Reason::ResponseMissing,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H\",\"response\":[{}]}",
                Reason::ResponsesInvalid,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H\",\"responses\":{}}",
                Reason::ResponsesInvalid,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H\",\"responses\":[]}",
                Reason::ResponsesInvalid,
            ),
            (
                "{\"schema_version\":1,\"request_hash\":\"$H\",\"responses\":[{},1]}",
                Reason::ResponsesInvalid,
            ),
        ] {
            assert_eq!(read(line), Err(reason), "{line}");
        }
        for hash in [
            HASH.to_uppercase(),
            HASH.replace('a', "A"),
            HASH.replace("sha256:", ""),
        ] {
            assert_eq!(key(&hash), None, "{hash}");
        }
    }

    #[test]
    fn each_ceiling_is_reached_and_not_passed() {
        let entry = |answers: &str| format!("{{\"schema_version\":1,\"request_hash\":\"$H\",{answers}}}");
        let list = |count: usize| entry(&format!("\"responses\":[{}]", vec!["{}"; count].join(",")));
        assert_eq!(read(&list(1_024)).unwrap().starts.len(), 1_024);
        assert_eq!(read(&list(1_025)), Err(Reason::ResponsesInvalid));
        // 8 bytes around the text; white space does not count.
        let answer = |length: usize| {
            let text = "x".repeat(length - 8);
            entry(&format!("\"response\": {{ \"a\" : \"{text}\" }}"))
        };
        assert!(read(&answer(1_048_576)).is_ok());
        assert_eq!(read(&answer(1_048_577)), Err(Reason::ResponseTooLarge));
        let nested = |depth: usize| {
            let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
            entry(&format!("\"response\":{{\"a\":{open}{close}}}"))
        };
        assert!(read(&nested(64)).is_ok());
        assert_eq!(read(&nested(65)), Err(Reason::InvalidJson));
        assert_eq!(read(&nested(100_000)), Err(Reason::InvalidJson));
        // The entry, its three keys, two of their values, the answer, its key and the list are 9 nodes.
        let values = |count: usize| {
            entry(&format!(
                "\"response\":{{\"a\":[{}]}}",
                vec!["1"; count - 9].join(",")
            ))
        };
        assert!(read(&values(100_000)).is_ok());
        assert_eq!(read(&values(100_001)), Err(Reason::InvalidJson));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in "[\\PC\\x00{}\\[\\]\":,1\\\\ ]{0,60}", cut in 0_usize..200) {
            let good = format!("{{\"schema_version\":1,\"request_hash\":\"{HASH}\",\"responses\":[{{}},{{\"é\":1}}]}}");
            let cut = (0..=cut.min(good.len())).rev().find(|at| good.is_char_boundary(*at)).unwrap_or(0);
            for line in [line.clone(), format!("{}{line}", &good[..cut]), format!("{line}{}", &good[cut..])] {
                if let Ok(entry) = super::read(&line, &Ceilings::default()) {
                    for start in entry.starts {
                        let is_object = line[start..].starts_with('{');
                        prop_assert!(is_object);
                    }
                }
            }
        }
    }

    #[test]
    fn a_lowered_ceiling_holds() {
        let ceilings = Ceilings {
            responses: 1,
            result: 5,
            ..Ceilings::default()
        };
        let read = |answers: &str| {
            let line = format!("{{\"schema_version\":1,\"request_hash\":\"{HASH}\",{answers}}}");
            super::read(&line, &ceilings).map(|entry| entry.starts.len())
        };
        assert_eq!(read("\"responses\":[{\"\":1}]"), Err(Reason::ResponseTooLarge));
        assert_eq!(read("\"responses\":[{}]"), Ok(1));
        assert_eq!(read("\"responses\":[{},{}]"), Err(Reason::ResponsesInvalid));
    }
}
