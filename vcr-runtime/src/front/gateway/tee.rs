//! The body of a forwarded answer: every piece goes into the recording first, then on to the caller.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, SizeHint};

use super::encoding::Decoding;
use super::flushed::Flushed;
use super::forward::Failure;
use super::patience::Patience;
use super::respond::Broken;
use crate::observe;
use crate::session::{End, Recording};

/// A recording that ends exactly once, as cancelled when nothing else was said. Empty when nothing is kept.
pub(super) struct Tee(Option<Box<dyn Recording>>);

impl Tee {
    pub(super) fn new(recording: Option<Box<dyn Recording>>) -> Self {
        Self(recording)
    }

    pub(super) fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn head(&mut self, status: u16, headers: &[(String, String)]) {
        if let Some(recording) = &mut self.0 {
            recording.head(status, headers);
        }
    }

    fn bytes(&mut self, piece: &[u8]) -> ControlFlow<usize> {
        match &mut self.0 {
            Some(recording) => recording.bytes(piece),
            None => ControlFlow::Continue(()),
        }
    }

    pub(super) fn end(&mut self, end: End) {
        if let Some(recording) = self.0.take() {
            recording.end(end);
        }
    }
}

impl Drop for Tee {
    fn drop(&mut self) {
        self.end(End::Cancelled);
    }
}

/// Passes the upstream's body on.
pub(super) struct Forwarded {
    body: reqwest::Body,
    decoding: Option<Box<Decoding>>,
    /// Bytes of the body that are still to come, where the upstream gave a length.
    rest: Option<u64>,
    tee: Tee,
    state: State,
    flushed: Arc<Flushed>,
    mark: u64,
    patience: Patience,
}

enum State {
    Passing,
    /// Over, but the caller must get what was passed on before the connection breaks.
    Breaking(Broken),
    Over,
}

impl Forwarded {
    pub(super) fn new(
        body: reqwest::Body,
        decoding: Option<Box<Decoding>>,
        tee: Tee,
        flushed: Arc<Flushed>,
        patience: Patience,
    ) -> Self {
        // Of a body that is decoded on the way nobody knows how long it becomes.
        let length = body.size_hint().exact().filter(|_| decoding.is_none());
        Self {
            rest: length,
            body,
            decoding,
            tee,
            state: State::Passing,
            mark: flushed.count(),
            flushed,
            patience,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// The length that the upstream gave, which the caller gets as well.
    pub(super) fn size_hint(&self) -> SizeHint {
        self.rest.map_or_else(SizeHint::default, SizeHint::with_exact)
    }

    pub(super) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            match self.state {
                State::Over => return Poll::Ready(None),
                State::Breaking(broken) => {
                    ready!(self.flushed.poll_past(self.mark, context));
                    self.state = State::Over;
                    return Poll::Ready(Some(Err(broken)));
                }
                State::Passing => {}
            }
            let piece = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(frame) => {
                    self.patience.answered();
                    self.take(frame)
                }
                Poll::Pending => {
                    let failure = ready!(self.patience.poll_spent(context));
                    self.fail(failure)
                }
            };
            if let Some(piece) = piece {
                self.mark = self.flushed.count();
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }

    /// What of the upstream's next frame goes on to the caller; the state says how it goes on.
    fn take(&mut self, frame: Option<reqwest::Result<http_body::Frame<Bytes>>>) -> Option<Bytes> {
        let Some(frame) = frame else {
            return self.last();
        };
        let piece = match frame.map(http_body::Frame::into_data) {
            Ok(Ok(piece)) => piece,
            // Trailers: no provider says anything in them.
            Ok(Err(_)) => return None,
            Err(error) => return self.fail(Failure::of(error)),
        };
        let piece = match &mut self.decoding {
            None => piece,
            Some(decoding) => match decoding.push(&piece) {
                Ok(plain) => Bytes::from(plain),
                Err(error) => return self.fail(Failure::of_coding(&error)),
            },
        };
        if let Some(rest) = &mut self.rest {
            *rest = rest.saturating_sub(piece.len() as u64);
        }
        let piece = self.record(piece);
        // Known with the last piece when the upstream gave a length: the recording is complete before the caller is told
        // so, and nobody asks for more behind it.
        if self.rest == Some(0) && matches!(self.state, State::Passing) {
            self.complete();
        }
        piece
    }

    fn last(&mut self) -> Option<Bytes> {
        let rest = match self.decoding.as_mut().map(|decoding| decoding.finish()) {
            None => Bytes::new(),
            Some(Ok(rest)) => Bytes::from(rest),
            Some(Err(error)) => return self.fail(Failure::of_coding(&error)),
        };
        let piece = self.record(rest);
        if matches!(self.state, State::Passing) {
            self.complete();
        }
        piece
    }

    fn record(&mut self, mut piece: Bytes) -> Option<Bytes> {
        if piece.is_empty() {
            return None;
        }
        if let ControlFlow::Break(keep) = self.tee.bytes(&piece) {
            piece.truncate(keep);
            self.state = State::Breaking(Broken::Cut);
            self.tee.end(End::CutOff);
        }
        (!piece.is_empty()).then_some(piece)
    }

    fn complete(&mut self) {
        self.state = State::Over;
        self.tee.end(End::Complete);
    }

    fn fail(&mut self, failure: Failure) -> Option<Bytes> {
        observe::unreachable(failure.class());
        self.state = State::Breaking(Broken::Upstream);
        self.tee.end(failure.into());
        None
    }
}
