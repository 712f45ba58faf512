//! The text of a value without its white space, made without a tree.

use super::parse::{Parsed, Parser};
use super::write::{compact_into, quote_into};

impl Parser<'_> {
    /// Passes over the next value, checking its syntax, and appends what [`compact`](super::compact) writes of it.
    pub(crate) fn copy(&mut self, out: &mut String) -> Parsed<()> {
        if self.limits.unique_keys {
            compact_into(&self.value()?, out);
            return Ok(());
        }
        let first = self.ahead();
        match first {
            Some(b'{') => {
                self.node()?;
                out.push('{');
                let mut is_first = true;
                self.members(|parser, key| {
                    if !std::mem::take(&mut is_first) {
                        out.push(',');
                    }
                    quote_into(&key, out);
                    out.push(':');
                    parser.copy(out)
                })?;
                out.push('}');
            }
            Some(b'[') => {
                self.node()?;
                out.push('[');
                self.items(|parser, index| {
                    if index > 0 {
                        out.push(',');
                    }
                    parser.copy(out)
                })?;
                out.push(']');
            }
            // Numbers and words stand as they are spelled, and so do texts whose escapes are the usual ones.
            _ => {
                let start = self.position();
                let text = self.skip()?;
                if first == Some(b'"') && !has_usual_escapes(text) {
                    self.at = start;
                    quote_into(&self.text()?, out);
                } else {
                    out.push_str(text);
                }
            }
        }
        Ok(())
    }
}

/// Whether a string is escaped as [`escape_into`](super::escape_into) does it. Those of controls without a letter of
/// their own are so rare that they are written anew.
fn has_usual_escapes(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        match rest.as_bytes().get(at + 1) {
            Some(b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') => rest = &rest[at + 2..],
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse::parse_with;
    use super::super::{Json, Limits, compact};
    use super::*;

    fn copied(text: &str, limits: Limits) -> Result<String, String> {
        let mut parser = Parser::new(text, limits);
        let mut out = String::new();
        parser
            .copy(&mut out)
            .and_then(|()| parser.end())
            .map_err(|error| error.to_string())?;
        Ok(out)
    }

    fn built(text: &str, limits: Limits) -> Result<String, String> {
        let tree = parse_with(text, limits);
        tree.map(|tree| compact(&tree)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_copy_is_what_the_tree_is_written_as() {
        for text in [
            "{ }",
            "[ ]",
            " null ",
            r#"{ "a" : [ 1 , -0 , 1.50E+3 , true , false , null , { } ] , "a" : "x" }"#,
            r#"["\u00e9\/\ud83e\udd80\u0000\u001b\u0041\b\f\n\r\t\"\\","\\u0041","é🦀"]"#,
            r#"{"\u0061\n":{"b\"":"\\\""}}"#,
            "",
            "{",
            "[1,]",
            "[1 2]",
            "\"a",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"a\u{1}\"",
            "01",
            "tru",
            "{\"a\" 1}",
            "{a:1}",
            "{} {}",
        ] {
            assert_eq!(
                copied(text, Limits::default()),
                built(text, Limits::default()),
                "{text}"
            );
        }
    }

    #[test]
    fn the_limits_are_those_of_the_tree() {
        let limits = |depth, nodes, unique_keys| Limits {
            depth,
            nodes,
            unique_keys,
            finite_numbers: true,
        };
        for text in ["[[[1]]]", r#"{"a":{"b":[1,2]}}"#, r#"{"a":1,"a":2}"#, "[1e999]"] {
            for limits in [limits(2, 99, false), limits(9, 5, false), limits(9, 99, true)] {
                assert_eq!(copied(text, limits), built(text, limits), "{text} {limits:?}");
            }
        }
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<String>().prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_layout_is_copied_to_the_compact_one(tree in any_json(), spaced in any::<bool>()) {
            let mut text = String::new();
            if spaced {
                super::super::fitted(&tree, super::super::Place::default(), &mut text);
            } else {
                super::super::line_into(&tree, &mut text);
            }
            prop_assert_eq!(copied(&text, Limits::default()), Ok(compact(&tree)));
        }

        #[test]
        fn no_text_is_copied_that_is_no_document(text in "[\\[\\]{},:\"\\\\u0a1e. -]{0,12}") {
            let limits = Limits::default();
            prop_assert_eq!(copied(&text, limits), built(&text, limits));
        }
    }
}
