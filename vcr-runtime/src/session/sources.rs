//! What a session plays, by its settings.

use std::path::Path;

use super::names::pin;
use super::session::Session;
use super::tape::{Label, Role};
use crate::config::{Settings, SourceName};
use crate::error::Result;
use crate::identity::Identity;
use crate::source::{CassetteSource, Comparison, FrozenSource, OverriddenSource, ScriptSource, Source};

impl Session {
    /// What is played; `None` where the cassette does not exist yet and need not.
    pub(super) fn source(
        &self,
        settings: &Settings,
        identity: &Identity,
        path: &Path,
        role: Role,
        label: &Label,
        comparison: &Comparison,
    ) -> Result<Option<Box<dyn Source>>> {
        let (directory, providers) = (&identity.directory, || self.around.providers.clone());
        match &settings.source {
            Some(SourceName::Frozen { path, ceilings }) => {
                let source = FrozenSource::open(directory, path, *ceilings, providers(), comparison)?;
                return Ok(Some(Box::new(source)));
            }
            Some(SourceName::Session(files)) => {
                let overrides = settings.override_file.as_ref();
                let source = ScriptSource::open(directory, files, overrides, providers())?;
                return Ok(Some(Box::new(source)));
            }
            None => {}
        }
        if role == Role::New && !path.exists() {
            return Ok(None);
        }
        let cassette = || {
            let pin = pin(settings, &label.scenario, path)?;
            CassetteSource::open(path, pin.as_deref(), &label.remedy, comparison)
        };
        let Some(file) = &settings.override_file else {
            return Ok(Some(Box::new(cassette()?)));
        };
        OverriddenSource::open(directory, file, path, cassette).map(Some)
    }
}
