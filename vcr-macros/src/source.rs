//! `source`, `override_file`, `child_files`: what answers instead of the cassette. The runtime reads the same texts; here their
//! mistakes have a place.

use proc_macro2::Ident;
use quote::quote;
use syn::{Error, Result};

use crate::args::{chunks, combined};
use crate::nearest::{list, nearest};
use crate::value::{Checked, Kind, Value, text};

const KINDS: [&str; 2] = ["frozen", "session"];

/// What may stand behind the path of a session script.
const OPTIONS: [&str; 1] = ["pace_ms"];

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
    plain("source", path, value)?;
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match kind {
            "session" => set(option, value)?,
            _ => lower(option, value)?,
        }
    }
    Ok(Some(quote!(::core::option::Option::Some(#text))))
}

/// `override_file`: a document of the fixture directory.
pub(crate) fn override_file(value: &Value) -> Checked {
    let path = text("override_file", value)?;
    plain("override_file", path, value)?;
    Ok(Some(quote!(::core::option::Option::Some(#path))))
}

/// `child_files`: logs of the fixture directory; each bad path is reported on its own.
pub(crate) fn child_files(value: &Value) -> Checked {
    const SHAPE: &str = "`child_files` is a list of files, such as `child_files = [\"child.jsonl\"]`";
    let group = match &value.kind {
        Kind::List(group) => group,
        Kind::Text(text) => {
            return Err(value.error(format_args!(
                "`child_files` is a list: `child_files = [{text:?}]`"
            )));
        }
        Kind::Word(_) | Kind::Number(_) | Kind::Negative | Kind::Other => return Err(value.error(SHAPE)),
    };
    let (mut errors, mut paths) = (Vec::new(), Vec::new());
    for item in chunks(group.stream()) {
        let item = Value::new(item);
        match &item.kind {
            Kind::Text(path) => match plain("child_files", path, &item) {
                Ok(()) => paths.push(path.clone()),
                Err(error) => errors.push(error),
            },
            _ => errors.push(item.error("a file is a string literal, such as `\"child.jsonl\"`")),
        }
    }
    combined(errors)?;
    Ok(Some(quote!(&[#(#paths),*])))
}

/// The keys that name files, for what they say together.
#[derive(Default)]
pub(crate) struct Files {
    /// The kind of the source, where it could be read.
    source: Option<String>,
    /// A source that is no text is refused already; what depends on it is not judged.
    unclear: bool,
    override_file: Option<Ident>,
    child_files: Option<Ident>,
}

impl Files {
    pub(crate) fn note(&mut self, key: &str, name: &Ident, value: Option<&Value>) {
        match (key, value.map(|value| &value.kind)) {
            ("source", Some(Kind::Text(text))) => {
                let kind = text.split_once(':').map(|(kind, _)| kind.to_owned());
                self.unclear = !kind.as_deref().is_some_and(|kind| KINDS.contains(&kind));
                self.source = kind;
            }
            ("source", _) => self.unclear = true,
            ("override_file", _) => self.override_file = Some(name.clone()),
            ("child_files", _) => self.child_files = Some(name.clone()),
            _ => {}
        }
    }

    pub(crate) fn check(&self, errors: &mut Vec<Error>) {
        if self.unclear {
            return;
        }
        let source = self.source.as_deref();
        if let (Some(key), false) = (&self.child_files, source == Some("session")) {
            let message =
                "`child_files` are children of a session script: `source = \"session:parent.jsonl\"`";
            errors.push(Error::new_spanned(key, message));
        }
        if let (Some(key), Some("frozen")) = (&self.override_file, source) {
            let message = "`override_file` overrides a cassette or a session script; frozen answers have an `error` of their own";
            errors.push(Error::new_spanned(key, message));
        }
    }
}

/// A path below the fixture directory.
fn plain(key: &str, path: &str, value: &Value) -> Result<()> {
    let plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains('\0');
    if path.len() > 1024 || !path.split('/').all(plain) {
        return Err(value.error(format_args!(
            "the path of `{key}` lies in the fixture directory: plain names with `/` between them, at most 1024 bytes"
        )));
    }
    Ok(())
}

/// One `name=value` behind the path of a session script.
fn set(option: &str, value: &Value) -> Result<()> {
    let (name, text) = option.split_once('=').unwrap_or((option, ""));
    if !OPTIONS.contains(&name) {
        return Err(value.error(match (name, nearest(name, &OPTIONS)) {
            ("child", _) => {
                format!("the logs of children are a key of their own: `child_files = [{text:?}]`")
            }
            ("override", _) => {
                format!("an override document is a key of its own: `override_file = {text:?}`")
            }
            (_, Some(known)) => format!("a session script has no option `{name}`; did you mean `{known}`?"),
            (_, None) => format!(
                "a session script has no option `{name}`; it has {}",
                list(&OPTIONS)
            ),
        }));
    }
    match text.parse::<u64>() {
        Ok(pace) if pace <= MOST_PACE_MS => Ok(()),
        _ => Err(value.error(format_args!(
            "`pace_ms` is a whole number from 0 to {MOST_PACE_MS}: `pace_ms=20`"
        ))),
    }
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
