//! One JSON array whose elements come one by one, one push at a time.

use super::WireEvent;
use super::sse::text;

/// Cuts pieces of a stream, split anywhere, into the objects of an array. Each byte is looked at once. Brackets, commas
/// and white space between the objects go with the object after them; anything else there does too, and is no event.
#[derive(Debug, Default)]
pub(crate) struct ArrayParser {
    /// The bytes since the end of the last event.
    pending: Vec<u8>,
    /// How much of `pending` has been looked at.
    seen: usize,
    /// Where the object begins.
    start: usize,
    /// Braces that are open.
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl ArrayParser {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes; objects that they complete are appended to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<WireEvent>) {
        self.pending.extend_from_slice(bytes);
        let mut begin = 0;
        while let Some(byte) = self.pending.get(self.seen).copied() {
            self.seen += 1;
            if self.ends(byte) {
                let mut odd = false;
                let object = self.pending[self.start..self.seen].to_vec();
                out.push(WireEvent {
                    event: None,
                    data: text(object, &mut odd),
                    bytes: self.pending[begin..self.seen].to_vec(),
                    odd,
                });
                begin = self.seen;
            }
        }
        self.pending.drain(..begin);
        self.seen -= begin;
        self.start = self.start.saturating_sub(begin);
    }

    /// Whether this byte, the one before `seen`, ends an object.
    fn ends(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' => {
                if self.depth == 0 {
                    self.start = self.seen - 1;
                }
                self.depth += 1;
            }
            b'}' if self.depth > 0 => {
                self.depth -= 1;
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }

    /// The end of the stream: what closed the array, or half an object.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        let leftover = std::mem::take(self).pending;
        (!leftover.is_empty()).then_some(leftover)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(pieces: &[&[u8]]) -> (Vec<WireEvent>, Option<Vec<u8>>) {
        let mut parser = ArrayParser::new();
        let mut out = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut out);
        }
        (out, parser.finish())
    }

    #[test]
    fn objects_are_events_whatever_is_between_them() {
        let (events, leftover) = pieces(&[b"[{\n \"a\": \"}\\\"{\"\n}\n,\r\n{\"b\":", b"{\"c\":[{}]}}\n]\n"]);
        let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
        assert_eq!(data, ["{\n \"a\": \"}\\\"{\"\n}", "{\"b\":{\"c\":[{}]}}"]);
        assert_eq!(events[1].bytes, b"\n,\r\n{\"b\":{\"c\":[{}]}}");
        assert_eq!(leftover.as_deref(), Some(&b"\n]\n"[..]));
    }

    #[test]
    fn half_an_object_is_left_over_and_strays_are_no_events() {
        let (events, leftover) = pieces(&[b"[1,}\"{\",{\"a\":1},{\"b\":"]);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].data, "{\"a\":1}");
        assert_eq!(events[0].bytes, b"[1,}\"{\",{\"a\":1}");
        assert_eq!(leftover.as_deref(), Some(&b",{\"b\":"[..]));
        assert_eq!(pieces(&[b""]), (Vec::new(), None));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_objects_and_no_byte_is_lost(input in "[\\[\\]{}\",\\\\ aé]{0,40}", cut in 0_usize..60) {
            let input = input.into_bytes();
            let (events, leftover) = pieces(&[&input]);
            let mut joined: Vec<u8> = events.iter().flat_map(|event| event.bytes.clone()).collect();
            joined.extend(leftover.clone().unwrap_or_default());
            prop_assert_eq!(&joined, &input);
            let (front, back) = input.split_at(cut.min(input.len()));
            prop_assert_eq!(pieces(&[front, back]), (events.clone(), leftover.clone()));
            prop_assert_eq!(pieces(&input.chunks(1).collect::<Vec<_>>()), (events, leftover));
        }
    }
}
