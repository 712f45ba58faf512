//! Strings and numbers of the parser.

use std::borrow::Cow;

use super::parse::{CUT, Parsed, Parser};

/// Longer strings keep the room that they were put together in: they are few, and copying them would double it.
const MOST_SCRATCH: usize = 1 << 16;

impl<'a> Parser<'a> {
    /// The text of the number whose first character stands here, checked by the JSON grammar.
    pub(crate) fn number(&mut self) -> Parsed<&'a str> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize| {
            let from = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at > from
        };
        let mut at = start + usize::from(bytes[start] == b'-');
        let leading_zero = bytes.get(at) == Some(&b'0');
        let first = at;
        let mut good = digits(&mut at) && !(leading_zero && at - first > 1);
        if good && bytes.get(at) == Some(&b'.') {
            at += 1;
            good = digits(&mut at);
        }
        if good && matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(bytes.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            good = digits(&mut at);
        }
        if !good {
            let is_cut = at == bytes.len();
            return Err(self.error_at(at, if is_cut { CUT } else { "this is not a JSON number" }));
        }
        let text = &self.text[start..at];
        // Up to 300 characters without an exponent are always in range.
        let may_overflow = text.len() > 300 || text.contains(['e', 'E']);
        if self.limits.finite_numbers && may_overflow && !text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(self.error_at(start, "this number is beyond the range of a double"));
        }
        self.at = at;
        Ok(text)
    }

    /// Moves to the next byte that is special inside a string.
    fn plain(&mut self) -> Parsed<u8> {
        let bytes = self.text.as_bytes();
        let at = next_special(bytes, self.at);
        match bytes.get(at) {
            Some(&byte @ (b'"' | b'\\')) => {
                self.at = at;
                Ok(byte)
            }
            Some(_) => Err(self.error_at(at, "a control character in a string must be escaped")),
            None => Err(self.error_at(at, "the document ends inside a string (was the file cut?)")),
        }
    }

    pub(super) fn skip_string(&mut self) -> Parsed<()> {
        self.at += 1;
        loop {
            if self.plain()? == b'"' {
                self.at += 1;
                return Ok(());
            }
            self.escape()?;
        }
    }

    pub(super) fn string(&mut self) -> Parsed<String> {
        self.text().map(Cow::into_owned)
    }

    /// The string whose quote stands here; borrowed where it is written without escapes.
    pub(crate) fn text(&mut self) -> Parsed<Cow<'a, str>> {
        let text = self.text;
        self.at += 1;
        let start = self.at;
        if self.plain()? == b'"' {
            let end = self.at;
            self.at += 1;
            return Ok(Cow::Borrowed(&text[start..end]));
        }
        // Put together where there is room already, so that the string gets as much as it needs and at once.
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.push_str(&text[start..self.at]);
        scratch.push(self.escape()?);
        self.rest_into(&mut scratch)?;
        if scratch.len() > MOST_SCRATCH {
            return Ok(Cow::Owned(scratch));
        }
        let owned = scratch.as_str().to_owned();
        self.scratch = scratch;
        Ok(Cow::Owned(owned))
    }

    /// Appends the string whose quote stands here.
    pub(crate) fn text_into(&mut self, out: &mut String) -> Parsed<()> {
        self.at += 1;
        self.rest_into(out)
    }

    /// Appends what is left of the string that the parser stands in.
    fn rest_into(&mut self, out: &mut String) -> Parsed<()> {
        let text = self.text;
        loop {
            let start = self.at;
            let stop = self.plain()?;
            out.push_str(&text[start..self.at]);
            if stop == b'"' {
                self.at += 1;
                return Ok(());
            }
            out.push(self.escape()?);
        }
    }

    /// The character of the escape that stands here.
    fn escape(&mut self) -> Parsed<char> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(letter @ (b'"' | b'\\' | b'/')) => letter,
            Some(b'b') => 8,
            Some(b'f') => 0xc,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode(start),
            None => return Err(self.error(CUT)),
            Some(_) => return Err(self.error_at(start, "this is not a JSON escape")),
        };
        self.at += 1;
        Ok(char::from(character))
    }

    fn unicode(&mut self, start: usize) -> Parsed<char> {
        self.at += 1;
        let first = self.hex()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.error_at(start, "this is not a JSON escape"));
        }
        let pair = "a surrogate escape needs its other half";
        if first < 0xdc00 && "\\u".starts_with(&self.text[self.at..]) {
            return Err(self.error(CUT));
        }
        if first >= 0xdc00 || !self.text[self.at..].starts_with("\\u") {
            return Err(self.error_at(start, pair));
        }
        self.at += 2;
        let second = self.hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.error_at(start, pair));
        }
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            .ok_or_else(|| self.error_at(start, pair))
    }

    fn hex(&mut self) -> Parsed<u32> {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.len() < 4 && rest.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.error(CUT));
        }
        let digits = self
            .text
            .as_bytes()
            .get(self.at..self.at + 4)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .ok_or_else(|| self.error("expected four hexadecimal digits"))?;
        let value = digits.iter().fold(0, |sum, digit| {
            sum * 16 + char::from(*digit).to_digit(16).unwrap_or_default()
        });
        self.at += 4;
        Ok(value)
    }
}

/// The place of the next byte from `at` on that is special inside a JSON string; the length where there is none.
pub(crate) fn next_special(bytes: &[u8], mut at: usize) -> usize {
    // The words before it are looked at one by one: names are short, and texts with quotes have many.
    let near = at + 32;
    loop {
        if at >= near {
            at = clean_strides(bytes, at);
        }
        let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
            return at + bytes[at..].iter().take_while(|byte| !is_special(**byte)).count();
        };
        // Eight bytes at a time. The lowest mark is exact; those above it may not be.
        let marks = special(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
}

/// Passes over a long text without special bytes, in strides that compilers turn into vector instructions.
fn clean_strides(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
        if chunk.iter().fold(false, |found, byte| found | is_special(*byte)) {
            break;
        }
        at += 32;
    }
    at
}

/// Whether a text stands in a JSON string as it is.
pub(crate) fn is_plain(text: &str) -> bool {
    next_special(text.as_bytes(), 0) == text.len()
}

/// Without branches, so that strides of it vectorise. With its second bit turned over, a quote follows the control characters
/// and no other byte comes between: one comparison finds both.
fn is_special(byte: u8) -> bool {
    (byte ^ 2 < 0x21) | (byte == b'\\')
}

/// Marks the bytes of eight that are special, in their high bits.
fn special(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    (below(word ^ (ONES * 2), 0x21) | below(word ^ (ONES * 0x5c), 1)) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_told_in_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..70 {
                let mut text = [b' '; 100];
                text[place] = byte;
                text[place + 1] = b'"';
                let expected = if is_special(byte) { place } else { place + 1 };
                assert_eq!(next_special(&text, 0), expected, "{byte} at {place}");
            }
            assert_eq!(is_special(byte), matches!(byte, b'"' | b'\\' | 0..0x20));
        }
    }
}
