//! Session scripts: the log of a recorded agent session and those of its children, an entry a call.

mod answer;
mod binding;
mod chunk;
mod derive;
mod fault;
mod fields;
mod fill;
mod load;
mod log;
mod overrides;
mod report;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod script;

pub(crate) use script::ScriptSource;
