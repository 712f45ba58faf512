//! A recorded or live failure as the caller sees it.

use std::fmt;

use crate::model::Boundary;
use crate::protocol::WireError;

/// A completion that failed: the upstream's error, a cut, a broken stream. Live and replayed failures are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The name of the error class, as the upstream gave it: `RateLimitError`, `overloaded_error`.
    pub error_type: String,
    /// The upstream's own words.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The provider's code, where there was one.
    pub code: Option<String>,
}

/// What a [`Failure`] means, whatever the provider called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureCategory {
    /// The prompt does not fit.
    ContextWindow,
    /// A content filter or policy refused.
    ContentPolicy,
    /// Too many requests, or a quota is used up.
    RateLimit,
    /// The key is missing or wrong.
    Authentication,
    /// The key may not do this.
    Permission,
    /// No such model or route.
    NotFound,
    /// The request is malformed.
    BadRequest,
    /// Nothing came in time.
    Timeout,
    /// The provider failed.
    Server,
    /// None of these.
    Other,
}

impl Failure {
    /// A failure with the name of its class and a message.
    #[must_use]
    pub fn new(error_type: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            error_type: error_type.into(),
            message: message.into(),
            status: None,
            code: None,
        }
    }

    /// With an HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// With the provider's code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    pub(crate) fn from_boundary(boundary: &Boundary) -> Self {
        Self {
            error_type: boundary.error_type.clone(),
            message: boundary.message.clone(),
            status: boundary.status,
            code: boundary.code.clone(),
        }
    }

    pub(crate) fn to_wire(&self) -> WireError {
        WireError {
            error_type: self.error_type.clone(),
            message: self.message.clone(),
            status: self.status,
            code: self.code.clone(),
        }
    }

    /// The meaning: by the words of the message first, then the status, then the class.
    ///
    /// The order of the guesses is the seed's; the recorded class and message themselves are never changed.
    #[must_use]
    pub fn category(&self) -> FailureCategory {
        category(&self.error_type, &self.message, self.code.as_deref(), self.status)
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self {
            error_type: error.error_type,
            message: error.message,
            status: error.status,
            code: error.code,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.error_type, self.message)?;
        match self.status {
            Some(status) => write!(formatter, " (status {status})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// The HTTP status of a boundary that has none, for an answer over HTTP.
pub(crate) fn status_of(boundary: &Boundary) -> u16 {
    if let Some(status) = boundary.status {
        return status;
    }
    match category(
        &boundary.error_type,
        &boundary.message,
        boundary.code.as_deref(),
        None,
    ) {
        FailureCategory::ContextWindow | FailureCategory::ContentPolicy | FailureCategory::BadRequest => 400,
        FailureCategory::Authentication => 401,
        FailureCategory::Permission => 403,
        FailureCategory::NotFound => 404,
        FailureCategory::Timeout => 408,
        FailureCategory::RateLimit => 429,
        FailureCategory::Server | FailureCategory::Other => 500,
    }
}

fn category(error_type: &str, message: &str, code: Option<&str>, status: Option<u16>) -> FailureCategory {
    let text = format!("{error_type} {message} {}", code.unwrap_or_default()).to_lowercase();
    const WORDS: [(FailureCategory, &[&str]); 7] = [
        (
            FailureCategory::ContextWindow,
            &[
                "context_length",
                "context length",
                "context window",
                "context limit",
                "maximum context",
                "string too long",
                "too many tokens",
                "length limit exceeded",
                "exceed_context_size",
            ],
        ),
        (
            FailureCategory::ContentPolicy,
            &[
                "content_policy",
                "content policy",
                "content_filter",
                "content management policy",
                "safety system",
                "blocked by",
            ],
        ),
        (
            FailureCategory::RateLimit,
            &[
                "rate limit",
                "rate_limit",
                "ratelimit",
                "quota",
                "resource exhausted",
                "resource_exhausted",
                "capacity exceeded",
                "too many requests",
            ],
        ),
        (
            FailureCategory::Authentication,
            &[
                "invalid api key",
                "invalid_api_key",
                "incorrect api key",
                "unauthorized",
                "authentication",
            ],
        ),
        (
            FailureCategory::NotFound,
            &["model_not_found", "not_found", "notfound", "does not exist"],
        ),
        (
            FailureCategory::BadRequest,
            &["invalid_request", "malformed", "bad request", "badrequest"],
        ),
        (FailureCategory::Timeout, &["timeout", "timed out", "timedout"]),
    ];
    let by_status = |status: u16| match status {
        401 => Some(FailureCategory::Authentication),
        403 => Some(FailureCategory::Permission),
        404 => Some(FailureCategory::NotFound),
        408 | 504 => Some(FailureCategory::Timeout),
        429 => Some(FailureCategory::RateLimit),
        400..=499 => Some(FailureCategory::BadRequest),
        500..=599 => Some(FailureCategory::Server),
        _ => None,
    };
    if let Some((category, _)) = WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|word| text.contains(word)))
    {
        return *category;
    }
    status
        .or_else(|| {
            let numbers = text.split(|character: char| !character.is_ascii_alphanumeric());
            numbers
                .filter(|word| word.len() == 3)
                .find_map(|word| word.parse().ok())
        })
        .and_then(by_status)
        .unwrap_or(FailureCategory::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_before_the_status_and_the_class_stays() {
        for (failure, category) in [
            (
                Failure::new("BadRequestError", "maximum context length is 8192").with_status(400),
                FailureCategory::ContextWindow,
            ),
            (Failure::new("Error", "429 slow down"), FailureCategory::RateLimit),
            (
                Failure::new("rate_limit_error", "slow down"),
                FailureCategory::RateLimit,
            ),
            (
                Failure::new("X", "it broke").with_status(503),
                FailureCategory::Server,
            ),
            (
                Failure::new("X", "no").with_status(403),
                FailureCategory::Permission,
            ),
            (
                Failure::new("X", "no").with_code("invalid_api_key"),
                FailureCategory::Authentication,
            ),
            (
                Failure::new("PermissionError", "blocked words"),
                FailureCategory::Other,
            ),
            (Failure::new("TimeoutError", ""), FailureCategory::Timeout),
        ] {
            assert_eq!(failure.category(), category, "{failure}");
        }
    }
}
