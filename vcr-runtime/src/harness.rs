//! A server outside a test that records and replays calls.

pub mod cassette {
    //! What tools around a cassette of the harness need.

    pub use crate::source::spycatcher::{
        CanonicalError, CanonicalRequest, IgnorePathConfig, RecordedRequest, StreamCanonicalPolicy, StreamEvent,
        canonicalize, canonicalize_events, stable_hash,
    };
}
