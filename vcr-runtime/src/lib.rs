//! Record and replay calls to language models in `cargo test`.

mod canon;
mod cassette;
mod config;
mod error;
mod front;
mod identity;
mod json;
mod model;
mod protocol;
mod redact;
mod scope;
mod session;

pub use config::{Chaos, Config, IncludeRaw, Matching, Mode, Speed};
pub use error::{Error, ErrorKind, Result};
pub use model::{Frame, FunctionCall, ToolCall, Usage};
pub use session::{
    ByteQuota, Cut, Failure, FailureCategory, PatternBreaker, Progress, StreamBreaker, TokenQuota,
};
