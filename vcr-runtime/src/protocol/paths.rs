//! Dotted paths such as `choices.0.delta.content`, over objects and arrays. Looking one up is never an error.

use crate::json::Json;

/// The value at `path` inside `value`, as the extraction rules of the protocols look it up.
///
/// A path is a list of member names and array positions, joined by dots. A missing member, a position that is out of
/// range, or a step into a text or a number is `None`, never an error. The empty path and `.` are the value itself.
///
/// ```
/// use serde_json::json;
///
/// let chunk = json!({"choices": [{"delta": {"content": "Hi"}}]});
/// assert_eq!(vcr_runtime::resolve(&chunk, "choices.0.delta.content"), Some(&json!("Hi")));
/// assert_eq!(vcr_runtime::resolve(&chunk, "choices.1.delta.content"), None);
/// ```
#[must_use]
pub fn resolve<'a>(value: &'a serde_json::Value, path: &str) -> Option<&'a serde_json::Value> {
    segments(path).try_fold(value, |value, segment| match value {
        serde_json::Value::Object(members) => members.get(segment),
        serde_json::Value::Array(items) => items.get(position(segment)?),
        _ => None,
    })
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    let is_whole = path.is_empty() || path == ".";
    path.split('.').filter(move |_| !is_whole)
}

/// Only plain digits: `+1` and `01` are names, as in a JSON pointer.
fn position(segment: &str) -> Option<usize> {
    let is_plain =
        segment.bytes().all(|byte| byte.is_ascii_digit()) && (segment == "0" || !segment.starts_with('0'));
    segment.parse().ok().filter(|_| is_plain)
}

/// A path that was parsed once. Positions are told from names when it is looked up: a name may be a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    name: String,
    position: Option<usize>,
}

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl Path {
    pub(crate) fn new(text: &str) -> Self {
        let segments = segments(text).map(|name| Segment {
            name: name.to_owned(),
            position: position(name),
        });
        Self(segments.collect())
    }

    /// The first member name; `None` for the path of the value itself.
    pub(crate) fn head(&self) -> Option<&str> {
        self.0.first().map(|segment| segment.name.as_str())
    }

    pub(crate) fn get<'v>(&self, value: &'v Json) -> Option<&'v Json> {
        self.0.iter().try_fold(value, |value, segment| match value {
            Json::Object(members) => members.get(&segment.name),
            Json::Array(items) => items.get(segment.position?),
            _ => None,
        })
    }

    /// The value, unless it is `null`; the steps to it are appended to `steps`, which is otherwise left as it was.
    pub(crate) fn find<'s, 'v>(&'s self, value: &'v Json, steps: &mut Vec<Step<'s>>) -> Option<&'v Json> {
        let before = steps.len();
        let found = self.0.iter().try_fold(value, |value, segment| match value {
            Json::Object(members) => {
                steps.push(Step::Key(&segment.name));
                members.get(&segment.name)
            }
            Json::Array(items) => {
                steps.push(Step::Index(segment.position?));
                items.get(segment.position?)
            }
            _ => None,
        });
        let found = found.filter(|value| !value.is_null());
        if found.is_none() {
            steps.truncate(before);
        }
        found
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|segment| segment.name.as_str()).collect();
        formatter.write_str(if names.is_empty() { "." } else { "" })?;
        formatter.write_str(&names.join("."))
    }
}

/// The value that steps of a [`Reading`](super::rules::Reading) lead to.
pub(crate) fn follow<'v>(value: &'v mut Json, steps: &[Step<'_>]) -> Option<&'v mut Json> {
    steps.iter().try_fold(value, |value, step| match (value, step) {
        (Json::Object(members), Step::Key(name)) => members.get_mut(name),
        (Json::Array(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    })
}

/// `choices.0.delta.content`
pub(crate) fn dotted(steps: &[Step<'_>]) -> String {
    let steps: Vec<String> = steps
        .iter()
        .map(|step| match step {
            Step::Key(name) => (*name).to_owned(),
            Step::Index(index) => index.to_string(),
        })
        .collect();
    steps.join(".")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::parse;

    #[test]
    fn names_and_positions_lead_to_values() {
        let value = json!({"a": [{"b": null}, {"b": 1, "0": "zero"}], "": {"x": true}});
        for (path, found) in [
            ("a.1.b", Some(json!(1))),
            ("a.1.0", Some(json!("zero"))),
            ("a.0.b", Some(json!(null))),
            ("a.2", None),
            ("a.01", None),
            ("a.+1", None),
            ("a.99999999999999999999999", None),
            ("a.b", None),
            ("a.1.b.c", None),
            ("nope", None),
            (".x", Some(json!(true))),
            ("", Some(value.clone())),
            (".", Some(value.clone())),
        ] {
            assert_eq!(resolve(&value, path), found.as_ref(), "{path}");
        }
    }

    #[test]
    fn a_parsed_path_finds_the_same_and_tells_the_way() {
        let value = parse(r#"{"a":[{"b":null},{"b":1}]}"#).unwrap();
        let path = Path::new("a.1.b");
        let mut steps = vec![Step::Key("root")];
        assert_eq!(path.find(&value, &mut steps).and_then(Json::as_u64), Some(1));
        assert_eq!(dotted(&steps), "root.a.1.b");
        let null = Path::new("a.0.b");
        assert_eq!(null.get(&value), Some(&Json::Null));
        let mut steps = vec![Step::Key("root")];
        assert_eq!(null.find(&value, &mut steps), None);
        assert_eq!(dotted(&steps), "root");
        assert_eq!((path.to_string().as_str(), path.head()), ("a.1.b", Some("a")));
        assert_eq!(
            (Path::new(".").to_string().as_str(), Path::new(".").head()),
            (".", None)
        );
    }

    #[test]
    fn steps_lead_back_to_the_value() {
        let mut value = parse(r#"{"a":[{"b":1}]}"#).unwrap();
        let steps = [Step::Key("a"), Step::Index(0), Step::Key("b")];
        *follow(&mut value, &steps).unwrap() = Json::from("x");
        assert_eq!(value, parse(r#"{"a":[{"b":"x"}]}"#).unwrap());
        assert!(follow(&mut value, &[Step::Index(0)]).is_none());
    }
}
