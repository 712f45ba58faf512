//! Frozen answers: one JSON Lines file, each line the hash of a request and what answers it.

mod answer;
mod convert;
mod entry;
mod fixtures;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod frozen;
mod neutral;
mod private;
mod reason;
mod report;
mod snapshot;

pub use convert::{freeze, thaw};
pub(crate) use frozen::FrozenSource;
pub use snapshot::{FrozenSnapshot, frozen_request_hash, probe_frozen};
