//! A server outside a test that records and replays calls, for programs that are no Rust tests.
//!
//! [`start_harness`] takes one [`HarnessConfig`] and serves on loopback until [`RunningHarness::shutdown`]. A program is
//! pointed at it by its base URL, `http://127.0.0.1:8787/v1`. Its cassettes are those of the spycatcher harness, or
//! those of this library.

pub use crate::front::harness::{
    HarnessConfig, HarnessError, HarnessReport, HarnessResult, Leftover, RunningHarness, UpstreamFailure,
    VerifyFinding, VerifyReport, locale_from, start_harness, verify_cassette,
};

pub mod config {
    //! The settings of a harness.

    pub use crate::front::harness::{
        CassetteFormat, HarnessConfig, ListenAddr, LocalizationConfig, MatchMode, Mode, Protocol,
        RedactionConfig, ReplayConfig, UpstreamConfig, UpstreamKind, UpstreamTimeouts,
    };
}

pub mod cassette {
    //! What tools around a cassette of the harness need.

    pub use crate::source::spycatcher::{
        CanonicalError, CanonicalRequest, IgnorePathConfig, RecordedRequest, StreamCanonicalPolicy,
        StreamEvent, canonicalize, canonicalize_events, stable_hash,
    };
}

#[cfg(feature = "localize")]
pub mod i18n {
    //! Messages in the user's language, through a loader of the application's own.

    pub use crate::front::harness::{HarnessLocalizations, localize_harness_error};
}
