use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use vcr_runtime::{CallError, Client, Request, Vcr};

use crate::gate::Gate;

/// One thing that a scripted provider does in process.
#[derive(Clone, Debug)]
pub enum Say {
    /// A piece of text.
    Text(&'static str),
    /// A piece of reasoning.
    Reasoning(&'static str),
    /// A whole tool call: id, name, arguments.
    Tool(&'static str, &'static str, &'static str),
    /// The finish reason.
    Finish(&'static str),
    /// Prompt and completion tokens.
    Usage(u64, u64),
    /// An error with this message.
    Fail(&'static str),
    /// Goes on once the gate is open.
    Wait(Gate),
    /// Lets time of the caller's clock pass.
    Pause(Duration),
}

/// What a caller in process saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The text of each frame that has any.
    pub pieces: Vec<String>,
    /// All reasoning.
    pub reasoning: String,
    /// Id, name, arguments.
    pub tools: Vec<(String, String, String)>,
    /// The last finish reason.
    pub finish: Option<String>,
    /// Prompt and completion tokens.
    pub usage: Option<(u64, u64)>,
    /// The error that ended it.
    pub error: Option<String>,
}

impl Seen {
    /// All text.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.concat()
    }
}

/// A session's client in process, whose provider answers by script.
#[derive(Debug)]
pub struct InProcess {
    client: Client,
    count: Arc<AtomicUsize>,
}
