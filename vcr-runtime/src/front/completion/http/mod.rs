//! The built-in upstream: completions over HTTP, from whichever provider the model names.

mod ambient;
mod answer;
mod providers;
mod send;
#[cfg(test)]
mod tests;
mod upstream;

pub use ambient::{completion, completion_stream};
#[cfg(feature = "daemon")]
pub(in crate::front) use providers::known_base;
pub use upstream::HttpUpstream;
