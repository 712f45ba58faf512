//! Whether the text of an answer certainly holds no secret, at a fraction of the cost of reading the answer.
//!
//! Three things are looked for: what a secret begins with, anywhere; names of members that hold credentials, in JSON and in
//! JSON inside of strings; and secrets in pieces, as a stream cuts them. For the third the strings of all events are joined
//! by the names of their members, since an answer is put together of those. Where that may not be the order in which somebody
//! joins them, because two answers come by turns, the text counts as suspect. So does all that is not as providers write it.

use std::ops::Range;

use super::Redactor;
use super::strings::strings;

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
        if self.hides(text) {
            return false;
        }
        let mut look = Look {
            redactor: self,
            runs: Vec::new(),
            shapes: Vec::new(),
            pattern: None,
        };
        let clean = match form {
            Form::Document => look.document(text),
            Form::Events => look.events(text),
            Form::Lines => text.split('\n').all(|line| look.line(line)),
        };
        clean && look.runs.iter().all(|run| look.is_run_clean(run))
    }

    /// Whether a secret may begin in a text, or letters are spelled in a way that would hide one.
    fn hides(&self, text: &str) -> bool {
        self.finder.suspects(text) || text.contains("\\/")
    }

    /// Whether a member of a JSON text, or of one inside of its strings, has the name of a credential.
    fn names_credential(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        text.match_indices(':').any(|(colon, _)| {
            let mut end = before_space(bytes, colon);
            if end.checked_sub(1).map(|at| bytes[at]) != Some(b'"') {
                return false;
            }
            end = before_slashes(bytes, end - 1);
            let start = bytes[..end].iter().rposition(|byte| *byte == b'"');
            let name = &text[start.map_or(0, |quote| quote + 1)..end];
            // An account beside an error is one, too.
            self.members.contains(name) || name == "user_id"
        })
    }
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

struct Look<'r, 't> {
    redactor: &'r Redactor,
    runs: Vec<Run<'t>>,
    /// Lines of these shapes have no names of credentials.
    shapes: Vec<u64>,
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
    fn document(&mut self, text: &'t str) -> bool {
        if self.redactor.names_credential(text) {
            return false;
        }
        let line = self.read(text);
        let once = line.texts.iter().all(|(range, run)| {
            let run = &mut self.runs[*run];
            let piece = &text[range.clone()];
            if !piece.is_empty() {
                run.pieces.push(piece);
            }
            run.pieces.len() <= MOST_TEXTS
        });
        once && !line.is_cut
    }

    fn events(&mut self, text: &'t str) -> bool {
        if text.contains('\r') {
            text.split(['\r', '\n']).all(|line| self.event_line(line))
        } else {
            text.split('\n').all(|line| self.event_line(line))
        }
    }

    fn event_line(&mut self, line: &'t str) -> bool {
        if line.is_empty() || self.repeats(line) {
            return true;
        }
        match line.strip_prefix("data:") {
            // The name of the member may stand in the line before.
            Some(payload) => !payload.trim_start().starts_with(':') && self.line(line),
            None => !line.contains('"'),
        }
    }

    /// Whether a line is the latest one but for one text.
    fn repeats(&mut self, line: &'t str) -> bool {
        let Some(pattern) = &mut self.pattern else {
            return false;
        };
        let hole = match pattern.hole {
            Some(hole) => hole,
            None => {
                let bytes = line.bytes().zip(pattern.line.bytes());
                let Some(first) = bytes.enumerate().find(|(_, (a, b))| a != b).map(|(at, _)| at) else {
                    return false;
                };
                let around = |(range, _): &(Range<usize>, usize)| range.start <= first && first <= range.end;
                let Some(hole) = pattern.texts.iter().position(around) else {
                    return false;
                };
                hole
            }
        };
        let (range, run) = &pattern.texts[hole];
        let text = line
            .strip_prefix(&pattern.line[..range.start])
            .and_then(|rest| rest.strip_suffix(&pattern.line[range.end..]));
        let Some(text) = text.filter(|text| is_one_string(text)) else {
            return false;
        };
        pattern.hole = Some(hole);
        let (run, shape) = (*run, pattern.shape);
        self.runs[run].push(text, shape)
    }

    fn line(&mut self, line: &'t str) -> bool {
        if line.is_empty() || self.repeats(line) {
            return true;
        }
        let Line {
            strings,
            texts,
            is_cut,
        } = self.read(line);
        let shape = shape(line, &strings);
        if is_cut || self.stood_still(line, shape, &texts) {
            return false;
        }
        if !self.shapes.contains(&shape) {
            if self.redactor.names_credential(line) {
                return false;
            }
            self.shapes.push(shape);
        }
        for (index, (range, run)) in texts.iter().enumerate() {
            let text = &line[range.clone()];
            let is_first = texts[..index]
                .iter()
                .all(|(other, of)| of != run || other.is_empty());
            // Two texts of one name in one line: two answers side by side.
            if !text.is_empty() && !(is_first && self.runs[*run].push(text, shape)) {
                return false;
            }
        }
        self.pattern = Some(Pattern {
            line,
            shape,
            texts,
            hole: None,
        });
        true
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
        match run.pieces.as_slice() {
            [] => true,
            // Whether a secret begins in it is known, and of documents what names they have.
            [piece] => !self.redactor.names_credential(piece),
            pieces => {
                let joined = pieces.concat();
                !self.redactor.hides(&joined) && !self.redactor.names_credential(&joined)
            }
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

/// Whether no quote ends the string before its end.
fn is_one_string(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return false,
            // What it escapes is there, or the string has no end.
            b'\\' if bytes.next().is_none() => return false,
            _ => {}
        }
    }
    true
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
