//! A cassette as the logs of its sessions.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::derive::Log;
use super::fault::Fault;
use super::load::MOST;
use super::said::{Said, said};
use super::write::Writer;
use crate::cassette::{Cassette, Chosen};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Call, Take};
use crate::source::project::Project;

/// What [`export_session`] wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionExport {
    /// The log of the session that called first, and those of the others.
    pub files: Vec<PathBuf>,
    /// How many calls they hold.
    pub calls: usize,
    /// What the logs do not have, a line each: `call 2: the signature of its reasoning`.
    pub left_out: Vec<String>,
}

impl SessionExport {
    /// What the attribute is to say, where the files lie in the fixture directory: `source = "session:a.jsonl", child_files =
    /// ["a.1.jsonl"]`.
    #[must_use]
    pub fn attribute(&self) -> String {
        let names = self.files.iter().filter_map(|file| file.file_name());
        let mut names = names.map(|name| name.to_string_lossy());
        let first = names.next().unwrap_or_default();
        let children: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        let source = format!("source = \"session:{first}\"");
        if children.is_empty() {
            source
        } else {
            format!("{source}, child_files = [{}]", children.join(", "))
        }
    }
}

/// Writes the latest take of a cassette as a session log that `source = "session:…"` replays: an entry for each completion, in the
/// order in which they were made. Calls that name a session in `metadata.session_id` stand in one log for each, those behind the
/// first beside it as `NAME.1.jsonl` and so on. Existing files are replaced in one step.
///
/// Text, reasoning, tool calls, finish reason, usage and failures go in, and times to the millisecond. Requests, headers, ids of
/// answers and raw bytes do not: a script is replayed in its order, and every client is answered in its own protocol. What else a
/// log has no word for is named in [`SessionExport::left_out`] where the answer means the same without it, and is an error where it
/// does not.
///
/// # Errors
/// When the cassette cannot be read, when a call of it is no completion or cannot be said in a log (several choices, a refusal, a block
/// that only its provider understands, an end without a reason), when a secret is left, or when a file cannot be written.
pub fn export_session(cassette: impl AsRef<Path>, script: impl AsRef<Path>) -> Result<SessionExport> {
    let (cassette, script) = (cassette.as_ref(), script.as_ref());
    let project = Project::of(cassette, &[])?;
    let take = Cassette::open(cassette, Chosen::Latest)?.take;
    let mut export = SessionExport::default();
    let mut sessions: Vec<Session<'_>> = Vec::new();
    let mut end_us = 0;
    for (index, call) in take.calls.iter().enumerate() {
        let refuse = |why: String| unexportable(cassette, index, &why);
        let said = sayable(call, &project).map_err(refuse)?;
        let name = |what: &String| format!("call {}: {what}", index + 1);
        export.left_out.extend(said.left_out.iter().map(name));
        let start_us = call.started_us.unwrap_or(end_us);
        end_us = call.ended_us().unwrap_or(start_us);
        let key = session_of(call);
        let known = sessions.iter().position(|session| session.key == key);
        let at = known.unwrap_or_else(|| {
            sessions.push(Session::new(key, &take, start_us, sessions.len()));
            sessions.len() - 1
        });
        sessions[at].call(said, start_us);
    }
    if sessions.is_empty() {
        sessions.push(Session::new(None, &take, 0, 0));
    }
    export.calls = take.calls.len();
    export.files = write(script, &sessions, &project)?;
    Ok(export)
}

/// One of the sessions of a take.
struct Session<'t> {
    key: Option<&'t str>,
    writer: Writer,
    base_ms: u64,
}

impl<'t> Session<'t> {
    fn new(key: Option<&'t str>, take: &Take, start_us: u64, number: usize) -> Self {
        let base_ms = recorded_at(&take.trace_id);
        // Children are taken in the order in which they were created, so that no two are of the same time.
        let created = base_ms + start_us / 1000 + number as u64;
        Self {
            key,
            writer: Writer::new(key.unwrap_or(&take.trace_id), created),
            base_ms,
        }
    }

    fn call(&mut self, said: Said, start_us: u64) {
        let time = |at_us: u64| self.base_ms + start_us.saturating_add(at_us) / 1000;
        let pieces = said.pieces.into_iter();
        let pieces: Vec<_> = pieces.map(|(at_us, piece)| (time(at_us), piece)).collect();
        self.writer.call(&pieces);
    }
}

/// When a take was recorded, in milliseconds since 1970, where its id tells; else 0.
fn recorded_at(trace_id: &str) -> u64 {
    let time = uuid::Uuid::try_parse(trace_id)
        .ok()
        .and_then(|id| id.get_timestamp());
    time.map_or(0, |time| {
        let (seconds, nanoseconds) = time.to_unix();
        seconds * 1000 + u64::from(nanoseconds / 1_000_000)
    })
}

/// By the rule of replay: what a call says of itself is taken off when it is recorded, and this is left.
fn session_of(call: &Call) -> Option<&str> {
    let parameters = call.request.parameters.as_ref()?;
    parameters.get("metadata")?.get("session_id")?.as_str()
}

fn sayable(call: &Call, project: &Project) -> std::result::Result<Said, String> {
    let protocol = call.request.protocol.as_deref().unwrap_or("openai-chat");
    if !project.providers.completes(protocol) {
        return Err(format!("it is no completion but a call of `{protocol}`"));
    }
    if call.frames.is_empty() && call.boundary.is_none() && call.raw.is_some() {
        return Err("only its raw bytes say what it answered".to_owned());
    }
    said(call)
}

fn unexportable(cassette: &Path, index: usize, why: &str) -> Error {
    Error::new(
        ErrorKind::CassetteBroken,
        format!("call {} of {} has no place in a session log: {why}", index + 1, cassette.display()),
        "record the cassette again without that call, or leave it out of the log and say in an override file, `override_file`, what it did",
    )
    .at(cassette)
}

/// Replaces the files by texts that keep the rules; nothing is replaced unless all of them do.
fn write(script: &Path, sessions: &[Session<'_>], project: &Project) -> Result<Vec<PathBuf>> {
    let mut ready = Vec::with_capacity(sessions.len());
    for (number, session) in sessions.iter().enumerate() {
        let path = named(script, number)?;
        let text = &session.writer.text;
        if let Some(hit) = project.redactor.scan(text) {
            let what = format!(
                "{} was not written, because line {} still holds {}",
                path.display(),
                hit.line,
                hit.rule
            );
            let advice = "add a rule for it under [redact] in vcr.toml, and record the cassette again";
            return Err(Error::new(ErrorKind::Secret, what, advice).at(&path));
        }
        if text.len() > MOST {
            let fault = Fault::file(
                format!("would be larger than {MOST} bytes"),
                "export a cassette with fewer calls",
            );
            return Err(fault.error(&path));
        }
        Log::read(text.clone(), number > 0).map_err(|fault| fault.error(&path))?;
        let file = beside(&path, text).map_err(|error| Error::io("write", &path, &error))?;
        ready.push((file, path));
    }
    let mut files = Vec::with_capacity(ready.len());
    for (file, path) in ready {
        file.persist(&path)
            .map_err(|error| Error::io("write", &path, &error.error))?;
        files.push(path);
    }
    Ok(files)
}

/// `a.jsonl`, `a.1.jsonl`, …
fn named(script: &Path, number: usize) -> Result<PathBuf> {
    let Some(stem) = script.file_stem().and_then(|stem| stem.to_str()) else {
        return Err(Error::new(
            ErrorKind::Identity,
            format!("{} names no file", script.display()),
            "name a file that ends in .jsonl",
        ));
    };
    if number == 0 {
        return Ok(script.to_owned());
    }
    let extension = script.extension().and_then(|extension| extension.to_str());
    let extension = extension.map_or_else(String::new, |extension| format!(".{extension}"));
    Ok(script.with_file_name(format!("{stem}.{number}{extension}")))
}

fn beside(path: &Path, text: &str) -> std::io::Result<NamedTempFile> {
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
