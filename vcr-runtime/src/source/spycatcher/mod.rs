//! The cassette of the spycatcher harness: one JSON document with the exchanges of a session as HTTP requests and answers.
//!
//! Its request is matched by an envelope of method, path, query and body, and not by our canonical request, so that
//! cassettes of either program replay in the other.

mod canonical;
mod check;
mod decode;
mod diff;
mod encode;
mod events;
mod helpers;
mod matching;
mod model;
mod number;
mod pointers;
mod query;

pub(crate) use canonical::Canonical;
pub(crate) use check::{Rules, check};
pub(crate) use decode::{Unreadable, decode};
pub(crate) use diff::diff;
pub(crate) use encode::{Document, stored};
pub(crate) use events::{EventReader, render};
pub use helpers::{
    CanonicalRequest, IgnorePathConfig, RecordedRequest, StreamCanonicalPolicy, StreamEvent, canonicalize,
    canonicalize_events, stable_hash,
};
pub(crate) use matching::{Matcher, Miss, Order, Took};
#[cfg(test)]
pub(crate) use model::Data;
pub(crate) use model::{
    Body, Event, FORMAT_VERSION, Interaction, Metadata, Pairs, Request, Response, Stream, Timing,
};
pub use pointers::CanonicalError;
pub(crate) use pointers::Pointers;
