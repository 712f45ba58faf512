//! `text/event-stream` by the rules of the WHATWG, one push at a time.

use super::WireEvent;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Cuts pieces of a stream, split anywhere, into events. Each byte is looked at once.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    /// The bytes since the end of the last event.
    pending: Vec<u8>,
    /// Where the current line begins in `pending`.
    line: usize,
    /// How much of `pending` has been looked at.
    seen: usize,
    /// The byte before `seen` is a CR whose LF may still come.
    after_cr: bool,
    /// A first line has been read, so a BOM has no meaning any more.
    started: bool,
    fields: Fields,
}

/// What the lines of the current event have said so far.
#[derive(Debug, Default)]
struct Fields {
    event: Option<Vec<u8>>,
    /// Every line followed by LF; empty means that the event has no data and is none.
    data: Vec<u8>,
}

impl SseParser {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes; events that they complete are appended to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<WireEvent>) {
        self.pending.extend_from_slice(bytes);
        // Where the current event begins; the consumed front is dropped once a push, which keeps the cost linear.
        let mut start = 0;
        while self.seen < self.pending.len() {
            if self.after_cr {
                self.after_cr = false;
                self.seen += usize::from(self.pending[self.seen] == b'\n');
                self.end_line(&mut start, out);
                continue;
            }
            let rest = &self.pending[self.seen..];
            let Some(offset) = end_of_line(rest) else {
                self.seen = self.pending.len();
                break;
            };
            self.after_cr = rest[offset] == b'\r';
            self.seen += offset + 1;
            if !self.after_cr {
                self.end_line(&mut start, out);
            }
        }
        self.drop_front(start);
    }

    /// The end of the stream: a CR that waited for its LF ends a line after all, and whatever then belongs to no
    /// complete event is returned. By the standard an event without its blank line is none.
    pub(crate) fn finish(&mut self, out: &mut Vec<WireEvent>) -> Option<Vec<u8>> {
        if self.after_cr {
            self.after_cr = false;
            let mut start = 0;
            self.end_line(&mut start, out);
            self.drop_front(start);
        }
        let leftover = std::mem::take(self).pending;
        (!leftover.is_empty()).then_some(leftover)
    }

    fn drop_front(&mut self, start: usize) {
        self.pending.drain(..start);
        self.line -= start;
        self.seen -= start;
    }

    /// The line from `line` to `seen`, its end included, is complete.
    fn end_line(&mut self, start: &mut usize, out: &mut Vec<WireEvent>) {
        let mut line = &self.pending[self.line..self.seen];
        while let [head @ .., b'\r' | b'\n'] = line {
            line = head;
        }
        if !self.started {
            self.started = true;
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        self.line = self.seen;
        if !line.is_empty() {
            self.fields.line(line);
            return;
        }
        let fields = std::mem::take(&mut self.fields);
        if let Some(mut event) = fields.dispatch() {
            event.bytes = self.take_event(start);
            out.push(event);
        }
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
        (self.line, self.seen) = (0, 0);
        let mut bytes = std::mem::replace(&mut self.pending, rest);
        bytes.shrink_to_fit();
        bytes
    }
}

impl Fields {
    fn line(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                self.data.reserve(value.len() + 1);
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.event = Some(value.to_vec()),
            // A comment has an empty name. `id` and `retry` steer reconnection, which no provider offers here; like
            // unknown fields they live on in the event's bytes.
            _ => {}
        }
    }

    /// The event, without its bytes.
    fn dispatch(mut self) -> Option<WireEvent> {
        self.data.pop()?;
        let mut odd = false;
        let data = text(self.data, &mut odd);
        let event = self
            .event
            .filter(|name| !name.is_empty())
            .map(|name| text(name, &mut odd));
        Some(WireEvent {
            event,
            data,
            bytes: Vec::new(),
            odd,
        })
    }
}

/// The place of the next CR or LF.
fn end_of_line(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    // In strides without branches, which compilers turn into vector instructions: payloads are long lines.
    while let Some(chunk) = bytes[at..].first_chunk::<32>() {
        let found = chunk
            .iter()
            .fold(false, |found, byte| found | (*byte == b'\r') | (*byte == b'\n'));
        if found {
            break;
        }
        at += 32;
    }
    let rest = bytes[at..].iter();
    let offset = rest.take(32).position(|byte| matches!(byte, b'\r' | b'\n'))?;
    Some(at + offset)
}

/// Bytes as text; `odd` is set where they are no UTF-8.
pub(super) fn text(bytes: Vec<u8>, odd: &mut bool) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        *odd = true;
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(input: &[u8]) -> (Vec<WireEvent>, Option<Vec<u8>>) {
        pieces(&[input])
    }

    fn pieces(pieces: &[&[u8]]) -> (Vec<WireEvent>, Option<Vec<u8>>) {
        let mut parser = SseParser::new();
        let mut out = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut out);
        }
        let leftover = parser.finish(&mut out);
        (out, leftover)
    }

    fn data(input: &[u8]) -> Vec<String> {
        whole(input).0.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn lines_end_in_lf_crlf_or_cr() {
        for end in ["\n", "\r\n", "\r"] {
            let input = format!("data: a{end}data: b{end}{end}data: c{end}{end}");
            assert_eq!(data(input.as_bytes()), ["a\nb", "c"], "{end:?}");
            assert_eq!(whole(input.as_bytes()).1, None, "{end:?}");
        }
    }

    #[test]
    fn a_cr_at_the_end_of_a_piece_waits_for_its_lf() {
        let mut parser = SseParser::new();
        let mut out = Vec::new();
        parser.push(b"data: a\r\n\r", &mut out);
        assert!(out.is_empty());
        parser.push(b"\ndata: b\r", &mut out);
        assert_eq!(out[0].bytes, b"data: a\r\n\r\n");
        parser.push(b"\r", &mut out);
        assert_eq!(out.len(), 1);
        assert_eq!(parser.finish(&mut out), None);
        assert_eq!(out[1].bytes, b"data: b\r\r");
    }

    #[test]
    fn one_space_after_the_colon_belongs_to_the_syntax() {
        assert_eq!(
            data(b"data:a\n\ndata: a\n\ndata:  a\n\ndata\n\n"),
            ["a", "a", " a", ""]
        );
    }

    #[test]
    fn a_bom_counts_only_at_the_very_start() {
        assert_eq!(data(b"\xEF\xBB\xBFdata: a\n\n"), ["a"]);
        assert_eq!(data(b"data: a\n\n\xEF\xBB\xBFdata: b\n\ndata: c\n\n"), ["a", "c"]);
        let (events, _) = pieces(&[b"\xEF", b"\xBB", b"\xBFda", b"ta: a\n\n"]);
        assert_eq!(events[0].data, "a");
        assert_eq!(events[0].bytes, b"\xEF\xBB\xBFdata: a\n\n");
    }

    #[test]
    fn comments_ids_and_dataless_events_are_no_events_but_keep_their_bytes() {
        let input = b": ping\n\nid: 7\nretry: 10\nevent: lost\n\n: x\nevent: error\nid: 8\nnonsense\ndata: a\n\n: end\n\n";
        let (events, leftover) = whole(input);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].event.as_deref(), Some("error"));
        assert_eq!(events[0].data, "a");
        assert!(input.starts_with(&events[0].bytes));
        assert_eq!(leftover.as_deref(), Some(&b": end\n\n"[..]));
    }

    #[test]
    fn an_event_without_its_blank_line_is_left_over() {
        let (events, leftover) = whole(b"data: a\n\ndata: [DONE]\n");
        assert_eq!(events.len(), 1);
        assert_eq!(leftover.as_deref(), Some(&b"data: [DONE]\n"[..]));
    }

    #[test]
    fn a_character_cut_in_two_is_joined_before_it_is_decoded() {
        let (events, _) = pieces(&[b"data: caf\xC3", b"\xA9 \xF0\x9F", b"\xA6\x80\n\n"]);
        assert_eq!(events[0].data, "caf\u{e9} \u{1F980}");
        assert!(!events[0].odd);
    }

    #[test]
    fn broken_utf8_is_delivered_and_marked() {
        let (events, _) = whole(b"data: a\xFFb\n\ndata: c\n\n");
        assert_eq!(events[0].data, "a\u{FFFD}b");
        assert_eq!(
            events.iter().map(|event| event.odd).collect::<Vec<_>>(),
            [true, false]
        );
    }

    #[test]
    fn ten_megabytes_in_one_event_byte_by_byte() {
        // A rescan on every push would take 10^14 steps and never come back.
        const SIZE: usize = 10 << 20;
        let mut parser = SseParser::new();
        let mut out = Vec::new();
        parser.push(b"data: ", &mut out);
        for _ in 0..SIZE {
            parser.push(b"x", &mut out);
        }
        parser.push(b"\n\n", &mut out);
        assert_eq!(out[0].data.len(), SIZE);
        assert_eq!(out[0].bytes.len(), SIZE + 8);
    }

    #[test]
    fn a_million_events_in_one_push() {
        let mut out = Vec::new();
        SseParser::new().push(&b"data: x\n\n".repeat(1_000_000), &mut out);
        assert_eq!(out.len(), 1_000_000);
    }

    /// Bytes that hit the syntax often.
    fn syntax() -> impl Strategy<Value = Vec<u8>> {
        let tokens: [&[u8]; 13] = [
            b"data",
            b":",
            b" ",
            b"\n",
            b"\r",
            b"\r\n",
            b"event",
            b"\n\n",
            b"\xEF\xBB\xBF",
            b"x",
            b"\xC3\xA9",
            b"\xFF",
            b"data: y\n\n",
        ];
        let token = prop::sample::select(tokens.to_vec());
        prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events_and_no_byte_is_lost(input in syntax(), cuts in prop::collection::vec(0_usize..100, 0..8)) {
            let (events, leftover) = whole(&input);
            let mut joined: Vec<u8> = events.iter().flat_map(|event| event.bytes.clone()).collect();
            joined.extend(leftover.clone().unwrap_or_default());
            prop_assert_eq!(&joined, &input);

            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
            cuts.extend([0, input.len()]);
            cuts.sort_unstable();
            let split: Vec<&[u8]> = cuts.windows(2).map(|cut| &input[cut[0]..cut[1]]).collect();
            prop_assert_eq!(pieces(&split), (events.clone(), leftover.clone()));

            let bytes: Vec<&[u8]> = input.chunks(1).collect();
            prop_assert_eq!(pieces(&bytes), (events, leftover));
        }
    }
}
