//! What differs between two envelopes, a line a change.

use super::canonical::{Canonical, value_text};
use crate::json::{Json, Object};

/// The lines, empty when nothing differs: within an object what was removed, then what was added, then the changes below what
/// both have, each sorted; arrays index by index. Values are short: an array is `[...]`, an object `{...}`.
pub(crate) fn diff(expected: &Canonical, observed: &Canonical) -> String {
    let mut lines = Vec::new();
    walk(&expected.document(), &observed.document(), "", &mut lines);
    lines.join("\n")
}

fn walk(expected: &Json, observed: &Json, path: &str, lines: &mut Vec<String>) {
    match (expected, observed) {
        (Json::Object(one), Json::Object(other)) => walk_members(one, other, path, lines),
        (Json::Array(one), Json::Array(other)) => {
            for index in 0..one.len().max(other.len()) {
                let path = format!("{path}[{index}]");
                match (one.get(index), other.get(index)) {
                    (Some(one), Some(other)) => walk(one, other, &path, lines),
                    (Some(_), None) => lines.push(format!("removed: {path}")),
                    (None, Some(value)) => lines.push(format!("added: {path}: {}", short(value))),
                    (None, None) => {}
                }
            }
        }
        _ if value_text(expected) != value_text(observed) => {
            let path = if path.is_empty() { "(root)" } else { path };
            lines.push(format!(
                "changed: {path}: {} -> {}",
                short(expected),
                short(observed)
            ));
        }
        _ => {}
    }
}

fn walk_members(one: &Object, other: &Object, path: &str, lines: &mut Vec<String>) {
    let below = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    for key in sorted_keys(one).filter(|key| other.get(key).is_none()) {
        lines.push(format!("removed: {}", below(key)));
    }
    for key in sorted_keys(other) {
        if one.get(key).is_none()
            && let Some(value) = other.get(key)
        {
            lines.push(format!("added: {}: {}", below(key), short(value)));
        }
    }
    for key in sorted_keys(one) {
        if let (Some(one), Some(other)) = (one.get(key), other.get(key)) {
            walk(one, other, &below(key), lines);
        }
    }
}

fn sorted_keys(object: &Object) -> impl Iterator<Item = &str> {
    let mut keys: Vec<&str> = object.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.into_iter()
}

fn short(value: &Json) -> String {
    match value {
        Json::Array(_) => "[...]".to_owned(),
        Json::Object(_) => "{...}".to_owned(),
        scalar => value_text(scalar),
    }
}

#[cfg(test)]
mod tests {
    use super::super::pointers::Pointers;
    use super::*;
    use crate::json::parse;

    fn envelope(query: &str, body: &str) -> Canonical {
        Canonical::of(
            "POST",
            "/v1/chat/completions",
            query,
            parse(body).ok(),
            &Pointers::default(),
        )
        .unwrap()
    }

    #[test]
    fn each_change_is_a_line() {
        let expected = envelope(
            "a=1",
            r#"{"gone":1,"also":2,"messages":[{"role":"user","content":"hi"},{"x":1}],"n":{"a.b":1},"t":0.5}"#,
        );
        let observed = envelope(
            "",
            r#"{"new":[1],"more":"x\"","messages":[{"role":"user","content":"ho"}],"n":{"a.b":{"c":1}},"t":null}"#,
        );
        assert_eq!(
            diff(&expected, &observed),
            "removed: canonical_body.also\n\
             removed: canonical_body.gone\n\
             added: canonical_body.more: \"x\\\"\"\n\
             added: canonical_body.new: [...]\n\
             changed: canonical_body.messages[0].content: \"hi\" -> \"ho\"\n\
             removed: canonical_body.messages[1]\n\
             changed: canonical_body.n.a.b: 1 -> {...}\n\
             changed: canonical_body.t: 0.5 -> null\n\
             changed: canonical_query: \"a=1\" -> \"\""
        );
        assert_eq!(diff(&expected, &expected), "");
    }
}
