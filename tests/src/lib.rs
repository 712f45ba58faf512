//! Support for tests that use the product as its users do: a scripted provider, a plain HTTP client, a small SDK, real
//! recordings and throw-away projects.
//!
//! Nothing here knows the runtime's insides, and nothing is shared with it: what the tests compare was read by other code.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a broken set-up has to fail the test that it belongs to"
)]

pub mod ci;
pub mod gate;
pub mod gzip;
pub mod http;
pub mod notation;
pub mod project;
pub mod protocols;
pub mod rig;
pub mod sdk;
pub mod traffic;
pub mod upstream;

pub use gate::Gate;
pub use notation::{Split, split, sse};
pub use upstream::{Received, Reply, Step, Upstream};
