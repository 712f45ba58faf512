//! What logs and metrics are told. Both are features, and neither ever hears a query, a key or a text of a conversation:
//! protocols, routes, outcomes, counts and the names of cassettes are all there is.

use std::path::Path;

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Passed through.
    Live,
    /// Passed through and recorded.
    Recorded,
    /// Answered from a cassette.
    Matched,
    /// Nothing recorded answers it.
    Missed(Reason),
    /// The cassette could not be used.
    Failed,
    /// The request is no JSON, so that nothing recorded can answer it.
    #[cfg_attr(not(feature = "harness"), allow(dead_code, reason = "the harness alone asks"))]
    Malformed,
}

/// Why nothing recorded answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// No recorded call is equal.
    NoMatch,
    /// Equal calls have all been used.
    Consumed,
    /// All calls have been used.
    Exhausted,
    /// Another call comes first.
    OutOfOrder,
    /// The recorded answer has another shape: unary instead of a stream, or the reverse.
    Shape,
}

impl Reason {
    fn label(self) -> &'static str {
        match self {
            Self::NoMatch => "no_matching_interaction",
            Self::Consumed => "interaction_already_consumed",
            Self::Exhausted => "cassette_exhausted",
            Self::OutOfOrder => "request_hash_mismatch",
            Self::Shape => "stream_cassette_required",
        }
    }
}

/// Which interface was asked: the protocol's name in cassettes, and how its paths end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) protocol: &'static str,
    pub(crate) route: &'static str,
}

impl Asked {
    /// What speaks no known protocol; its path may say anything, so it is not told.
    pub(crate) const PLAIN: Self = Self {
        protocol: "http",
        route: "other",
    };
}

/// Tells of one call.
pub(crate) fn call(asked: Asked, outcome: Outcome) {
    let Asked { protocol, route } = asked;
    #[cfg(feature = "metrics")]
    {
        let labels = [("protocol", protocol), ("route", route)];
        match outcome {
            Outcome::Live => metrics::counter!("vcr.live.requests.total", &labels).increment(1),
            Outcome::Recorded => metrics::counter!("vcr.record.requests.total", &labels).increment(1),
            Outcome::Matched => replayed(asked, "matched"),
            Outcome::Failed => replayed(asked, "cassette_unusable"),
            Outcome::Malformed => replayed(asked, "malformed_json"),
            Outcome::Missed(reason) => {
                replayed(
                    asked,
                    if reason == Reason::Shape {
                        "stream_cassette_required"
                    } else {
                        "mismatch"
                    },
                );
                metrics::counter!(
                    "vcr.replay.mismatches.total",
                    "protocol" => protocol, "route" => route, "reason" => reason.label()
                )
                .increment(1);
            }
        }
    }
    #[cfg(feature = "tracing")]
    match outcome {
        Outcome::Live => tracing::debug!(target: "vcr", protocol, route, "passed through"),
        Outcome::Recorded => tracing::info!(target: "vcr", protocol, route, "recording"),
        Outcome::Matched => tracing::debug!(target: "vcr", protocol, route, "replayed"),
        Outcome::Missed(reason) => {
            tracing::warn!(target: "vcr", protocol, route, reason = reason.label(), "no recorded call answers");
        }
        Outcome::Failed => tracing::warn!(target: "vcr", protocol, route, "the cassette cannot be used"),
        Outcome::Malformed => tracing::warn!(target: "vcr", protocol, route, "the request is no JSON"),
    }
    let _ = (protocol, route, outcome, Reason::label);
}

#[cfg(feature = "metrics")]
fn replayed(asked: Asked, outcome: &'static str) {
    metrics::counter!(
        "vcr.replay.requests.total",
        "protocol" => asked.protocol, "route" => asked.route, "outcome" => outcome
    )
    .increment(1);
}

/// Tells of a streamed answer that is about to be replayed, in that many pieces; paced or all at once.
pub(crate) fn stream(asked: Asked, pieces: usize, paced: bool) {
    #[cfg(feature = "metrics")]
    {
        let Asked { protocol, route } = asked;
        let labels = [("protocol", protocol), ("route", route)];
        let delivery = if paced { "streamed" } else { "eager" };
        metrics::counter!("vcr.replay.stream.responses.total", &labels).increment(1);
        metrics::counter!(
            "vcr.replay.stream.delivery.total",
            "protocol" => protocol, "route" => route, "delivery" => delivery
        )
        .increment(1);
        // Counts beyond 2^53 are no counts of events.
        metrics::histogram!("vcr.replay.stream.events", &labels).record(pieces as f64);
    }
    let _ = (asked, pieces, paced);
}

/// Tells of a request that was refused before anything was looked up for it; `code` is the stable one of the answer.
pub(crate) fn rejected(asked: Asked, code: &'static str) {
    let Asked { protocol, route } = asked;
    #[cfg(feature = "metrics")]
    metrics::counter!(
        "vcr.replay.rejections.total",
        "protocol" => protocol, "route" => route, "code" => code
    )
    .increment(1);
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "vcr", protocol, route, code, "refused");
    let _ = (protocol, route, code);
}

/// Tells that an upstream gave no answer, or not all of it; `fault` is the class of the failure.
pub(crate) fn unreachable(fault: &'static str) {
    #[cfg(feature = "metrics")]
    metrics::counter!("vcr.upstream.failures.total", "fault" => fault).increment(1);
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "vcr", fault, "the upstream failed");
    let _ = fault;
}

/// Tells that the use of a cassette has ended.
pub(crate) fn ended(cassette: &Path, replayed: usize, recorded: usize, written: bool) {
    #[cfg(feature = "tracing")]
    tracing::info!(target: "vcr", cassette = %cassette.display(), replayed, recorded, written, "ended");
    let _ = (cassette, replayed, recorded, written);
}

/// Tells that a recording could not be saved.
pub(crate) fn unsaved(cassette: &Path, kind: crate::error::ErrorKind) {
    #[cfg(feature = "metrics")]
    metrics::counter!("vcr.record.commit_failures.total").increment(1);
    #[cfg(feature = "tracing")]
    tracing::error!(target: "vcr", cassette = %cassette.display(), ?kind, "not saved");
    let _ = (cassette, kind);
}
