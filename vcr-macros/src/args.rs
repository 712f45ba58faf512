//! The arguments of the attribute: `key`, `key = value`, separated by commas; every mistake found in one go.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote;
use syn::Error;

use crate::Features;
use crate::names::{self, Refused, Use};
use crate::nearest::{list, nearest};
use crate::source::{self, Files};
use crate::value::{self, Checked, Kind, Value};

/// Every key, in the order in which messages list them.
pub(crate) const KEYS: [&str; 21] = [
    "scenario",
    "invoker",
    "filename",
    "source",
    "override_file",
    "child_files",
    "fixture_dir",
    "mode",
    "speed",
    "tick",
    "chaos",
    "trace",
    "include_raw",
    "matching",
    "ignore",
    "allow_unused",
    "private",
    "flavor",
    "worker_threads",
    "start_paused",
    "crate",
];

const MODES: [&str; 5] = ["env", "replay", "live", "auto", "new"];

const RECORD: &str = "recording is chosen by running with `VCR_MODE=record`, not in source: a committed `record` would \
     call the network on every run; leave `mode` out";

/// What the attribute says, checked.
#[derive(Default)]
pub(crate) struct Args {
    /// Fields of `Spec` with their values; only what is set.
    pub(crate) fields: Vec<(&'static str, TokenStream)>,
    /// The path of the runtime crate.
    pub(crate) krate: Option<TokenStream>,
    /// Keys that only make sense where there is a runtime, for the check against the function.
    pub(crate) runtime: Vec<Ident>,
}

/// One argument before its key is looked up.
struct Raw {
    key: Ident,
    value: Option<Value>,
}

/// Reads the arguments; what could be read is kept even where something else is wrong.
pub(crate) fn read(tokens: TokenStream, features: Features, errors: &mut Vec<Error>) -> Args {
    let mut args = Args::default();
    let mut seen: Vec<String> = Vec::new();
    let mut runtime = Runtime::default();
    let mut files = Files::default();
    for argument in split(tokens) {
        let raw = match argument {
            Ok(raw) => raw,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let name = raw.key.to_string();
        let Some(key) = KEYS.iter().copied().find(|key| *key == name) else {
            errors.push(unknown(&raw, &name));
            continue;
        };
        if seen.contains(&name) {
            errors.push(Error::new_spanned(
                &raw.key,
                format_args!("duplicate `vcr_test` argument `{name}`"),
            ));
            continue;
        }
        seen.push(name);
        files.note(key, &raw.key, raw.value.as_ref());
        if let Err(error) = apply(key, &raw, &mut args, &mut runtime) {
            errors.extend(error);
        }
    }
    runtime.check(features, errors);
    files.check(errors);
    if runtime.multi_thread == Some(true) {
        args.fields.push(("multi_thread", quote!(true)));
    }
    if let Some((_, count)) = &runtime.threads {
        args.fields
            .push(("worker_threads", quote!(::core::option::Option::Some(#count))));
    }
    if runtime.paused.is_some() {
        args.fields.push(("start_paused", quote!(true)));
    }
    args
}

fn apply(key: &'static str, raw: &Raw, args: &mut Args, runtime: &mut Runtime) -> Result<(), Error> {
    if matches!(key, "flavor" | "worker_threads" | "start_paused") {
        args.runtime.push(raw.key.clone());
        return runtime.apply(key, raw);
    }
    if matches!(key, "allow_unused" | "private") {
        if value::flag(key, raw.value.as_ref())? {
            args.fields.push((key, quote!(true)));
        }
        return Ok(());
    }
    let value = raw.required(key)?;
    let field = match key {
        "crate" => {
            args.krate = Some(value::krate(value)?);
            return Ok(());
        }
        "scenario" => name(key, Use::Scenario, value),
        "invoker" => name(key, Use::Invoker, value),
        "filename" => name(key, Use::Filename, value),
        "source" => source::source(value),
        "override_file" => source::override_file(value),
        "child_files" => source::child_files(value),
        "fixture_dir" => value::directory(value),
        "mode" => mode(value),
        "speed" => value::speed(value),
        "tick" => value::tick(value),
        "chaos" => value::chaos(value),
        "trace" => value::trace(value),
        "include_raw" => value::word(key, &["env", "auto", "true", "false"], value),
        "matching" => value::word(key, &["env", "sequential", "keyed", "order"], value),
        _ => ignore(value),
    }?;
    args.fields.extend(field.map(|field| (key, field)));
    Ok(())
}

impl Raw {
    fn required(&self, key: &str) -> Result<&Value, Error> {
        self.value
            .as_ref()
            .ok_or_else(|| Error::new_spanned(&self.key, format_args!("expected `{key} = <value>`")))
    }
}

/// The settings of the runtime, which depend on each other.
#[derive(Default)]
struct Runtime {
    multi_thread: Option<bool>,
    /// The value of `flavor`, on which a missing feature is reported.
    flavor: Option<TokenStream>,
    threads: Option<(Ident, usize)>,
    paused: Option<Ident>,
    /// A flavor that was not understood: what depends on it is not judged.
    unclear: bool,
}

impl Runtime {
    fn apply(&mut self, key: &str, raw: &Raw) -> Result<(), Error> {
        match key {
            "flavor" => {
                self.unclear = true;
                let value = raw.required(key)?;
                self.multi_thread = Some(value::flavor(value)?);
                self.flavor = Some(value.tokens().clone());
                self.unclear = false;
            }
            "worker_threads" => self.threads = Some((raw.key.clone(), value::threads(raw.required(key)?)?)),
            _ if value::flag(key, raw.value.as_ref())? => self.paused = Some(raw.key.clone()),
            _ => {}
        }
        Ok(())
    }

    fn check(&self, features: Features, errors: &mut Vec<Error>) {
        let multi_thread = self.multi_thread == Some(true);
        if let (true, false, Some(value)) = (multi_thread, features.multi_thread, &self.flavor) {
            errors.push(Error::new_spanned(
                value,
                "`flavor = \"multi_thread\"` needs the feature `multi-thread` of vcr-runtime",
            ));
        }
        if let (Some(key), false) = (&self.paused, features.paused_time) {
            errors.push(Error::new_spanned(
                key,
                "`start_paused` needs the feature `paused-time` of vcr-runtime",
            ));
        }
        if self.unclear {
            return;
        }
        if let (Some((key, count)), false) = (&self.threads, multi_thread) {
            errors.push(Error::new_spanned(
                key,
                format_args!(
                    "`worker_threads` needs several threads: \
                     `#[vcr_test(flavor = \"multi_thread\", worker_threads = {count})]`"
                ),
            ));
        }
        if let (Some(key), true) = (&self.paused, multi_thread) {
            errors.push(Error::new_spanned(
                key,
                "`start_paused` needs a single thread: leave `flavor = \"multi_thread\"` out",
            ));
        }
    }
}

fn unknown(raw: &Raw, name: &str) -> Error {
    let bare = raw.value.is_none();
    let message = match nearest(name, &KEYS) {
        _ if bare && name == "record" => RECORD.to_owned(),
        _ if bare && MODES.contains(&name) => format!("write `mode = {name}`"),
        _ if bare && matches!(name, "max" | "real") => format!("write `speed = {name}`"),
        _ if bare && matches!(name, "sequential" | "keyed" | "order") => format!("write `matching = {name}`"),
        _ if bare && matches!(name, "multi_thread" | "current_thread") => {
            format!("write `flavor = {name:?}`")
        }
        Some(key) => format!("unknown `vcr_test` argument `{name}`; did you mean `{key}`?"),
        None => format!(
            "unknown `vcr_test` argument `{name}`; expected one of {}",
            list(&KEYS)
        ),
    };
    Error::new_spanned(&raw.key, message)
}

fn mode(value: &Value) -> Checked {
    match &value.kind {
        Kind::Word(word) | Kind::Text(word) if word.eq_ignore_ascii_case("record") => {
            Err(value.error(RECORD))
        }
        _ => value::word("mode", &MODES, value),
    }
}

fn name(key: &str, purpose: Use, value: &Value) -> Checked {
    let text = value::text(key, value)?;
    names::check(text, purpose).map_err(|refused| {
        value.error(refusal(
            &format!("`{key}` cannot name a file: "),
            refused,
            &format!("{key} = "),
        ))
    })?;
    Ok(Some(quote!(::core::option::Option::Some(#text))))
}

fn refusal(what: &str, refused: Refused, before: &str) -> String {
    match refused.corrected {
        Some(corrected) => format!("{what}{}; write `{before}{corrected:?}`", refused.reason),
        None => format!("{what}{}", refused.reason),
    }
}

/// `ignore`: a list of JSON pointers; each bad one is reported on its own.
fn ignore(value: &Value) -> Checked {
    const SHAPE: &str = "`ignore` is a list of JSON pointers, such as `ignore = [\"/metadata/run_id\"]`";
    let group = match &value.kind {
        Kind::List(group) => group,
        Kind::Text(text) => {
            return Err(value.error(format_args!("`ignore` is a list: `ignore = [{text:?}]`")));
        }
        Kind::Word(_) | Kind::Number(_) | Kind::Negative | Kind::Other => return Err(value.error(SHAPE)),
    };
    let mut errors = Vec::new();
    let mut pointers = Vec::new();
    for item in chunks(group.stream()) {
        let item = Value::new(item);
        match &item.kind {
            Kind::Text(text) => match names::check_pointer(text) {
                Ok(()) => pointers.push(text.clone()),
                Err(refused) => errors.push(item.error(refusal("", refused, ""))),
            },
            _ => {
                errors.push(item.error("a JSON pointer is a string literal, such as `\"/metadata/run_id\"`"));
            }
        }
    }
    combined(errors)?;
    Ok(Some(quote!(&[#(#pointers),*])))
}

/// All errors as one.
pub(crate) fn combined(errors: Vec<Error>) -> Result<(), Error> {
    match errors.into_iter().reduce(|mut all, error| {
        all.combine(error);
        all
    }) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The arguments apart. Where a comma is missing, the next word still begins a new argument.
fn split(tokens: TokenStream) -> Vec<Result<Raw, Error>> {
    let mut found = Vec::new();
    for mut chunk in chunks(tokens) {
        while let Some(at) = missing_comma(&chunk) {
            let next = chunk.split_off(at);
            let message = format!("expected `,` before `{}`", next[0]);
            found.push(argument(chunk));
            found.push(Err(Error::new(next[0].span(), message)));
            chunk = next;
        }
        found.push(argument(chunk));
    }
    found
}

/// What stands between top-level commas; a comma inside brackets is inside a token tree.
pub(crate) fn chunks(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens
        .split(|token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ','))
        .filter(|chunk| !chunk.is_empty())
        .map(<[TokenTree]>::to_vec)
        .collect()
}

/// A word after a complete value (or after a bare key) begins another argument.
fn missing_comma(chunk: &[TokenTree]) -> Option<usize> {
    let pairs = chunk.windows(2);
    let at = pairs
        .into_iter()
        .position(|pair| !matches!(pair[0], TokenTree::Punct(_)) && matches!(pair[1], TokenTree::Ident(_)))?;
    Some(at + 1)
}

fn argument(chunk: Vec<TokenTree>) -> Result<Raw, Error> {
    let mut tokens = chunk.into_iter();
    let key = match tokens.next() {
        Some(TokenTree::Ident(key)) => key,
        Some(TokenTree::Literal(literal)) if literal.to_string().starts_with('"') => {
            let message = format!("expected an argument name; a scenario is written `scenario = {literal}`");
            return Err(Error::new(literal.span(), message));
        }
        other => {
            let span = other.map_or_else(Span::call_site, |token| token.span());
            return Err(Error::new(span, "expected an argument name"));
        }
    };
    match tokens.next() {
        None => return Ok(Raw { key, value: None }),
        Some(TokenTree::Punct(equals)) if equals.as_char() == '=' => {}
        Some(other) => {
            return Err(Error::new(
                other.span(),
                format_args!("expected `{key} = <value>`"),
            ));
        }
    }
    let value: Vec<TokenTree> = tokens.collect();
    if value.is_empty() {
        return Err(Error::new_spanned(
            &key,
            format_args!("expected `{key} = <value>`"),
        ));
    }
    Ok(Raw {
        value: Some(Value::new(value)),
        key,
    })
}
