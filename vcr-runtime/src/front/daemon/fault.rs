//! What the daemon refuses, as HTTP.

use http::StatusCode;

use crate::error::{Error, ErrorKind};
use crate::front::gateway::Fault;

/// A refusal by its kind: mistakes of the request are 400, all else is 409, which says that the state of the recordings
/// stands in the way.
pub(super) fn refusal(error: &Error) -> Fault {
    let (status, code) = match error.kind() {
        ErrorKind::Config => (StatusCode::BAD_REQUEST, "vcr_bad_setting"),
        ErrorKind::Identity => (StatusCode::BAD_REQUEST, "vcr_bad_name"),
        ErrorKind::Busy | ErrorKind::Collision => (StatusCode::CONFLICT, "vcr_busy"),
        ErrorKind::CassetteBroken | ErrorKind::CassetteVersion => {
            (StatusCode::CONFLICT, "vcr_cassette_broken")
        }
        ErrorKind::TakeMissing => (StatusCode::CONFLICT, "vcr_take_missing"),
        ErrorKind::Verdict => (StatusCode::CONFLICT, "vcr_verdict"),
        _ => return Fault::of(error),
    };
    Fault::new(status, code, error.to_string())
}

/// A body that had to be a JSON object.
pub(super) fn malformed(why: &str) -> Fault {
    Fault::new(
        StatusCode::BAD_REQUEST,
        "vcr_malformed_json",
        format!("the request's body is not a JSON object: {why}"),
    )
}

/// A path that the daemon has no upstream for.
pub(super) fn unknown_path(path: &str, known: &str) -> Fault {
    Fault::new(
        StatusCode::NOT_FOUND,
        "vcr_unknown_path",
        format!(
            "no protocol is known by the path {path}; known prefixes: {known}; or start the daemon with --upstream"
        ),
    )
}

/// A recording that goes on under other terms.
pub(super) fn busy(message: String) -> Fault {
    Fault::new(StatusCode::CONFLICT, "vcr_busy", message)
}

/// A request of another site's page: a browser would make it without asking.
pub(super) fn foreign_origin() -> Fault {
    Fault::new(
        StatusCode::FORBIDDEN,
        "vcr_forbidden_origin",
        "a page of another origin may not use this daemon; serve the page from this machine",
    )
}
