//! What a call's settings name: a file, a take, an automatic name.

use std::path::{Path, PathBuf};

use crate::canon;
use crate::config::{Settings, SourceName};
use crate::error::Result;
use crate::identity::Identity;
use crate::model::CanonicalRequest;

/// The file that answers instead of the cassette.
pub(super) fn played(settings: &Settings, identity: &Identity) -> Option<PathBuf> {
    let path = match settings.source.as_ref()? {
        SourceName::Frozen { path, .. } => path,
        SourceName::Session(files) => &files.path,
    };
    Some(identity.directory.join(path))
}

/// The eight digits of a call that has no scenario: those of the seed, from its messages.
pub(super) fn auto(identity: &Identity, request: Option<&CanonicalRequest>) -> String {
    if identity.scenario.is_some() || identity.filename.is_some() {
        return String::new();
    }
    let messages = request
        .map(|request| request.messages.as_slice())
        .unwrap_or_default();
    let mut id = canon::auto_trace_id(Some(&identity.invoker), messages);
    id.truncate(8);
    id
}

/// The pinned take of a scenario. A bare trace id pins whichever cassette has it: here, if this one does.
pub(super) fn pin(settings: &Settings, scenario: &str, path: &Path) -> Result<Option<String>> {
    let mut bare = None;
    for pin in &settings.target_traces {
        match &pin.scenario {
            Some(pinned) if pinned == scenario => return Ok(Some(pin.trace.clone())),
            Some(_) => {}
            None => bare = bare.or(Some(&pin.trace)),
        }
    }
    let Some(trace) = bare else {
        return Ok(None);
    };
    // With one bare pin and one cassette the pin is meant for it; with several it belongs to the one that has it.
    if settings.target_traces.len() == 1 || crate::cassette::holds(path, trace)? {
        return Ok(Some(trace.clone()));
    }
    Ok(settings
        .target_traces
        .iter()
        .filter(|pin| pin.scenario.is_none())
        .find(|pin| crate::cassette::holds(path, &pin.trace).unwrap_or(false))
        .map(|pin| pin.trace.clone()))
}
