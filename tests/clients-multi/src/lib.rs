//! One suite for every client and every protocol that it speaks.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    async_fn_in_trait,
    reason = "test support"
)]

mod suite;
mod wires;

pub use suite::{http_error, miss, stream, tasks, tool_call, unary};
pub use wires::Wire;

use serde_json::Value;

/// The prompt of a conversation that ends with a tool call.
pub const ADD: &str = "add 1 and 2";

/// The key of every client.
pub const KEY: &str = "sk-not-to-be-seen-0123456789abcdef";

/// What a client made of one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// The reasoning.
    pub reasoning: String,
    /// Name and arguments of every tool call.
    pub tools: Vec<(String, Value)>,
    /// The client's own word for why the answer ended.
    pub finish: String,
    /// Tokens in and out.
    pub usage: (Option<u64>, Option<u64>),
    /// How many pieces of text came; one for an answer that is no stream.
    pub pieces: usize,
    /// All that the client shows of the whole answer.
    pub answer: Value,
    /// All that the client shows while it streams.
    pub events: Vec<Value>,
}

/// A client at one base URL, in the little that the suite wants of it.
pub trait Talks: Sized {
    /// Asks one question with [`KEY`], where the protocol has keys.
    ///
    /// # Errors
    /// The client's error, as it shows it to people.
    async fn ask(&self, prompt: &str, stream: bool) -> Result<Said, String>;

    /// Asks [`ADD`] with the tool `add`, sends the answer to its call back as the client does it, and returns both answers.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask).
    async fn use_tool(&self, stream: bool) -> Result<(Said, Said), String>;
}

/// A test for every item of the suite; the client comes from the function of the same name, by its base.
#[macro_export]
macro_rules! suite {
    ($name:ident, $wire:expr) => {
        mod $name {
            use super::{Wire, $name as make};
            use vcr_runtime::vcr_test;

            #[vcr_test(mode = live)]
            async fn unary() {
                $crate::unary($wire, make).await;
            }

            #[vcr_test(mode = live)]
            async fn stream() {
                $crate::stream($wire, make).await;
            }

            #[vcr_test(mode = live)]
            async fn tool_call() {
                $crate::tool_call($wire, make, false).await;
            }

            #[vcr_test(mode = live)]
            async fn streamed_tool_call() {
                $crate::tool_call($wire, make, true).await;
            }

            #[vcr_test(mode = live)]
            async fn http_error() {
                $crate::http_error($wire, make).await;
            }

            #[vcr_test(mode = live)]
            async fn miss() {
                $crate::miss($wire, make).await;
            }

            #[vcr_test(mode = live)]
            async fn tasks() {
                $crate::tasks($wire, make).await;
            }
        }
    };
}
