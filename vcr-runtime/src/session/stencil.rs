//! One JSON text many times over with another string in one place: the chunks of a stream seldom differ in more.

use crate::json::{Json, escape_into, is_plain, parse};

/// A JSON text with a hole for one string.
#[derive(Debug)]
pub(super) struct Stencil {
    /// Up to the opening quote of the string, included.
    before: String,
    /// From its closing quote on.
    after: String,
}

impl Stencil {
    /// Cuts the hole where `text` has the string `filling`; `None` where that stands nowhere, or more than once.
    pub(super) fn around(text: &str, filling: &str) -> Option<Self> {
        let mut quoted = String::with_capacity(filling.len() + 8);
        quoted.push('"');
        escape_into(filling, &mut quoted);
        quoted.push('"');
        let start = text.find(&quoted)?;
        let end = start + quoted.len() - 1;
        let once = !text[end..].contains(&quoted);
        once.then(|| Self {
            before: text[..=start].to_owned(),
            after: text[end..].to_owned(),
        })
    }

    /// What fills the hole of `text`; `None` when it is not this text but for that one string.
    pub(super) fn read(&self, text: &str) -> Option<String> {
        let filling = text
            .strip_prefix(self.before.as_str())?
            .strip_suffix(self.after.as_str())?;
        if is_plain(filling) {
            return Some(filling.to_owned());
        }
        // With its quotes, so that nothing but one whole string passes.
        let quoted = &text[self.before.len() - 1..=text.len() - self.after.len()];
        match parse(quoted) {
            Ok(Json::String(filling)) if !quoted.ends_with(char::is_whitespace) => Some(filling),
            _ => None,
        }
    }

    /// Appends the text with another string.
    pub(super) fn write(&self, filling: &str, out: &mut String) {
        out.push_str(&self.before);
        escape_into(filling, out);
        out.push_str(&self.after);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::compact;

    #[test]
    fn the_hole_is_where_the_string_stands_once() {
        let stencil = Stencil::around(r#"{"a":"x","b":["y\n"],"y":1}"#, "y\n").unwrap();
        assert_eq!(stencil.read(r#"{"a":"x","b":["z"],"y":1}"#).as_deref(), Some("z"));
        assert_eq!(stencil.read(r#"{"a":"x","b":[""],"y":1}"#).as_deref(), Some(""));
        assert_eq!(
            stencil.read(r#"{"a":"x","b":["\u00e9\"\\"],"y":1}"#).as_deref(),
            Some("é\"\\")
        );
        for other in [
            r#"{"a":"x","b":["z","w"],"y":1}"#,
            r#"{"a":"x","b":["z\"],"y":1}"#,
            "{\"a\":\"x\",\"b\":[\"z\n\"],\"y\":1}",
            r#"{"a":"x","b":["z"],"y":2}"#,
            r#"{"a":"w","b":["z"],"y":1}"#,
            r#"{"a":"x","b":["],"y":1}"#,
            "",
        ] {
            assert_eq!(stencil.read(other), None, "{other}");
        }
        assert!(Stencil::around(r#"{"a":"x","b":"x"}"#, "x").is_none());
        assert!(Stencil::around(r#"{"a":"\u0078"}"#, "x").is_none());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_parses_to_the_same(one in "\\PC{0,8}", filling in any::<String>()) {
            let of = |text: &str| {
                let mut object = crate::json::Object::new();
                object.push("before", "b");
                object.push("text", text);
                object.push("after", 1_u64);
                compact(&Json::Object(object))
            };
            if let Some(stencil) = Stencil::around(&of(&one), &one) {
                let mut text = String::new();
                stencil.write(&filling, &mut text);
                prop_assert_eq!(&text, &of(&filling));
                prop_assert_eq!(stencil.read(&text), Some(filling));
            }
        }
    }
}
