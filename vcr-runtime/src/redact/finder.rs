use std::ops::Range;

use regex::Regex;

use super::PLACEHOLDER;
use super::names::Names;
use super::secrets::{Secret, secrets};
use super::shapes::SHAPES;
use crate::config::{Environment, RedactRules};
use crate::error::{Error, ErrorKind, Result};

/// Which secrets are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All.
    Everything,
    /// Values of variables alone: the text is a signature, or encrypted.
    Variables,
}

/// Finds secrets in a text. A clean text costs one pass over it for all shapes, and one for all variables.
pub(super) struct Finder {
    shapes: Regex,
    /// The beginnings of all spellings; `None` where the environment has no secret.
    variables: Option<Regex>,
    secrets: Vec<Secret>,
    patterns: Vec<Regex>,
    query: Names,
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
        let spellings = secrets.iter().flat_map(|secret| &secret.spellings);
        // Short literals make a fast automaton; the whole value is compared where one is found.
        let beginnings: Vec<&str> = spellings
            .map(|text| {
                text.char_indices()
                    .nth(16)
                    .map_or(text.as_str(), |(end, _)| &text[..end])
            })
            .collect();
        let variables = (!beginnings.is_empty())
            .then(|| literals(beginnings))
            .transpose()?;
        Ok(Self {
            shapes: literals(SHAPES.iter().map(|shape| shape.literal).collect())?,
            variables,
            secrets,
            patterns: rules.patterns.clone(),
            query: Names::query(&rules.query, &rules.keep_query),
        })
    }

    pub(super) fn query(&self) -> &Names {
        &self.query
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
        let holes = text
            .match_indices(PLACEHOLDER)
            .map(|(start, hole)| start..start + hole.len());
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
        if let Some(variables) = &self.variables {
            each(variables, text, |at| self.variables_at(text, at, out));
        }
        if reach == Reach::Variables {
            return;
        }
        let mut covered = 0;
        each(&self.shapes, text, |at| {
            if at >= covered {
                covered = self.shapes_at(text, at, out).unwrap_or(covered);
            }
        });
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
    fn shapes_at(&self, text: &str, at: usize, out: &mut Vec<Span>) -> Option<usize> {
        let candidates = SHAPES
            .iter()
            .filter(|shape| text[at..].starts_with(shape.literal));
        let (range, rule) = candidates
            .filter_map(|shape| Some((shape.secret(text, at, &self.query)?, shape.rule)))
            .max_by_key(|(range, _)| range.end)?;
        let end = range.end;
        out.push(Span {
            range,
            rule: Rule::Shape(rule),
        });
        Some(end)
    }
}

fn literals(texts: Vec<&str>) -> Result<Regex> {
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
