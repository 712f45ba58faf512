//! Which session an in-process call belongs to, the call's own metadata included.

use std::sync::Arc;

use crate::config::{Environment, Key, Layer, Mode, ProjectFile, Settings};
use crate::error::Result;
use crate::identity::Place;
use crate::json::Object;
use crate::scope::{self, Home};
use crate::session::{Opening, Session, writes};

/// Where an in-process call goes.
#[derive(Debug)]
pub(super) enum Access {
    /// No session, and none is wanted: outside tests the default mode is `live`.
    Live,
    /// A test's session.
    Session(Home),
    /// A session for this one call, which its own metadata or the environment asked for.
    OneCall(OneCall),
}

/// A session that ends with its call.
#[derive(Debug)]
pub(super) struct OneCall(pub(super) Arc<Session>);

impl OneCall {
    /// Saves what the call recorded.
    pub(super) fn finish(self) -> Result<()> {
        if !writes(self.0.settings().effective_mode()) {
            return Ok(());
        }
        self.0.conclude(true, 0).failure.map_or(Ok(()), Err)
    }
}

/// Finds the session of a call: the given one, the ambient one, or one of its own.
pub(super) fn access(given: Option<&Home>, control: &Object) -> Result<Access> {
    if let Some(home) = given.cloned().or_else(scope::current) {
        return Ok(Access::Session(home));
    }
    if Session::any_opened() {
        // Some test in this process uses sessions, so a call outside of one is an escape and never goes live.
        return scope::required().map(Access::Session);
    }
    if control.is_empty() && is_live_by_default() {
        return Ok(Access::Live);
    }
    let environment = Environment::process();
    let place = Place::at_run_time(environment);
    let metadata = Layer::metadata(control);
    let project = ProjectFile::load(environment.manifest_dir(place.manifest_dir))?;
    let settings = Settings::resolve(&[&metadata], environment, &project, Mode::Live)?;
    if settings.effective_mode() == Mode::Live {
        return Ok(Access::Live);
    }
    // A call of its own asks for one recorded call; the others of its cassette are no leftovers.
    let mut one_call = Layer::builder();
    one_call.set(Key::AllowUnused, true);
    let session = Session::open_for_one_call(Opening {
        place,
        layers: vec![metadata, one_call],
        default_mode: Mode::Live,
        start_paused: false,
        breaker: None,
    })?;
    Ok(Access::OneCall(OneCall(Arc::new(session))))
}

/// Whether the environment leaves calls outside tests alone. Asked for every such call, so it is asked once.
fn is_live_by_default() -> bool {
    static LIVE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *LIVE.get_or_init(|| {
        let mode = Environment::process().get("VCR_MODE");
        mode.is_none_or(|mode| mode.trim().eq_ignore_ascii_case("live"))
    })
}
