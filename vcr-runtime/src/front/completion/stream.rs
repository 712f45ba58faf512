use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use tokio::time::Sleep;

use super::client::streamed;
use super::upstream::{DeltaStream, Steps};
use super::{CallError, Completion};
use crate::front::access::OneCall;
use crate::model::{Call, Frame, FrameIter, Usage};
use crate::protocol::Timeline;
use crate::session::{CallRecorder, Ending, Failure, Hanging, Pace, Played};

/// The frames of an answer as they come. Also a [`Stream`] of `futures-core`.
///
/// Dropping it before its end is recorded as what it is: the caller stopped reading.
#[must_use = "a stream does nothing unless it is read"]
pub struct CompletionStream {
    source: Source,
    usage: Option<Usage>,
}

enum Source {
    Live(Box<Live>),
    Replayed(Box<Replayed>),
    Ended,
}

struct Live {
    steps: LiveSteps,
    start: Instant,
    timeline: Option<Timeline>,
    ready: VecDeque<Frame>,
    recorder: Option<CallRecorder>,
    own: Option<OneCall>,
    /// An error that comes after the frames that are ready.
    then: Option<CallError>,
}

enum LiveSteps {
    Whole(VecDeque<crate::protocol::Event>),
    Stream(DeltaStream),
    Over,
}

struct Replayed {
    frames: FrameIter,
    /// All of the call but its frames.
    call: Call,
    next: usize,
    due: Duration,
    pace: Pace,
    hang: Option<Hanging>,
    hangs: bool,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl CompletionStream {
    pub(super) fn live(steps: Steps, recorder: Option<CallRecorder>, own: Option<OneCall>) -> Self {
        let steps = match steps {
            Steps::Whole(steps) => LiveSteps::Whole(steps.into_iter().map(|delta| delta.0).collect()),
            Steps::Stream(stream) => LiveSteps::Stream(stream),
        };
        let live = Live {
            steps,
            start: Instant::now(),
            timeline: Some(Timeline::new(0)),
            ready: VecDeque::new(),
            recorder,
            own,
            then: None,
        };
        Self {
            source: Source::Live(Box::new(live)),
            usage: None,
        }
    }

    pub(super) fn replayed(played: Played) -> Self {
        let pace = played.pace(played.call.frames.len());
        // A call is served once, so its frames can be handed over.
        let mut call = Arc::unwrap_or_clone(played.call);
        let frames = std::mem::take(&mut call.frames).into_iter();
        let replayed = Replayed {
            frames,
            call,
            next: 0,
            due: Duration::ZERO,
            pace,
            hang: played.hang,
            hangs: false,
            sleep: None,
        };
        Self {
            source: Source::Replayed(Box::new(replayed)),
            usage: None,
        }
    }

    /// The next frame; `None` at the end. After an error there is nothing more.
    pub async fn next(&mut self) -> Option<Result<Frame, CallError>> {
        // At full speed nothing is waited for; the short way spares each frame a few copies.
        if let Source::Replayed(replayed) = &mut self.source
            && replayed.pace.is_immediate()
            && let Some(frame) = replayed.frames.next()
        {
            replayed.next += 1;
            return Some(Ok(frame));
        }
        std::future::poll_fn(|context| self.poll_frame(context)).await
    }

    /// Token counts, once the stream has ended and where the provider gave them.
    #[must_use]
    pub const fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// The first error of the stream.
    pub async fn collect(mut self) -> Result<Completion, CallError> {
        let start = Instant::now();
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame?);
        }
        let told = crate::protocol::Told {
            frames,
            usage: self.usage.take(),
            error: None,
        };
        Ok(Completion::told(told, start.elapsed()))
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame, CallError>>> {
        let polled = match &mut self.source {
            Source::Ended => return Poll::Ready(None),
            Source::Replayed(replayed) => std::task::ready!(replayed.poll(context, &mut self.usage)),
            Source::Live(live) => std::task::ready!(live.poll(context, &mut self.usage)),
        };
        if !matches!(polled, Some(Ok(_))) {
            self.source = Source::Ended;
        }
        Poll::Ready(polled)
    }
}

type Polled = Poll<Option<Result<Frame, CallError>>>;

impl Replayed {
    fn poll(&mut self, context: &mut Context<'_>, usage: &mut Option<Usage>) -> Polled {
        if !self.pace.is_immediate()
            && let Some(delta_us) = self.frames.next_delta_us()
        {
            let due = self.due + Duration::from_micros(delta_us);
            std::task::ready!(self.wait(context, due));
            self.due = due;
        }
        if let Some(frame) = self.frames.next() {
            self.next += 1;
            return Poll::Ready(Some(Ok(frame)));
        }
        std::task::ready!(self.end(context, usage))
            .map_or(Poll::Ready(None), |error| Poll::Ready(Some(Err(error))))
    }

    /// After the last frame and the silence behind it: the error that ended the answer, or the token counts.
    #[cold]
    fn end(&mut self, context: &mut Context<'_>, usage: &mut Option<Usage>) -> Poll<Option<CallError>> {
        let total = self.call.metrics.map_or(0, |metrics| metrics.total_us);
        std::task::ready!(self.wait(context, Duration::from_micros(total)));
        if let Some(hang) = self.hang.take() {
            if let Err(error) = hang.begin() {
                return Poll::Ready(Some(error.into()));
            }
            self.hangs = true;
        }
        if self.hangs {
            // Nobody wakes it: it ends when it is dropped.
            return Poll::Pending;
        }
        let Some(failure) = self.call.boundary.as_ref().map(Failure::from_boundary) else {
            *usage = self.call.usage.take();
            return Poll::Ready(None);
        };
        Poll::Ready(Some(failure.into()))
    }

    fn wait(&mut self, context: &mut Context<'_>, due: Duration) -> Poll<()> {
        if self.pace.is_immediate() {
            return Poll::Ready(());
        }
        let (pace, next) = (&self.pace, self.next);
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(pace.deadline(next, due))));
        std::task::ready!(sleep.as_mut().poll(context));
        self.sleep = None;
        Poll::Ready(())
    }
}

impl Live {
    fn poll(&mut self, context: &mut Context<'_>, usage: &mut Option<Usage>) -> Polled {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            if let Some(error) = self.then.take() {
                return Poll::Ready(Some(Err(error)));
            }
            let step = match &mut self.steps {
                LiveSteps::Over => return Poll::Ready(None),
                LiveSteps::Whole(steps) => steps.pop_front().map(Ok),
                LiveSteps::Stream(stream) => std::task::ready!(stream.as_mut().poll_next(context))
                    .map(|step| step.map(|delta| delta.0)),
            };
            match step {
                Some(Ok(event)) => self.take(event),
                Some(Err(failure)) => {
                    self.end(Ending::Failed(failure.to_wire()), Some(failure.into()), usage);
                }
                None => self.end(Ending::Clean { complete: true }, None, usage),
            }
        }
    }

    fn take(&mut self, event: crate::protocol::Event) {
        if let Some(call) = &mut self.recorder {
            let at_us = call.now_us();
            if let Err(cut) = call.events(at_us, vec![event.clone()]) {
                let failure = Failure::new(&cut.error_type, &cut.message);
                self.end(Ending::CutOff(cut), Some(failure.into()), &mut None);
                return;
            }
        }
        let at_us = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        if let Some(timeline) = &mut self.timeline {
            timeline.push(at_us, [event]);
            self.ready.extend(timeline.drain());
        }
    }

    fn end(&mut self, ending: Ending, error: Option<CallError>, usage: &mut Option<Usage>) {
        self.steps = LiveSteps::Over;
        if let Some(call) = self.recorder.take() {
            call.finish(ending, streamed());
        }
        if let Some(timeline) = self.timeline.take() {
            let told = timeline.finish();
            self.ready.extend(told.frames);
            *usage = told.usage;
        }
        let saved = self.own.take().map_or(Ok(()), OneCall::finish);
        self.then = error.or_else(|| saved.err().map(CallError::Vcr));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // The recorder notes that the caller stopped; a session of this one call saves it. There is nobody left to tell
        // about a failed save.
        drop(self.recorder.take());
        if let Some(own) = self.own.take() {
            let _ = own.finish();
        }
    }
}

impl Stream for CompletionStream {
    type Item = Result<Frame, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_frame(context)
    }
}

impl std::fmt::Debug for CompletionStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CompletionStream").finish_non_exhaustive()
    }
}
