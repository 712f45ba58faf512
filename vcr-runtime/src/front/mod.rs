//! The ways in: how a program's calls reach a session.

#[cfg(feature = "gateway")]
mod gateway;
