//! The seam between the loopback server and what stands behind it: a test's session, a daemon, a harness.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};

use super::headers;
use crate::error::{Error, ErrorKind};
use crate::json::{Json, compact};
use crate::observe;
use crate::protocol::{owner, refusal};
use crate::session::{Playback, Recording, Upstream, asked};

/// Decides about every request that the server accepts: proper HTTP/1.1, for this address, no longer than the limit.
pub(in crate::front) trait Backend: Send + Sync {
    /// The largest body that is read, in bytes.
    fn body_limit(&self) -> usize;

    /// Looks at a request before its body is read.
    ///
    /// # Errors
    /// What the caller is told instead of an answer.
    fn admit(&self, head: &Parts) -> Result<(), Fault>;

    /// Decides about a request that was admitted.
    fn decide<'a>(
        &'a self,
        head: &'a Parts,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

    /// A fault in the form that callers of `path` read.
    fn answer(&self, path: &str, fault: &Fault) -> Answer {
        refused(path, fault)
    }
}

/// What becomes of a request.
pub(in crate::front) enum Decision {
    /// Answer from a recording.
    Play(Playback),
    /// Answer with this.
    #[allow(dead_code, reason = "a test's gateway has no answers of its own")]
    Answer(Answer),
    /// Answer with this fault, in the caller's form.
    Refuse(Fault),
    /// Pass it on, with the answer teed into the recording where there is one.
    Forward(Box<Outgoing>, Option<Box<dyn Recording>>),
}

/// An answer of the backend's own.
#[derive(Clone, Debug)]
pub(in crate::front) struct Answer {
    pub(in crate::front) status: StatusCode,
    pub(in crate::front) headers: Vec<(String, String)>,
    pub(in crate::front) body: Bytes,
}

impl Answer {
    pub(in crate::front) fn json(status: StatusCode, document: &Json) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: compact(document).into(),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(in crate::front) struct Fault {
    pub(in crate::front) status: StatusCode,
    /// Stable, for programs: `vcr_replay_miss`.
    pub(in crate::front) code: &'static str,
    /// For people.
    pub(in crate::front) message: String,
}

/// Which interface a path belongs to, for logs and metrics.
pub(in crate::front) fn interface(path: &str) -> observe::Asked {
    asked(owner(path))
}

/// A fault in the words of the protocol that the path belongs to.
pub(in crate::front) fn refused(path: &str, fault: &Fault) -> Answer {
    let document = match owner(path) {
        Some(wire) => wire.refusal(fault.status.as_u16(), fault.code, &fault.message),
        None => refusal(fault.code, &fault.message),
    };
    let mut answer = Answer::json(fault.status, &document);
    if !fault.status.is_server_error() {
        // Some SDKs ask again after a 409; the answer would be the same.
        let again = ("x-should-retry".to_owned(), "false".to_owned());
        answer.headers.push(again);
    }
    answer
}

impl Fault {
    pub(in crate::front) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    /// What a session refuses. 409 because no client retries it: a miss stays a miss.
    pub(in crate::front) fn of(error: &Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Miss => "vcr_replay_miss",
            ErrorKind::CassetteMissing => "vcr_cassette_missing",
            _ => "vcr_error",
        };
        Self::new(StatusCode::CONFLICT, code, error.to_string())
    }

    /// The upstream gave no answer, now or when it was recorded.
    pub(in crate::front) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "vcr_upstream_error", message)
    }
}

/// A caller's request on its way to the upstream.
pub(in crate::front) struct Outgoing {
    pub(in crate::front) upstream: Arc<Upstream>,
    pub(in crate::front) method: Method,
    /// Path below the base and query, as the caller wrote them.
    pub(in crate::front) tail: String,
    /// Already rid of what does not travel.
    pub(in crate::front) headers: HeaderMap,
    pub(in crate::front) body: Bytes,
    /// What makes the call; `None` is the client of all that say nothing of it.
    pub(in crate::front) client: Option<reqwest::Client>,
    pub(in crate::front) limit: Option<Limit>,
}

/// How long an upstream may take over an answer. Without a limit it is for as long as the caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "harness"),
    allow(dead_code, reason = "the harness alone sets one")
)]
pub(in crate::front) enum Limit {
    /// For all of it.
    Whole(Duration),
    /// Until something comes: the head, and then every piece.
    Idle(Duration),
}

impl Outgoing {
    /// The request of `head`, of whose path `rest` lies below the upstream's base.
    pub(in crate::front) fn new(upstream: Arc<Upstream>, head: &Parts, rest: &str, body: Bytes) -> Self {
        let query = head.uri.query();
        Self {
            upstream,
            method: head.method.clone(),
            tail: query.map_or_else(|| rest.to_owned(), |query| format!("{rest}?{query}")),
            headers: headers::for_upstream(&head.headers),
            body,
            client: None,
            limit: None,
        }
    }
}
