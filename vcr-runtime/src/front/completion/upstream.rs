use std::fmt;
use std::future::Future;
use std::pin::Pin;

use futures_core::Stream;

use super::Request;
use crate::model::Usage;
use crate::protocol::Event;
use crate::session::Failure;

/// Whoever answers a request when it is live: your own client code.
///
/// Any `Fn(Request) -> Future<Output = Result<Reply, Failure>>` is one:
///
/// ```
/// use vcr_runtime::{Client, Delta, Failure, Reply, Request};
///
/// async fn ask(request: Request) -> Result<Reply, Failure> {
///     // … send `request.body()` to the provider …
///     # let _ = request;
///     Ok(Reply::from(vec![Delta::text("Hello"), Delta::finish("stop")]))
/// }
///
/// let client = Client::new(ask);
/// # let _ = client;
/// ```
pub trait Upstream: Send + Sync + 'static {
    /// Answers one request; [`Request::stream`] says whether the caller wants a stream.
    fn call(&self, request: Request) -> impl Future<Output = Result<Reply, Failure>> + Send;
}

impl<F, Answer> Upstream for F
where
    F: Fn(Request) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Result<Reply, Failure>> + Send,
{
    fn call(&self, request: Request) -> impl Future<Output = Result<Reply, Failure>> + Send {
        self(request)
    }
}

/// An upstream of any type.
pub(super) trait DynUpstream: Send + Sync {
    fn call<'a>(
        &'a self,
        request: Request,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>>;
}

impl<U: Upstream> DynUpstream for U {
    fn call<'a>(
        &'a self,
        request: Request,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>> {
        Box::pin(Upstream::call(self, request))
    }
}

/// A live answer: all its steps at once, or a stream of them.
pub struct Reply {
    pub(super) steps: Steps,
}

pub(super) type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, Failure>> + Send>>;

pub(super) enum Steps {
    Whole(Vec<Delta>),
    Stream(DeltaStream),
}

impl Reply {
    /// An answer of text alone.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(vec![Delta::text(text), Delta::finish("stop")])
    }

    /// An answer that comes step by step. An error ends it; the steps before it stay.
    #[must_use]
    pub fn stream(steps: impl Stream<Item = Result<Delta, Failure>> + Send + 'static) -> Self {
        Self {
            steps: Steps::Stream(Box::pin(steps)),
        }
    }
}

impl From<Vec<Delta>> for Reply {
    fn from(steps: Vec<Delta>) -> Self {
        Self {
            steps: Steps::Whole(steps),
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reply").finish_non_exhaustive()
    }
}

/// One step of a live answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta(pub(super) Event);

impl Delta {
    /// More text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self(Event::Text {
            choice: 0,
            text: text.into(),
        })
    }

    /// More reasoning.
    #[must_use]
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self(Event::Reasoning {
            choice: 0,
            text: text.into(),
        })
    }

    /// The signature over the reasoning before it.
    #[must_use]
    pub fn reasoning_signature(signature: impl Into<String>) -> Self {
        Self(Event::Signature {
            choice: 0,
            text: signature.into(),
        })
    }

    /// More of a refusal.
    #[must_use]
    pub fn refusal(text: impl Into<String>) -> Self {
        Self(Event::Refusal {
            choice: 0,
            text: text.into(),
        })
    }

    /// The beginning of tool call `index`: its id, its name, and the first of its arguments as JSON text.
    #[must_use]
    pub fn tool_call(
        index: u32,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self(Event::Tool {
            choice: 0,
            index,
            id: Some(id.into()),
            name: Some(name.into()),
            arguments: arguments.into(),
        })
    }

    /// More of the arguments of tool call `index`.
    #[must_use]
    pub fn tool_arguments(index: u32, more: impl Into<String>) -> Self {
        Self(Event::Tool {
            choice: 0,
            index,
            id: None,
            name: None,
            arguments: more.into(),
        })
    }

    /// The end of the answer and its reason: `stop`, `tool_calls`, `length`, `content_filter`.
    #[must_use]
    pub fn finish(reason: impl Into<String>) -> Self {
        Self(Event::Finish {
            choice: 0,
            reason: reason.into(),
            native: None,
        })
    }

    /// Token counts.
    #[must_use]
    pub fn usage(usage: Usage) -> Self {
        Self(Event::Usage(usage))
    }
}
