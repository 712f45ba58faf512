//! A session script as a source: one run's cursors, a script a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::answer::{self, Ending};
use super::binding::{announce, seat};
use super::chunk::{Chunk, Timed};
use super::fill::Live;
use super::load::{Script, load};
use super::overrides::Entry;
use super::report;
use crate::config::SessionFiles;
use crate::error::{Error, Result};
use crate::json::Json;
use crate::model::{Boundary, BoundaryKind, Call, CanonicalRequest, Frames, RecordedRequest};
use crate::protocol::Providers;
use crate::source::{Answer, Ask, Hang, Left, Leftovers, Manner, NotTaken, Source, Where, count};

/// One run of a session script and those of its children.
#[derive(Debug)]
pub(crate) struct ScriptSource {
    pub(super) path: PathBuf,
    id: String,
    /// The primary first, then the children in the order in which they were created.
    pub(super) scripts: Vec<Script>,
    providers: Providers,
    pace: Option<Duration>,
}

impl ScriptSource {
    /// Opens the files below `directory`.
    ///
    /// # Errors
    /// The first rule that one of them breaks, with its line.
    pub(crate) fn open(directory: &Path, files: &SessionFiles, providers: Providers) -> Result<Self> {
        let (scripts, id) = load(directory, files)?;
        Ok(Self {
            path: directory.join(&files.path),
            id,
            scripts,
            providers,
            pace: files.pace_ms.filter(|pace| *pace > 0).map(Duration::from_millis),
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
        let (mut chunks, ending) = self.said(slot, number, &live)?;
        for (_, chunk) in &mut chunks {
            live.chunk(chunk)?;
        }
        let hang = match &ending {
            Ending::Never(hang) => Some(hang.clone()),
            Ending::Said | Ending::Throws { .. } => None,
        };
        let mut call = answer::call(self.paced(chunks), ending);
        if !request.stream() {
            fail_whole(&mut call);
        }
        let hash = crate::canon::request_hash(request);
        call.request = Arc::new(RecordedRequest::recorded(request.clone(), hash));
        Ok((call, hang))
    }

    fn said(&self, slot: usize, number: usize, live: &Live<'_>) -> Result<(Timed, Ending), String> {
        let script = &self.scripts[slot];
        let untimed = |chunks: &[Chunk]| chunks.iter().map(|chunk| (0, chunk.clone())).collect();
        match script.written(number) {
            None => {
                let chunks = script.recorded(number).ok_or("the log has no such call")?;
                Ok((chunks, Ending::Said))
            }
            Some(Entry::Chunks(chunks)) => Ok((untimed(chunks), Ending::Said)),
            Some(Entry::Throw {
                chunks,
                message,
                code,
                accepted,
            }) => {
                let (mut message, mut code) = (message.clone(), code.clone());
                live.text(&mut message)?;
                live.text(&mut code)?;
                let accepted = *accepted;
                let ending = Ending::Throws {
                    message,
                    code,
                    accepted,
                };
                Ok((untimed(chunks), ending))
            }
            Some(Entry::Hang { ready_file }) => {
                let mut ready = ready_file.clone();
                ready.as_mut().map_or(Ok(()), |ready| live.text(ready))?;
                let ready = ready.map(PathBuf::from);
                if let Some(missing) = ready.as_deref().and_then(missing_directory) {
                    let missing = missing.display();
                    return Err(format!(
                        "its ready file cannot be made: there is no directory {missing}"
                    ));
                }
                let partial = Chunk::Text {
                    index: 0,
                    text: "partial".to_owned(),
                };
                Ok((untimed(&[Chunk::Start, partial]), Ending::Never(Hang { ready })))
            }
        }
    }

    /// Times in microseconds from the call's start: of the pace where there is one, else between the recorded ones.
    fn paced(&self, chunks: Timed) -> impl Iterator<Item = (u64, Chunk)> {
        let first = chunks.first().map_or(0, |(time, _)| *time);
        let pace = self
            .pace
            .map(|pace| u64::try_from(pace.as_micros()).unwrap_or(u64::MAX));
        (1_u64..)
            .zip(chunks)
            .map(move |(place, (time, chunk))| match pace {
                Some(pace) => (pace.saturating_mul(place), chunk),
                None => (time.saturating_sub(first).saturating_mul(1000), chunk),
            })
    }
}

/// Whoever reads no stream gets a failure alone, without what had been said before it.
fn fail_whole(call: &mut Call) {
    let is_error = |boundary: &Boundary| boundary.kind == BoundaryKind::Error;
    if call.boundary.as_ref().is_some_and(is_error) {
        call.frames = Frames::default();
        call.http.take_if(|head| head.status < 400);
    }
}

/// The directory of a file, where it is not there.
fn missing_directory(file: &Path) -> Option<&Path> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty())?;
    (!parent.is_dir()).then_some(parent)
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
                timed: self.pace.is_some(),
                hang,
            },
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
