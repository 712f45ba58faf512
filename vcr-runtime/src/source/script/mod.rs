//! Session scripts: the log of a recorded agent session and those of its children, an entry a call; and cassettes as such logs.

mod answer;
mod chunk;
mod derive;
mod export;
mod fault;
mod fields;
mod fill;
mod load;
mod log;
mod overrides;
mod report;
mod said;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod script;
mod write;

pub use export::{SessionExport, export_session};
pub(crate) use script::ScriptSource;
