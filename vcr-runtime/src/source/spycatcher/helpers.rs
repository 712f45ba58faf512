//! What tools around a cassette need: the hash of a request, and streams compared without their comments.

use serde_json::Value;

use super::canonical::Canonical;
use super::pointers::{CanonicalError, Pointers};
use crate::json::{from_value, to_value};

/// A request as a cassette holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query without `?`, as it was sent.
    pub query: String,
    /// Headers in their order; they never take part in the hash.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// The body as JSON; `None` when it is none. This is what is hashed.
    pub parsed_json: Option<Value>,
    /// The envelope that was hashed, where it is known.
    pub canonical_request: Option<Value>,
    /// The hash, where it is known.
    pub stable_hash: Option<String>,
}

/// What the hash leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnorePathConfig {
    /// JSON pointers (RFC 6901) into the body, such as `/metadata/run_id`; `*` stands for every element of an array.
    pub ignored_body_paths: Vec<String>,
}

/// The parts of a request that count, in their one spelling.
#[derive(Clone, Debug, PartialEq)]
pub struct CanonicalRequest {
    /// In upper case.
    pub method: String,
    /// As it was sent.
    pub path: String,
    /// Pairs decoded, encoded anew and sorted.
    pub canonical_query: String,
    /// The body without what is ignored; `Null` when it is no JSON.
    pub canonical_body: Value,
}

/// The canonical form of a request.
///
/// ```
/// use serde_json::json;
/// use vcr_runtime::harness::cassette::{IgnorePathConfig, RecordedRequest, canonicalize, stable_hash};
///
/// let request = RecordedRequest {
///     method: "post".to_owned(),
///     path: "/v1/chat/completions".to_owned(),
///     query: "z=last&a=2&a=1".to_owned(),
///     parsed_json: Some(json!({ "metadata": { "run_id": "abc" }, "model": "gpt-test", "stream": false })),
///     ..RecordedRequest::default()
/// };
/// let ignored = IgnorePathConfig {
///     ignored_body_paths: vec!["/metadata/run_id".to_owned()],
/// };
/// let canonical = canonicalize(&request, &ignored)?;
/// assert_eq!(canonical.canonical_query, "a=1&a=2&z=last");
/// assert!(stable_hash(&canonical).starts_with("ac2181951e57a68d"));
/// # Ok::<(), vcr_runtime::harness::cassette::CanonicalError>(())
/// ```
///
/// # Errors
/// [`CanonicalError`] for an ignore path that is no pointer, or that steps into an array with something that is no index.
pub fn canonicalize(
    request: &RecordedRequest,
    ignored: &IgnorePathConfig,
) -> Result<CanonicalRequest, CanonicalError> {
    let pointers = Pointers::parse(&ignored.ignored_body_paths)?;
    let body = request.parsed_json.clone().map(from_value);
    let canonical = Canonical::of(&request.method, &request.path, &request.query, body, &pointers)?;
    Ok(CanonicalRequest {
        method: canonical.method,
        path: canonical.path,
        canonical_query: canonical.query,
        canonical_body: to_value(&canonical.body),
    })
}

/// The SHA-256 of a canonical request: 64 lower-case hexadecimal digits.
#[must_use]
pub fn stable_hash(request: &CanonicalRequest) -> String {
    Canonical::parts(
        &request.method,
        &request.path,
        &request.canonical_query,
        from_value(request.canonical_body.clone()),
    )
    .hash()
}

/// One event of a recorded stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// A comment, such as the keep-alive of a provider.
    Comment {
        /// The text after the colon and one space.
        text: String,
    },
    /// An event with data.
    Data {
        /// The text of the data.
        raw: String,
        /// The data as JSON; `None` when it is none.
        parsed_json: Option<Value>,
    },
}

/// What of a stream counts when two are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCanonicalPolicy {
    /// Leave comments out.
    pub ignore_comments: bool,
}

impl StreamCanonicalPolicy {
    /// Comments do not count.
    #[must_use]
    pub const fn ignore_comments() -> Self {
        Self {
            ignore_comments: true,
        }
    }
}

/// The events that count, in their order.
///
/// ```
/// use vcr_runtime::harness::cassette::{StreamCanonicalPolicy, StreamEvent, canonicalize_events};
///
/// let done = StreamEvent::Data { raw: "[DONE]".to_owned(), parsed_json: None };
/// let events = [StreamEvent::Comment { text: "WAIT".to_owned() }, done.clone()];
/// assert_eq!(canonicalize_events(&events, StreamCanonicalPolicy::ignore_comments()), [done]);
/// assert_eq!(canonicalize_events(&events, StreamCanonicalPolicy::default()), events);
/// ```
#[must_use]
pub fn canonicalize_events(events: &[StreamEvent], policy: StreamCanonicalPolicy) -> Vec<StreamEvent> {
    let counts = |event: &&StreamEvent| !policy.ignore_comments || matches!(event, StreamEvent::Data { .. });
    events.iter().filter(counts).cloned().collect()
}
