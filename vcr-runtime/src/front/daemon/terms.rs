//! What a request's control members come to: its settings and its cassette.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::{Chaos, Jitter, Layer, Mode, ServeSettings, Settings};
use crate::error::{Error, ErrorKind, Result};
use crate::identity::{Identity, Place, below};
use crate::json::{Json, Object, compact};
use crate::session::Surroundings;

use super::config::DaemonConfig;
use super::scenes::{Asked, Latest};

/// A daemon's calls come from nowhere that is known.
pub(super) const NOWHERE: Place<'static> = Place {
    package: "unknown_invoker",
    module_path: "",
    function: "",
    made_of: None,
    manifest_dir: ".",
};

/// Where a daemon's cassettes are unless told otherwise.
const FIXTURES: &str = "fixtures";
/// How many sets of control members are remembered; programs repeat theirs.
const REMEMBERED: usize = 1024;
const FIXTURE_DIR: &str = "vcr_fixture_dir";

/// The daemon's own settings, under which a request's are read.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) around: Surroundings,
    flags: Layer,
    default_mode: Mode,
    /// Where cassettes are; no request gets out of it.
    pub(super) fixtures: PathBuf,
    chaos_seed: Option<u64>,
    known: Mutex<HashMap<String, Arc<Asked>>>,
}

impl Terms {
    /// # Errors
    /// `Config` for a setting outside its set, wherever it stands.
    pub(super) fn new(
        config: &DaemonConfig,
        around: Surroundings,
        root: &Path,
    ) -> Result<(Self, ServeSettings)> {
        let flags = config.layer();
        let serve = ServeSettings::resolve(&flags, around.environment, &around.project)?;
        let default_mode = match config.source {
            Some(_) => Mode::Replay,
            None => Mode::Live,
        };
        let settings = Settings::resolve(&[&flags], around.environment, &around.project, default_mode)?;
        let draws = matches!(settings.chaos, Chaos::Jitter { .. });
        let terms = Self {
            fixtures: root.join(settings.fixture_dir.as_deref().unwrap_or(Path::new(FIXTURES))),
            chaos_seed: settings.chaos_seed.or_else(|| draws.then(Jitter::fresh_seed)),
            around,
            flags,
            default_mode,
            known: Mutex::default(),
        };
        Ok((terms, serve))
    }

    /// The settings and the cassette of a request.
    ///
    /// # Errors
    /// `Config` for a value outside its set and for a member that nobody knows, `Identity` for a name that cannot be used.
    pub(super) fn of(&self, members: &Object) -> Result<Arc<Asked>> {
        let text = key(members);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = known.get(&text) {
            return Ok(Arc::clone(asked));
        }
        let asked = Arc::new(self.resolve(members)?);
        // A directory that a request names is looked at each time: links may have come since.
        if members.get(FIXTURE_DIR).is_none() {
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(text, Arc::clone(&asked));
        }
        Ok(asked)
    }

    fn resolve(&self, members: &Object) -> Result<Asked> {
        let metadata = Layer::metadata(members);
        if let Some(warning) = metadata.warnings().first() {
            // Nobody would see a warning: what it was to do would just not happen.
            return Err(Error::new(
                ErrorKind::Config,
                warning.clone(),
                "correct or remove it",
            ));
        }
        let (environment, project) = (self.around.environment, &self.around.project);
        let layers = [&metadata, &self.flags];
        let mut settings = Settings::resolve(&layers, environment, project, self.default_mode)?;
        settings.chaos_seed = settings.chaos_seed.or(self.chaos_seed);
        settings.fixture_dir = Some(match members.get(FIXTURE_DIR).and_then(Json::as_str) {
            Some(named) => below(&self.fixtures, named)?,
            None => self.fixtures.clone(),
        });
        let identity = Identity::resolve(&NOWHERE, &settings, environment)?;
        Ok(Asked {
            place: identity.path("")?,
            settings: Arc::new(settings),
            latest: Latest::default(),
        })
    }
}

/// Control members as one text, equal for equal ones.
fn key(members: &Object) -> String {
    // What most requests say.
    let mut text = String::with_capacity(160);
    for (name, value) in members.iter() {
        text.push_str(name);
        text.push('\0');
        match value {
            // Marked, so that the text `1` is another than the number.
            Json::String(value) => text.extend(["\"", value]),
            value => text.push_str(&compact(value)),
        }
        text.push('\0');
    }
    text
}

/// Whether control members name a cassette.
pub(super) fn names_one(members: &Object) -> bool {
    ["vcr_scenario", "vcr_filename", "vcr_invoker", FIXTURE_DIR]
        .into_iter()
        .any(|name| members.get(name).is_some())
}

/// Whether control members say what to do.
pub(super) fn says_mode(members: &Object) -> bool {
    members.get("vcr").or_else(|| members.get("vcr_mode")).is_some()
}
