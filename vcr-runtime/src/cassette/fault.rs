//! What can be wrong with a cassette's text, and the members of its schema in their simplest forms.

use std::borrow::Cow;

use crate::json::{Json, JsonError, Nested, Object, Parser};

/// Why a text is no cassette.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is no JSON.
    Syntax(JsonError),
    /// A member is not what the schema says.
    Wrong(Wrong),
}

/// A member that is not what the schema says; the path grows from the inside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Innermost segment first.
    pub(crate) path: Vec<Segment>,
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Key(String),
    Index(usize),
}

pub(super) type Read<T> = Result<T, Fault>;

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self::Wrong(Wrong {
            path: Vec::new(),
            message: message.into(),
        })
    }

    pub(super) fn expected(what: &str, found: &Json) -> Self {
        Self::new(format!("expected {what}, found {}", found.kind()))
    }

    pub(super) fn missing(member: &str) -> Self {
        Self::new(format!("the member `{member}` is missing"))
    }

    pub(super) fn below(self, key: &str) -> Self {
        self.below_member(key)
    }
}

impl From<JsonError> for Fault {
    fn from(error: JsonError) -> Self {
        Self::Syntax(error)
    }
}

impl Nested for Fault {
    #[cold]
    fn below_member(self, key: &str) -> Self {
        match self {
            Self::Syntax(error) => Self::Syntax(error.below_member(key)),
            Self::Wrong(mut wrong) => {
                wrong.path.push(Segment::Key(key.to_owned()));
                Self::Wrong(wrong)
            }
        }
    }

    #[cold]
    fn below_item(self, index: usize) -> Self {
        match self {
            Self::Syntax(error) => Self::Syntax(error.below_item(index)),
            Self::Wrong(mut wrong) => {
                wrong.path.push(Segment::Index(index));
                Self::Wrong(wrong)
            }
        }
    }
}

impl Wrong {
    /// `traces.ab.calls[2].usage`.
    pub(crate) fn path_text(&self) -> String {
        let mut text = String::new();
        for segment in self.path.iter().rev() {
            match segment {
                Segment::Key(key) if text.is_empty() => text.push_str(key),
                Segment::Key(key) => {
                    text.push('.');
                    text.push_str(key);
                }
                Segment::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

/// The next value, read by `read`; an explicit `null` counts as absent.
pub(super) fn optional<'a, T>(
    parser: &mut Parser<'a>,
    read: impl FnOnce(&mut Parser<'a>) -> Read<T>,
) -> Read<Option<T>> {
    if parser.ahead() == Some(b'n') {
        parser.value()?;
        return Ok(None);
    }
    read(parser).map(Some)
}

pub(super) fn value(parser: &mut Parser<'_>) -> Read<Json> {
    Ok(parser.value()?)
}

pub(super) fn object(parser: &mut Parser<'_>) -> Read<Object> {
    match parser.value()? {
        Json::Object(object) => Ok(object),
        other => Err(Fault::expected("an object", &other)),
    }
}

/// Walks an object; anything else is a mismatch.
pub(super) fn members<'a>(
    parser: &mut Parser<'a>,
    member: impl FnMut(&mut Parser<'a>, Cow<'a, str>) -> Read<()>,
) -> Read<()> {
    if parser.ahead() != Some(b'{') {
        return Err(Fault::expected("an object", &parser.value()?));
    }
    parser.members(member)
}

/// Walks an array; anything else is a mismatch.
pub(super) fn items<'a>(
    parser: &mut Parser<'a>,
    item: impl FnMut(&mut Parser<'a>, usize) -> Read<()>,
) -> Read<()> {
    if parser.ahead() != Some(b'[') {
        return Err(Fault::expected("an array", &parser.value()?));
    }
    parser.items(item)
}

pub(super) fn list<'a, T>(
    parser: &mut Parser<'a>,
    read: impl Fn(&mut Parser<'a>) -> Read<T>,
) -> Read<Vec<T>> {
    let mut list = Vec::new();
    items(parser, |parser, _| {
        list.push(read(parser)?);
        Ok(())
    })?;
    Ok(list)
}

pub(super) fn text<'a>(parser: &mut Parser<'a>) -> Read<Cow<'a, str>> {
    if parser.ahead() != Some(b'"') {
        return Err(Fault::expected("a string", &parser.value()?));
    }
    Ok(parser.text()?)
}

/// Appends the next string to `out`.
pub(super) fn text_into(parser: &mut Parser<'_>, out: &mut String) -> Read<()> {
    if parser.ahead() != Some(b'"') {
        return Err(Fault::expected("a string", &parser.value()?));
    }
    Ok(parser.text_into(out)?)
}

pub(super) fn string(parser: &mut Parser<'_>) -> Read<String> {
    text(parser).map(Cow::into_owned)
}

pub(super) fn flag(parser: &mut Parser<'_>) -> Read<bool> {
    let value = parser.value()?;
    value
        .as_bool()
        .ok_or_else(|| Fault::expected("true or false", &value))
}

/// A whole number that fits.
pub(super) fn whole<T: TryFrom<u64>>(value: &Json) -> Option<T> {
    value.as_u64().and_then(|number| T::try_from(number).ok())
}

/// Milliseconds to whole microseconds. A year is more than any call takes and keeps sums from overflowing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
pub(super) fn micros(parser: &mut Parser<'_>) -> Read<u64> {
    const YEAR_MS: f64 = 366.0 * 86_400_000.0;
    if !matches!(parser.ahead(), Some(b'-' | b'0'..=b'9')) {
        return Err(Fault::expected("a number of milliseconds", &parser.value()?));
    }
    let text = parser.number()?;
    if let Some(micros) = usual_micros(text) {
        return Ok(micros);
    }
    // A JSON number always parses; one too large is an infinity.
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=YEAR_MS).contains(&ms) => Ok((ms * 1000.0).round() as u64),
        _ => Err(Fault::new(
            "a time must be a number of milliseconds from 0 to a year",
        )),
    }
}

/// Milliseconds as we write them: digits, and at most three behind the point.
fn usual_micros(ms: &str) -> Option<u64> {
    let (whole, rest) = ms.split_once('.').unwrap_or((ms, ""));
    let digits = |text: &str| {
        let add = |sum: u64, byte: u8| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0'));
        text.bytes().try_fold(0, add)
    };
    let scale = match rest.len() {
        0 => 1000,
        1 => 100,
        2 => 10,
        3 => 1,
        _ => return None,
    };
    // Ten digits of milliseconds are less than a year.
    let whole = digits(whole).filter(|_| whole.len() <= 10)?;
    Some(whole * 1000 + digits(rest)? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_same_however_it_is_spelled() {
        for (text, expected) in [
            ("0", Some(0)),
            ("0.0", Some(0)),
            ("40.25", Some(40_250)),
            ("190.001", Some(190_001)),
            ("0.9", Some(900)),
            ("190.0009", Some(190_001)),
            ("1.9e2", Some(190_000)),
            ("9999999999.999", Some(9_999_999_999_999)),
            ("31622400000", Some(31_622_400_000_000)),
            ("31622400001", None),
            ("-1", None),
            ("-0.5", None),
        ] {
            let read = micros(&mut super::super::file::parser(text));
            assert_eq!(read.ok(), expected, "{text}");
        }
    }
}
