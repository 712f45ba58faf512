//! What is kept: requests, frames, calls and takes, free of any provider's wire format.

mod call;
mod exchange;
mod frame;
mod frames;
mod request;
mod usage;

pub(crate) use call::{
    Boundary, BoundaryKind, Call, HttpHead, Metrics, Piece, Raw, RawBody, RecordedRequest, TRANSPORT, Take,
};
pub(crate) use exchange::{End, Framing};
pub use frame::{Frame, FunctionCall, ToolCall};
pub(crate) use frames::{FrameIter, FrameRef, Frames};
pub(crate) use request::{CanonicalRequest, PLAIN, is_absent, texts};
pub use usage::Usage;
