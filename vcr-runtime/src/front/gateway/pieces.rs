//! The body of a replayed answer that goes out piece by piece.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::vec::IntoIter;

use bytes::Bytes;

use super::flushed::Flushed;
use super::respond::Broken;
use crate::session::{Hanging, Pace, Pieces};

/// Hands out one piece, waits until it has left through the socket and the next one is due, hands out the next.
pub(super) struct PieceByPiece {
    rest: Bytes,
    cuts: IntoIter<(Duration, usize)>,
    /// Steps handed out or skipped so far.
    step: usize,
    /// `None` when nothing has to be waited for.
    pace: Option<Arc<Pace>>,
    due: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    flushed: Arc<Flushed>,
    mark: u64,
    started: bool,
    /// When the body ends, if that is later than its last piece and is waited for.
    end: Option<Duration>,
    abort: bool,
    hang: Option<Hanging>,
    hangs: bool,
}

impl PieceByPiece {
    /// `end` is when the body is over, from the call's start like the times of the pieces.
    pub(super) fn new(pieces: Pieces, end: Duration, pace: Pace, abort: bool, flushed: Arc<Flushed>) -> Self {
        let is_later = pieces.cuts.last().is_none_or(|(last, _)| *last < end);
        Self {
            end: (!pace.is_immediate() && is_later).then_some(end),
            rest: Bytes::from(pieces.bytes),
            cuts: pieces.cuts.into_iter(),
            step: 0,
            pace: (!pace.is_immediate()).then(|| Arc::new(pace)),
            due: None,
            mark: flushed.count(),
            flushed,
            started: false,
            abort,
            hang: None,
            hangs: false,
        }
    }

    /// The same body, that stays open behind its last piece where it is to hang.
    pub(super) fn hanging(mut self, hang: Option<Hanging>) -> Self {
        self.hangs = hang.is_some();
        self.hang = hang;
        self
    }

    /// The body has ended in order; known with the last piece, so that its end travels in the same write.
    pub(super) fn is_over(&self) -> bool {
        self.cuts.as_slice().is_empty() && !self.abort && !self.hangs && self.end.is_none()
    }

    pub(super) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            let Some((due, length)) = self.cuts.as_slice().first() else {
                return self.poll_end(context);
            };
            if *length == 0 {
                self.cuts.next();
                self.step += 1;
                continue;
            }
            // The head leaves together with the first piece.
            if self.started {
                ready!(self.flushed.poll_past(self.mark, context));
            }
            let (due, length) = (*due, *length);
            ready!(self.wait(due, context));
            self.started = true;
            self.step += 1;
            self.mark = self.flushed.count();
            let piece = self.rest.split_to(length.min(self.rest.len()));
            self.cuts.next();
            return Poll::Ready(Some(Ok(piece)));
        }
    }

    /// Waits until the next step, recorded at `offset`, is due.
    fn wait(&mut self, offset: Duration, context: &mut Context<'_>) -> Poll<()> {
        if let Some(pace) = &self.pace {
            let (pace, step) = (Arc::clone(pace), self.step);
            let due = self
                .due
                .get_or_insert_with(|| Box::pin(async move { pace.until(step, offset).await }));
            ready!(due.as_mut().poll(context));
            self.due = None;
        }
        Poll::Ready(())
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if let Some(end) = self.end {
            ready!(self.wait(end, context));
            self.end = None;
        }
        if self.hangs {
            if self.started {
                ready!(self.flushed.poll_past(self.mark, context));
            }
            return match self.hang.take().map_or(Ok(()), |hang| hang.begin()) {
                Ok(()) => Poll::Pending,
                Err(_) => {
                    self.hangs = false;
                    self.abort = false;
                    Poll::Ready(Some(Err(Broken::Unready)))
                }
            };
        }
        if !self.abort {
            return Poll::Ready(None);
        }
        // hyper forgets what it has not written yet when a body fails.
        ready!(self.flushed.poll_past(self.mark, context));
        self.abort = false;
        Poll::Ready(Some(Err(Broken::Recorded)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn pieces(texts: &[(u64, &str)]) -> Pieces {
        texts
            .iter()
            .map(|(offset, text)| (Duration::from_millis(*offset), text))
            .collect()
    }

    fn poll(body: &mut PieceByPiece) -> Poll<Option<Result<Bytes, String>>> {
        let mut context = Context::from_waker(Waker::noop());
        body.poll_piece(&mut context).map_err(|broken| broken.to_string())
    }

    fn data(text: &'static str) -> Poll<Option<Result<Bytes, String>>> {
        Poll::Ready(Some(Ok(Bytes::from_static(text.as_bytes()))))
    }

    #[test]
    fn the_next_piece_waits_until_the_one_before_has_left() {
        let flushed = Arc::new(Flushed::default());
        let all = pieces(&[(0, "a"), (0, ""), (0, "b")]);
        let mut body = PieceByPiece::new(
            all,
            Duration::from_secs(9),
            Pace::new(0.0, vec![]),
            false,
            Arc::clone(&flushed),
        );
        assert_eq!(poll(&mut body), data("a"));
        assert!(poll(&mut body).is_pending());
        assert!(!body.is_over());
        flushed.note();
        assert_eq!(poll(&mut body), data("b"));
        assert!(body.is_over());
        assert_eq!(poll(&mut body), Poll::Ready(None));
    }

    #[test]
    fn a_break_waits_until_the_head_and_every_piece_have_left() {
        let flushed = Arc::new(Flushed::default());
        let mut body = PieceByPiece::new(
            Pieces::default(),
            Duration::ZERO,
            Pace::new(0.0, vec![]),
            true,
            Arc::clone(&flushed),
        );
        assert!(!body.is_over());
        assert!(poll(&mut body).is_pending());
        flushed.note();
        assert_eq!(
            poll(&mut body),
            Poll::Ready(Some(Err(Broken::Recorded.to_string())))
        );
        assert_eq!(poll(&mut body), Poll::Ready(None));
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_are_due_at_their_scaled_offsets_plus_the_drawn_latency() {
        let flushed = Arc::new(Flushed::default());
        let start = tokio::time::Instant::now();
        let pace = Pace::new(0.5, vec![Duration::from_millis(7)]);
        let all = pieces(&[(10, "a"), (400, "b"), (1000, "c")]);
        let mut body = PieceByPiece::new(
            all,
            Duration::from_millis(1000),
            pace,
            false,
            Arc::clone(&flushed),
        );
        let mut seen = Vec::new();
        while let Some(piece) = std::future::poll_fn(|context| body.poll_piece(context)).await {
            seen.push((start.elapsed().as_millis(), piece.unwrap()));
            flushed.note();
        }
        let expected = [(12, "a"), (207, "b"), (507, "c")];
        assert_eq!(
            seen,
            expected.map(|(at, text)| (at, Bytes::from_static(text.as_bytes())))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_silence_before_the_end_is_waited_for_whatever_the_end() {
        for abort in [false, true] {
            let flushed = Arc::new(Flushed::default());
            let start = tokio::time::Instant::now();
            let mut body = PieceByPiece::new(
                pieces(&[(10, "a")]),
                Duration::from_millis(900),
                Pace::new(1.0, vec![]),
                abort,
                Arc::clone(&flushed),
            );
            let first = std::future::poll_fn(|context| body.poll_piece(context)).await;
            assert!(first.is_some_and(|piece| piece.is_ok()) && !body.is_over());
            flushed.note();
            let last = std::future::poll_fn(|context| body.poll_piece(context)).await;
            assert_eq!(last, abort.then_some(Err(Broken::Recorded)));
            assert_eq!(start.elapsed().as_millis(), 900);
        }
    }
}
