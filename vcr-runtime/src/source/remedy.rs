//! What a report advises in order to record again: that depends on who asked.

/// How to ask for a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// By the environment of a test run. What `cargo test` takes to run that test alone, with a space before it.
    Test(String),
    /// By the request's own members.
    Request,
}

impl Remedy {
    /// Asks for all calls, as code in a sentence.
    pub(crate) fn record(&self) -> String {
        match self {
            Self::Test(filter) => format!("`VCR_MODE=record cargo test{filter}`"),
            Self::Request => "`\"vcr\": \"record\"` (or the header `x-vcr-mode: record`)".to_owned(),
        }
    }

    /// Asks for what misses alone.
    pub(crate) fn new_calls(&self) -> String {
        match self {
            Self::Test(filter) => format!("`VCR_MODE=new cargo test{filter}`"),
            Self::Request => "`\"vcr\": \"new\"`".to_owned(),
        }
    }

    /// Frees the order of calls.
    pub(crate) fn keyed(&self) -> &'static str {
        match self {
            Self::Test(_) => "set `matching = keyed` (or VCR_MATCHING=keyed)",
            Self::Request => "send `\"vcr_matching\": \"keyed\"`",
        }
    }

    /// What to do when everything that answers has been used.
    pub(crate) fn used_up(&self) -> Option<&'static str> {
        match self {
            Self::Test(_) => None,
            Self::Request => Some(
                "end the run with POST /__vcr/finish to begin anew, or send `\"vcr_repeat\": true` to let the last answer repeat",
            ),
        }
    }
}
