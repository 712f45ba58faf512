//! The canonical request: what makes two requests the same, and how they differ when they are not.

mod align;
mod compare;
mod diff;
mod excerpt;
mod fingerprint;
mod hash;
mod legacy;
mod nearest;
mod number;
mod pointer;
#[cfg(test)]
mod testing;
mod volatile;

pub(crate) use compare::{equivalent, same_request};
pub(crate) use diff::diff;
pub(crate) use fingerprint::{fingerprint, fingerprint_recorded};
pub(crate) use hash::{from_recorded, hex, request_hash, value_text};
pub(crate) use legacy::auto_trace_id;
pub(crate) use nearest::nearest;
pub(crate) use pointer::IgnorePaths;
pub(crate) use volatile::differs_only_in;
