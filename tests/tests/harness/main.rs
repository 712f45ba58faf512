//! The harness as its users start it: requests over a socket, files on a disk.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support: a broken set-up has to fail the test that it belongs to"
)]

mod formats;
mod limits;
mod record;
mod refusals;
mod replay;
mod support;
mod verify;
