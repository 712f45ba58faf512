//! The body of an answer, as it comes.

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body as _;
use tokio::time::{Instant, Sleep};

use crate::front::completion::Delta;
use crate::front::gateway::transport_fault;
use crate::protocol::{Decoder, Event, Framer, Framing, Wire, WireEvent};
use crate::session::Failure;

/// A body that is read whole; beyond it there is no completion.
const MAX_BODY: usize = 64 << 20;

/// How long a call may still take.
#[derive(Debug)]
pub(super) struct Deadlines {
    provider: String,
    total: Duration,
    idle: Duration,
    start: Instant,
}

impl Deadlines {
    /// Counts from now.
    pub(super) fn new(provider: String, total: Duration, idle: Duration) -> Self {
        Self {
            provider,
            total,
            idle,
            start: Instant::now(),
        }
    }

    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    /// When to give up if nothing comes after `now`, and what is then said.
    pub(super) fn next(&self, now: Instant) -> (Instant, Failure) {
        let far = |from: Instant, span: Duration| from.checked_add(span).unwrap_or(from + FAR);
        let (total, idle) = (far(self.start, self.total), far(now, self.idle));
        let provider = &self.provider;
        if total <= idle {
            let message = format!("{provider} did not finish its answer within {:?}", self.total);
            return (
                total,
                Failure::new("TimeoutError", message).with_code("total_timeout"),
            );
        }
        let message = format!("{provider} was silent for {:?}", self.idle);
        (
            idle,
            Failure::new("TimeoutError", message).with_code("idle_timeout"),
        )
    }
}

/// Stands for a limit that no clock reaches.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The bytes of a body under its limits.
pub(super) struct Body {
    inner: Pin<Box<reqwest::Body>>,
    deadlines: Deadlines,
    sleep: Pin<Box<Sleep>>,
    late: Failure,
}

impl Body {
    pub(super) fn new(response: reqwest::Response, deadlines: Deadlines) -> Self {
        let (at, late) = deadlines.next(Instant::now());
        Self {
            inner: Box::pin(reqwest::Body::from(response)),
            deadlines,
            sleep: Box::pin(tokio::time::sleep_until(at)),
            late,
        }
    }

    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        loop {
            let Poll::Ready(frame) = self.inner.as_mut().poll_frame(context) else {
                ready!(self.sleep.as_mut().poll(context));
                return Poll::Ready(Some(Err(self.late.clone())));
            };
            let frame = match frame {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(self.broken(error)))),
                Some(Ok(frame)) => frame,
            };
            let (at, late) = self.deadlines.next(Instant::now());
            self.sleep.as_mut().reset(at);
            self.late = late;
            // Trailers say nothing.
            if let Ok(bytes) = frame.into_data() {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
    }

    fn broken(&self, error: reqwest::Error) -> Failure {
        let (kind, message) = transport_fault(error);
        let message = format!("the answer of {} broke off: {message}", self.deadlines.provider());
        Failure::new("ConnectionError", message).with_code(kind)
    }

    /// Reads to the end.
    pub(super) async fn whole(&mut self) -> Result<Vec<u8>, Failure> {
        let mut whole = Vec::new();
        while let Some(bytes) = std::future::poll_fn(|context| self.poll_bytes(context)).await {
            whole.extend_from_slice(&bytes?);
            if whole.len() > MAX_BODY {
                let message = format!("the answer is larger than {MAX_BODY} bytes");
                return Err(Failure::new("UnreadableAnswer", message));
            }
        }
        Ok(whole)
    }
}

/// A streamed answer, step by step. The provider's own error ends it, and so does an end that comes too early.
pub(super) struct AnswerStream {
    body: Body,
    framer: Framer,
    decoder: Box<dyn Decoder>,
    ready: VecDeque<Event>,
    over: bool,
    /// What ends it once `ready` is empty.
    then: Option<Failure>,
}

impl AnswerStream {
    pub(super) fn new(wire: &'static dyn Wire, framing: Framing, body: Body) -> Self {
        Self {
            body,
            framer: Framer::new(framing),
            decoder: wire.decoder(),
            ready: VecDeque::new(),
            over: false,
            then: None,
        }
    }

    fn read(&mut self, events: Vec<WireEvent>) {
        for event in events {
            let mut said = Vec::new();
            self.decoder.event(&event, &mut said);
            for step in said {
                match step {
                    Event::Error(error) => return self.end(Some(error.into())),
                    // What follows the end marker is not part of the answer.
                    Event::End => return self.end(None),
                    step => self.ready.push_back(step),
                }
            }
        }
    }

    fn end(&mut self, failure: Option<Failure>) {
        self.over = true;
        self.then = failure;
    }

    /// The body is over.
    fn finish(&mut self) {
        let mut events = Vec::new();
        self.framer.finish(&mut events);
        self.read(events);
        if self.over {
            return;
        }
        let cut = !self.decoder.finish().complete;
        let message = "the stream ended before the provider said that it was complete";
        self.end(cut.then(|| Failure::new("Truncated", message)));
    }
}

impl Stream for AnswerStream {
    type Item = Result<Delta, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Delta(event))));
            }
            if self.over {
                return Poll::Ready(self.then.take().map(Err));
            }
            match ready!(self.body.poll_bytes(context)) {
                Some(Ok(bytes)) => {
                    let mut events = Vec::new();
                    self.framer.push(&bytes, &mut events);
                    self.read(events);
                }
                Some(Err(failure)) => self.end(Some(failure)),
                None => self.finish(),
            }
        }
    }
}
