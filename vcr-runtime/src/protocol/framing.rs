use super::json_array::ArrayParser;
use super::ndjson::NdjsonParser;
use super::sse::SseParser;
use super::{Framing, WireEvent};

/// Cuts the body of a streamed answer into events, however it is framed.
#[derive(Debug)]
pub(crate) enum Framer {
    Sse(SseParser),
    Ndjson(NdjsonParser),
    JsonArray(ArrayParser),
    Opaque,
}

impl Framer {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse(SseParser::new()),
            Framing::Ndjson => Self::Ndjson(NdjsonParser::new()),
            Framing::JsonArray => Self::JsonArray(ArrayParser::new()),
            Framing::Opaque => Self::Opaque,
        }
    }

    /// Takes the next bytes; events that they complete are appended to `out`. Opaque pieces have bytes and no data.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<WireEvent>) {
        match self {
            Self::Sse(parser) => parser.push(bytes, out),
            Self::Ndjson(parser) => parser.push(bytes, out),
            Self::JsonArray(parser) => parser.push(bytes, out),
            Self::Opaque if bytes.is_empty() => {}
            Self::Opaque => out.push(WireEvent {
                bytes: bytes.to_vec(),
                ..WireEvent::default()
            }),
        }
    }

    /// The end of the stream. It may complete an event; bytes that belong to none are returned, so that the bytes of
    /// all events and these are the whole input.
    pub(crate) fn finish(&mut self, out: &mut Vec<WireEvent>) -> Option<Vec<u8>> {
        match self {
            Self::Sse(parser) => parser.finish(out),
            Self::Ndjson(parser) => parser.finish(out),
            Self::JsonArray(parser) => parser.finish(),
            Self::Opaque => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framing_keeps_every_byte() {
        let input = b"data: {}\n\n{\"a\":1}\nrest";
        for (framing, events) in [
            (Framing::Sse, 1),
            (Framing::Ndjson, 2),
            (Framing::JsonArray, 2),
            (Framing::Opaque, 2),
        ] {
            let mut framer = Framer::new(framing);
            let mut out = Vec::new();
            framer.push(&input[..9], &mut out);
            framer.push(b"", &mut out);
            framer.push(&input[9..], &mut out);
            let leftover = framer.finish(&mut out).unwrap_or_default();
            assert_eq!(out.len(), events, "{framing:?}");
            let mut joined: Vec<u8> = out.into_iter().flat_map(|event| event.bytes).collect();
            joined.extend(leftover);
            assert_eq!(joined, input, "{framing:?}");
        }
    }
}
