//! A scripted provider on a loopback port, on raw TCP so that it can misbehave in every way that a provider can.
//!
//! It lives on a thread and runtime of its own: the test may block, pause its clock, or shut its runtime down.

mod reply;
mod request;
mod server;

pub use reply::{BeforeHead, Length, Reply, Step};
pub use request::Received;
pub use server::Upstream;

#[cfg(test)]
mod tests;
