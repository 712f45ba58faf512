//! The harness's own answers.

use http::StatusCode;

use crate::front::gateway::{Answer, Fault};
use crate::json::{Json, Object};

/// Codes of [`Fault`]s that are answered without a body.
pub(super) const UNKNOWN_PATH: &str = "vcr_unknown_path";
pub(super) const NOT_POST: &str = "vcr_not_post";

/// A fault as callers of the harness read it.
pub(super) fn answer(fault: &Fault) -> Answer {
    let bare = |headers| Answer {
        status: fault.status,
        headers,
        body: bytes::Bytes::new(),
    };
    match fault.code {
        UNKNOWN_PATH => bare(Vec::new()),
        NOT_POST => bare(vec![("allow".to_owned(), "POST".to_owned())]),
        code => error(
            fault.status,
            code.strip_prefix("vcr_").unwrap_or(code),
            &fault.message,
            Object::new(),
        ),
    }
}

/// An error with the members of the harness, and with those that the providers' SDKs read.
pub(super) fn error(status: StatusCode, kind: &str, message: &str, more: Object) -> Answer {
    let mut error = Object::new();
    error.push("kind", kind);
    error.push("message", message);
    for (name, value) in more {
        error.push(name, value);
    }
    error.push("type", kind);
    error.push("param", Json::Null);
    error.push("code", kind);
    let mut document = Object::new();
    document.push("type", "error");
    document.push("error", Json::Object(error));
    Answer::json(status, &Json::Object(document))
}

pub(super) fn malformed_json() -> Answer {
    error(
        StatusCode::BAD_REQUEST,
        "malformed_json",
        "the request's body is no JSON, so nothing recorded can answer it",
        Object::new(),
    )
}
