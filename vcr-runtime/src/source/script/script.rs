//! A session script as a source: one run's cursors, a script a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::answer::{self, Ending};
use super::binding::{announce, seat};
use super::entry::{self, Pace};
use super::fill::Live;
use super::load::{Script, Step, load};
use super::report;
use crate::config::{OverrideFile, SessionFiles};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::model::{Call, CanonicalRequest};
use crate::protocol::Providers;
use crate::source::{Answer, Ask, Hang, Left, Leftovers, Manner, NotTaken, Recorded, Source, Where, count};

/// One run of a session script and those of its children.
#[derive(Debug)]
pub(crate) struct ScriptSource {
    pub(super) path: PathBuf,
    id: String,
    /// The primary first, then the children in the order in which they were created.
    pub(super) scripts: Vec<Script>,
    providers: Providers,
    pace: Pace,
    is_paced: bool,
}

impl ScriptSource {
    /// Opens the files below `directory`.
    ///
    /// # Errors
    /// The first rule that one of them breaks, with its line.
    pub(crate) fn open(
        directory: &Path,
        files: &SessionFiles,
        overrides: Option<&OverrideFile>,
        providers: Providers,
    ) -> Result<Self> {
        let (scripts, id) = load(directory, files, overrides)?;
        let pace = files.pace_ms.filter(|pace| *pace > 0).map(Duration::from_millis);
        Ok(Self {
            path: directory.join(&files.path),
            id,
            scripts,
            providers,
            pace: Pace::of(pace),
            is_paced: pace.is_some(),
        })
    }

    /// What the entry does, with its placeholders filled in.
    fn play(
        &self,
        slot: usize,
        number: usize,
        request: &CanonicalRequest,
        session: &Option<String>,
    ) -> Result<(Call, Option<Hang>), String> {
        let sessions = (0..self.scripts.len()).map(|index| match index == slot {
            true => session.as_deref(),
            false => self.scripts[index].key(),
        });
        let live = Live::new(&request.messages, sessions.collect());
        match self.scripts[slot].step(number) {
            Step::Written { entry, base } => {
                let base = base.and_then(|base| self.recorded(slot, base));
                entry::play(entry, base.as_ref(), self.pace, &live, request)
            }
            Step::Recorded(number) => {
                let chunks = self.scripts[slot].recorded(number);
                let mut chunks = chunks.ok_or("the log has no such call")?;
                chunks.iter_mut().try_for_each(|(_, chunk)| live.chunk(chunk))?;
                let mut call = answer::call(self.pace.paced(chunks), Ending::Said);
                entry::fit(&mut call, request);
                Ok((call, None))
            }
        }
    }

    /// A call of the log as it stands there.
    fn recorded(&self, slot: usize, number: usize) -> Option<Call> {
        let chunks = self.scripts[slot].recorded(number)?;
        Some(answer::call(self.pace.paced(chunks), Ending::Said))
    }
}

/// The key of the session that a call belongs to: what the call says of itself, else `metadata.session_id` of its request,
/// else what it came through.
fn session_of(ask: &Ask<'_>) -> Option<String> {
    let of_request = || {
        ask.request
            .parameters
            .get("metadata")?
            .get("session_id")
            .and_then(Json::as_str)
    };
    let key = ask.how.session.or_else(of_request).or(ask.how.scope);
    key.map(str::to_owned)
}

impl Source for ScriptSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &str {
        &self.id
    }

    /// By the session and its order; the request is not compared, and a script that has ended is not begun again.
    fn take(&mut self, ask: &Ask<'_>) -> Result<Answer, NotTaken> {
        if !self.providers.completes(&ask.request.protocol) {
            return Err(NotTaken::Refused(report::no_completion()));
        }
        let session = session_of(ask);
        let hash = || crate::canon::request_hash(ask.request);
        let seat = seat(&self.scripts, session.as_deref(), hash)?;
        let slot = seat.slot;
        announce(&mut self.scripts, slot, &ask.request.messages);
        let script = &self.scripts[slot];
        let number = script.next;
        if number >= script.len() {
            return Err(NotTaken::Exhausted {
                call: slot,
                by: 0,
                equal: script.len(),
            });
        }
        let index = script.before + number;
        let played = self.play(slot, number, ask.request, &session);
        let (call, hang) = played.map_err(|says| {
            let error = report::unplayable(&self.scripts[slot], number, &says);
            NotTaken::Refused(error)
        })?;
        (ask.servable)(&call).map_err(NotTaken::Refused)?;
        let script = &mut self.scripts[slot];
        script.next = number + 1;
        if script.live.is_none() {
            script.live = Some(session);
            script.guessed = seat.guessed;
        }
        Ok(Answer {
            index,
            call: Arc::new(call),
            manner: Manner {
                timed: self.is_paced,
                hang,
            },
            recorded: Recorded::Itself,
        })
    }

    fn explain(&self, live: &CanonicalRequest, why: NotTaken, place: Where<'_>) -> Error {
        report::report(self, live, &why, place)
    }

    /// Every script that no session was bound to, and every cursor that has not reached its end.
    fn leftovers(&self) -> Leftovers {
        let is_unbound = |script: &&Script| script.live.is_none() && script.len() > 0;
        let unbound = self.scripts.iter().filter(is_unbound).count();
        let left = self.scripts.iter().filter_map(|script| {
            let unused = script.len().saturating_sub(script.next);
            let about = match &script.live {
                None => "no live session was bound to it".to_owned(),
                Some(session) => format!("by {}", report::session(session.as_deref())),
            };
            // A script without calls is done with when it is opened.
            (unused > 0).then(|| Left {
                name: format!(
                    "{}, {} of {} taken",
                    script.name,
                    script.next,
                    report::calls(script.len())
                ),
                about,
                answers: unused,
            })
        });
        Leftovers {
            noun: "script",
            unit: "scripted call",
            remedy: Some(
                "if the program is right to ask for less, record the session again; if several agents made these calls, give each a session key, such as `vcr_session` in its metadata",
            ),
            all: self.scripts.iter().map(Script::len).sum(),
            besides: (unbound > 0)
                .then(|| format!("{unbound} of {} never bound", count(self.scripts.len(), "script"))),
            left: left.collect(),
            // A line a script, and all of them at once.
            listed: usize::MAX,
        }
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
