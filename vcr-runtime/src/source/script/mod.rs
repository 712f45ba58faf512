//! Session scripts: the log of a recorded agent session and those of its children, an entry a call. And the override document,
//! which works on them and on cassettes.

mod answer;
mod binding;
mod chunk;
mod derive;
mod entry;
mod fault;
mod fields;
mod fill;
mod load;
mod log;
mod overridden;
mod overrides;
mod report;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod script;

pub(crate) use overridden::OverriddenSource;
pub(crate) use script::ScriptSource;
