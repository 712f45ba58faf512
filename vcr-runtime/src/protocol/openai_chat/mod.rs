//! `OpenAI` chat completions and the dialects of it that other servers speak.

mod ask;
mod assemble;
mod body;
mod chat;
mod decode;
mod details;
pub(super) mod error;
mod render;
mod request;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod words;
mod written;

pub(super) use chat::{NAME, OpenAiChat, PATH, ask_at, decoder, read_body, request_at};
pub(super) use words::RULES;
