//! What documents are written to: a text, or the bytes of a body.

use super::scalar::{is_special, special};
use super::write::escape_into;

/// Takes the text of a document bit by bit.
pub(crate) trait Sink {
    /// Appends a text as it is.
    fn put(&mut self, text: &str);

    /// Appends a text as it stands in a JSON string.
    fn put_escaped(&mut self, text: &str);
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }

    fn put_escaped(&mut self, text: &str) {
        escape_into(text, self);
    }
}

/// Bytes need not be cut at characters, so they are copied while they are looked through.
impl Sink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn put_escaped(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        // Most texts need no escape, and those that do need room for a few.
        self.reserve(rest.len() + rest.len() / 16 + 8);
        // Eight bytes at a time, by way of a room that is long enough for whatever they become.
        let mut room = [0; ROOM];
        let mut filled = 0;
        let mut starts = true;
        loop {
            if starts || filled > ROOM - LONGEST {
                starts = false;
                self.extend_from_slice(&room[..filled]);
                filled = 0;
                while let Some((stride, after)) = rest.split_first_chunk::<32>()
                    && stride.iter().fold(true, |clean, byte| clean & !is_special(*byte))
                {
                    self.extend_from_slice(stride);
                    rest = after;
                }
            }
            let Some((word, after)) = rest.split_first_chunk::<8>() else {
                break;
            };
            if let Some(place) = room[filled..].first_chunk_mut::<8>() {
                *place = *word;
            }
            let marks = special(u64::from_le_bytes(*word));
            if marks == 0 {
                filled += 8;
                rest = after;
            } else {
                let plain = marks.trailing_zeros() as usize / 8;
                filled = put_byte(word[plain], &mut room, filled + plain);
                rest = &rest[plain + 1..];
            }
        }
        self.extend_from_slice(&room[..filled]);
        let mut filled = 0;
        for byte in rest {
            filled = put_byte(*byte, &mut room, filled);
        }
        self.extend_from_slice(&room[..filled]);
    }
}

/// Bytes that are escaped before they are appended.
const ROOM: usize = 256;
/// What eight bytes become at the most: seven that stay and an escape.
const LONGEST: usize = 13;

/// Writes a byte as it stands in a string at `at`, and returns where the next one goes.
#[inline]
fn put_byte(byte: u8, out: &mut [u8; ROOM], at: usize) -> usize {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0..0x20 => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            let escape = [b'\\', b'u', b'0', b'0', digits[0], digits[1]];
            out[at..at + 6].copy_from_slice(&escape);
            return at + 6;
        }
        plain => {
            out[at] = plain;
            return at + 1;
        }
    };
    out[at..at + 2].copy_from_slice(&[b'\\', letter]);
    at + 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn both(text: &str) -> (String, String) {
        let (mut bytes, mut string) = (Vec::new(), String::new());
        bytes.put_escaped(text);
        string.put_escaped(text);
        (String::from_utf8(bytes).unwrap(), string)
    }

    #[test]
    fn every_byte_at_every_place_is_escaped_alike() {
        for place in 0..70 {
            for byte in 0..=0x7f_u8 {
                let text = format!("{}{}é{}", "a".repeat(place), char::from(byte), "b".repeat(70 - place));
                let (bytes, string) = both(&text);
                assert_eq!(bytes, string);
            }
        }
    }

    proptest! {
        #[test]
        fn texts_are_escaped_alike(text in "([a-z é🦀]{0,40}[\"\\\\\n\u{1}\u{1f}\u{7f}]{0,2}){0,8}") {
            let (bytes, string) = both(&text);
            prop_assert_eq!(bytes, string);
        }
    }
}
