//! Session scripts: the log of a recorded agent session and those of its children, an entry a call, and cassettes as such logs. And
//! the override document, which works on them and on cassettes.

mod answer;
mod binding;
mod chunk;
mod derive;
mod entry;
mod export;
mod fault;
mod fields;
mod fill;
mod load;
mod log;
mod overridden;
mod overrides;
mod report;
mod said;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod script;
mod write;

pub use export::{SessionExport, export_session};
pub(crate) use overridden::OverriddenSource;
pub(crate) use script::ScriptSource;
