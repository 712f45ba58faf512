//! Proves the layers of a cassette against each other: its raw layer through the protocol's rules must say what its
//! timeline and usage say, hashes must follow from requests, order and version must hold, and no secret may be left.

mod call;
mod difference;
mod files;
mod heard;
mod raw;
mod said;
#[cfg(test)]
mod tests;

pub use difference::{Difference, DifferenceKind};
pub use files::{verify, verify_ignoring};
pub(crate) use heard::{misread_body, misread_stream};
