//! The harness as its users start it: requests over a socket, files on a disk.

mod formats;
mod record;
mod refusals;
mod replay;
mod support;
mod verify;
