//! Record and replay calls to language models in `cargo test`.

mod error;
mod json;
mod model;
mod protocol;
mod session;

pub use error::{Error, ErrorKind, Result};
pub use model::{Frame, FunctionCall, ToolCall, Usage};
pub use protocol::Protocol;
