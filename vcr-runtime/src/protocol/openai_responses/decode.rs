use crate::protocol::rules::StreamReader;
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::rules;
use super::scribe::Scribe;

/// Reads the events of one streamed answer: the canonical parts by the rules, the template by the scribe.
#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    stream: StreamReader,
    scribe: Scribe,
}

impl ResponsesDecoder {
    pub(super) fn new() -> Self {
        Self {
            stream: StreamReader::new(rules()),
            scribe: Scribe::default(),
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        let mut said = Vec::new();
        let Some((payload, _)) = self.stream.event(event, &mut said) else {
            out.append(&mut said);
            return;
        };
        // What was said whole, without deltas, comes before the signature or the end that this event tells.
        if let Some(odd) = self.scribe.event(&payload, out) {
            self.stream.odd(odd);
        }
        out.append(&mut said);
    }

    fn finish(&mut self) -> Tail {
        let template = self.scribe.finish();
        self.stream.tail(template)
    }
}
