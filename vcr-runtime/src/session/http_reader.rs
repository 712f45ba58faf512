//! Reading the answer of an HTTP front: its bytes become events, and these a call.

use std::ops::ControlFlow;

use super::breaker::Cut;
use super::call_reader::{CallReader, Ending, Wired};
use super::listener::Listener;
use super::raw::{Evidence, Payload};
use crate::json::{Json, parse};
use crate::model::{Call, CanonicalRequest, End, Framing, HttpHead, Piece, TRANSPORT};
use crate::protocol::{Delivery, Event, Framer, Tail, Wire, WireError, WireEvent};
use crate::redact::Redactor;

/// Bodies that are kept whole in memory; beyond it the call is recorded as truncated rather than the process killed.
pub(super) const MAX_BODY: usize = 256 << 20;

/// One exchange being read.
pub(super) struct HttpReader {
    call: CallReader,
    wire: Option<&'static dyn Wire>,
    head: Option<HttpHead>,
    reading: Reading,
    /// Bytes of the body so far.
    size: usize,
    /// Of these, bytes of events that the breaker let pass.
    passed: usize,
    /// When the last byte came.
    last_us: u64,
    cut: Option<Cut>,
    odd: Option<String>,
}

/// How the body is read.
enum Reading {
    /// Unary, or a content type that we do not know: bytes to the end.
    Whole(Vec<u8>),
    Events {
        framer: Framer,
        listener: Option<Box<Listener>>,
        pieces: Vec<Piece>,
        payloads: Vec<Payload>,
    },
}

impl HttpReader {
    pub(super) fn new(call: CallReader, wire: Option<&'static dyn Wire>) -> Self {
        Self {
            call,
            wire,
            head: None,
            reading: Reading::Whole(Vec::new()),
            size: 0,
            passed: 0,
            last_us: 0,
            cut: None,
            odd: None,
        }
    }

    /// Reads what `events` say, up to the one before which the breaker cuts.
    fn read(&mut self, at_us: u64, events: Vec<WireEvent>) -> Result<(), Cut> {
        let Reading::Events {
            listener,
            pieces,
            payloads,
            ..
        } = &mut self.reading
        else {
            return Ok(());
        };
        for event in events {
            let mut said = Vec::new();
            if let Some(listener) = listener {
                listener.event(&event, payloads.len(), &mut said);
            }
            self.call.events(at_us, said)?;
            self.passed += event.bytes.len();
            pieces.push(Piece {
                offset_us: at_us,
                bytes: event.bytes,
            });
            if !event.data.is_empty() {
                payloads.push(Payload {
                    name: event.event,
                    data: event.data,
                });
            }
        }
        Ok(())
    }

    /// The end of the body: what is left in the framer, and what the decoder concludes.
    fn conclude(&mut self) -> (Tail, Evidence, bool) {
        let mut rest = None;
        if let Reading::Events { framer, .. } = &mut self.reading {
            let mut events = Vec::new();
            rest = framer.finish(&mut events).filter(|rest| !rest.is_empty());
            if self.cut.is_some() {
                // What was not passed on is not part of the answer.
                rest = None;
            } else if let Err(cut) = self.read(self.last_us, events) {
                self.cut = Some(cut);
            }
        }
        match std::mem::replace(&mut self.reading, Reading::Whole(Vec::new())) {
            Reading::Whole(bytes) => self.conclude_whole(bytes),
            Reading::Events {
                listener,
                mut pieces,
                payloads,
                ..
            } => {
                if let Some(bytes) = rest {
                    pieces.push(Piece {
                        offset_us: self.last_us,
                        bytes,
                    });
                }
                // A byte-order mark reached the caller once; served again it breaks readers that do not expect it.
                if let Some(first) = pieces.first_mut()
                    && first.bytes.starts_with(BOM)
                {
                    first.bytes.drain(..BOM.len());
                }
                let (tail, passages) = listener.map(|listener| listener.finish()).unwrap_or_default();
                let evidence = Evidence::Stream {
                    pieces,
                    payloads,
                    passages,
                };
                (tail, evidence, true)
            }
        }
    }

    fn conclude_whole(&mut self, mut bytes: Vec<u8>) -> (Tail, Evidence, bool) {
        let mut tail = Tail::default();
        if bytes.starts_with(BOM) {
            bytes.drain(..BOM.len());
        }
        bytes.shrink_to_fit();
        let status = self.head.as_ref().map_or(0, |head| head.status);
        if let Some(wire) = self.wire
            && self.head.is_some()
        {
            let text = match std::str::from_utf8(&bytes) {
                Ok(text) => std::borrow::Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(&bytes),
            };
            let body = match parse(text.trim()) {
                Ok(body) => Ok(body),
                // An error page of a proxy is an error all the same.
                Err(_) if status >= 400 => Ok(Json::from(text.as_ref())),
                Err(error) => Err(error),
            };
            match body {
                Ok(body) => {
                    let mut events: Vec<Event> = Vec::new();
                    tail = wire.unary(status, &body, &mut events);
                    // The caller has the whole body by now: there is nothing left to cut.
                    self.call.unary(events);
                }
                Err(error) => tail.odd = Some(format!("the body is not JSON: {error}")),
            }
        }
        let evidence = match self.head {
            Some(_) => Evidence::Body {
                offset_us: self.last_us,
                bytes,
            },
            None => Evidence::Nothing,
        };
        (tail, evidence, false)
    }

    pub(super) fn request(&self) -> &CanonicalRequest {
        &self.call.asked.request
    }

    /// The head, without the headers that are not kept.
    pub(super) fn head(&mut self, head: HttpHead, framing: Option<Framing>) {
        if let Some(framing) = framing {
            self.reading = Reading::Events {
                framer: Framer::new(framing),
                listener: self.wire.map(|wire| Box::new(Listener::new(wire.decoder()))),
                pieces: Vec::new(),
                payloads: Vec::new(),
            };
        }
        self.head = Some(head);
    }

    /// A piece of the body. `Break` where the breaker cuts: so many of its bytes come before.
    pub(super) fn bytes(&mut self, at_us: u64, piece: &[u8]) -> ControlFlow<usize> {
        self.call.touch(at_us);
        self.last_us = at_us;
        self.size += piece.len();
        if self.size > MAX_BODY {
            self.is_cut();
            return ControlFlow::Continue(());
        }
        let mut events = Vec::new();
        match &mut self.reading {
            Reading::Whole(bytes) => {
                bytes.extend_from_slice(piece);
                return ControlFlow::Continue(());
            }
            Reading::Events { framer, .. } => framer.push(piece, &mut events),
        }
        match self.read(at_us, events) {
            Ok(()) => ControlFlow::Continue(()),
            Err(cut) => {
                self.cut = Some(cut);
                // Bytes of the cut event that came with earlier pieces are with the caller already.
                ControlFlow::Break(self.passed.saturating_sub(self.size - piece.len()))
            }
        }
    }

    /// All of a body at once, and when which part of it came.
    pub(super) fn body(&mut self, body: Vec<u8>, cuts: &[(u64, usize)]) {
        let (Some((first_us, _)), Some((last_us, _))) = (cuts.first(), cuts.last()) else {
            return;
        };
        self.call.touch(*first_us);
        self.last_us = *last_us;
        self.size = body.len();
        let framer = match &mut self.reading {
            Reading::Whole(bytes) => {
                *bytes = body;
                return;
            }
            Reading::Events { framer, .. } => framer,
        };
        let mut framed = Vec::new();
        let mut rest = body.as_slice();
        for (at_us, length) in cuts {
            let (piece, behind) = rest.split_at(rest.len().min(*length));
            rest = behind;
            let mut events = Vec::new();
            framer.push(piece, &mut events);
            if !events.is_empty() {
                framed.push((*at_us, events));
            }
        }
        // It may be large, and so may what is made of its events.
        drop(body);
        for (at_us, events) in framed {
            if let Err(cut) = self.read(at_us, events) {
                self.cut = Some(cut);
                return;
            }
        }
    }

    /// Bytes came that were not kept; the last of them then.
    pub(super) fn lost(&mut self, last_us: u64) {
        self.last_us = last_us;
        self.is_cut();
    }

    fn is_cut(&mut self) {
        self.odd = Some(format!("only the first {MAX_BODY} bytes of the body were kept"));
    }

    /// The end of the exchange, `total_us` after its start.
    pub(super) fn end(mut self, end: End, total_us: u64, redactor: &Redactor) -> Call {
        let (tail, evidence, streamed) = self.conclude();
        // The end marker decides, not the socket: what comes or fails after it changes nothing.
        let complete = streamed && (tail.complete || self.call.ended());
        // Nobody knows what a complete body of an unknown kind looks like, and a unary one ends with its socket.
        let has_marker = streamed && self.wire.is_some();
        let ending = match (end, self.cut.take()) {
            (_, Some(cut)) => Ending::CutOff(cut),
            (End::Complete, None) => Ending::Clean {
                complete: complete || !has_marker,
            },
            (End::Cancelled | End::CutOff, None) => Ending::Cancelled { complete },
            (End::Failed { .. }, None) if complete => Ending::Clean { complete },
            (End::Failed { error_type, message }, None) => Ending::Failed(WireError {
                error_type,
                message,
                status: None,
                code: Some(TRANSPORT.to_owned()),
            }),
        };
        let odd = match (self.odd.take(), tail.odd) {
            (Some(a), Some(b)) => Some(format!("{a}; {b}")),
            (odd, None) | (None, odd) => odd,
        };
        let wired = Wired {
            wire: self.wire,
            head: self.head.take(),
            streamed,
            template: tail.template,
            evidence,
            odd,
        };
        self.call.call(total_us, ending, wired, redactor)
    }
}

/// How a streamed answer is framed; `None` when it is a whole body.
pub(super) fn framing(
    wire: Option<&'static dyn Wire>,
    request: &CanonicalRequest,
    status: u16,
    headers: &[(String, String)],
) -> Option<Framing> {
    let content_type = headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .map(|(_, value)| value.as_str());
    let framing = match wire {
        Some(wire) => Delivery::of(wire, &request.parameters).framing(content_type),
        None => Framing::of(content_type),
    };
    // An error body is a whole one, whatever it calls itself.
    framing.filter(|_| status < 400)
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl std::fmt::Debug for HttpReader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HttpReader")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
