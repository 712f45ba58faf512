//! The parts of a body that matching leaves out.

use std::fmt;

use crate::json::{Json, Object};

/// Why a request has no canonical form: a pointer that is none, or that does not fit the request's body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CanonicalError {
    /// The text is no JSON pointer (RFC 6901).
    InvalidPointer {
        /// The pointer as it was given.
        pointer: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The pointer steps into an array with something that is no index.
    NotAnIndex {
        /// The pointer as it was given.
        pointer: String,
        /// The step that is no index.
        token: String,
    },
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidPointer { pointer, reason } => {
                write!(formatter, "the ignore path `{pointer}` {reason}")
            }
            Self::NotAnIndex { pointer, token } => write!(
                formatter,
                "the ignore path `{pointer}` meets an array, where `{token}` is no index"
            ),
        }
    }
}

impl std::error::Error for CanonicalError {}

/// Pointers into a request's body. Beyond the RFC, `*` stands for every element of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointers(Vec<Pointer>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pointer {
    text: String,
    tokens: Vec<String>,
}

/// What is left of a pointer, and the whole of it for messages.
type Rest<'a> = (&'a [String], &'a str);

impl Pointers {
    /// # Errors
    /// For the first text that is no pointer.
    pub(crate) fn parse(texts: &[String]) -> Result<Self, CanonicalError> {
        texts
            .iter()
            .map(|text| Pointer::parse(text))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the parts out. What a pointer does not find is out already; an index means what it meant in the whole document.
    pub(crate) fn apply(&self, body: &mut Json) -> Result<(), CanonicalError> {
        let all: Vec<Rest<'_>> = self
            .0
            .iter()
            .map(|pointer| (pointer.tokens.as_slice(), pointer.text.as_str()))
            .collect();
        if all.is_empty() { Ok(()) } else { prune(body, &all) }
    }
}

impl Pointer {
    fn parse(text: &str) -> Result<Self, CanonicalError> {
        let invalid = |reason| CanonicalError::InvalidPointer {
            pointer: text.to_owned(),
            reason,
        };
        if text.is_empty() {
            return Err(invalid("is empty, which is the whole body"));
        }
        let steps = text
            .strip_prefix('/')
            .ok_or_else(|| invalid("does not begin with `/`"))?;
        let tokens = steps
            .split('/')
            .map(|step| {
                let token =
                    unescape(step).ok_or_else(|| invalid("has a `~` that is not followed by 0 or 1"))?;
                let is_number = token.bytes().all(|byte| byte.is_ascii_digit());
                if is_number && token.len() > 1 && token.starts_with('0') {
                    return Err(invalid("has an index with a leading zero"));
                }
                Ok(token)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            text: text.to_owned(),
            tokens,
        })
    }
}

/// `None` when a `~` stands alone.
fn unescape(step: &str) -> Option<String> {
    let mut pieces = step.split('~');
    let mut token = pieces.next()?.to_owned();
    for piece in pieces {
        token.push(match piece.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        token.push_str(&piece[1..]);
    }
    Some(token)
}

fn prune(value: &mut Json, rests: &[Rest<'_>]) -> Result<(), CanonicalError> {
    match value {
        Json::Object(object) => prune_members(object, rests),
        Json::Array(items) => prune_items(items, rests),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Ok(()),
    }
}

fn prune_members(object: &mut Object, rests: &[Rest<'_>]) -> Result<(), CanonicalError> {
    let mut outcome = Ok(());
    object.0.retain_mut(|(key, value)| {
        let below = below(rests, |token| token == key);
        keep(value, &below, &mut outcome)
    });
    outcome
}

fn prune_items(items: &mut Vec<Json>, rests: &[Rest<'_>]) -> Result<(), CanonicalError> {
    for (tokens, pointer) in rests {
        if let Some(token) = tokens.first()
            && token != "*"
            && (token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_digit()))
        {
            return Err(CanonicalError::NotAnIndex {
                pointer: (*pointer).to_owned(),
                token: token.clone(),
            });
        }
    }
    let mut outcome = Ok(());
    let mut index = 0_usize;
    items.retain_mut(|item| {
        let below = below(rests, |token| token == "*" || token.parse() == Ok(index));
        index += 1;
        keep(item, &below, &mut outcome)
    });
    outcome
}

/// Whether the value stays, after the parts below it are gone.
fn keep(value: &mut Json, rests: &[Rest<'_>], outcome: &mut Result<(), CanonicalError>) -> bool {
    if rests.iter().any(|(tokens, _)| tokens.is_empty()) {
        return false;
    }
    if !rests.is_empty() && outcome.is_ok() {
        *outcome = prune(value, rests);
    }
    true
}

fn below<'a>(rests: &[Rest<'a>], here: impl Fn(&String) -> bool) -> Vec<Rest<'a>> {
    rests
        .iter()
        .filter_map(|(tokens, pointer)| {
            let (token, rest) = tokens.split_first()?;
            here(token).then_some((rest, *pointer))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, parse};

    fn pointers(texts: &[&str]) -> Result<Pointers, CanonicalError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Pointers::parse(&texts)
    }

    fn after(texts: &[&str], body: &str) -> Result<String, CanonicalError> {
        let mut body = parse(body).unwrap();
        pointers(texts)?.apply(&mut body)?;
        Ok(compact(&body))
    }

    #[test]
    fn what_is_no_pointer_is_refused_by_name() {
        for (pointer, reason) in [
            ("", "is empty, which is the whole body"),
            ("metadata", "does not begin with `/`"),
            ("/a~", "has a `~` that is not followed by 0 or 1"),
            ("/a~2", "has a `~` that is not followed by 0 or 1"),
            ("/a/01", "has an index with a leading zero"),
            ("/a/00/b", "has an index with a leading zero"),
        ] {
            let pointer = pointer.to_owned();
            assert_eq!(
                pointers(&["/ok", &pointer]),
                Err(CanonicalError::InvalidPointer { pointer, reason })
            );
        }
    }

    #[test]
    fn an_array_takes_indexes_only() {
        for token in ["-", "x", ""] {
            let pointer = format!("/a/{token}");
            let error = after(&[&pointer], r#"{"a":[1]}"#).unwrap_err();
            assert_eq!(
                error,
                CanonicalError::NotAnIndex {
                    pointer,
                    token: token.to_owned()
                }
            );
        }
        assert_eq!(after(&["/a/-"], r#"{"a":{"-":1}}"#).unwrap(), r#"{"a":{}}"#);
    }

    #[test]
    fn parts_go_by_their_place_in_the_whole_document() {
        let body = r#"{"a":[0,{"x":1,"y":2},2,3],"b~/":{"":1},"c":1}"#;
        for (texts, expected) in [
            (&["/absent/x", "/c/x", "/a/9"][..], body),
            (
                &["/a/0", "/a/3", "/a/0", "/a/1/x"],
                r#"{"a":[{"y":2},2],"b~/":{"":1},"c":1}"#,
            ),
            (&["/a/1", "/a/1/x", "/b~0~1/"], r#"{"a":[0,2,3],"b~/":{},"c":1}"#),
            (&["/a/*/x", "/c"], r#"{"a":[0,{"y":2},2,3],"b~/":{"":1}}"#),
        ] {
            assert_eq!(after(texts, body).unwrap(), expected, "{texts:?}");
        }
    }
}
