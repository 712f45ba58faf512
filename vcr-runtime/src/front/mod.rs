//! The ways in: how a program's calls reach a session.

mod access;
mod builder;
mod completion;
#[cfg(feature = "daemon")]
pub mod daemon;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "harness")]
pub(crate) mod harness;
mod intercept;
mod vcr;

pub use builder::{VcrBuilder, use_cassette};
pub use completion::{CallError, Client, Completion, CompletionStream, Delta, Reply, Request, Upstream};
#[cfg(feature = "gateway")]
pub use completion::{HttpUpstream, completion, completion_stream};
pub use intercept::{InterceptError, intercept};
pub use vcr::{InCassette, Vcr};
