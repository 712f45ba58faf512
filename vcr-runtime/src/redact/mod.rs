//! What never reaches a disk, a log or a diff: credentials by name, by shape and by the values of variables.
//!
//! The same functions run when a call is recorded and when it is replayed, so what is removed takes no part in
//! matching. Every secret becomes the same text: another key gives the same request.

mod call;
mod clean;
mod finder;
mod names;
mod redactor;
mod scan;
mod secrets;
mod shapes;
mod stream;
mod strings;

pub(crate) use clean::Form;
pub(crate) use redactor::Redactor;

/// What stands where a secret stood.
pub(crate) const PLACEHOLDER: &str = "[REDACTED]";
