//! The built-in upstream: completions over HTTP, from whichever provider the model names.

mod ambient;
mod answer;
mod providers;
mod send;
#[cfg(test)]
mod tests;
mod upstream;

pub use ambient::{completion, completion_stream};
pub use upstream::HttpUpstream;
