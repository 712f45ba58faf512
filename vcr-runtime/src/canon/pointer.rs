use crate::error::{Error, ErrorKind};
use crate::json::{Json, Object};
use crate::model::{CanonicalRequest, RecordedRequest};

const ADVICE: &str =
    "an ignore path is a JSON pointer into the request, such as `/metadata/run_id` or `/messages/*/id`";

/// The parts of a request that take no part in matching, as RFC 6901 pointers.
///
/// The pointers address the request as its caller sent it: `/model`, `/messages/…`, and every other first token is a
/// member of the parameters. Beyond the RFC, a token that is just `*` stands for every element of an array and every
/// member of an object. What a pointer does not find is absent already, so it is no error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IgnorePaths(Vec<Path>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Every,
    Key {
        name: String,
        /// What the token is on an array.
        index: Option<usize>,
    },
}

/// The ends of the paths that lead here; an empty one means this very value.
type Ends<'a> = Vec<&'a [Token]>;

impl IgnorePaths {
    /// # Errors
    /// `ErrorKind::Config` for what is no pointer, naming it.
    pub(crate) fn parse(pointers: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, Error> {
        let mut paths: Vec<Path> = Vec::new();
        for pointer in pointers {
            let path = Path::parse(pointer.as_ref())?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(Self(paths))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pointers as they were written, for reports.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|path| path.text.as_str())
    }

    /// Takes the ignored parts out of a live request.
    pub(crate) fn apply(&self, request: &mut CanonicalRequest) {
        self.apply_to_parts(
            Some(&mut request.model),
            Some(&mut request.messages),
            Some(&mut request.parameters),
        );
    }

    /// Takes the ignored parts out of a recorded request. Its hash stays as it is.
    pub(crate) fn apply_recorded(&self, request: &mut RecordedRequest) {
        self.apply_to_parts(
            request.model.as_mut(),
            request.messages.as_mut(),
            request.parameters.as_mut(),
        );
    }

    fn apply_to_parts(
        &self,
        model: Option<&mut String>,
        messages: Option<&mut Vec<Json>>,
        parameters: Option<&mut Object>,
    ) {
        if self.is_empty() {
            return;
        }
        let ends: Ends<'_> = self.0.iter().map(|path| path.tokens.as_slice()).collect();
        if let Some(model) = model
            && is_hit(&below_member(&ends, "model"))
        {
            model.clear();
        }
        if let Some(messages) = messages {
            let ends = below_member(&ends, "messages");
            if is_hit(&ends) {
                messages.clear();
            } else {
                prune_items(messages, &ends);
            }
        }
        if let Some(parameters) = parameters {
            prune_members(parameters, &ends);
        }
    }
}

/// Removals happen on the way through the original document, so that an index means what it meant there and no
/// removal can hit twice or beside its target.
fn prune(document: &mut Json, ends: &Ends<'_>) {
    match document {
        Json::Array(items) => prune_items(items, ends),
        Json::Object(object) => prune_members(object, ends),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn prune_items(items: &mut Vec<Json>, ends: &Ends<'_>) {
    if ends.is_empty() {
        return;
    }
    let mut index = 0;
    items.retain_mut(|item| {
        let ends = below(ends, |token| match token {
            Token::Every => true,
            Token::Key { index: wanted, .. } => *wanted == Some(index),
        });
        index += 1;
        keep(item, &ends)
    });
}

fn prune_members(object: &mut Object, ends: &Ends<'_>) {
    if ends.is_empty() {
        return;
    }
    object
        .0
        .retain_mut(|(key, value)| keep(value, &below_member(ends, key)));
}

/// Whether the value stays, after the parts below it are gone.
fn keep(value: &mut Json, ends: &Ends<'_>) -> bool {
    let stays = !is_hit(ends);
    if stays && !ends.is_empty() {
        prune(value, ends);
    }
    stays
}

fn is_hit(ends: &Ends<'_>) -> bool {
    ends.iter().any(|end| end.is_empty())
}

fn below_member<'a>(ends: &Ends<'a>, key: &str) -> Ends<'a> {
    below(ends, |token| match token {
        Token::Every => true,
        Token::Key { name, .. } => name == key,
    })
}

fn below<'a>(ends: &Ends<'a>, matches: impl Fn(&Token) -> bool) -> Ends<'a> {
    ends.iter()
        .filter_map(|end| end.split_first())
        .filter(|(token, _)| matches(token))
        .map(|(_, rest)| rest)
        .collect()
}

impl Path {
    fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |reason: &str| {
            Error::new(
                ErrorKind::Config,
                format!("the ignore path `{text}` {reason}"),
                ADVICE,
            )
        };
        if text.is_empty() {
            return Err(refuse("is empty; it would ignore the whole request"));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(refuse("does not begin with `/`"));
        };
        let tokens = rest.split('/').map(Token::parse).collect::<Result<Vec<_>, _>>();
        let tokens = tokens.map_err(|reason| refuse(&reason))?;
        if tokens[0] == Token::Every {
            return Err(refuse("begins with `*`; name the member of the request"));
        }
        Ok(Self {
            text: text.to_owned(),
            tokens,
        })
    }
}

impl Token {
    fn parse(token: &str) -> Result<Self, String> {
        if token == "*" {
            return Ok(Self::Every);
        }
        let name = unescape(token).ok_or_else(|| {
            format!(
                "has a `~` in `{token}` that is not followed by 0 or 1; write `~0` for `~` and `~1` for `/`"
            )
        })?;
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && name.len() > 1 && name.starts_with('0') {
            return Err(format!("has the index `{name}` with a leading zero"));
        }
        let index = if is_number { name.parse().ok() } else { None };
        Ok(Self::Key { name, index })
    }
}

/// `None` when a `~` stands alone.
fn unescape(token: &str) -> Option<String> {
    let mut pieces = token.split('~');
    let mut name = pieces.next()?.to_owned();
    for piece in pieces {
        name.push(match piece.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        name.push_str(&piece[1..]);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::testing::{recorded, request};
    use crate::json::compact;

    fn parameters_after(pointers: &[&str], parameters: &str) -> String {
        let mut request = request("m", "[]", parameters);
        IgnorePaths::parse(pointers).unwrap().apply(&mut request);
        compact(&Json::Object(request.parameters))
    }

    #[test]
    fn what_is_no_pointer_is_refused_by_name() {
        for (pointer, reason) in [
            ("", "is empty; it would ignore the whole request"),
            ("metadata/run_id", "does not begin with `/`"),
            ("/a~", "has a `~` in `a~` that is not followed by 0 or 1"),
            ("/x/a~2b", "has a `~` in `a~2b` that is not followed by 0 or 1"),
            ("/a~é", "has a `~` in `a~é` that is not followed by 0 or 1"),
            ("/messages/01/id", "has the index `01` with a leading zero"),
            ("/*/id", "begins with `*`"),
        ] {
            let error = IgnorePaths::parse(["/ok", pointer]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(
                error
                    .message()
                    .starts_with(&format!("the ignore path `{pointer}` {reason}")),
                "{error}"
            );
        }
    }

    #[test]
    fn pointers_address_the_request_as_it_was_sent() {
        let mut live = request(
            "m",
            r#"[{"role":"user","id":1,"content":"a"},{"role":"user","id":2,"content":"b"}]"#,
            r#"{"metadata":{"run_id":"r","k":1},"a/b":{"~":1},"n":null}"#,
        );
        let paths = [
            "/model",
            "/messages/*/id",
            "/messages/1/content",
            "/metadata/run_id",
            "/a~1b/~0",
            "/absent/x",
        ];
        let ignore = IgnorePaths::parse(paths).unwrap();
        assert!(ignore.iter().eq(paths));
        let mut record = recorded(&live);
        ignore.apply(&mut live);
        assert_eq!(live.model, "");
        assert_eq!(
            compact(&Json::Array(live.messages.clone())),
            r#"[{"role":"user","content":"a"},{"role":"user"}]"#
        );
        assert_eq!(
            compact(&Json::Object(live.parameters.clone())),
            r#"{"metadata":{"k":1},"a/b":{},"n":null}"#
        );
        ignore.apply_recorded(&mut record);
        assert_eq!(
            (record.model, record.messages, record.parameters),
            (Some(live.model), Some(live.messages), Some(live.parameters))
        );
        let mut open = RecordedRequest::default();
        ignore.apply_recorded(&mut open);
        assert_eq!(open, RecordedRequest::default());
    }

    #[test]
    fn indexes_mean_the_original_array() {
        for (pointers, expected) in [
            (&["/a/0", "/a/2"][..], r#"{"a":[1,3]}"#),
            (&["/a/2", "/a/0", "/a/2", "/a/0"], r#"{"a":[1,3]}"#),
            (&["/a/1", "/a/1/x", "/a"], "{}"),
            (
                &["/a/4", "/a/99999999999999999999999", "/a/-", "/a/x", "/a/0/x"],
                r#"{"a":[0,1,2,3]}"#,
            ),
            (&["/a/*"], r#"{"a":[]}"#),
        ] {
            assert_eq!(
                parameters_after(pointers, r#"{"a":[0,1,2,3]}"#),
                expected,
                "{pointers:?}"
            );
        }
        assert_eq!(
            parameters_after(
                &["/t/0", "/t/1/x/0", "/t/1/x/2", "/t/*/id"],
                r#"{"t":[{"id":0},{"id":1,"x":["p","q","r"]},{"id":2,"x":["s"]}]}"#
            ),
            r#"{"t":[{"x":["q"]},{"x":["s"]}]}"#
        );
    }

    #[test]
    fn repeated_and_numeric_and_empty_keys_are_members() {
        assert_eq!(
            parameters_after(&["/a/k"], r#"{"a":{"k":1,"z":0,"k":2}}"#),
            r#"{"a":{"z":0}}"#
        );
        assert_eq!(
            parameters_after(&["/a/7"], r#"{"a":{"7":1,"8":2}}"#),
            r#"{"a":{"8":2}}"#
        );
        assert_eq!(
            parameters_after(&["/a/"], r#"{"a":{"":1,"8":2}}"#),
            r#"{"a":{"8":2}}"#
        );
        assert_eq!(
            parameters_after(&["/a/*/k"], r#"{"a":{"p":{"k":1},"q":[1],"r":{"k":2,"l":3}}}"#),
            r#"{"a":{"p":{},"q":[1],"r":{"l":3}}}"#
        );
    }

    #[test]
    fn whole_parts_and_no_paths() {
        let mut live = request("m", "[1]", r#"{"stream":true}"#);
        let before = live.clone();
        let none = IgnorePaths::parse([] as [&str; 0]).unwrap();
        assert!(none.is_empty());
        none.apply(&mut live);
        assert_eq!(live, before);
        IgnorePaths::parse(["/messages", "/stream"])
            .unwrap()
            .apply(&mut live);
        assert_eq!((live.messages.len(), live.parameters.len()), (0, 0));
    }
}
