//! Completions in process: a provider-neutral request, an upstream of your own, an answer or a stream of frames.

mod answer;
mod client;
mod request;
mod stream;
mod upstream;

pub use answer::{CallError, Completion};
pub use client::Client;
pub use request::Request;
pub use stream::CompletionStream;
pub use upstream::{Delta, Reply, Upstream};
