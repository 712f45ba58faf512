//! `OpenAI` chat completions and the dialects of it that other servers speak.

mod assemble;
mod body;
mod chat;
mod decode;
mod error;
mod render;
mod request;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod words;

pub(super) use chat::{NAME, OpenAiChat, PROVIDER};
