//! `source`: what answers instead of the cassette. The runtime reads the same text; here its mistakes have a place.

use quote::quote;
use syn::{Error, Result};

use crate::nearest::{list, nearest};
use crate::value::{Checked, Value, text};

const KINDS: [&str; 2] = ["frozen", "session"];

/// What may stand behind the path of a session script.
const OPTIONS: [&str; 3] = ["override", "child", "pace_ms"];

/// An hour.
const MOST_PACE_MS: u64 = 3_600_000;

/// The ceilings of frozen answers and the most that each may be.
const CEILINGS: [(&str, u64); 6] = [
    ("max_file_bytes", 8_000_000),
    ("max_entries", 10_000),
    ("max_responses", 1_024),
    ("max_result_bytes", 1_048_576),
    ("max_request_bytes", 1_000_000),
    ("max_calls", u64::MAX),
];

const SHAPE: &str =
    "`source` names a file of the fixture directory behind its kind: `source = \"frozen:answers.jsonl\"`";

/// `source`: a kind, a path, and options.
pub(crate) fn source(value: &Value) -> Checked {
    let text = text("source", value)?;
    let Some((kind, rest)) = text.split_once(':') else {
        let is_file = text.contains('.') && !text.contains(char::is_whitespace);
        return Err(match is_file {
            true => value.error(format_args!(
                "`source` lacks its kind: `source = \"frozen:{text}\"`"
            )),
            false => value.error(SHAPE),
        });
    };
    if !KINDS.contains(&kind) {
        return Err(value.error(match nearest(kind, &KINDS) {
            Some(known) => {
                format!("no source is called `{kind}`; did you mean `source = \"{known}:{rest}\"`?")
            }
            None => format!("no source is called `{kind}`; there are {}", list(&KINDS)),
        }));
    }
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    if path.is_empty() {
        return Err(value.error(SHAPE));
    }
    plain(path, value)?;
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match kind {
            "session" => set(option, value)?,
            _ => lower(option, value)?,
        }
    }
    Ok(Some(quote!(::core::option::Option::Some(#text))))
}

/// A path below the fixture directory.
fn plain(path: &str, value: &Value) -> Result<()> {
    let plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains('\0');
    if path.len() > 1024 || !path.split('/').all(plain) {
        return Err(value.error(
            "the path of `source` lies in the fixture directory: plain names with `/` between them, at most 1024 bytes",
        ));
    }
    Ok(())
}

/// One `name=value` behind the path of a session script.
fn set(option: &str, value: &Value) -> Result<()> {
    let (name, text) = option.split_once('=').unwrap_or((option, ""));
    if !OPTIONS.contains(&name) {
        return Err(value.error(match nearest(name, &OPTIONS) {
            Some(known) => format!("a session script has no option `{name}`; did you mean `{known}`?"),
            None => format!(
                "a session script has no option `{name}`; it has {}",
                list(&OPTIONS)
            ),
        }));
    }
    if name == "pace_ms" {
        return match text.parse::<u64>() {
            Ok(pace) if pace <= MOST_PACE_MS => Ok(()),
            _ => Err(value.error(format_args!(
                "`pace_ms` is a whole number from 0 to {MOST_PACE_MS}: `pace_ms=20`"
            ))),
        };
    }
    if text.is_empty() {
        return Err(value.error(format_args!(
            "`{name}` names a file of the fixture directory: `{name}=FILE`"
        )));
    }
    plain(text, value)
}

/// One `name=number` behind the path of frozen answers.
fn lower(ceiling: &str, value: &Value) -> Result<()> {
    let (name, number) = ceiling.split_once('=').unwrap_or((ceiling, ""));
    let names = CEILINGS.map(|(name, _)| name);
    let Some((_, most)) = CEILINGS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown(name, &names, value));
    };
    match number.parse::<u64>() {
        Ok(0) | Err(_) => Err(value.error(format_args!(
            "`{name}` is a number above 0: `{name}={}`",
            most.min(&40)
        ))),
        Ok(number) if number > *most => Err(value.error(format_args!(
            "`{name}` may be lowered and not raised; it is at most {most}"
        ))),
        Ok(_) => Ok(()),
    }
}

fn unknown(name: &str, names: &[&str], value: &Value) -> Error {
    value.error(match nearest(name, names) {
        Some(known) => format!("frozen answers have no ceiling `{name}`; did you mean `{known}`?"),
        None => format!(
            "frozen answers have no ceiling `{name}`; they have {}",
            list(names)
        ),
    })
}
