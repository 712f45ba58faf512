//! Record and replay calls to language models in `cargo test`.
//!
//! A test that talks to a model needs a key, a network, seconds and money, and answers differently every time. Record it once
//! with `VCR_MODE=record cargo test`, commit the cassette, and from then on `cargo test` replays it offline in
//! milliseconds, and fails with a readable reason when the program no longer sends what was recorded, or no longer asks
//! for all of it.
//!
//! ```no_run,test_harness
//! use vcr_runtime::{Protocol, Vcr, vcr_test};
//! # async fn ask(_base_url: &str, _question: &str) -> String { String::new() }
//!
//! // Before: `#[tokio::test] #[ignore]`, and "https://api.openai.com/v1".
//! #[vcr_test]
//! async fn knows_the_capital(vcr: Vcr) -> vcr_runtime::Result<()> {
//!     let answer = ask(&vcr.base_url(Protocol::OpenAi)?, "What is the capital of Italy?").await;
//!     assert!(answer.contains("Rome"));
//!     Ok(())
//! }
//! ```
//!
//! # The pieces
//!
//! | | |
//! |---|---|
//! | [`#[vcr_test]`](macro@vcr_test) | opens a session around a test, runs it, and decides; also `#[vcr::test]` after `use vcr_runtime as vcr` |
//! | [`Vcr`] | the session: hands out the ways in below; [`Vcr::builder`] and [`use_cassette`] open one without the attribute |
//! | [`Vcr::base_url`], [`Vcr::base_url_for`] | a loopback gateway for any HTTP client (feature `gateway`, on by default) |
//! | [`Client`] | provider-neutral completions, in process, over an [`Upstream`] of your own |
//! | [`HttpUpstream`], [`fn@completion`], [`fn@completion_stream`] | the same with the built-in upstream: the provider by the model's prefix (feature `gateway`) |
//! | [`intercept`] | any asynchronous call whose request and answer serialize |
//! | [`Vcr::session`] | the same test's handle for one of several agents |
//! | [`InCassette`] | hands a future over to a session, for threads and runtimes that the test did not start |
//! | [`catalogue`] | the models that a program finds while nothing is live |
//! | `daemon` | the same for programs in any language: what `cargo vcr serve` runs (feature `daemon`) |
//! | [`StreamBreaker`] | a policy that cuts answers while they are recorded |
//! | [`summary`](fn@summary) | a cassette in a few lines |
//! | [`freeze`], [`thaw`], [`probe_frozen`] | frozen answers: a file that answers instead of a cassette, by the hash of the request |
//! | `harness` | a server outside a test that records and replays (feature `harness`) |
//!
//! # Modes
//!
//! [`Mode::Replay`] is the default in tests. `VCR_MODE=record` calls the provider and writes; [`Mode::Auto`] records
//! where there is no cassette; [`Mode::New`] records only what misses; [`Mode::Live`] passes through. With `CI` set, the
//! two that record by themselves replay.
//!
//! # Features
//!
//! `gateway` (default) brings the loopback server. `multi-thread` and `paused-time` allow `flavor = "multi_thread"` and
//! `start_paused` in the attribute. `daemon` and `harness` bring the modules of those names, `localize` the harness's
//! messages in other languages. `tracing` and `metrics` tell those facades of calls by protocol, route and outcome, and
//! never of what was said.

// Without the gateway nothing speaks HTTP, and without the daemon some of what the session and the protocols tell it is not
// asked for; the rooms stay one piece. With all features on, as CI builds it too, nothing may be unused.
#![cfg_attr(
    not(all(feature = "gateway", feature = "daemon")),
    allow(dead_code, unused_imports)
)]

#[doc(hidden)]
pub mod __private;
mod canon;
mod cassette;
pub mod catalogue {
    //! What a program finds that looks for providers and models while nothing is live.

    pub use crate::config::{Catalogue, Modality, Model, Provider, Retry};
}
mod config;
mod error;
mod front;
#[cfg(feature = "harness")]
pub mod harness;
mod identity;
mod json;
mod model;
mod observe;
mod protocol;
mod redact;
mod scope;
mod session;
mod source;
mod verify;

pub use cassette::{CallSummary, Summary, summary};
pub use config::{Chaos, Config, IncludeRaw, Matching, Mode, Speed};
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "daemon")]
pub use front::daemon;
pub use front::{
    CallError, Client, Completion, CompletionStream, Delta, InCassette, InterceptError, Reply, Request,
    Upstream, Vcr, VcrBuilder, intercept, use_cassette,
};
#[cfg(feature = "gateway")]
pub use front::{HttpUpstream, completion, completion_stream};
pub use model::{Frame, FunctionCall, ToolCall, Usage};
pub use protocol::{Protocol, resolve};
pub use scope::Scoped;
pub use session::{
    ByteQuota, Cut, Failure, FailureCategory, PatternBreaker, Progress, Recovered, Report, StreamBreaker,
    TokenQuota, recover,
};
pub use source::{FrozenSnapshot, freeze, frozen_request_hash, probe_frozen, thaw};
pub use vcr_macros::{test, vcr_test};
pub use verify::{Difference, DifferenceKind, verify, verify_ignoring};

/// Compiles the examples of the README.
#[cfg(all(doctest, feature = "harness"))]
#[doc = include_str!("../../README.md")]
struct Readme;
