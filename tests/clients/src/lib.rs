//! What the tests of every client share.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "test support")]

use std::fmt::Debug;

use vcr_runtime::{Mode, Vcr};
use vcr_tests::rig::{Rig, done, within};
use vcr_tests::{Reply, Upstream};

/// Runs `calls` against a scripted provider while recording, then against the cassette alone, and returns what both gave.
///
/// # Panics
/// When the two differ, or when the replay reached the provider.
pub async fn record_then_replay<T: Debug + PartialEq>(
    replies: impl IntoIterator<Item = Reply>,
    calls: impl AsyncFn(String) -> T,
) -> T {
    let rig = Rig::new();
    let upstream = Upstream::start(replies);
    let vcr = rig.record();
    let live = within(calls(base(&vcr, &upstream))).await;
    done(vcr).await;
    let count = upstream.count();
    assert!(count > 0, "nothing was recorded");

    let vcr = rig.builder(Mode::Replay).open().unwrap();
    let again = within(calls(base(&vcr, &upstream))).await;
    done(vcr).await;
    assert_eq!(again, live, "replay gives something else");
    assert_eq!(upstream.count(), count, "replay reached the provider");
    again
}

/// The base URL that a client is configured with.
///
/// # Panics
/// When the session has no gateway.
#[must_use]
pub fn base(vcr: &Vcr, upstream: &Upstream) -> String {
    vcr.base_url_for(&upstream.v1()).expect("the gateway")
}
