//! Anthropic Messages.

mod assemble;
mod blocks;
mod decode;
mod error;
mod messages;
mod render;
mod request;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod words;

pub(super) use messages::{Messages, NAME, PROVIDER};
