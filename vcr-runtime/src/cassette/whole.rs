//! A cassette with all its takes, for checks. Replay reads one take and passes over the others.

use std::path::Path;

use super::decode::Stored;
use super::file::{outline, read, stored};
use crate::error::Result;

/// Everything that a file says.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) text: String,
    pub(crate) latest: Option<String>,
    pub(crate) history: Vec<String>,
    pub(crate) takes: Vec<Stored>,
}

impl Whole {
    /// Reads the file with all its takes.
    ///
    /// # Errors
    /// `CassetteMissing`, `CassetteBroken`, `CassetteVersion`, `Io`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let text = read(path)?;
        let outline = outline(path, &text, None)?;
        let mut takes = Vec::with_capacity(outline.takes.len());
        for (id, part) in outline.takes {
            takes.push(stored(path, &text, &id, part)?);
        }
        let (latest, history) = (outline.latest, outline.history);
        Ok(Self {
            text,
            latest,
            history,
            takes,
        })
    }
}
