use super::Redactor;
use super::finder::{Reach, Span};
use super::names::is_opaque_member;
use super::strings::{Item, strings};
use crate::json::{Json, parse};

/// A secret that is left in a text; it says where and why, and never what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Counted from 1.
    pub(crate) line: usize,
    /// In characters, counted from 1.
    pub(crate) column: usize,
    /// What the secret looks like, or which variable holds it.
    pub(crate) rule: String,
}

impl Redactor {
    /// The last look at a JSON text before it is written: values of variables anywhere, in any spelling, and whatever
    /// looks like a credential outside signatures and encrypted reasoning.
    pub(crate) fn scan(&self, text: &str) -> Option<Hit> {
        if !self.finder.suspects(text) {
            return None;
        }
        let mut first = self
            .finder
            .find(text, Reach::Variables, Vec::new())
            .into_iter()
            .next();
        strings(text, |item| {
            if let Some(span) = self.leak(text, &item)
                && first
                    .as_ref()
                    .is_none_or(|first| span.range.start < first.range.start)
            {
                first = Some(span);
            }
        });
        let span = first?;
        let before = &text[..span.range.start];
        let line = before.rsplit('\n').next().unwrap_or_default();
        Some(Hit {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            rule: self.finder.describe(span.rule),
        })
    }

    /// The first secret of one string, at its place in the whole text.
    fn leak(&self, text: &str, item: &Item<'_>) -> Option<Span> {
        let is_opaque = item.is_opaque || item.member.is_some_and(is_opaque_member);
        let reach = if is_opaque {
            Reach::Variables
        } else {
            Reach::Everything
        };
        let raw = &text[item.range.clone()];
        let start = item.range.start;
        if !raw.contains('\\') {
            let mut span = self.finder.find(raw, reach, Vec::new()).into_iter().next()?;
            span.range = span.range.start + start..span.range.end + start;
            return Some(span);
        }
        // Escapes hide word boundaries and line ends. The place is then that of the string.
        let plain = match text.get(start - 1..item.range.end + 1).map(parse) {
            Some(Ok(Json::String(plain))) => plain,
            _ => raw.to_owned(),
        };
        let mut span = self.finder.find(&plain, reach, Vec::new()).into_iter().next()?;
        span.range = item.range.clone();
        Some(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, RedactRules};

    const KEY: &str = "sk-proj-q7ZtR0123456789abcdef";

    fn redactor() -> Redactor {
        let environment =
            Environment::from_pairs([("MY_PASSWORD", "can\"ary\\pw"), ("PLAIN_KEY", "canary-plain")]);
        Redactor::new(&RedactRules::default(), &environment).unwrap()
    }

    fn hit(text: &str) -> Option<(usize, usize, String)> {
        redactor().scan(text).map(|hit| (hit.line, hit.column, hit.rule))
    }

    #[test]
    fn a_secret_is_told_by_place_and_rule() {
        let shape = "a key that begins with sk-";
        for (text, place, rule) in [
            (format!("{{\n  \"é\": \"x {KEY}\"\n}}"), (2, 11), shape),
            // After an escape, where the raw text has no word boundary.
            (format!("{{\n\n  \"a\": \"x\\n{KEY}\"\n}}"), (3, 9), shape),
            (format!("{{\"{KEY}\": 1}}"), (1, 3), shape),
            (
                "[\"a\", \"canary-plain\"]".to_owned(),
                (1, 8),
                "the value of the variable `PLAIN_KEY`",
            ),
            (
                r#"["can\"ary\\pw"]"#.to_owned(),
                (1, 3),
                "the value of the variable `MY_PASSWORD`",
            ),
            // JSON inside of a string.
            (
                r#"{"arguments": "{\"p\":\"can\\\"ary\\\\pw\"}"}"#.to_owned(),
                (1, 16),
                "the value of the variable `MY_PASSWORD`",
            ),
        ] {
            assert_eq!(hit(&text), Some((place.0, place.1, rule.to_owned())), "{text}");
        }
    }

    #[test]
    fn signatures_may_look_like_anything_but_a_variable() {
        for text in [
            format!("{{\"signature\": \"{KEY}\"}}"),
            format!("{{\"reasoning_signature\": \"{KEY}\"}}"),
            format!("{{\"data\": \"{KEY}\", \"type\": \"redacted_thinking\"}}"),
            format!("{{\"type\":\"redacted_thinking\",\"data\":\"{KEY}\"}}"),
        ] {
            assert_eq!(hit(&text), None, "{text}");
            let text = text.replace(KEY, "canary-plain");
            assert_eq!(hit(&text).unwrap().2, "the value of the variable `PLAIN_KEY`");
        }
        assert!(hit(&format!("{{\"data\": \"{KEY}\", \"type\": \"image\"}}")).is_some());
    }

    #[test]
    fn the_quick_look_misses_no_secret_of_any_spelling() {
        use super::super::shapes::{LONG, SHORT};
        // A literal with a byte that JSON escapes would not stand there as it is.
        for shape in LONG.iter().chain(&SHORT) {
            let quoted = crate::json::compact(&Json::from(shape.literal));
            assert_eq!(quoted, format!("\"{}\"", shape.literal));
        }
        for secret in [
            format!("[\"x\\n{KEY}\"]"),
            format!("[\"\\u0073{}\"]", &KEY[1..]),
            "[\"can\\\"ary\\\\pw\"]".to_owned(),
            "[\"can\\u0022ary\\u005cpw\"]".to_owned(),
        ] {
            assert!(hit(&secret).is_some(), "{secret}");
        }
    }

    #[test]
    fn a_clean_text_passes() {
        assert_eq!(
            hit("{\"a\": \"[REDACTED]\", \"url\": \"https://h/?key=[REDACTED]&x=1\"}"),
            None
        );
        assert_eq!(hit("no JSON at all"), None);
        assert!(hit("no JSON with canary-plain").is_some());
    }
}
