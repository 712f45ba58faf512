//! Vertex AI can send a call's arguments in pieces: a path, a value, and whether more of it comes. The parts are kept
//! as they are; here they are put together for the canonical call.

use crate::json::{Json, Object, compact};

use super::words::FUNCTION_CALL;

/// A call whose pieces are coming.
#[derive(Clone, Debug, Default)]
pub(super) struct Partial {
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Json>,
    open: bool,
}

/// A call that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Partial {
    /// Takes a part with a piece; gives the call that it completes.
    pub(super) fn take(&mut self, part: &Json) -> Option<Whole> {
        let call = part.get(FUNCTION_CALL)?;
        let text = |name: &str| call.get(name).and_then(Json::as_str).map(str::to_owned);
        if let Some(name) = text("name") {
            *self = Self {
                id: text("id"),
                name: Some(name),
                ..Self::default()
            };
        }
        self.open = true;
        for piece in call
            .get("partialArgs")
            .and_then(Json::as_array)
            .unwrap_or_default()
        {
            self.piece(piece);
        }
        match call.get("willContinue").and_then(Json::as_bool) {
            Some(true) => None,
            _ => self.end(),
        }
    }

    /// The call so far, as when the stream ends in the middle of it.
    pub(super) fn end(&mut self) -> Option<Whole> {
        let ended = std::mem::take(self);
        Some(Whole {
            id: ended.id,
            name: ended.name.filter(|_| ended.open)?,
            arguments: compact(&ended.arguments.unwrap_or_else(|| Object::new().into())),
        })
    }

    fn piece(&mut self, piece: &Json) {
        let Some(path) = piece.get("jsonPath").and_then(Json::as_str) else {
            return;
        };
        let value = ["stringValue", "numberValue", "boolValue", "nullValue"]
            .into_iter()
            .find_map(|name| Some((name, piece.get(name)?)));
        let value = match value {
            Some(("nullValue", _)) => Json::Null,
            Some((_, value)) => value.clone(),
            None => return,
        };
        let steps = steps(path);
        if steps.is_empty() {
            return;
        }
        let root = self.arguments.get_or_insert_with(|| Object::new().into());
        if let Some(slot) = slot(root, &steps) {
            match (&mut *slot, value) {
                (Json::String(known), Json::String(more)) => known.push_str(&more),
                (slot, value) => *slot = value,
            }
        }
    }
}

/// One step of a JSON path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Position(usize),
}

/// The steps of `$.a.b[0]` and `$['a b']`; what is no step is left out.
fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
            None => {
                let name = rest.strip_prefix('.').unwrap_or(rest);
                name.split_at(name.find(['.', '[']).unwrap_or(name.len()))
            }
        };
        let quoted = step.trim_matches(['\'', '"']);
        let position = step.parse::<usize>().ok().filter(|_| rest.starts_with('['));
        if let Some(position) = position {
            steps.push(Step::Position(position));
        } else if !quoted.is_empty() {
            steps.push(Step::Name(quoted.to_owned()));
        }
        rest = after;
    }
    steps
}

/// The place of a value; it is made where it is not there yet. A position that skips places is nowhere.
fn slot<'v>(value: &'v mut Json, steps: &[Step]) -> Option<&'v mut Json> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    let below = match step {
        Step::Name(name) => {
            if value.is_null() {
                *value = Object::new().into();
            }
            let members = value.as_object_mut()?;
            if members.get(name).is_none() {
                members.push(name.clone(), Json::Null);
            }
            members.get_mut(name)?
        }
        Step::Position(position) => {
            if value.is_null() {
                *value = Json::Array(Vec::new());
            }
            let Json::Array(items) = value else { return None };
            if *position == items.len() {
                items.push(Json::Null);
            }
            items.get_mut(*position)?
        }
    };
    slot(below, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn taken(parts: &[&str]) -> Vec<Whole> {
        let mut partial = Partial::default();
        let parts = parts.iter().map(|part| parse(part).unwrap());
        parts.filter_map(|part| partial.take(&part)).collect()
    }

    #[test]
    fn pieces_become_a_call() {
        let calls = taken(&[
            r#"{"functionCall":{"name":"f","id":"c","willContinue":true}}"#,
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"New ","willContinue":true}],"willContinue":true}}"#,
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"York"},{"jsonPath":"$.at[0].n","numberValue":1.50},{"jsonPath":"$['x y']","nullValue":"NULL_VALUE"}],"willContinue":true}}"#,
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.at[1]","boolValue":true},{"jsonPath":"$.at[7]","boolValue":true}],"willContinue":true}}"#,
            r#"{"functionCall":{}}"#,
        ]);
        let [call] = calls.as_slice() else {
            panic!("{calls:?}")
        };
        assert_eq!((call.name.as_str(), call.id.as_deref()), ("f", Some("c")));
        assert_eq!(
            call.arguments,
            r#"{"city":"New York","at":[{"n":1.50},true],"x y":null}"#
        );
    }

    #[test]
    fn calls_follow_each_other_and_may_be_cut() {
        let calls = taken(&[
            r#"{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","numberValue":1}]}}"#,
            r#"{"functionCall":{"name":"g","willContinue":true}}"#,
            r#"{"functionCall":{}}"#,
            r#"{"functionCall":{}}"#,
        ]);
        let told: Vec<_> = calls
            .iter()
            .map(|call| (call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(told, [("f", r#"{"a":1}"#), ("g", "{}")]);
        let mut cut = Partial::default();
        assert_eq!(
            cut.take(&parse(r#"{"functionCall":{"name":"f","willContinue":true}}"#).unwrap()),
            None
        );
        assert_eq!(cut.end().map(|call| call.name).as_deref(), Some("f"));
        assert_eq!(cut.end(), None);
    }

    #[test]
    fn odd_pieces_are_left_out() {
        let calls = taken(&[
            r#"{"functionCall":{"name":"f","partialArgs":[{},{"jsonPath":1},{"jsonPath":"$.a"},{"jsonPath":"$.b","stringValue":"x"},{"jsonPath":"$.b.c","stringValue":"y"},{"jsonPath":"[","stringValue":"z"},{"jsonPath":"..[]..d","stringValue":"w"}]}}"#,
        ]);
        assert_eq!(calls[0].arguments, r#"{"b":"x","d":"w"}"#);
    }
}
