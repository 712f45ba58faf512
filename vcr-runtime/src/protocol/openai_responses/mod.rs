//! The `OpenAI` Responses API, which xAI and other servers speak too.

mod ask;
mod assemble;
mod decode;
mod items;
mod lay;
mod neutral;
mod render;
mod request;
mod responses;
mod scribe;
mod skeleton;
mod template;
#[cfg(test)]
mod tests;
mod unary;
mod usual;
mod words;

pub(super) use responses::{NAME, OpenAiResponses};
use responses::{PROVIDER, rules};
