//! What can be replayed besides our own cassettes.

#[cfg(feature = "harness")]
pub(crate) mod spycatcher;
