use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::model::{Call, Frame, FrameRef, ToolCall, Usage};
use crate::protocol::Told;
use crate::session::Failure;

/// A whole answer. Of several choices (`n > 1`) the members show the first; [`frames`](Self::frames) has all.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Completion {
    /// The text.
    pub text: String,
    /// The reasoning ("thinking"), where the model shows it.
    pub reasoning: Option<String>,
    /// The refusal, where the provider separates it from the text.
    pub refusal: Option<String>,
    /// The tools that the model wants called.
    pub tool_calls: Vec<ToolCall>,
    /// Why the answer ended.
    pub finish_reason: Option<String>,
    /// Token counts, where the provider gave them.
    pub usage: Option<Usage>,
    /// How long the call took: live the real time, replayed the recorded time and the injected latency.
    pub latency: Duration,
    frames: Frames,
}

#[derive(Clone, Debug)]
enum Frames {
    Own(Vec<Frame>),
    Recorded(Arc<Call>),
}

impl Default for Frames {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Completion {
    /// The steps of the answer, in order.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        match &self.frames {
            Frames::Own(frames) => frames,
            Frames::Recorded(call) => &call.frames,
        }
    }

    pub(crate) fn recorded(call: Arc<Call>, latency: Duration) -> Self {
        let mut completion = Self {
            usage: call.usage.clone(),
            latency,
            ..Self::default()
        };
        completion.fill(call.frames.views());
        completion.frames = Frames::Recorded(call);
        completion
    }

    pub(crate) fn told(told: Told, latency: Duration) -> Self {
        let mut completion = Self {
            usage: told.usage,
            latency,
            ..Self::default()
        };
        completion.fill(told.frames.iter().map(FrameRef::from));
        completion.frames = Frames::Own(told.frames);
        completion
    }

    fn fill<'a>(&mut self, frames: impl Iterator<Item = FrameRef<'a>>) {
        let append = |to: &mut Option<String>, from: &Option<String>| {
            if let Some(text) = from {
                to.get_or_insert_default().push_str(text);
            }
        };
        for FrameRef { chunk, rest } in frames {
            if rest.is_some_and(|frame| frame.choice != 0) {
                continue;
            }
            self.text.push_str(chunk);
            let Some(frame) = rest else { continue };
            append(&mut self.reasoning, &frame.reasoning);
            append(&mut self.refusal, &frame.refusal);
            self.tool_calls.extend(frame.tool_calls.iter().cloned());
            if frame.finish_reason.is_some() {
                self.finish_reason.clone_from(&frame.finish_reason);
            }
        }
    }
}

/// Why a call has no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The recorder itself: a miss, no session, a broken cassette. It fails the test even when it is swallowed.
    Vcr(Error),
    /// The upstream failed, now or when it was recorded.
    Failed(Failure),
}

impl CallError {
    /// The upstream's failure, live or replayed.
    #[must_use]
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Vcr(_) => None,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vcr(error) => error.fmt(formatter),
            Self::Failed(failure) => failure.fmt(formatter),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Vcr(error) => Some(error),
            Self::Failed(failure) => Some(failure),
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Vcr(error)
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
