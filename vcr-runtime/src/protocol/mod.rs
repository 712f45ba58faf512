//! Wire formats to canonical form and back. Knows no sockets.

mod alike;
mod answered;
mod anthropic;
mod bedrock;
mod common;
mod custom;
mod delivery;
mod framing;
mod gemini;
mod json_array;
mod ndjson;
mod neutral;
mod ollama;
mod openai_chat;
mod openai_embeddings;
mod openai_responses;
mod paths;
mod plain;
mod registry;
mod request_body;
mod rules;
mod sse;
#[cfg(test)]
mod testing;
mod timeline;
mod usage_slot;
mod wire;

pub(crate) use crate::model::Framing;
pub(crate) use alike::{asks_alike, level};
pub(crate) use answered::{in_array, is_streamed, recorded_delivery};
pub(crate) use common::refusal;
pub(crate) use custom::Providers;
pub(crate) use delivery::Delivery;
pub(crate) use framing::Framer;
pub use paths::resolve;
pub(crate) use plain::plain_request;
pub use registry::Protocol;
#[cfg(test)]
pub(crate) use registry::wires;
pub(crate) use registry::{find, owner, provider_of, recognise};
pub(crate) use request_body::{is_control, without_control};
pub(crate) use timeline::{Timeline, Told};
pub(crate) use wire::{Answer, Decoder, Event, HttpRequest, Tail, Wire, WireError, WireEvent};
