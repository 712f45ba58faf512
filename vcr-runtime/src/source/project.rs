//! What the project of a cassette says, for work on files outside of a session.

use std::path::Path;
use std::sync::Arc;

use crate::canon::IgnorePaths;
use crate::config::{Environment, Mode, ProjectFile, Settings};
use crate::error::Result;
use crate::protocol::Providers;
use crate::redact::Redactor;

/// The rules of the nearest directory above a file with a `vcr.toml` or a `Cargo.toml`.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) redactor: Redactor,
    pub(crate) ignore: IgnorePaths,
    pub(crate) providers: Providers,
}

impl Project {
    /// Those of `file`, and `ignore` besides.
    ///
    /// # Errors
    /// `Config` for a mistake in them.
    pub(crate) fn of(file: &Path, ignore: &[String]) -> Result<Self> {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let home = absolute.ancestors().skip(1).find(|directory| {
            ["vcr.toml", "Cargo.toml"]
                .iter()
                .any(|name| directory.join(name).is_file())
        });
        let file = home.map_or_else(|| Ok(Arc::default()), ProjectFile::load)?;
        let settings = Settings::resolve(&[], &Environment::default(), &file, Mode::Replay)?;
        Ok(Self {
            redactor: Redactor::new(&file.redact, Environment::process())?,
            ignore: IgnorePaths::parse(settings.ignore.iter().chain(ignore))?,
            providers: Providers::of(&file)?,
        })
    }
}
