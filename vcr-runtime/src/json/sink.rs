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
        // Words of eight bytes since the last special one.
        let mut clean = 4;
        loop {
            if clean >= 4
                && let Some((stride, after)) = rest.split_first_chunk::<32>()
            {
                if stride.iter().fold(true, |clean, byte| clean & !is_special(*byte)) {
                    self.extend_from_slice(stride);
                    rest = after;
                    continue;
                }
                clean = 0;
            }
            let Some((word, after)) = rest.split_first_chunk::<8>() else {
                break;
            };
            self.extend_from_slice(word);
            let marks = special(u64::from_le_bytes(*word));
            if marks == 0 {
                rest = after;
                clean += 1;
                continue;
            }
            let plain = marks.trailing_zeros() as usize / 8;
            self.truncate(self.len() - (word.len() - plain));
            put_byte(word[plain], self);
            rest = &rest[plain + 1..];
            clean = 0;
        }
        for byte in rest {
            put_byte(*byte, self);
        }
    }
}

fn put_byte(byte: u8, out: &mut Vec<u8>) {
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
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
            return;
        }
        plain => return out.push(plain),
    };
    out.extend_from_slice(&[b'\\', letter]);
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
