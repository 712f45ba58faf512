//! Completions in process: a provider-neutral request, an upstream of your own, an answer or a stream of frames.

mod answer;
mod client;
#[cfg(feature = "gateway")]
mod http;
mod request;
mod stream;
mod upstream;

pub use answer::{CallError, Completion};
pub use client::Client;
#[cfg(feature = "daemon")]
pub(in crate::front) use http::known_base;
#[cfg(feature = "gateway")]
pub use http::{HttpUpstream, completion, completion_stream};
pub use request::Request;
pub use stream::CompletionStream;
pub use upstream::{Delta, Reply, Upstream};
