use std::borrow::Cow;
use std::fmt;

use super::{Json, Number, Object};

/// What a document may not exceed. Cassettes and provider bodies are untrusted input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Nesting of arrays and objects.
    pub(crate) depth: usize,
    /// Values, members counted once more for their keys.
    pub(crate) nodes: usize,
    /// Refuse an object that names a key twice.
    pub(crate) unique_keys: bool,
    /// Refuse a number beyond the range of a double.
    pub(crate) finite_numbers: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 128,
            nodes: usize::MAX,
            unique_keys: false,
            finite_numbers: false,
        }
    }
}

/// Where and why a text is no JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The place in the document, `calls[2].usage`; empty at the root.
    pub(crate) path: String,
    pub(crate) message: &'static str,
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} at line {} column {}",
            self.message, self.line, self.column
        )?;
        if !self.path.is_empty() {
            write!(formatter, " (in `{}`)", self.path)?;
        }
        Ok(())
    }
}

/// Parses one document with the default limits.
pub(crate) fn parse(text: &str) -> Result<Json, JsonError> {
    parse_with(text, Limits::default())
}

/// Parses one document and nothing after it.
pub(crate) fn parse_with(text: &str, limits: Limits) -> Result<Json, JsonError> {
    let mut parser = Parser::new(text, limits);
    let document = parser.value()?;
    parser.end()?;
    Ok(document)
}

/// A pull parser over one text: build a value, skip it, or walk an object member by member.
pub(crate) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    depth: usize,
    nodes: usize,
    pub(super) limits: Limits,
    /// Room for strings with escapes.
    pub(super) scratch: String,
}

pub(super) const CUT: &str = "the document ends in the middle (was the file cut?)";

pub(super) type Parsed<T> = Result<T, JsonError>;

/// An error that learns on its way out where in the document it arose.
pub(crate) trait Nested: From<JsonError> {
    /// It arose in the value of this member.
    #[must_use]
    fn below_member(self, key: &str) -> Self;

    /// It arose in this element.
    #[must_use]
    fn below_item(self, index: usize) -> Self;
}

impl Nested for JsonError {
    #[cold]
    fn below_member(self, key: &str) -> Self {
        if self.path.is_empty() || self.path.starts_with('[') {
            below(self, key)
        } else {
            below(self, &format!("{key}."))
        }
    }

    #[cold]
    fn below_item(self, index: usize) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        below(self, &format!("[{index}]{joint}"))
    }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, limits: Limits) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            nodes: 0,
            limits,
            scratch: String::new(),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Where in the text the parser stands, in bytes.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Moves to the next byte that is no white space, and returns it.
    pub(crate) fn ahead(&mut self) -> Option<u8> {
        self.white_space();
        self.peek()
    }

    fn white_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[cold]
    pub(crate) fn error(&self, message: &'static str) -> JsonError {
        self.error_at(self.at, message)
    }

    #[cold]
    pub(super) fn error_at(&self, offset: usize, message: &'static str) -> JsonError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |index| index + 1);
        // Columns count characters: continuation bytes do not.
        let column = before[start..]
            .iter()
            .filter(|byte| **byte & 0xc0 != 0x80)
            .count()
            + 1;
        JsonError {
            line,
            column,
            path: String::new(),
            message,
        }
    }

    /// After the document: nothing but white space.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        self.white_space();
        match self.peek() {
            None => Ok(()),
            Some(0) => {
                Err(self.error("a NUL byte follows the document (was the file cut while it was written?)"))
            }
            Some(_) => Err(self.unexpected("something follows the end of the document")),
        }
    }

    pub(super) fn node(&mut self) -> Parsed<()> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(self.error("the document has too many values"));
        }
        Ok(())
    }

    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            return Err(self.error("the document is nested too deeply"));
        }
        self.at += 1;
        Ok(())
    }

    /// How many bytes of the text have been read.
    #[cfg(feature = "harness")]
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Parses the next value.
    pub(crate) fn value(&mut self) -> Parsed<Json> {
        self.white_space();
        self.node()?;
        match self.peek() {
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'{') => {
                let mut object = Object::new();
                self.members(|parser, key| {
                    object.0.push((key.into_owned(), parser.value()?));
                    Parsed::Ok(())
                })?;
                if self.limits.unique_keys {
                    self.unique(object.iter().map(|(key, _)| key.as_str()).collect())?;
                }
                Ok(Json::Object(object))
            }
            Some(b'[') => {
                let mut items = Vec::new();
                self.items(|parser, _| {
                    items.push(parser.value()?);
                    Parsed::Ok(())
                })?;
                Ok(Json::Array(items))
            }
            Some(b'-' | b'0'..=b'9') => Ok(Json::Number(Number::from_text(self.number()?))),
            _ => self.word(),
        }
    }

    /// Passes over the next value, checking its syntax, and returns its text.
    pub(crate) fn skip(&mut self) -> Parsed<&'a str> {
        self.white_space();
        let start = self.at;
        self.skip_value()?;
        Ok(&self.text[start..self.at])
    }

    fn skip_value(&mut self) -> Parsed<()> {
        self.white_space();
        self.node()?;
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'{') => self.skip_members(),
            Some(b'[') => self.items(|parser, _| parser.skip_value()),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            _ => self.word().map(drop),
        }
    }

    fn skip_members(&mut self) -> Parsed<()> {
        let mut keys: Vec<Cow<'a, str>> = Vec::new();
        self.enter()?;
        self.white_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            self.white_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("expected a member name in quotes"));
            }
            self.node()?;
            if self.limits.unique_keys {
                keys.push(self.text()?);
            } else {
                self.skip_string()?;
            }
            self.colon()?;
            self.skip_value()?;
            if !self.next_or(b'}', "expected `,` or `}`")? {
                self.depth -= 1;
                return self.unique(keys.iter().map(AsRef::as_ref).collect());
            }
        }
    }

    /// Walks the object that comes next; `member` must consume each value.
    pub(crate) fn members<E: Nested>(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.white_space();
        if self.peek() != Some(b'{') {
            return Err(self.unexpected("expected an object").into());
        }
        self.enter()?;
        self.white_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            self.white_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("expected a member name in quotes").into());
            }
            self.node()?;
            let key = self.text()?;
            self.colon()?;
            let name = key.clone();
            member(self, key).map_err(|error| error.below_member(&name))?;
            if !self.next_or(b'}', "expected `,` or `}`")? {
                self.depth -= 1;
                return Ok(());
            }
        }
    }

    /// Walks the array that comes next; `item` must consume each value.
    pub(crate) fn items<E: Nested>(
        &mut self,
        mut item: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        self.white_space();
        if self.peek() != Some(b'[') {
            return Err(self.unexpected("expected an array").into());
        }
        self.enter()?;
        self.white_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        let mut index = 0;
        loop {
            item(self, index).map_err(|error| error.below_item(index))?;
            index += 1;
            if !self.next_or(b']', "expected `,` or `]`")? {
                self.depth -= 1;
                return Ok(());
            }
        }
    }

    fn colon(&mut self) -> Parsed<()> {
        self.white_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("expected `:` after a member name"));
        }
        self.at += 1;
        Ok(())
    }

    /// After an element: true at a comma, false at `close`.
    fn next_or(&mut self, close: u8, message: &'static str) -> Parsed<bool> {
        self.white_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.unexpected(message)),
        }
    }

    fn unique(&self, mut keys: Vec<&str>) -> Parsed<()> {
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(()),
            Some(pair) => Err(below(self.error("the object names this key twice"), pair[0])),
        }
    }

    fn word(&mut self) -> Parsed<Json> {
        for (word, value) in [
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("null", Json::Null),
        ] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        let rest = &self.text[self.at..];
        let is_cut = !rest.is_empty()
            && ["true", "false", "null"]
                .iter()
                .any(|word| word.starts_with(rest));
        Err(if is_cut {
            self.error(CUT)
        } else {
            self.unexpected("expected a value")
        })
    }

    fn at_conflict_marker(&self) -> bool {
        let rest = &self.text[self.at..];
        ["<<<<<<<", "=======", ">>>>>>>"]
            .iter()
            .any(|marker| rest.starts_with(marker))
    }

    /// What stands here is not what was `expected`; the usual causes have sentences of their own.
    #[cold]
    fn unexpected(&self, expected: &'static str) -> JsonError {
        self.error(match self.peek() {
            None if self.text.trim().is_empty() => "the document is empty",
            None => CUT,
            Some(_) if self.at_conflict_marker() => "there is a merge-conflict marker",
            Some(_) => expected,
        })
    }
}

#[cold]
fn below(mut error: JsonError, segment: &str) -> JsonError {
    error.path.insert_str(0, segment);
    error
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
