//! Recording one call: what an answer says goes to its reader, and the call that comes of it to the tape.

use std::sync::Arc;
use std::time::Instant;

use super::breaker::{Cut, StreamBreaker};
use super::call_reader::{Asked, CallReader, Ending, Keep, Wired};
use super::tape::Tape;
use crate::model::CanonicalRequest;
use crate::protocol::Event;

/// The place of a call in the take, reserved when the call starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) index: usize,
    pub(crate) started_us: u64,
    /// The instant that `started_us` was read from: start and duration must add up, or calls that overlapped would look
    /// as if one had waited for the other.
    pub(crate) started: Instant,
}

/// Records one call. Dropped without [`finish`](Self::finish) it counts as cancelled by the caller.
pub(crate) struct CallRecorder {
    tape: Arc<Tape>,
    slot: Slot,
    /// `None` once the call has ended.
    reader: Option<CallReader>,
}

impl CallRecorder {
    pub(crate) fn new(
        tape: Arc<Tape>,
        slot: Slot,
        keep: Keep,
        request: CanonicalRequest,
        hash: Option<String>,
        breaker: Option<Arc<dyn StreamBreaker>>,
    ) -> Self {
        let asked = Asked {
            request,
            hash,
            started_us: slot.started_us,
            keep,
        };
        Self {
            tape,
            slot,
            reader: Some(CallReader::new(asked, breaker)),
        }
    }

    /// What it is made of, for a front that takes the answer in another form than events; no reader once the call has ended.
    pub(super) fn into_parts(mut self) -> (Arc<Tape>, Slot, Option<CallReader>) {
        let reader = self.reader.take();
        (Arc::clone(&self.tape), self.slot, reader)
    }

    /// Microseconds since the call started.
    pub(crate) fn now_us(&self) -> u64 {
        self.slot.now_us()
    }

    /// The first byte of the answer has come.
    pub(crate) fn touch(&mut self, at_us: u64) {
        if let Some(reader) = &mut self.reader {
            reader.touch(at_us);
        }
    }

    /// Takes what one chunk of the answer said, unless the breaker cuts before it.
    pub(crate) fn events(&mut self, at_us: u64, events: Vec<Event>) -> Result<(), Cut> {
        match &mut self.reader {
            Some(reader) => reader.events(at_us, events),
            None => Ok(()),
        }
    }

    /// Whether the breaker cuts before a unary answer reaches its caller.
    pub(crate) fn check(&mut self, events: &[Event]) -> Result<(), Cut> {
        match &mut self.reader {
            Some(reader) => reader.check(events),
            None => Ok(()),
        }
    }

    /// A unary answer: one frame, whatever the tick.
    pub(crate) fn unary(&mut self, events: Vec<Event>) {
        if let Some(reader) = &mut self.reader {
            reader.unary(events);
        }
    }

    /// Whether the protocol's end marker has come.
    pub(crate) fn ended(&self) -> bool {
        self.reader.as_ref().is_some_and(CallReader::ended)
    }

    /// The end of the call: builds it and hands it to the tape.
    pub(crate) fn finish(mut self, ending: Ending, wired: Wired) {
        self.complete(ending, wired);
    }

    fn complete(&mut self, ending: Ending, wired: Wired) {
        if let Some(reader) = self.reader.take() {
            let call = reader.call(self.now_us(), ending, wired, self.tape.redactor());
            self.tape.record(self.slot.index, call);
        }
    }
}

impl Slot {
    /// Microseconds since the call started.
    pub(super) fn now_us(&self) -> u64 {
        micros(self.started.elapsed())
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        let complete = self.ended();
        self.complete(
            Ending::Cancelled { complete },
            Wired {
                streamed: true,
                ..Wired::default()
            },
        );
    }
}

impl std::fmt::Debug for CallRecorder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CallRecorder")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

pub(crate) fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::listener::Passage;
    use super::super::raw;
    use super::*;
    use crate::cassette::{Cassette, Chosen};
    use crate::config::{Environment, IncludeRaw, RedactRules};
    use crate::model::{Call, Piece, RawBody};
    use crate::redact::Redactor;
    use crate::session::tape::{Found, Label, Role};
    use crate::source::Comparison;

    fn text(text: &str) -> Event {
        Event::Text {
            choice: 0,
            text: text.to_owned(),
        }
    }

    /// Records one call into a cassette of its own and gives it back as it was saved.
    fn recorded(redactor: Redactor, keep: Keep, record: impl FnOnce(CallRecorder)) -> Call {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let label = Label {
            scenario: "s".to_owned(),
            test: None,
            made_of: None,
            remedy: crate::source::Remedy::Test(String::new()),
        };
        let tape = Tape::open(
            path.clone(),
            Role::Record,
            None,
            label,
            Comparison {
                redactor: Arc::new(redactor),
                ignore: Arc::default(),
                cross: None,
            },
            &mut Vec::new(),
        );
        let tape = Arc::new(tape.unwrap());
        let request = CanonicalRequest::default();
        let once = crate::source::How {
            matching: crate::config::Matching::Sequential,
            repeat: false,
            session: None,
            scope: None,
        };
        let found = tape.find(&request, once, 0.0, &|_| Ok(()));
        let Ok(Found::Record(slot)) = found else {
            panic!("{found:?}")
        };
        let call = CallRecorder::new(Arc::clone(&tape), slot, keep, request, None, None);
        record(call);
        tape.keep(true, true, &mut Vec::new()).unwrap();
        let mut take = Cassette::open(&path, Chosen::Latest).unwrap().take;
        take.calls.remove(0)
    }

    const KEEP: Keep = Keep {
        tick_us: 100_000,
        include_raw: IncludeRaw::Always,
    };

    #[test]
    fn the_time_to_the_first_byte_is_that_of_the_first_frame() {
        let call = recorded(Redactor::none(), KEEP, |mut call| {
            // A role alone, then text.
            call.events(40_000, Vec::new()).unwrap();
            call.events(55_000, vec![text("a")]).unwrap();
            let wired = Wired {
                streamed: true,
                ..Wired::default()
            };
            call.finish(Ending::Clean { complete: true }, wired);
        });
        assert_eq!(call.metrics.unwrap().ttfb_us, 55_000);
        assert_eq!(call.frames[0].delta_us, 55_000);
    }

    #[test]
    fn bytes_that_hold_a_secret_in_pieces_are_dropped() {
        let environment = Environment::from_pairs([("OPENAI_API_KEY", "test-7Qx-secret-value")]);
        let redactor = Redactor::new(&RedactRules::default(), &environment).unwrap();
        let keep = Keep { tick_us: 0, ..KEEP };
        let call = recorded(redactor, keep, |mut call| {
            let mut pieces = vec![Piece {
                offset_us: 0,
                bytes: b": a comment, so that the bytes are kept as they are\n\n".to_vec(),
            }];
            let mut payloads = Vec::new();
            for (at, word) in [(1, "test-7Qx"), (2, "-secret-value")] {
                call.events(at, vec![text(word)]).unwrap();
                let payload =
                    format!("{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}}}}]}}");
                pieces.push(Piece {
                    offset_us: at,
                    bytes: format!("data: {payload}\n\n").into_bytes(),
                });
                payloads.push(raw::Payload {
                    name: None,
                    data: payload,
                });
            }
            let wired = Wired {
                wire: crate::protocol::find("openai-chat"),
                streamed: true,
                evidence: raw::Evidence::Stream {
                    pieces,
                    payloads,
                    passages: [0, 1].map(Passage::One).into(),
                },
                ..Wired::default()
            };
            call.finish(Ending::Clean { complete: true }, wired);
        });
        let shown: String = call.frames.iter().map(|frame| frame.chunk.as_str()).collect();
        assert_eq!(shown, "[REDACTED]");
        let transcript = call.raw.as_ref().map(|raw| &raw.body);
        assert!(!matches!(transcript, Some(RawBody::Transcript(_))), "{call:?}");
        assert!(call.note.unwrap().contains("raw dropped"));
    }
}
