//! One JSON document a line, one push at a time.

use super::WireEvent;
use super::sse::text;

/// Cuts pieces of a stream, split anywhere, into lines. Each byte is looked at once; blank lines are no events.
#[derive(Debug, Default)]
pub(crate) struct NdjsonParser {
    /// The bytes since the end of the last event.
    pending: Vec<u8>,
    /// How much of `pending` has been looked at.
    seen: usize,
}

impl NdjsonParser {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes; lines that they complete are appended to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<WireEvent>) {
        self.pending.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(offset) = self.pending[self.seen..].iter().position(|byte| *byte == b'\n') {
            self.seen += offset + 1;
            if let Some(mut event) = event(&self.pending[start..self.seen]) {
                event.bytes = self.take_event(&mut start);
                out.push(event);
            }
        }
        self.seen = self.pending.len() - start;
        self.pending.drain(..start);
    }

    /// The bytes from `start` to `seen`. What is more than all that follows is handed on as it is: an event may be large.
    fn take_event(&mut self, start: &mut usize) -> Vec<u8> {
        let end = self.seen;
        if end - *start < self.pending.len() - end || *start > 0 {
            let bytes = self.pending[*start..end].to_vec();
            *start = end;
            return bytes;
        }
        let rest = self.pending.split_off(end);
        self.seen = 0;
        let mut bytes = std::mem::replace(&mut self.pending, rest);
        bytes.shrink_to_fit();
        bytes
    }

    /// The end of the stream: a last line that only lacks its line end is an event, half a document is returned.
    pub(crate) fn finish(&mut self, out: &mut Vec<WireEvent>) -> Option<Vec<u8>> {
        let leftover = std::mem::take(self).pending;
        match event(&leftover).filter(|event| crate::json::parse(&event.data).is_ok()) {
            Some(mut event) => {
                event.bytes = leftover;
                out.push(event);
                None
            }
            None => (!leftover.is_empty()).then_some(leftover),
        }
    }
}

/// The event of one line, or of one line after blank ones, without its bytes; `None` when all of it is blank.
fn event(bytes: &[u8]) -> Option<WireEvent> {
    let line = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
    if line.is_empty() {
        return None;
    }
    let mut odd = false;
    Some(WireEvent {
        event: None,
        data: text(line.to_vec(), &mut odd),
        bytes: Vec::new(),
        odd,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(pieces: &[&[u8]]) -> (Vec<WireEvent>, Option<Vec<u8>>) {
        let mut parser = NdjsonParser::new();
        let mut out = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut out);
        }
        let leftover = parser.finish(&mut out);
        (out, leftover)
    }

    #[test]
    fn lines_are_events_whatever_ends_them() {
        let (events, leftover) = pieces(&[b"{\"a\":1}\n\n{\"b\":", b"2}\r\n{\"c\":3}"]);
        let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
        assert_eq!(data, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
        assert_eq!(events[1].bytes, b"\n{\"b\":2}\r\n");
        assert_eq!(leftover, None);
    }

    #[test]
    fn half_a_document_is_left_over() {
        let (events, leftover) = pieces(&[b"{\"a\":1}\n{\"b\":"]);
        assert_eq!(events.len(), 1);
        assert_eq!(leftover.as_deref(), Some(&b"{\"b\":"[..]));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_lines_and_no_byte_is_lost(
            lines in prop::collection::vec("[ \r\u{e9}{}a-c]{0,6}", 0..8), cut in 0_usize..60,
        ) {
            let input = lines.join("\n").into_bytes();
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
