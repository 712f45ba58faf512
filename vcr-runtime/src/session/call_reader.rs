//! Reading one call: its events become frames, and its end becomes a boundary.

use std::sync::Arc;

use super::breaker::{Cut, StreamBreaker, Tally};
use super::raw;
use crate::canon::request_hash;
use crate::config::IncludeRaw;
use crate::json::Json;
use crate::model::{Boundary, BoundaryKind, Call, CanonicalRequest, HttpHead, Metrics, RecordedRequest};
use crate::protocol::{Event, Timeline, Told, Wire, WireError};
use crate::redact::Redactor;

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

/// What is known of a call before its answer comes.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Without secrets.
    pub(super) request: CanonicalRequest,
    /// `None` for that of the request as it is.
    pub(super) hash: Option<String>,
    /// From the take's start.
    pub(super) started_us: u64,
    pub(super) keep: Keep,
}

/// A call that is being read.
pub(super) struct CallReader {
    pub(super) asked: Asked,
    pub(super) breaker: Option<Arc<dyn StreamBreaker>>,
    timeline: Timeline,
    first_us: Option<u64>,
    tally: Tally,
}

impl CallReader {
    pub(super) fn new(asked: Asked, breaker: Option<Arc<dyn StreamBreaker>>) -> Self {
        Self {
            timeline: Timeline::new(asked.keep.tick_us),
            asked,
            breaker,
            first_us: None,
            tally: Tally::default(),
        }
    }

    /// The first byte of the answer has come.
    pub(super) fn touch(&mut self, at_us: u64) {
        self.first_us.get_or_insert(at_us);
    }

    /// Takes what one chunk of the answer said, unless the breaker cuts before it.
    pub(super) fn events(&mut self, at_us: u64, events: Vec<Event>) -> Result<(), Cut> {
        self.touch(at_us);
        self.check(&events)?;
        self.timeline.push(at_us, events);
        Ok(())
    }

    /// Whether the breaker cuts before a unary answer reaches its caller.
    pub(super) fn check(&mut self, events: &[Event]) -> Result<(), Cut> {
        let cut = self
            .breaker
            .as_ref()
            .and_then(|breaker| self.tally.check(&**breaker, events));
        cut.map_or(Ok(()), Err)
    }

    /// A unary answer: one frame, whatever the tick.
    pub(super) fn unary(&mut self, events: Vec<Event>) {
        self.timeline = Timeline::unary();
        self.timeline.push(0, events);
    }

    /// Whether the protocol's end marker has come.
    pub(super) fn ended(&self) -> bool {
        self.timeline.ended()
    }

    /// The call, which ended `total_us` after its start.
    pub(super) fn call(self, total_us: u64, ending: Ending, wired: Wired, redactor: &Redactor) -> Call {
        let Asked {
            request,
            hash,
            started_us,
            keep,
        } = self.asked;
        let status = wired.head.as_ref().map(|head| head.status);
        let Told { frames, usage, error } = self.timeline.finish();
        // The first frame says when something came; a chunk that only names a role is nothing that a caller can see.
        let ttfb_us = match frames.first() {
            _ if !wired.streamed => total_us,
            Some(frame) => frame.delta_us,
            None => self.first_us.unwrap_or(total_us),
        };
        let mut call = Call {
            started_us: Some(started_us),
            http: wired.head,
            metrics: Some(Metrics { ttfb_us, total_us }),
            frames: frames.into(),
            boundary: boundary(ending, error, status),
            usage,
            template: wired.template.map(Into::into),
            note: wired.odd,
            ..Call::default()
        };
        raw::keep(
            &mut call,
            wired.wire,
            &request,
            wired.evidence,
            keep.include_raw,
            redactor,
        );
        if redactor.call(&mut call) {
            raw::drop_transcript(&mut call);
        }
        let hash = hash.unwrap_or_else(|| request_hash(&request));
        call.request = Arc::new(RecordedRequest::recorded(request, hash));
        if let (Some(wire), Some(template)) = (wired.wire, call.template.take()) {
            call.template = Some(wire.lean(template.into_tree(), &call.request).into());
        }
        call
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
