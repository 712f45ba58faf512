//! A cassette as a file of frozen answers, and back.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use super::answer;
use super::entry::Key;
use super::fixtures::Fixtures;
use super::neutral;
use super::snapshot::FrozenSnapshot;
use crate::canon;
use crate::cassette::{self, Cassette, Chosen, Head, Journal, Whole};
use crate::config::Ceilings;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, Object, compact, parse};
use crate::model::{Call, CanonicalRequest, Take};
use crate::source::project::Project;

/// Writes the latest take of a cassette as a file of frozen answers: an entry for each request, in the order in which they
/// were made. An existing file is replaced in one step.
///
/// Text, reasoning, tool calls, finish reason, usage and the provider's own errors go in; times and raw bytes do not.
/// The rules of `vcr.toml` in the nearest directory above the cassette hold for the requests.
///
/// # Errors
/// When the cassette cannot be read, when a call of it has no frozen form (it was cut off, its request is not complete, its
/// answer is no JSON object), when the file would break its own rules, or when it cannot be written.
pub fn freeze(cassette: impl AsRef<Path>, frozen: impl AsRef<Path>) -> Result<FrozenSnapshot> {
    let (cassette, frozen) = (cassette.as_ref(), frozen.as_ref());
    let project = Project::of(cassette, &[])?;
    let take = Cassette::open(cassette, Chosen::Latest)?.take;
    let mut order: Vec<Key> = Vec::new();
    let mut answers: HashMap<Key, Vec<Json>> = HashMap::new();
    for (index, call) in take.calls.iter().enumerate() {
        let refuse = |why: String| unfreezable(cassette, index, &why);
        let key = key(call, &project).map_err(refuse)?;
        let response = answer::response(call, &project.providers).map_err(refuse)?;
        let responses = answers.entry(key).or_default();
        if responses.is_empty() {
            order.push(key);
        }
        responses.push(response);
    }
    let mut text = String::new();
    for key in &order {
        text.push_str(&line(key, answers.remove(key).unwrap_or_default()));
        text.push('\n');
    }
    if let Some(hit) = project.redactor.scan(&text) {
        return Err(Error::new(
            ErrorKind::Secret,
            format!(
                "{} was not written, because line {} still holds {}",
                frozen.display(),
                hit.line,
                hit.rule
            ),
            "add a rule for it under [redact] in vcr.toml, and record the cassette again",
        )
        .at(frozen));
    }
    write(frozen, &text)
}

fn line(key: &Key, mut responses: Vec<Json>) -> String {
    let mut members = Object::new();
    members.push("schema_version", 1_u64);
    members.push("request_hash", neutral::text(key));
    match responses.pop() {
        Some(only) if responses.is_empty() => members.push("response", only),
        last => {
            responses.extend(last);
            members.push("responses", responses);
        }
    }
    compact(&members.into())
}

/// Replaces the file by a text that keeps the rules.
fn write(frozen: &Path, text: &str) -> Result<FrozenSnapshot> {
    let io = |error: &std::io::Error| Error::io("write", frozen, error);
    let name = frozen.file_name().and_then(|name| name.to_str());
    let (Some(directory), Some(name)) = (frozen.parent(), name) else {
        return Err(Error::new(
            ErrorKind::Identity,
            format!("{} names no file", frozen.display()),
            "name a file that ends in .jsonl",
        ));
    };
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    std::fs::create_dir_all(directory).map_err(|error| io(&error))?;
    // Checked where it cannot be taken for the file itself.
    let ceilings = Ceilings::default();
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(|error| io(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| io(&error))?;
    let temporary = file
        .path()
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(name);
    let fixtures = Fixtures::open(directory, temporary, ceilings)?;
    file.as_file().sync_all().map_err(|error| io(&error))?;
    file.persist(frozen).map_err(|error| io(&error.error))?;
    Ok(FrozenSnapshot::of(&fixtures, &ceilings))
}

/// Takes the answers of a frozen file back into the cassette that it was frozen from, as a new take; how many answers differ
/// from the recorded ones. A frozen file holds no requests, only their hashes, so they come from the cassette's latest take.
/// Where an answer says the same as the recorded one, the recorded call stays as it is, times and raw bytes included. Without
/// a difference the cassette is left alone.
///
/// # Errors
/// When either file cannot be read, when the frozen file lacks an answer that the cassette asks for or has one that it does
/// not ask for, or when the cassette cannot be written.
pub fn thaw(frozen: impl AsRef<Path>, cassette: impl AsRef<Path>) -> Result<usize> {
    let (frozen, cassette) = (frozen.as_ref(), cassette.as_ref());
    let project = Project::of(cassette, &[])?;
    let fixtures = open(frozen)?;
    // The journal is the lock. What an interrupted recording left in it stays there for the next one.
    let (journal, left) = Journal::open(cassette)?;
    let result = thaw_locked(&fixtures, frozen, cassette, &project);
    if left.is_none() {
        journal.remove()?;
    }
    result
}

fn thaw_locked(fixtures: &Fixtures, frozen: &Path, cassette: &Path, project: &Project) -> Result<usize> {
    let mut take = Cassette::open(cassette, Chosen::Latest)?.take;
    let mut used: HashMap<Key, usize> = HashMap::new();
    let mut changed = 0;
    for (index, call) in take.calls.iter_mut().enumerate() {
        let key = key(call, project).map_err(|why| unfreezable(cassette, index, &why))?;
        let number = used.entry(key).or_default();
        let lines = fixtures.get(&key);
        let response = lines
            .and_then(|lines| fixtures.answer(lines, *number))
            .ok_or_else(|| {
                unlike(
                    frozen,
                    format!(
                        "has no answer for call {} of {} (request_hash: {})",
                        index + 1,
                        cassette.display(),
                        neutral::text(&key)
                    ),
                )
            })?;
        *number += 1;
        changed += usize::from(
            replace(call, response, project)
                .map_err(|why| unlike(frozen, format!("has no completion for call {}: {why}", index + 1)))?,
        );
    }
    let asked: usize = used.values().sum();
    if asked < fixtures.responses {
        let what = format!(
            "has {} answers, and {} asks for {asked}",
            fixtures.responses,
            cassette.display()
        );
        return Err(unlike(frozen, what));
    }
    if changed > 0 {
        take.trace_id = uuid::Uuid::now_v7().simple().to_string();
        save(cassette, &take, project)?;
    }
    Ok(changed)
}

/// Puts a frozen answer in the place of a recorded one; false where both say the same.
fn replace(call: &mut Call, response: Json, project: &Project) -> Result<bool, String> {
    let recorded = answer::response(call, &project.providers);
    if recorded.is_ok_and(|recorded| canon::value_text(&recorded) == canon::value_text(&response)) {
        return Ok(false);
    }
    let request = canon::from_recorded(&call.request);
    let mut new = answer::call(response, &request, &project.providers)?;
    new.request = call.request.clone();
    new.started_us = call.started_us;
    new.metrics = call.metrics;
    // No time is lost: all of it stands before the only frame.
    if let (Some(frame), Some(metrics)) = (new.frames.first_mut(), new.metrics.as_mut()) {
        frame.delta_us = metrics.total_us;
        metrics.ttfb_us = metrics.total_us;
    }
    *call = new;
    Ok(true)
}

fn save(cassette: &Path, take: &Take, project: &Project) -> Result<()> {
    let whole = Whole::open(cassette)?;
    let document = parse(&whole.text).unwrap_or_default();
    let scenario = document.get("scenario").and_then(Json::as_str).unwrap_or("auto");
    let test = cassette::owner(cassette)?;
    let head = Head {
        scenario,
        test: test.as_deref(),
    };
    cassette::save(cassette, cassette, head, take, &|text| {
        let hit = project.redactor.scan(text)?;
        Some(format!(
            "line {} column {} still holds {}",
            hit.line, hit.column, hit.rule
        ))
    })?;
    Ok(())
}

fn open(frozen: &Path) -> Result<std::sync::Arc<Fixtures>> {
    let name = frozen
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let directory = frozen
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty());
    Fixtures::open(directory.unwrap_or(Path::new(".")), name, Ceilings::default())
}

/// The hash of a recorded request, by the rules of today.
fn key(call: &Call, project: &Project) -> Result<Key, String> {
    let recorded = &call.request;
    if recorded.protocol.is_none() || recorded.messages.is_none() || recorded.parameters.is_none() {
        return Err("its request is not complete, so that it has no hash".to_owned());
    }
    let mut request: CanonicalRequest = canon::from_recorded(recorded);
    project.redactor.request(&mut request);
    project.ignore.apply(&mut request);
    neutral::key(&request, &project.providers, Ceilings::default().request)
        .map_err(|_| "its request cannot be hashed: it is too large or names a member twice".to_owned())
}

fn unfreezable(cassette: &Path, index: usize, why: &str) -> Error {
    Error::new(
        ErrorKind::CassetteBroken,
        format!(
            "call {} of {} has no frozen form: {why}",
            index + 1,
            cassette.display()
        ),
        "leave this cassette as it is, or record it again without that call",
    )
    .at(cassette)
}

fn unlike(frozen: &Path, what: String) -> Error {
    Error::new(
        ErrorKind::CassetteBroken,
        format!("{} {what}", frozen.display()),
        "freeze the cassette again, and change its answers alone",
    )
    .at(frozen)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
