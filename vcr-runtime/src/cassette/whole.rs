//! A cassette with all its takes, for checks. Replay reads one take and passes over the others.

use std::path::Path;

use super::decode::take_of;
use super::file::Text;
use super::file::{misfit, outline, parser, read, syntax};
use crate::error::Result;
use crate::json::Json;
use crate::model::Take;

/// Everything that a file says.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) text: String,
    pub(crate) latest: Option<String>,
    pub(crate) history: Vec<String>,
    pub(crate) takes: Vec<StoredTake>,
}

/// One take as it is stored; its id is its key in `traces`.
#[derive(Debug)]
pub(crate) struct StoredTake {
    pub(crate) take: Take,
    /// The member `trace_id`, which repeats the key.
    pub(crate) stated_id: Option<Json>,
    /// Whether the take is flat, so that its call is the take itself.
    pub(crate) is_flat: bool,
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
        for (id, stored) in outline.takes {
            let document = match stored {
                Text::Parsed(document) => document,
                Text::Skipped(text) => parser(text).value().map_err(|error| syntax(path, &error))?,
            };
            let stated_id = document.get("trace_id").cloned();
            let is_flat = document.get("calls").is_none();
            let take = take_of(&id, document)
                .map_err(|wrong| misfit(path, &text, wrong.below(&id).below("traces")))?;
            takes.push(StoredTake {
                take,
                stated_id,
                is_flat,
            });
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
