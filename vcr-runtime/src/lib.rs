//! Record and replay calls to language models in `cargo test`.

mod config;
mod error;
mod identity;
mod json;
mod model;
mod protocol;
mod redact;
mod session;

pub use config::{Chaos, Config, IncludeRaw, Matching, Mode, Speed};
pub use error::{Error, ErrorKind, Result};
pub use model::{Frame, FunctionCall, ToolCall, Usage};
