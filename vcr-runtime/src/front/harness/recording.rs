//! One answer on its way to the caller, being kept.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use super::error::{HarnessError, UpstreamFailure};
use super::record::Kept;
use super::report::Counts;
use crate::json::{compact, parse};
use crate::protocol::{Event as Said, Framing, WireEvent, find};
use crate::redact::Redactor;
use crate::session::{End, Recording};
use crate::source::spycatcher::{Body, Event, EventReader, Interaction, Pairs, Stream, Timing, stored};

/// Bodies that are kept whole in memory; beyond it a call is not recorded.
const MAX_BODY: usize = 256 << 20;

/// An exchange being recorded. Dropped before its end it leaves nothing behind.
pub(super) struct InteractionRecording {
    pub(super) kept: Arc<Kept>,
    pub(super) counts: Arc<Counts>,
    pub(super) sender: Sender<String>,
    pub(super) interaction: Interaction,
    /// The request asked for a stream.
    pub(super) stream: bool,
    /// The protocol, for its end marker.
    pub(super) wire: Option<&'static str>,
    pub(super) started: Instant,
    pub(super) reading: Reading,
}

/// How the body is read.
pub(super) enum Reading {
    Whole(Vec<u8>),
    Events {
        reader: Box<EventReader>,
        transcript: Vec<u8>,
        ttft_ms: Option<u64>,
    },
    TooLarge,
}

impl InteractionRecording {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether the protocol has said that the answer is over, whatever the connection did after it.
    fn is_complete(&self) -> bool {
        let (Reading::Events { reader, .. }, Some(wire)) = (&self.reading, self.wire.and_then(find)) else {
            return false;
        };
        let mut decoder = wire.decoder();
        let mut said = Vec::new();
        for event in reader.events() {
            if let Event::Data(data) = event {
                let event = WireEvent {
                    event: data.event.clone(),
                    data: data.raw.clone(),
                    ..WireEvent::default()
                };
                decoder.event(&event, &mut said);
            }
        }
        said.iter().any(|said| matches!(said, Said::End)) || decoder.finish().complete
    }

    /// The body as it is stored, or why there is none.
    fn body(&mut self) -> Result<Body, &'static str> {
        let now_ms = self.now_ms();
        let redactor = self.kept.redactor.as_deref();
        match std::mem::replace(&mut self.reading, Reading::TooLarge) {
            Reading::TooLarge => Err("the answer is too large to be kept"),
            Reading::Whole(body) => Ok(Body::Whole(scrubbed(body, redactor))),
            Reading::Events {
                reader,
                transcript,
                ttft_ms,
                ..
            } => {
                let (events, chunk_offsets_ms) = reader.finish(now_ms)?;
                let mut stream = Stream {
                    events,
                    transcript,
                    timing: Some(Timing {
                        ttft_ms: ttft_ms.unwrap_or(now_ms),
                        chunk_offsets_ms,
                    }),
                };
                if let Some(redactor) = redactor {
                    scrub_stream(&mut stream, redactor);
                }
                Ok(Body::Stream(stream))
            }
        }
    }

    fn lost(&self, message: String) {
        self.counts.note(|report| report.not_recorded += 1);
        self.counts.fault(HarnessError::UpstreamRequestFailed {
            source: UpstreamFailure { message },
        });
    }
}

impl Recording for InteractionRecording {
    fn head(&mut self, status: u16, headers: &[(String, String)]) {
        let content_type = headers.iter().find(|(name, _)| name == "content-type");
        let framing = Framing::of(content_type.map(|(_, value)| value.as_str()));
        // An error body is a whole one, whatever it calls itself; a binary one has no events.
        if let Some(framing @ (Framing::Sse | Framing::Ndjson)) = framing.filter(|_| status < 400) {
            self.reading = Reading::Events {
                reader: Box::new(EventReader::new(framing)),
                transcript: Vec::new(),
                ttft_ms: None,
            };
        }
        self.interaction.response.status = status;
        self.interaction.response.headers = self.kept.headers(headers, |name| name == "content-length");
    }

    fn bytes(&mut self, piece: &[u8]) -> ControlFlow<usize> {
        let now_ms = self.now_ms();
        let size = match &mut self.reading {
            Reading::TooLarge => 0,
            Reading::Whole(body) => {
                body.extend_from_slice(piece);
                body.len()
            }
            Reading::Events {
                reader,
                transcript,
                ttft_ms,
                ..
            } => {
                ttft_ms.get_or_insert(now_ms);
                reader.push(piece, now_ms);
                transcript.extend_from_slice(piece);
                transcript.len()
            }
        };
        if size > MAX_BODY {
            self.reading = Reading::TooLarge;
        }
        ControlFlow::Continue(())
    }

    fn end(mut self: Box<Self>, end: End) {
        match end {
            End::Complete => {}
            _ if self.is_complete() => {}
            End::Cancelled | End::CutOff => {
                self.counts.note(|report| report.not_recorded += 1);
                return;
            }
            End::Failed { error_type, message } => return self.lost(format!("{message} ({error_type})")),
        }
        let body = match self.body() {
            Ok(body) => body,
            Err(why) => return self.lost(why.to_owned()),
        };
        let whole = matches!(body, Body::Whole(_));
        self.interaction.metadata.stream_answered_whole =
            self.stream && whole && self.interaction.response.status < 400;
        self.interaction.response.body = body;
        self.counts.note(|report| report.recorded += 1);
        // The saver goes first only when the harness is gone, and then nobody asks any more.
        let _ = self.sender.send(stored(&self.interaction));
    }
}

/// A body without its secrets. Bytes that hold none stay to the byte.
pub(super) fn scrubbed(body: Vec<u8>, redactor: Option<&Redactor>) -> Vec<u8> {
    let Some(redactor) = redactor else {
        return body;
    };
    match std::str::from_utf8(&body).map(|text| redactor.text(text)) {
        Ok(std::borrow::Cow::Owned(text)) => text.into_bytes(),
        _ => body,
    }
}

/// Secrets that are spread over several events included. The transcript goes with them: it cannot be corrected.
fn scrub_stream(stream: &mut Stream, redactor: &Redactor) {
    let mut payloads: Vec<_> = stream
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Data(data) => parse(&data.raw).ok(),
            Event::Comment(_) => None,
        })
        .collect();
    let before = payloads.clone();
    let mut changed = redactor.stream(&mut payloads);
    let mut pairs = before.into_iter().zip(payloads);
    for event in &mut stream.events {
        let text = match event {
            Event::Data(data) => &mut data.raw,
            Event::Comment(text) => text,
        };
        if parse(text).is_ok()
            && let Some((before, after)) = pairs.next()
        {
            if before != after {
                *text = compact(&after);
            }
        } else if let std::borrow::Cow::Owned(clean) = redactor.text(text) {
            *text = clean;
            changed = true;
        }
    }
    if changed {
        stream.transcript.clear();
    }
}

/// The headers of a head that are kept, in their order.
pub(super) fn kept_headers(headers: &[(String, String)], drops: impl Fn(&str) -> bool) -> Pairs {
    let named = crate::front::gateway::named_by_connection(
        headers
            .iter()
            .filter(|(name, _)| name == "connection")
            .map(|(_, value)| value.as_str()),
    );
    headers
        .iter()
        .filter(|(name, _)| {
            !crate::front::gateway::is_hop_by_hop(name) && !named.contains(name) && !drops(name)
        })
        .cloned()
        .collect()
}

impl fmt::Debug for InteractionRecording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("InteractionRecording")
            .finish_non_exhaustive()
    }
}
