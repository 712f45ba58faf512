//! `OpenAI` chat completions and the dialects of it that other servers speak.

mod assemble;
mod body;
mod chat;
mod decode;
pub(super) mod error;
mod render;
mod request;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod words;

pub(super) use chat::{OpenAiChat, PATH, decoder, read_body, request_at};
pub(super) use words::RULES;
