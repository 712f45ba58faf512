//! Cutting a stream by policy while it is recorded.

use std::fmt;

use regex::Regex;

use crate::protocol::Event;

/// A policy that may cut a live answer: a quota, a guardrail.
///
/// It is asked before each step of an answer reaches the caller. When it cuts, the caller sees an error, and the take
/// keeps the frames before the cut and the cut itself; replay stops there with the same error and without asking the
/// policy. Any `Fn(&Progress) -> Option<Cut>` is a breaker.
///
/// ```
/// use vcr_runtime::{Cut, Progress};
///
/// let no_more_than_ten_lines = |progress: &Progress<'_>| {
///     (progress.text().lines().count() > 10).then(|| Cut::new("PolicyError", "more than ten lines"))
/// };
/// # let _: &dyn vcr_runtime::StreamBreaker = &no_more_than_ten_lines;
/// ```
pub trait StreamBreaker: Send + Sync + 'static {
    /// Whether to cut the answer before the step that makes it what `progress` shows.
    fn check(&self, progress: &Progress<'_>) -> Option<Cut>;
}

impl<F> StreamBreaker for F
where
    F: Fn(&Progress<'_>) -> Option<Cut> + Send + Sync + 'static,
{
    fn check(&self, progress: &Progress<'_>) -> Option<Cut> {
        self(progress)
    }
}

/// How far an answer has come, the step in question included.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: u64,
    pub(crate) bytes: u64,
}

impl Progress<'_> {
    /// All text and reasoning so far, of every choice, in order of arrival.
    #[must_use]
    pub const fn text(&self) -> &str {
        self.text
    }

    /// Tokens so far. Providers do not count while they stream, so this is the number of text steps or a quarter of the
    /// characters, whichever is greater.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Bytes of text so far.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Why a breaker cut an answer: what the caller's error says, live and replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub(crate) error_type: String,
    pub(crate) message: String,
}

impl Cut {
    /// A cut with the name of an error class, such as `PermissionError`, and a sentence.
    #[must_use]
    pub fn new(error_type: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            error_type: error_type.into(),
            message: message.into(),
        }
    }
}

/// Cuts an answer that becomes longer than a number of tokens; see [`Progress::tokens`] for how they are counted.
#[derive(Clone, Copy, Debug)]
pub struct TokenQuota(pub u64);

impl StreamBreaker for TokenQuota {
    fn check(&self, progress: &Progress<'_>) -> Option<Cut> {
        (progress.tokens > self.0).then(|| {
            Cut::new(
                "QuotaExceeded",
                format!("the answer exceeds the quota of {} tokens", self.0),
            )
        })
    }
}

/// Cuts an answer that becomes longer than a number of bytes of text.
#[derive(Clone, Copy, Debug)]
pub struct ByteQuota(pub u64);

impl StreamBreaker for ByteQuota {
    fn check(&self, progress: &Progress<'_>) -> Option<Cut> {
        (progress.bytes > self.0).then(|| {
            Cut::new(
                "QuotaExceeded",
                format!("the answer exceeds the quota of {} bytes", self.0),
            )
        })
    }
}

/// Cuts an answer before the step with which its text matches a pattern.
#[derive(Clone, Debug)]
pub struct PatternBreaker {
    pattern: Regex,
}

impl PatternBreaker {
    /// A breaker for a pattern in the syntax of the `regex` crate.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) when the pattern is no regular expression.
    pub fn new(pattern: &str) -> crate::Result<Self> {
        let pattern = Regex::new(pattern).map_err(|error| {
            crate::Error::new(
                crate::ErrorKind::Config,
                format!("the pattern `{pattern}` is no regular expression: {error}"),
                "see the syntax page of the regex crate; look-around and back-references do not exist there",
            )
        })?;
        Ok(Self { pattern })
    }
}

impl StreamBreaker for PatternBreaker {
    fn check(&self, progress: &Progress<'_>) -> Option<Cut> {
        self.pattern.is_match(progress.text).then(|| {
            Cut::new(
                "PolicyViolation",
                format!("the answer matches `{}`", self.pattern),
            )
        })
    }
}

/// The text so far, for a breaker to look at.
#[derive(Default)]
pub(crate) struct Tally {
    text: String,
    steps: u64,
    characters: u64,
}

impl Tally {
    /// Adds a step and says whether `breaker` cuts before it.
    pub(crate) fn check(&mut self, breaker: &dyn StreamBreaker, events: &[Event]) -> Option<Cut> {
        let before = self.text.len();
        for event in events {
            match event {
                Event::Text { text, .. } | Event::Reasoning { text, .. } | Event::Refusal { text, .. } => {
                    self.text.push_str(text);
                }
                Event::Tool { arguments, .. } => self.text.push_str(arguments),
                _ => {}
            }
        }
        if self.text.len() > before {
            self.steps += 1;
            self.characters += self.text[before..].chars().count() as u64;
        }
        let tokens = self.steps.max(self.characters / 4);
        breaker.check(&Progress {
            text: &self.text,
            tokens,
            bytes: self.text.len() as u64,
        })
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tally")
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(breaker: &dyn StreamBreaker, words: &[&str]) -> Option<(usize, Cut)> {
        let mut tally = Tally::default();
        words.iter().enumerate().find_map(|(index, word)| {
            let events = [Event::Text {
                choice: 0,
                text: (*word).to_owned(),
            }];
            tally.check(breaker, &events).map(|cut| (index, cut))
        })
    }

    #[test]
    fn each_policy_cuts_before_the_step_that_breaks_it() {
        assert_eq!(steps(&TokenQuota(2), &["a", "b", "c"]).unwrap().0, 2);
        assert_eq!(steps(&TokenQuota(2), &["abcdefghijkl"]).unwrap().0, 0);
        assert_eq!(steps(&ByteQuota(2), &["é", "b"]).unwrap().0, 1);
        assert_eq!(steps(&ByteQuota(9), &["a", "b"]), None);
        let pattern = PatternBreaker::new("sec.et").unwrap();
        let (index, cut) = steps(&pattern, &["a sec", "ret"]).unwrap();
        assert_eq!(
            (index, cut),
            (1, Cut::new("PolicyViolation", "the answer matches `sec.et`"))
        );
        assert!(
            PatternBreaker::new("(?=x)")
                .unwrap_err()
                .to_string()
                .contains("is no regular expression")
        );
        let closure = |progress: &Progress<'_>| progress.text().contains('x').then(|| Cut::new("E", "x"));
        assert_eq!(steps(&closure, &["a", "x"]).unwrap().0, 1);
    }
}
