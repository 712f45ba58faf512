//! Whether the text of an answer certainly holds no secret, at a fraction of the cost of reading the answer.
//!
//! Three things are looked for: what a secret begins with, anywhere it could stand; names of members that hold credentials, in JSON and in
//! JSON inside of strings; and secrets in pieces, as a stream cuts them. For the third the strings of all events are joined
//! by the names of their members, since an answer is put together of those. Where that may not be the order in which somebody
//! joins them, because two answers come by turns, the text counts as suspect. So does all that is not as providers write it.

use std::ops::Range;

use super::Redactor;
use super::strings::strings;
use crate::json::next_special;

/// What a text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One document.
    Document,
    /// The events of a `text/event-stream`.
    Events,
    /// A document a line.
    Lines,
}

impl Redactor {
    /// Whether nothing in the text of an answer is a secret, whole or in pieces. `false` when that takes a closer look.
    pub(crate) fn is_clean(&self, text: &str, form: Form) -> bool {
        let mut look = Look {
            redactor: self,
            text,
            is_searched: false,
            unlike: 0,
            is_suspect: false,
            runs: Vec::new(),
            shapes: Vec::new(),
            other: "",
            pattern: None,
        };
        match form {
            Form::Document => look.document(),
            Form::Events | Form::Lines => look.lines(form),
        }
        !look.is_suspect && look.runs.iter().all(|run| look.is_run_clean(run))
    }

    /// Whether a member of a JSON text, or of one inside of its strings, has the name of a credential.
    fn names_credential(&self, text: &str) -> bool {
        members(text).any(|(name, _)| self.is_name_of_credential(name))
    }

    fn is_name_of_credential(&self, name: &str) -> bool {
        // An account beside an error is one, too.
        self.names.contains(name) || name == "user_id"
    }
}

/// The names of the members of a JSON text, and of those inside of its strings; and where the value begins.
fn members(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let bytes = text.as_bytes();
    text.match_indices(':').filter_map(move |(colon, _)| {
        let quote = before_space(bytes, colon).checked_sub(1)?;
        if bytes[quote] != b'"' {
            return None;
        }
        let end = before_slashes(bytes, quote);
        let start = bytes[..end].iter().rposition(|byte| *byte == b'"');
        Some((&text[start.map_or(0, |quote| quote + 1)..end], colon + 1))
    })
}

/// Where the white space before `end` begins, in any spelling.
fn before_space(bytes: &[u8], mut end: usize) -> usize {
    loop {
        end = match &bytes[..end] {
            [.., b' ' | b'\t' | b'\r' | b'\n'] => end - 1,
            [.., b'\\', b't' | b'r' | b'n'] => before_slashes(bytes, end - 1),
            _ => return end,
        };
    }
}

fn before_slashes(bytes: &[u8], mut end: usize) -> usize {
    while end > 0 && bytes[end - 1] == b'\\' {
        end -= 1;
    }
    end
}

/// Members that name kinds and things: no answer is put together of them.
const LABELS: [&str; 20] = [
    "type",
    "id",
    "object",
    "role",
    "model",
    "status",
    "created_at",
    "item_id",
    "call_id",
    "finish_reason",
    "finishReason",
    "stop_reason",
    "done_reason",
    "system_fingerprint",
    "service_tier",
    "obfuscation",
    "modelVersion",
    "responseId",
    "createTime",
    "provider",
];
/// Lines of more different shapes than this are not understood well enough.
const MOST_SHAPES: usize = 8;
/// Of three texts of one name in one document the first and the last may belong together.
const MOST_TEXTS: usize = 2;
/// Where more lines than this are unlike the one before, the whole text is searched at once.
const MOST_UNLIKE: usize = 16;

struct Look<'r, 't> {
    redactor: &'r Redactor,
    text: &'t str,
    /// All of the text was searched for beginnings of secrets.
    is_searched: bool,
    /// Lines that were searched one by one.
    unlike: usize,
    is_suspect: bool,
    runs: Vec<Run<'t>>,
    /// Lines of these shapes have no names of credentials.
    shapes: Vec<u64>,
    /// The latest line that is no document.
    other: &'t str,
    pattern: Option<Pattern<'t>>,
}

/// The texts of one name, in order.
struct Run<'t> {
    name: &'t str,
    pieces: Vec<&'t str>,
    /// The shape of the lines that the latest came from, and of those before.
    shape: u64,
    left: Vec<u64>,
}

/// A line that the next ones may be like.
struct Pattern<'t> {
    line: &'t str,
    shape: u64,
    /// Strings that are texts, and their runs.
    texts: Vec<(Range<usize>, usize)>,
    /// The text in which the next lines differ.
    hole: Option<usize>,
}

/// What one line holds.
#[derive(Default)]
struct Line {
    /// Strings that are no names.
    strings: Vec<Range<usize>>,
    /// Of these, texts and their runs.
    texts: Vec<(Range<usize>, usize)>,
    is_cut: bool,
}

impl<'t> Look<'_, 't> {
    fn document(&mut self) {
        let text = self.text;
        if self.redactor.finder.suspects(text) {
            self.is_suspect = true;
            return;
        }
        // Only where a name comes again texts could be put together.
        let mut names: Vec<&str> = Vec::new();
        let mut is_list = text
            .match_indices('[')
            .any(|(at, _)| text[at + 1..].trim_start().starts_with('"'));
        for (name, value) in members(text) {
            if self.redactor.is_name_of_credential(name) {
                self.is_suspect = true;
                return;
            }
            if text[value..].trim_start().starts_with('"') && !LABELS.contains(&name) {
                is_list |= names.contains(&name);
                names.push(name);
            }
        }
        if !is_list {
            return;
        }
        let line = self.read(text);
        self.is_suspect |= line.is_cut;
        for (range, run) in line.texts.iter().filter(|(range, _)| !range.is_empty()) {
            let run = &mut self.runs[*run];
            run.pieces.push(&text[range.clone()]);
            self.is_suspect |= run.pieces.len() > MOST_TEXTS;
        }
    }

    fn lines(&mut self, form: Form) {
        let mut rest = self.text;
        while !self.is_suspect {
            rest = rest.trim_start_matches(['\n', '\r']);
            if rest.is_empty() {
                return;
            }
            if let Some(behind) = self.repeated(rest) {
                rest = behind;
                continue;
            }
            let (line, behind) = rest.split_once(['\n', '\r']).unwrap_or((rest, ""));
            match form {
                Form::Events => self.event_line(line),
                Form::Document | Form::Lines => self.line(line),
            }
            rest = behind;
        }
    }

    fn event_line(&mut self, line: &'t str) {
        match line.strip_prefix("data:") {
            // The name of the member may stand in the line before.
            Some(payload) if payload.trim_start().starts_with(':') => self.is_suspect = true,
            Some(_) => self.line(line),
            None if line == self.other => {}
            None => {
                self.is_suspect |= line.contains('"') || self.hides(line);
                self.other = line;
            }
        }
    }

    /// Whether a secret may begin in a line.
    fn hides(&mut self, line: &str) -> bool {
        if self.is_searched {
            return false;
        }
        self.unlike += 1;
        self.is_searched = self.unlike > MOST_UNLIKE;
        self.redactor
            .finder
            .suspects(if self.is_searched { self.text } else { line })
    }

    /// What follows the line that `rest` begins with, if that is the latest one but for its hole.
    fn repeated(&mut self, rest: &'t str) -> Option<&'t str> {
        let pattern = self.pattern.as_ref()?;
        let (range, run) = pattern.texts.get(pattern.hole?)?;
        let behind = rest.strip_prefix(&pattern.line[..range.start])?;
        let (text, behind) = behind.split_at(end_of_text(behind)?);
        let behind = behind.strip_prefix(&pattern.line[range.end..])?;
        if !behind.is_empty() && !behind.starts_with(['\n', '\r']) {
            return None;
        }
        let (run, shape) = (*run, pattern.shape);
        self.is_suspect |= !self.runs[run].push(text, shape);
        Some(behind)
    }

    /// Finds the hole of the pattern, where a line is like it but for one text.
    fn differs_in_one(&mut self, line: &'t str) -> bool {
        let Some(pattern) = self.pattern.as_mut().filter(|pattern| pattern.hole.is_none()) else {
            return false;
        };
        let bytes = line.bytes().zip(pattern.line.bytes());
        let Some(first) = bytes.enumerate().find(|(_, (a, b))| a != b).map(|(at, _)| at) else {
            return false;
        };
        let around = |(range, _): &(Range<usize>, usize)| range.start <= first && first <= range.end;
        pattern.hole = pattern.texts.iter().position(around);
        let is_one = self.repeated(line).is_some();
        if let Some(pattern) = self.pattern.as_mut().filter(|_| !is_one) {
            pattern.hole = None;
        }
        is_one
    }

    /// A line with a document.
    fn line(&mut self, line: &'t str) {
        if self.differs_in_one(line) {
            return;
        }
        let Line {
            strings,
            texts,
            is_cut,
        } = self.read(line);
        let shape = shape(line, &strings);
        if is_cut || self.hides(line) || self.stood_still(line, shape, &texts) {
            self.is_suspect = true;
            return;
        }
        if !self.shapes.contains(&shape) {
            self.is_suspect |= self.redactor.names_credential(line);
            self.shapes.push(shape);
        }
        for (index, (range, run)) in texts
            .iter()
            .enumerate()
            .filter(|(_, (range, _))| !range.is_empty())
        {
            // Two texts of one name in one line: two answers side by side.
            let is_second = texts[..index]
                .iter()
                .any(|(other, of)| of == run && !other.is_empty());
            self.is_suspect |= is_second || !self.runs[*run].push(&line[range.clone()], shape);
        }
        self.pattern = Some(Pattern {
            line,
            shape,
            texts,
            hole: None,
        });
    }

    /// Whether a text changes that was the same in all lines of the pattern, of which nobody counted how often it came.
    fn stood_still(&self, line: &str, shape: u64, texts: &[(Range<usize>, usize)]) -> bool {
        let Some(Pattern {
            line: before,
            shape: of,
            texts: then,
            hole: Some(hole),
        }) = &self.pattern
        else {
            return false;
        };
        let mut pairs = then.iter().zip(texts).enumerate();
        *of == shape
            && pairs.any(|(index, ((then, _), (now, _)))| {
                index != *hole && before[then.clone()] != line[now.clone()]
            })
    }

    fn read(&mut self, text: &'t str) -> Line {
        let mut line = Line::default();
        let runs = &mut self.runs;
        strings(text, |item| {
            if item.is_name {
                return;
            }
            line.is_cut |= item.range.end >= text.len();
            line.strings.push(item.range.clone());
            let name = item.member.unwrap_or_default();
            if LABELS.contains(&name) {
                return;
            }
            let known = runs.iter().position(|run| run.name == name);
            let run = known.unwrap_or_else(|| {
                runs.push(Run {
                    name,
                    pieces: Vec::new(),
                    shape: 0,
                    left: Vec::new(),
                });
                runs.len() - 1
            });
            line.texts.push((item.range, run));
        });
        // Some come after the rest of their object.
        line.strings.sort_unstable_by_key(|range| range.start);
        line
    }

    fn is_run_clean(&self, run: &Run<'_>) -> bool {
        let is_clean =
            |text: &str| !self.redactor.finder.suspects(text) && !self.redactor.names_credential(text);
        match run.pieces.as_slice() {
            [] => true,
            [piece] => is_clean(piece),
            pieces => is_clean(&pieces.concat()),
        }
    }
}

impl<'t> Run<'t> {
    /// Adds a text. `false` when it comes from lines of a shape that other lines had followed: two answers by turns.
    fn push(&mut self, text: &'t str, shape: u64) -> bool {
        if text.is_empty() {
            return true;
        }
        if self.pieces.is_empty() {
            self.shape = shape;
        } else if self.shape != shape {
            if self.left.contains(&shape) || self.left.len() == MOST_SHAPES {
                return false;
            }
            self.left.push(self.shape);
            self.shape = shape;
        }
        self.pieces.push(text);
        true
    }
}

/// The length of the string that a text begins inside of; `None` where it does not end in its line.
fn end_of_text(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at = next_special(bytes, at);
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_graphic) => at += 2,
            _ => return None,
        }
    }
}

/// What a line is apart from its strings and numbers. Numbers that tell answers apart stay.
fn shape(line: &str, strings: &[Range<usize>]) -> u64 {
    let mut shape = Shape {
        hash: 0xcbf2_9ce4_8422_2325,
        last: b' ',
    };
    let mut from = 0;
    let ends = strings.iter().map(|range| (range.start, range.end));
    for (end, next) in ends.chain([(line.len(), line.len())]) {
        let mut parts = line[from..end].split("index\":");
        shape.words(parts.next().unwrap_or_default());
        for part in parts {
            let part = part.trim_start();
            let number = part.len() - part.trim_start_matches(|char: char| char.is_ascii_digit()).len();
            part[..number].bytes().for_each(|digit| shape.byte(digit));
            shape.byte(b'#');
            shape.words(&part[number..]);
        }
        shape.byte(b'"');
        from = next;
    }
    shape.hash
}

struct Shape {
    hash: u64,
    last: u8,
}

impl Shape {
    /// Takes in a text without the digits of its numbers; those of its names stay.
    fn words(&mut self, text: &str) {
        for byte in text.bytes() {
            if !byte.is_ascii_digit() || self.last.is_ascii_alphanumeric() || self.last == b'_' {
                self.byte(byte);
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        self.last = byte;
        self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
}

#[cfg(test)]
#[path = "clean_tests.rs"]
mod tests;
