//! `cargo vcr serve` as programs in any language use it: a process, a port, and HTTP.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod bad_input;
mod export;
mod files;
mod frozen;
mod locale;
mod observed;
mod protocols;
mod seed;
mod settings;
#[cfg(unix)]
mod signals;
mod support;
