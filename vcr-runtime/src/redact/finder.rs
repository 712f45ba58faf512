use std::ops::Range;

use regex::Regex;

use super::PLACEHOLDER;
use super::names::Names;
use super::secrets::{Secret, secrets};
use super::shapes::{LEAST_KEY, LONG, SHORT, Shape};
use crate::config::{Environment, RedactRules};
use crate::error::{Error, ErrorKind, Result};
use crate::json::is_plain;

/// No shape is shorter.
const LEAST: usize = 8;

/// Which secrets are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All.
    Everything,
    /// Values of variables alone: the text is a signature, or encrypted.
    Variables,
    /// None but by the name of the member that holds it: the text that this one was read from has been searched.
    Names,
}

/// Finds secrets in a text. A clean text costs two quick passes over it.
pub(super) struct Finder {
    /// The literals of `LONG`.
    long: Regex,
    /// The literals of `SHORT` and the beginnings of the values of variables.
    short: Regex,
    /// The beginnings alone; `None` where the environment has no secret.
    variables: Option<Regex>,
    secrets: Vec<Secret>,
    patterns: Vec<Regex>,
    query: Names,
    /// A value is spelled with an escape in JSON, and otherwise in JSON inside of it.
    has_escapes: bool,
    /// Shorter texts hold no secret; most names and roles of a request are shorter.
    least: usize,
}

/// A secret, and the rule that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Shape(&'static str),
    /// Index of the secret.
    Variable(usize),
    /// Index of the project's pattern.
    Pattern(usize),
    /// The name of the member that holds it.
    Member,
}

impl Finder {
    pub(super) fn new(rules: &RedactRules, environment: &Environment) -> Result<Self> {
        let secrets = secrets(rules, environment);
        let spellings = || secrets.iter().flat_map(|secret| &secret.spellings);
        let shortest = spellings().map(String::len).min().unwrap_or(LEAST);
        // Short literals make a fast automaton; the whole value is compared where one is found.
        let beginnings: Vec<&str> = spellings()
            .map(|text| {
                text.char_indices()
                    .nth(16)
                    .map_or(text.as_str(), |(end, _)| &text[..end])
            })
            .collect();
        let short = SHORT.iter().map(|shape| shape.literal);
        Ok(Self {
            long: literals(LONG.iter().map(|shape| shape.literal))?,
            short: literals(beginnings.iter().copied().chain(short))?,
            variables: (!beginnings.is_empty())
                .then(|| literals(beginnings))
                .transpose()?,
            patterns: rules.patterns.clone(),
            has_escapes: spellings().any(|text| !is_plain(text)),
            query: Names::query(&rules.query, &rules.keep_query),
            least: if rules.patterns.is_empty() {
                shortest.min(LEAST)
            } else {
                1
            },
            secrets,
        })
    }

    pub(super) fn query(&self) -> &Names {
        &self.query
    }

    /// Whether a text is shorter than any secret, as most names and roles of a request are. Not for texts whose members
    /// have names of their own: `{"a":1}` is as long as the shortest secret.
    pub(super) fn is_too_short(&self, text: &str) -> bool {
        text.len() < self.least.min(LEAST)
    }

    /// Whether anything in a JSON text may be a secret, at a fraction of the cost of looking at each of its strings: the
    /// literal of a shape, or the beginning of a value, stands there as it is unless letters are spelled as escapes.
    pub(super) fn suspects(&self, text: &str) -> bool {
        !self.patterns.is_empty()
            || self.has_escapes
            || self.short.is_match(text)
            || self.long.is_match(text)
            || has_odd_escapes(text)
    }

    /// What to tell a person about a rule, without the secret.
    pub(super) fn describe(&self, rule: Rule) -> String {
        match rule {
            Rule::Shape(name) => name.to_owned(),
            Rule::Variable(index) => match self.secrets.get(index) {
                Some(secret) => format!("the value of the variable `{}`", secret.variable),
                None => "the value of a variable".to_owned(),
            },
            Rule::Pattern(index) => match self.patterns.get(index) {
                Some(pattern) => format!("the pattern `{pattern}` of vcr.toml"),
                None => "a pattern of vcr.toml".to_owned(),
            },
            Rule::Member => "a member that holds a credential".to_owned(),
        }
    }

    /// All secrets of the text, in order, none overlapping another. `known` are spans found by other means.
    ///
    /// What stands between two of them is searched again as a text of its own, because removing a secret may make a
    /// word begin where none began before: the result of a replacement has no secret left.
    pub(super) fn find(&self, text: &str, reach: Reach, mut known: Vec<Span>) -> Vec<Span> {
        merge(&mut known);
        // By its first byte: to prepare a search for the whole of it costs more than most texts are long.
        let holes = text
            .match_indices(char::from(PLACEHOLDER.as_bytes()[0]))
            .filter(|(start, _)| text[*start..].starts_with(PLACEHOLDER))
            .map(|(start, _)| start..start + PLACEHOLDER.len());
        let mut walls: Vec<Range<usize>> = known.iter().map(|span| span.range.clone()).chain(holes).collect();
        let mut found = known;
        if walls.is_empty() {
            // The usual text: nothing stands in it, and nothing is allocated.
            self.raw(text, reach, &mut found);
            if found.is_empty() {
                return found;
            }
            walls = merge(&mut found);
        }
        walls.sort_unstable_by_key(|wall| wall.start);
        let mut pending = gaps(0..text.len(), &walls);
        while let Some(gap) = pending.pop() {
            let mut inner = Vec::new();
            self.raw(&text[gap.clone()], reach, &mut inner);
            if inner.is_empty() {
                continue;
            }
            for span in &mut inner {
                span.range = span.range.start + gap.start..span.range.end + gap.start;
            }
            let walls = merge(&mut inner);
            pending.extend(gaps(gap, &walls));
            found.append(&mut inner);
        }
        found.sort_unstable_by_key(|span| span.range.start);
        found
    }

    /// Everything that the rules say about a text without placeholders; may overlap.
    fn raw(&self, text: &str, reach: Reach, out: &mut Vec<Span>) {
        if text.len() < self.least {
            return;
        }
        // Most names of members and many words of a stream are that short.
        let is_short = text.len() < LEAST_KEY && self.patterns.is_empty() && !text.contains("://");
        if reach == Reach::Variables || is_short {
            if let Some(variables) = &self.variables {
                each(variables, text, |at| self.variables_at(text, at, out));
            }
            return;
        }
        // What lies in a key is not looked at again for another one, so that no text makes the search quadratic.
        let mut covered = 0;
        each(&self.short, text, |at| {
            self.variables_at(text, at, out);
            if at >= covered {
                covered = self.shape_at(&SHORT, text, at, out).max(covered);
            }
        });
        let mut covered = 0;
        for literal in self.long.find_iter(text) {
            if literal.start() >= covered {
                covered = self.shape_at(&LONG, text, literal.start(), out).max(covered);
            }
        }
        for (index, pattern) in self.patterns.iter().enumerate() {
            out.extend(
                pattern
                    .find_iter(text)
                    .filter(|found| !found.is_empty())
                    .map(|found| Span {
                        range: found.range(),
                        rule: Rule::Pattern(index),
                    }),
            );
        }
    }

    fn variables_at(&self, text: &str, at: usize, out: &mut Vec<Span>) {
        for (index, secret) in self.secrets.iter().enumerate() {
            for spelling in &secret.spellings {
                if text[at..].starts_with(spelling.as_str()) {
                    out.push(Span {
                        range: at..at + spelling.len(),
                        rule: Rule::Variable(index),
                    });
                }
            }
        }
    }

    /// Returns the end of what was found.
    fn shape_at(&self, shapes: &[Shape], text: &str, at: usize, out: &mut Vec<Span>) -> usize {
        let mut end = 0;
        if let Some(shape) = shapes.iter().find(|shape| text[at..].starts_with(shape.literal)) {
            shape.secrets(text, at, &self.query, |range| {
                end = end.max(range.end);
                out.push(Span {
                    range,
                    rule: Rule::Shape(shape.rule),
                });
            });
        }
        end
    }
}

/// Whether a JSON text may spell a letter, a digit or a slash with an escape.
fn has_odd_escapes(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        match rest.as_bytes().get(at + 1) {
            Some(b'u' | b'/') => return true,
            // A backslash that is escaped begins no escape.
            Some(b'\\') => rest = &rest[at + 2..],
            _ => rest = &rest[at + 1..],
        }
    }
    false
}

fn literals<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Regex> {
    let pattern = texts.into_iter().map(regex::escape).collect::<Vec<_>>().join("|");
    Regex::new(&pattern).map_err(|error| {
        Error::new(
            ErrorKind::Config,
            format!("the environment has too many secrets to search for: {error}"),
            "list variables that hold none under `keep_env` in the `[redact]` table of vcr.toml",
        )
    })
}

/// Calls `visit` wherever one of the literals begins, overlapping ones included.
fn each(literals: &Regex, text: &str, mut visit: impl FnMut(usize)) {
    let mut from = 0;
    while let Some(found) = literals.find_at(text, from) {
        visit(found.start());
        from = found.start() + text[found.start()..].chars().next().map_or(1, char::len_utf8);
    }
}

/// Sorts, joins what overlaps, and returns the ranges.
fn merge(spans: &mut Vec<Span>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.range.start);
    spans.dedup_by(|next, span| {
        let overlap = next.range.start < span.range.end;
        if overlap {
            span.range.end = span.range.end.max(next.range.end);
        }
        overlap
    });
    spans.iter().map(|span| span.range.clone()).collect()
}

/// What `walls` (sorted) leave of a range.
fn gaps(whole: Range<usize>, walls: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut from = whole.start;
    for wall in walls {
        if from < wall.start {
            gaps.push(from..wall.start);
        }
        from = from.max(wall.end);
    }
    if from < whole.end {
        gaps.push(from..whole.end);
    }
    gaps
}
