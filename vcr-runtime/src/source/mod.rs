//! What can be replayed: one trait, and the forms in which answers are kept.

mod by_print;
mod cassette;
mod confined;
mod cursor;
mod frozen;
mod miss;
mod project;
mod remedy;
mod script;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod source;
#[cfg(feature = "harness")]
pub(crate) mod spycatcher;

pub(crate) use cassette::{CassetteSource, Comparison};
pub(crate) use frozen::FrozenSource;
pub use frozen::{FrozenSnapshot, freeze, frozen_request_hash, probe_frozen, thaw};
pub(crate) use miss::count;
pub(crate) use project::Project;
pub(crate) use remedy::Remedy;
pub(crate) use script::{OverriddenSource, ScriptSource};
pub(crate) use source::{
    Answer, Ask, Hang, How, LISTED, Left, Leftovers, Manner, NotTaken, Recorded, Source, Where,
};
