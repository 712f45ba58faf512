//! One test's open source plus cursors: matching, recording, playing, the ledger and the verdict.

mod exchange;

pub(crate) use exchange::{End, Exchange, HttpTurn, Pace, Playback, PlaybackBody, Recording, Upstream};
