//! Recording one call: its events become frames, its end becomes a boundary, and the result goes to the tape.

use std::sync::Arc;
use std::time::Instant;

use super::breaker::{Cut, StreamBreaker, Tally};
use super::raw;
use super::tape::Tape;
use crate::config::IncludeRaw;
use crate::json::Json;
use crate::model::{Boundary, BoundaryKind, Call, CanonicalRequest, HttpHead, Metrics, RecordedRequest};
use crate::protocol::{Delivery, Event, Framing, Timeline, Told, Wire, WireError};

/// The place of a call in the take, reserved when the call starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) index: usize,
    pub(crate) started_us: u64,
    /// The instant that `started_us` was read from: start and duration must add up, or calls that overlapped would look
    /// as if one had waited for the other.
    pub(crate) started: Instant,
}

/// How the answer ended, as far as the front knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// In order. `complete` is what the protocol says about it.
    Clean { complete: bool },
    /// The transport or the upstream type failed.
    Failed(WireError),
    /// The caller stopped reading.
    Cancelled { complete: bool },
    /// A stream breaker cut it.
    CutOff(Cut),
}

/// What only an HTTP front knows about the answer.
#[derive(Default)]
pub(crate) struct Wired {
    pub(crate) wire: Option<&'static dyn Wire>,
    pub(crate) head: Option<HttpHead>,
    /// Whether the body was a stream of events.
    pub(crate) streamed: bool,
    pub(crate) template: Option<Json>,
    pub(crate) evidence: raw::Evidence,
    pub(crate) odd: Option<String>,
}

/// Settings that a recording needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    pub(crate) tick_us: u64,
    pub(crate) include_raw: IncludeRaw,
}

/// Records one call. Dropped without [`finish`](Self::finish) it counts as cancelled by the caller.
pub(crate) struct CallRecorder {
    tape: Arc<Tape>,
    slot: Slot,
    clock: Instant,
    keep: Keep,
    request: Option<(CanonicalRequest, String)>,
    timeline: Timeline,
    first_us: Option<u64>,
    breaker: Option<Arc<dyn StreamBreaker>>,
    tally: Tally,
}

impl CallRecorder {
    pub(crate) fn new(
        tape: Arc<Tape>,
        slot: Slot,
        keep: Keep,
        request: CanonicalRequest,
        hash: String,
        breaker: Option<Arc<dyn StreamBreaker>>,
    ) -> Self {
        let timeline = Timeline::new(keep.tick_us);
        Self {
            tape,
            slot,
            clock: slot.started,
            keep,
            request: Some((request, hash)),
            timeline,
            first_us: None,
            breaker,
            tally: Tally::default(),
        }
    }

    /// Microseconds since the call started.
    pub(crate) fn now_us(&self) -> u64 {
        micros(self.clock.elapsed())
    }

    /// The headers of the answer that are kept.
    pub(crate) fn headers(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        self.tape.redactor().headers(headers)
    }

    /// How a streamed answer to the request is framed.
    pub(crate) fn framing(&self, wire: &dyn Wire, content_type: Option<&str>) -> Option<Framing> {
        let (request, _) = self.request.as_ref()?;
        Delivery::of(wire, &request.parameters).framing(content_type)
    }

    /// The first byte of the answer has come.
    pub(crate) fn touch(&mut self, at_us: u64) {
        self.first_us.get_or_insert(at_us);
    }

    /// Takes what one chunk of the answer said, unless the breaker cuts before it.
    pub(crate) fn events(&mut self, at_us: u64, events: Vec<Event>) -> Result<(), Cut> {
        self.touch(at_us);
        self.check(&events)?;
        self.timeline.push(at_us, events);
        Ok(())
    }

    /// Whether the breaker cuts before a unary answer reaches its caller.
    pub(crate) fn check(&mut self, events: &[Event]) -> Result<(), Cut> {
        let cut = self
            .breaker
            .as_ref()
            .and_then(|breaker| self.tally.check(&**breaker, events));
        cut.map_or(Ok(()), Err)
    }

    /// A unary answer: one frame, whatever the tick.
    pub(crate) fn unary(&mut self, events: Vec<Event>) {
        self.timeline = Timeline::unary();
        self.timeline.push(0, events);
    }

    /// Whether the protocol's end marker has come.
    pub(crate) fn ended(&self) -> bool {
        self.timeline.ended()
    }

    /// The end of the call: builds it and hands it to the tape.
    pub(crate) fn finish(mut self, ending: Ending, wired: Wired) {
        self.complete(ending, wired);
    }

    fn complete(&mut self, ending: Ending, wired: Wired) {
        let Some((request, hash)) = self.request.take() else {
            return;
        };
        let total_us = self.now_us();
        let told = std::mem::replace(&mut self.timeline, Timeline::unary()).finish();
        let status = wired.head.as_ref().map(|head| head.status);
        let Told { frames, usage, error } = told;
        // The first frame says when something came; a chunk that only names a role is nothing that a caller can see.
        let ttfb_us = match frames.first() {
            _ if !wired.streamed => total_us,
            Some(frame) => frame.delta_us,
            None => self.first_us.unwrap_or(total_us),
        };
        let mut call = Call {
            started_us: Some(self.slot.started_us),
            http: wired.head,
            metrics: Some(Metrics { ttfb_us, total_us }),
            frames: frames.into(),
            boundary: boundary(ending, error, status),
            usage,
            template: wired.template.map(Into::into),
            note: wired.odd,
            ..Call::default()
        };
        let redactor = self.tape.redactor();
        raw::keep(
            &mut call,
            wired.wire,
            &request,
            wired.evidence,
            self.keep.include_raw,
            redactor,
        );
        if redactor.call(&mut call) {
            raw::drop_transcript(&mut call);
        }
        call.request = Arc::new(RecordedRequest::recorded(request, hash));
        if let (Some(wire), Some(template)) = (wired.wire, call.template.take()) {
            call.template = Some(wire.lean(template.into_tree(), &call.request).into());
        }
        self.tape.record(self.slot.index, call);
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        let complete = self.timeline.ended();
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

/// The exception boundary of an ending. An error that the provider reported inside the answer is the first cause.
fn boundary(ending: Ending, error: Option<WireError>, status: Option<u16>) -> Option<Boundary> {
    let boundary = |kind, error: WireError| {
        Some(Boundary {
            kind,
            error_type: error.error_type,
            message: error.message,
            status: error.status,
            code: error.code,
        })
    };
    let named = |kind, error_type: &str, message: &str| {
        boundary(
            kind,
            WireError {
                error_type: error_type.to_owned(),
                message: message.to_owned(),
                ..WireError::default()
            },
        )
    };
    let failed_status = status.filter(|status| *status >= 400);
    match (ending, error) {
        (Ending::CutOff(cut), _) => named(BoundaryKind::Cutoff, &cut.error_type, &cut.message),
        (_, Some(mut error)) => {
            let kind = if failed_status.is_some() {
                BoundaryKind::Http
            } else {
                BoundaryKind::Error
            };
            error.status = error.status.or(failed_status);
            boundary(kind, error)
        }
        (_, None) if failed_status.is_some() => boundary(
            BoundaryKind::Http,
            WireError {
                error_type: "HttpError".to_owned(),
                message: format!("the upstream answered with status {}", status.unwrap_or_default()),
                status,
                code: None,
            },
        ),
        (Ending::Failed(error), None) => boundary(BoundaryKind::Error, error),
        (Ending::Clean { complete: true } | Ending::Cancelled { complete: true }, None) => None,
        (Ending::Clean { complete: false }, None) => named(
            BoundaryKind::Truncated,
            "Truncated",
            "the stream ended before the provider said that it was complete",
        ),
        (Ending::Cancelled { complete: false }, None) => {
            named(BoundaryKind::Cancelled, "Cancelled", "the caller stopped reading")
        }
    }
}

pub(crate) fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::listener::Passage;
    use super::*;
    use crate::cassette::{Cassette, Chosen};
    use crate::config::{Environment, RedactRules};
    use crate::model::{Piece, RawBody};
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
        let call = CallRecorder::new(Arc::clone(&tape), slot, keep, request, String::new(), None);
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
