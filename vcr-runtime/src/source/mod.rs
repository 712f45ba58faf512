//! What can be replayed: one trait, and the forms in which answers are kept.

mod cassette;
mod cursor;
mod miss;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod source;
#[cfg(feature = "harness")]
pub(crate) mod spycatcher;

pub(crate) use cassette::{CassetteSource, Comparison};
pub(crate) use miss::count;
pub(crate) use source::{Answer, Ask, Left, Leftovers, NotTaken, Source, Where};
