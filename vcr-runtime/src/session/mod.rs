//! One test's open source plus cursors: matching, recording, playing, the ledger and the verdict.

mod breaker;
mod call_reader;
mod closing;
#[cfg_attr(
    not(feature = "gateway"),
    expect(dead_code, reason = "only HTTP fronts use the seam")
)]
mod exchange;
mod failure;
mod http;
mod http_reader;
mod http_recorder;
mod ledger;
mod listener;
mod models;
mod names;
mod play;
mod raw;
mod recorder;
mod recover;
mod rendered;
#[expect(clippy::module_inception, reason = "the room is named after what it holds")]
mod session;
mod shelf;
mod sources;
mod stencil;
mod surroundings;
mod taking;
mod tape;
mod verdict;

pub(crate) use crate::model::End;
pub use breaker::{ByteQuota, Cut, PatternBreaker, Progress, StreamBreaker, TokenQuota};
pub(crate) use call_reader::{Ending, Wired};
pub(crate) use exchange::{
    Exchange, Hanging, HttpTurn, Pace, Pieces, Playback, PlaybackBody, Recording, Upstream, Whole,
};
pub use failure::{Failure, FailureCategory};
pub(crate) use http::control_headers;
pub(crate) use models::{document as model_document, list as model_list, wanted as wanted_models};
pub(crate) use play::Played;
pub(crate) use raw::Evidence;
pub(crate) use recorder::CallRecorder;
pub use recover::{Recovered, recover};
pub(crate) use session::{Opening, Session, Turn, asked};
pub(crate) use surroundings::Surroundings;
pub use verdict::Report;
pub(crate) use verdict::{Verdict, writes};
