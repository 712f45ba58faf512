//! The cassette file: schema, loading, saving under a lock, the ring of takes, the journal.

mod decode;
mod encode;
mod file;
mod journal;
mod same;
mod save;
mod summary;
mod version;
mod whole;

pub(crate) use decode::take_of;
pub(crate) use encode::{call_members, take_document};
pub(crate) use file::{Cassette, Chosen, holds, owner};
pub(crate) use journal::Journal;
pub(crate) use same::equal_but_for_ids_and_times;
pub(crate) use save::{Head, Saved, save, side_path};
pub use summary::{CallSummary, Summary, summary};
pub(crate) use version::FormatVersion;
pub(crate) use whole::{StoredTake, Whole};
