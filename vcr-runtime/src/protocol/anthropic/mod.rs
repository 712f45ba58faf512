//! Anthropic Messages.

mod ask;
mod assemble;
mod blocks;
mod decode;
mod error;
mod messages;
mod neutral;
mod render;
mod request;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod words;

pub(super) use messages::{Messages, NAME, PROVIDER};
pub(super) use render::content;
pub(super) use request::system_message;
#[cfg(test)]
pub(super) use request::system_of;
pub(super) use template::{note_usage, noted_usage};
pub(super) use unary::read_content;
