//! The right-hand side of one argument: what was written, and the checks that each key applies to it.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Error, Lit, Result};

use crate::nearest::{list, nearest};

/// What stands to the right of `=`.
pub(crate) struct Value {
    pub(crate) kind: Kind,
    tokens: TokenStream,
}

/// The shape of a value. No expression is ever evaluated: a setting is a literal or a word.
pub(crate) enum Kind {
    Text(String),
    Word(String),
    Number(Number),
    /// `-` and a number.
    Negative,
    List(Group),
    Other,
}

/// A number literal without its underscores.
pub(crate) struct Number {
    pub(crate) digits: String,
    pub(crate) suffix: String,
    pub(crate) integer: bool,
}

impl Value {
    pub(crate) fn new(tokens: Vec<TokenTree>) -> Self {
        let tokens = ungroup(tokens);
        Self {
            kind: kind(&tokens),
            tokens: tokens.into_iter().collect(),
        }
    }

    pub(crate) fn tokens(&self) -> &TokenStream {
        &self.tokens
    }

    /// An error that underlines the whole value.
    pub(crate) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::new_spanned(&self.tokens, message)
    }
}

/// A value that came through a `macro_rules!` fragment is wrapped in an invisible group.
fn ungroup(mut tokens: Vec<TokenTree>) -> Vec<TokenTree> {
    while let [TokenTree::Group(group)] = tokens.as_slice() {
        if group.delimiter() != Delimiter::None {
            break;
        }
        tokens = group.stream().into_iter().collect();
    }
    tokens
}

fn kind(tokens: &[TokenTree]) -> Kind {
    match tokens {
        [TokenTree::Ident(word)] => Kind::Word(word.to_string()),
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::Bracket => Kind::List(group.clone()),
        [TokenTree::Punct(minus), TokenTree::Literal(_)] if minus.as_char() == '-' => Kind::Negative,
        [TokenTree::Literal(literal)] => match Lit::new(literal.clone()) {
            Lit::Str(text) if text.suffix().is_empty() => Kind::Text(text.value()),
            Lit::Int(number) => Kind::Number(Number {
                digits: number.base10_digits().to_owned(),
                suffix: number.suffix().to_owned(),
                integer: true,
            }),
            Lit::Float(number) => Kind::Number(Number {
                digits: number.base10_digits().to_owned(),
                suffix: number.suffix().to_owned(),
                integer: false,
            }),
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

/// What a key makes of its value: the expression for its field of `Spec`, or nothing where the attribute leaves the
/// choice to the environment.
pub(crate) type Checked = Result<Option<TokenStream>>;

fn set(text: &str) -> Checked {
    Ok(Some(quote!(::core::option::Option::Some(#text))))
}

/// One word of a fixed set; `env` sets nothing.
pub(crate) fn word(key: &str, allowed: &[&str], value: &Value) -> Checked {
    word_of(
        key,
        allowed,
        &format!("`{key}` is one of {}", list(allowed)),
        value,
    )
}

fn word_of(key: &str, allowed: &[&str], shapes: &str, value: &Value) -> Checked {
    let (written, quoted) = match &value.kind {
        Kind::Word(word) => (word, false),
        Kind::Text(text) => (text, true),
        Kind::Number(_) | Kind::Negative | Kind::List(_) | Kind::Other => return Err(value.error(shapes)),
    };
    let message = match nearest(written, allowed) {
        Some("env") if !quoted && written == "env" => return Ok(None),
        Some(word) if !quoted && written == word => return set(word),
        Some(word) if quoted && written.eq_ignore_ascii_case(word) => {
            format!("write the bare word: `{key} = {word}`")
        }
        Some(word) => format!("{shapes}; did you mean `{key} = {word}`?"),
        None => shapes.to_owned(),
    };
    Err(value.error(message))
}

/// Whether the choice is left to the environment.
fn is_env(value: &Value) -> bool {
    matches!(&value.kind, Kind::Word(word) if word == "env")
}

/// A string literal.
pub(crate) fn text<'a>(key: &str, value: &'a Value) -> Result<&'a str> {
    match &value.kind {
        Kind::Text(text) => Ok(text),
        Kind::Word(word) => Err(value.error(format_args!(
            "`{key}` must be a string literal: `{key} = {word:?}`"
        ))),
        Kind::Number(_) | Kind::Negative | Kind::List(_) | Kind::Other => {
            Err(value.error(format_args!("`{key}` must be a string literal")))
        }
    }
}

/// `true`, `false`, or nothing at all, which is `true`.
pub(crate) fn flag(key: &str, value: Option<&Value>) -> Result<bool> {
    let Some(value) = value else { return Ok(true) };
    match &value.kind {
        Kind::Word(word) if word == "true" => Ok(true),
        Kind::Word(word) if word == "false" => Ok(false),
        Kind::Text(text) if matches!(text.as_str(), "true" | "false") => {
            Err(value.error(format_args!("write it without quotes: `{key} = {text}`")))
        }
        _ => Err(value.error(format_args!(
            "`{key}` is `true` or `false`; `{key}` alone means `true`"
        ))),
    }
}

/// A finite number that is not negative.
fn number(text: &str) -> Option<f64> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
}

/// The longest latency or window that the runtime accepts: a day.
const LONGEST_MS: f64 = 86_400_000.0;

/// A number of milliseconds, or nothing where the value is something else.
fn milliseconds(key: &str, value: &Value) -> Result<Option<f64>> {
    match &value.kind {
        Kind::Number(found) if found.suffix.is_empty() => number(&found.digits)
            .map(|number| within_a_day(key, number, value))
            .transpose(),
        Kind::Number(found) => Err(value.error(format_args!(
            "`{key}` counts milliseconds and takes no unit: `{key} = {}`",
            found.digits
        ))),
        Kind::Negative => Err(value.error(format_args!("`{key}` must not be negative"))),
        Kind::Text(text) => match number(text) {
            Some(number) => Err(value.error(format_args!("write it without quotes: `{key} = {number}`"))),
            None => Ok(None),
        },
        Kind::Word(_) | Kind::List(_) | Kind::Other => Ok(None),
    }
}

fn within_a_day(key: &str, number: f64, value: &Value) -> Result<f64> {
    if number <= LONGEST_MS {
        return Ok(number);
    }
    Err(value.error(format_args!(
        "`{key}` is at most a day: {LONGEST_MS} milliseconds"
    )))
}

/// `tick`: `env` or milliseconds.
pub(crate) fn tick(value: &Value) -> Checked {
    if is_env(value) {
        return Ok(None);
    }
    match milliseconds("tick", value)? {
        Some(number) => set(&number.to_string()),
        None => Err(value.error("`tick` is `env` or a number of milliseconds, such as `tick = 100`")),
    }
}

/// `chaos`: `env`, milliseconds, or a range of them in a string.
pub(crate) fn chaos(value: &Value) -> Checked {
    const SHAPES: &str =
        "`chaos` is `env`, a number of milliseconds, or a range such as `chaos = \"50..200\"`";
    if is_env(value) {
        return Ok(None);
    }
    if let Some(number) = milliseconds("chaos", value)? {
        return set(&number.to_string());
    }
    let range = match &value.kind {
        Kind::Text(text) => text.split_once(".."),
        Kind::Word(_) | Kind::Number(_) | Kind::Negative | Kind::List(_) | Kind::Other => None,
    };
    match range.map(|(low, high)| (number(low), number(high))) {
        Some((Some(low), Some(high))) if low <= high => {
            set(&format!("{low}..{}", within_a_day("chaos", high, value)?))
        }
        Some((Some(low), Some(high))) => Err(value.error(format_args!(
            "the range is upside down: `chaos = \"{high}..{low}\"`"
        ))),
        _ => Err(value.error(SHAPES)),
    }
}

/// `speed`: `env`, `max`, `real`, or a factor above zero. The factor travels as `4x`, the spelling of `VCR_SPEED`.
pub(crate) fn speed(value: &Value) -> Checked {
    const SHAPES: &str = "`speed` is one of `env`, `max`, `real`, or a factor such as `speed = \"4x\"`";
    const WORDS: [&str; 3] = ["env", "max", "real"];
    let factor = match &value.kind {
        Kind::Word(_) => return word_of("speed", &WORDS, SHAPES, value),
        Kind::Text(text) if WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) => {
            return word_of("speed", &WORDS, SHAPES, value);
        }
        Kind::Text(text) => text.strip_suffix('x').unwrap_or(text),
        Kind::Number(found) if matches!(found.suffix.as_str(), "" | "x") => &found.digits,
        Kind::Negative => "0",
        Kind::Number(_) | Kind::List(_) | Kind::Other => return Err(value.error(SHAPES)),
    };
    match number(factor) {
        Some(0.0) => {
            Err(value.error("a factor of `speed` is above zero; as fast as possible is `speed = max`"))
        }
        Some(factor) if (0.001..=1e6).contains(&factor) => set(&format!("{factor}x")),
        Some(_) => Err(value.error("a factor of `speed` lies between `0.001x` and `1000000x`")),
        None => Err(value.error(SHAPES)),
    }
}

/// `trace`: take ids, each alone or behind its scenario, separated by commas.
pub(crate) fn trace(value: &Value) -> Checked {
    if is_env(value) {
        return Ok(None);
    }
    let text = text("trace", value)?;
    let mut items = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .peekable();
    let whole = |item: &str| match item.split_once(':') {
        Some((scenario, id)) => !scenario.trim().is_empty() && !id.trim().is_empty(),
        None => true,
    };
    if items.peek().is_some() && items.all(whole) {
        return set(text);
    }
    Err(value
        .error("`trace` names takes: `\"id\"`, `\"scenario:id\"`, or several of them separated by commas"))
}

/// `fixture_dir`: any directory that can be named at all.
pub(crate) fn directory(value: &Value) -> Checked {
    if is_env(value) {
        return Ok(None);
    }
    let text = text("fixture_dir", value)?;
    if text.trim().is_empty() || text.contains(char::is_control) {
        return Err(
            value.error("`fixture_dir` must name a directory, such as `fixture_dir = \"tests/fixtures\"`")
        );
    }
    set(text)
}

/// `flavor`: whether the runtime has several threads.
pub(crate) fn flavor(value: &Value) -> Result<bool> {
    const FLAVORS: [&str; 2] = ["current_thread", "multi_thread"];
    const SHAPES: &str = "`flavor` is `\"current_thread\"` or `\"multi_thread\"`";
    let (written, quoted) = match &value.kind {
        Kind::Text(text) => (text, true),
        Kind::Word(word) => (word, false),
        Kind::Number(_) | Kind::Negative | Kind::List(_) | Kind::Other => return Err(value.error(SHAPES)),
    };
    match nearest(written, &FLAVORS) {
        Some(known) if quoted && known == written => Ok(known == "multi_thread"),
        Some(known) if known == written => Err(value.error(format_args!(
            "`flavor` must be a string literal: `flavor = {known:?}`"
        ))),
        Some(known) => Err(value.error(format_args!("{SHAPES}; did you mean `flavor = {known:?}`?"))),
        None => Err(value.error(SHAPES)),
    }
}

/// `worker_threads`: a whole number above zero.
pub(crate) fn threads(value: &Value) -> Result<usize> {
    let wrong =
        || value.error("`worker_threads` must be a whole number above zero, such as `worker_threads = 2`");
    match &value.kind {
        Kind::Number(number) if number.integer && matches!(number.suffix.as_str(), "" | "usize") => {
            match number.digits.parse() {
                Ok(0) | Err(_) => Err(wrong()),
                Ok(count) => Ok(count),
            }
        }
        _ => Err(wrong()),
    }
}

/// `crate`: a path, bare or in a string.
///
/// Its tokens keep their place but take the hygiene of the expansion: in the reader's own code the full path would
/// trip `unused_qualifications`.
pub(crate) fn krate(value: &Value) -> Result<TokenStream> {
    const SHAPE: &str = "`crate` is the path of the runtime crate, such as `crate = ::my::vcr`";
    let path = match &value.kind {
        Kind::Text(text) => syn::parse_str::<ModPath>(text).map(|path| {
            path.0
                .into_iter()
                .map(|token| respan(token, Some(value)))
                .collect()
        }),
        _ => syn::parse2::<ModPath>(value.tokens.clone())
            .map(|path| path.0.into_iter().map(|token| respan(token, None)).collect()),
    };
    path.map_err(|_| value.error(SHAPE))
}

struct ModPath(TokenStream);

impl syn::parse::Parse for ModPath {
    fn parse(input: syn::parse::ParseStream<'_>) -> Result<Self> {
        let path = input.call(syn::Path::parse_mod_style)?;
        Ok(Self(quote!(#path)))
    }
}

fn respan(mut token: TokenTree, source: Option<&Value>) -> TokenTree {
    // `$crate` is resolved by its own span.
    if matches!(&token, TokenTree::Ident(ident) if *ident == "$crate") {
        return token;
    }
    let place = match source {
        Some(value) => value
            .tokens
            .clone()
            .into_iter()
            .next()
            .map_or_else(Span::call_site, |first| first.span()),
        None => token.span(),
    };
    token.set_span(Span::call_site().located_at(place));
    token
}
