//! What documents are written to: a text, or the bytes of a body.

use memchr::memchr3;

use super::scalar::next_special;
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

/// Bytes need not be cut at characters, so that they are copied in strides.
impl Sink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }

    fn put_escaped(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        // Most texts need no escape, and those that do need room for a few.
        self.reserve(rest.len() + rest.len() / 16 + STRIDE);
        let is_rare = |byte: u8| (byte < 0x20) & (byte != b'\n');
        if rest.iter().fold(false, |rare, byte| rare | is_rare(*byte)) {
            loop {
                let at = next_special(rest, 0);
                let Some(byte) = rest.get(at) else {
                    break;
                };
                self.extend_from_slice(&rest[..at]);
                put_escape(*byte, self);
                rest = &rest[at + 1..];
            }
        } else {
            while let Some(at) = memchr3(b'"', b'\\', b'\n', rest) {
                match rest.first_chunk::<STRIDE>() {
                    // To copy more than is wanted is cheaper than to copy as much.
                    Some(stride) if at <= STRIDE => {
                        self.extend_from_slice(stride);
                        self.truncate(self.len() - (STRIDE - at));
                    }
                    _ => self.extend_from_slice(&rest[..at]),
                }
                put_escape(rest[at], self);
                rest = &rest[at + 1..];
            }
        }
        self.extend_from_slice(rest);
    }
}

const STRIDE: usize = 32;

/// Appends the escape of a byte that cannot stand in a string.
fn put_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let letter = match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0..0x20 => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digits[0], digits[1]]);
            return;
        }
        itself => itself,
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
                let text = format!(
                    "{}{}é{}",
                    "a".repeat(place),
                    char::from(byte),
                    "b".repeat(70 - place)
                );
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
