//! The JSON document tree: exact numbers, key order, positions in errors, bounded depth.
//!
//! `serde_json::Value` cannot be this tree: feature unification in the user's graph changes its map order
//! (`preserve_order`) and its numbers (`arbitrary_precision`), and its float text has changed in a patch release.

#[cfg(feature = "harness")]
mod bytes;
mod convert;
mod copy;
mod document;
mod number;
mod parse;
mod scalar;
mod sink;
mod value;
mod write;

pub(crate) use convert::{from_serialize, from_value, to_value};
pub(crate) use document::{Document, Documents, Texts, member_of};
pub(crate) use number::{Number, digits_into};
pub(crate) use parse::{JsonError, Limits, Nested, Parser, parse};
pub(crate) use scalar::{is_plain, next_special};
pub(crate) use sink::Sink;
pub(crate) use value::{Json, Object};
#[cfg(feature = "harness")]
pub(crate) use write::pretty_at;
pub(crate) use write::{Place, block, compact, compact_into, escape_into, fitted, line_into, quote_into};
