//! Recording an answer that passes through an HTTP front.
//!
//! While a call passes, what it says is kept as it comes; it is read when the take is kept, since a caller should not wait
//! for that. Two things have it read at once: a stream breaker, which must know what an answer says before its caller
//! does, and what may be a secret, because the journal is written when the call ends and holds none.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::call_reader::{Asked, CallReader, Keep};
use super::exchange::Recording;
use super::http_reader::{HttpReader, MAX_BODY, framing};
use super::recorder::{CallRecorder, Slot};
use super::tape::Tape;
use crate::cassette::Heard;
use crate::model::{Call, End, Framing, HttpHead};
use crate::protocol::{Wire, find};
use crate::redact::{Form, Redactor};

/// What a stream takes at least, as a rule.
const ROOM: usize = 8 << 10;

/// One exchange being recorded.
pub(crate) struct HttpRecorder {
    tape: Arc<Tape>,
    slot: Slot,
    wire: Option<&'static dyn Wire>,
    ear: Ear,
}

enum Ear {
    Reads(Box<HttpReader>),
    Keeps(Box<Heard>),
    /// The exchange has ended.
    Over,
}

impl HttpRecorder {
    pub(crate) fn new(call: CallRecorder, wire: Option<&'static dyn Wire>) -> Self {
        let (tape, slot, reader) = call.into_parts();
        let ear = match reader {
            Some(reader) if reader.breaker.is_some() => Ear::Reads(Box::new(HttpReader::new(reader, wire))),
            Some(reader) => Ear::Keeps(Box::new(heard(reader.asked))),
            None => Ear::Over,
        };
        Self {
            tape,
            slot,
            wire,
            ear,
        }
    }

    fn over(&mut self, end: End) {
        let total_us = self.slot.now_us();
        let redactor = self.tape.redactor();
        match std::mem::replace(&mut self.ear, Ear::Over) {
            Ear::Reads(reader) => self
                .tape
                .record(self.slot.index, reader.end(end, total_us, redactor)),
            Ear::Keeps(mut heard) => {
                heard.total_us = total_us;
                heard.end = end;
                if heard.framing.is_some() {
                    // It may be kept for long.
                    heard.body.shrink_to_fit();
                    heard.cuts.shrink_to_fit();
                }
                if may_wait(&heard, self.wire, redactor) {
                    self.tape.hear(self.slot.index, heard);
                } else {
                    self.tape
                        .record(self.slot.index, read_by(*heard, self.wire, redactor));
                }
            }
            Ear::Over => {}
        }
    }
}

impl Recording for HttpRecorder {
    fn head(&mut self, status: u16, headers: &[(String, String)]) {
        let head = HttpHead {
            status,
            headers: self.tape.redactor().headers(headers),
        };
        match &mut self.ear {
            Ear::Reads(reader) => {
                let framing = framing(self.wire, reader.request(), status, headers);
                reader.head(head, framing);
            }
            Ear::Keeps(heard) => {
                heard.framing = framing(self.wire, &heard.request, status, headers);
                heard.head = Some(head);
            }
            Ear::Over => {}
        }
    }

    fn bytes(&mut self, piece: &[u8]) -> ControlFlow<usize> {
        let at_us = self.slot.now_us();
        match &mut self.ear {
            Ear::Reads(reader) => return reader.bytes(at_us, piece),
            Ear::Keeps(heard) => {
                heard.last_us = at_us;
                heard.is_cut |= heard.body.len() + piece.len() > MAX_BODY;
                if !heard.is_cut {
                    if heard.cuts.is_empty() && heard.framing.is_some() {
                        heard.body.reserve(ROOM);
                        heard.cuts.reserve(ROOM / 64);
                    }
                    heard.body.extend_from_slice(piece);
                    heard.cuts.push((at_us, piece.len()));
                }
            }
            Ear::Over => {}
        }
        ControlFlow::Continue(())
    }

    fn end(mut self: Box<Self>, end: End) {
        self.over(end);
    }
}

impl Drop for HttpRecorder {
    fn drop(&mut self) {
        self.over(End::Cancelled);
    }
}

fn heard(asked: Asked) -> Heard {
    Heard {
        request: asked.request,
        hash: asked.hash,
        started_us: asked.started_us,
        tick_us: asked.keep.tick_us,
        include_raw: asked.keep.include_raw,
        head: None,
        framing: None,
        body: Vec::new(),
        cuts: Vec::new(),
        last_us: 0,
        is_cut: false,
        total_us: 0,
        end: End::Cancelled,
    }
}

/// Whether an exchange can stand in the journal as it was heard, and be read later.
fn may_wait(heard: &Heard, wire: Option<&'static dyn Wire>, redactor: &Redactor) -> bool {
    let form = match heard.framing {
        None => Form::Document,
        Some(Framing::Sse) => Form::Events,
        Some(Framing::Ndjson) => Form::Lines,
        Some(Framing::JsonArray | Framing::Opaque) => return false,
    };
    // Who finds the journal later need not know the protocols of this project.
    let later = find(&heard.request.protocol);
    let is_known = later.map(Wire::name) == wire.map(Wire::name);
    // Messages of the transport are looked through as a whole call is.
    let ended = matches!(heard.end, End::Complete | End::Cancelled);
    is_known && ended && std::str::from_utf8(&heard.body).is_ok_and(|text| redactor.is_clean(text, form))
}

/// The call that was heard, in a protocol that is built in.
pub(super) fn read(heard: Heard, redactor: &Redactor) -> Call {
    let wire = find(&heard.request.protocol);
    read_by(heard, wire, redactor)
}

fn read_by(heard: Heard, wire: Option<&'static dyn Wire>, redactor: &Redactor) -> Call {
    let asked = Asked {
        request: heard.request,
        hash: heard.hash,
        started_us: heard.started_us,
        keep: Keep {
            tick_us: heard.tick_us,
            include_raw: heard.include_raw,
        },
    };
    let mut reader = HttpReader::new(CallReader::new(asked, None), wire);
    if let Some(head) = heard.head {
        reader.head(head, heard.framing);
    }
    reader.body(heard.body, &heard.cuts);
    if heard.is_cut {
        reader.lost(heard.last_us);
    }
    reader.end(heard.end, heard.total_us, redactor)
}

impl std::fmt::Debug for HttpRecorder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HttpRecorder")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "http_recorder_tests.rs"]
mod tests;
