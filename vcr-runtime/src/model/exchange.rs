//! What can be said of an exchange with an upstream before anybody reads its answer.

/// How the body of a streamed answer is cut into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `text/event-stream`.
    Sse,
    /// One JSON document a line.
    Ndjson,
    /// One JSON array whose elements come one by one.
    JsonArray,
    /// No framing that we know: the bytes are kept as they come.
    Opaque,
}

/// How an exchange with the upstream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The upstream ended the body in order.
    Complete,
    /// The transport failed; before the head when `head` was never called.
    Failed {
        /// `connect`, `timeout`, `reset`, or `body`.
        error_type: String,
        message: String,
    },
    /// The caller went away.
    Cancelled,
    /// Our own stream breaker cut it.
    CutOff,
}
