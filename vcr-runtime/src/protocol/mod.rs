//! Wire formats to canonical form and back. Knows no sockets.

mod framing;
mod ndjson;
mod sse;
mod wire;

pub(crate) use framing::Framer;
pub(crate) use wire::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire, WireError, WireEvent};
