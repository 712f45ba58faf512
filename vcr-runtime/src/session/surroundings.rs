use std::sync::Arc;

use crate::config::{Environment, ProjectFile};
use crate::error::Result;
use crate::protocol::Providers;
use crate::redact::Redactor;

/// What the sessions of one project have in common.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) project: Arc<ProjectFile>,
    pub(crate) providers: Providers,
    pub(crate) environment: &'static Environment,
    pub(crate) redactor: Arc<Redactor>,
}

impl Surroundings {
    /// # Errors
    /// `Config` for a provider or a rule of redaction that cannot be used.
    pub(crate) fn of(project: Arc<ProjectFile>) -> Result<Self> {
        let environment = Environment::process();
        Ok(Self {
            providers: Providers::of(&project)?,
            redactor: Arc::new(Redactor::new(&project.redact, environment)?),
            environment,
            project,
        })
    }
}
