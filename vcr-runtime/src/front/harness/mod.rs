//! A server outside a test: it records the calls of a program, or answers them from a recording.

mod answers;
mod config;
mod doors;
mod error;
#[cfg(feature = "localize")]
mod i18n;
mod layered;
mod locale;
mod own;
mod play;
mod record;
mod recording;
mod replay;
mod report;
mod running;
mod saver;
mod target;
mod verify;

pub use config::{
    CassetteFormat, HarnessConfig, ListenAddr, LocalizationConfig, MatchMode, Mode, Protocol,
    RedactionConfig, ReplayConfig, UpstreamConfig, UpstreamKind, UpstreamTimeouts,
};
pub use error::{HarnessError, HarnessResult, UpstreamFailure};
#[cfg(feature = "localize")]
pub use i18n::{HarnessLocalizations, localize_harness_error};
pub use locale::locale_from;
pub use report::{HarnessReport, Leftover};
pub use running::{RunningHarness, start_harness};
pub use verify::{VerifyFinding, VerifyReport, verify_cassette};
