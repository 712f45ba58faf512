//! Wire formats to canonical form and back. Knows no sockets.

mod wire;

pub(crate) use wire::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire, WireError, WireEvent};
