//! The cassette file: schema, loading, saving under a lock, the ring of takes, the journal.

mod decode;
mod encode;
mod fault;
mod file;
mod heard;
mod journal;
mod layout;
mod same;
mod save;
mod summary;
mod version;
mod whole;

pub(crate) use decode::Stored;
#[cfg(test)]
pub(crate) use decode::take_of;
#[cfg(test)]
pub(crate) use encode::take_document;
pub(crate) use file::{Cassette, Chosen, holds, owner};
pub(crate) use heard::Heard;
pub(crate) use journal::{Entry, Journal, Left};
#[cfg(test)]
pub(crate) use layout::take as take_text;
#[cfg(feature = "harness")]
pub(crate) use save::replace;
pub(crate) use save::{Head, Saved, interrupted_path, save, side_path};
pub use summary::{CallSummary, Summary, summary};
pub(crate) use whole::Whole;
