//! Record and replay calls to language models in `cargo test`.

#[doc(hidden)]
pub mod __private;
mod canon;
mod cassette;
mod config;
mod error;
mod front;
mod identity;
mod json;
mod model;
mod protocol;
mod redact;
mod scope;
mod session;
mod verify;

pub use config::{Chaos, Config, IncludeRaw, Matching, Mode, Speed};
pub use error::{Error, ErrorKind, Result};
pub use front::{
    CallError, Client, Completion, CompletionStream, Delta, InCassette, InterceptError, Reply, Request,
    Upstream, Vcr, VcrBuilder, VcrFault, intercept, use_cassette,
};
pub use model::{Frame, FunctionCall, ToolCall, Usage};
pub use protocol::{Protocol, resolve};
pub use scope::Scoped;
pub use session::{
    ByteQuota, Cut, Failure, FailureCategory, PatternBreaker, Progress, Report, StreamBreaker, TokenQuota,
};
pub use vcr_macros::{test, vcr_test};
pub use verify::{Difference, DifferenceKind, verify, verify_ignoring};
