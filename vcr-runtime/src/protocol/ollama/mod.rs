//! Ollama's own API: `/api/chat` and `/api/generate`.

mod ask;
mod assemble;
mod decode;
mod endpoint;
mod neutral;
mod render;
mod request;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod words;

pub(super) use endpoint::{CHAT, GENERATE};
