use std::path::{Path, PathBuf};

use super::call;
use super::difference::{Difference, DifferenceKind, Findings};
use crate::cassette::{Stored, Whole};
use crate::error::{Error, ErrorKind, Result};
use crate::source::Project;

/// The takes that a cassette keeps.
const RING: usize = 5;
/// Directories in directories, at most.
const MAX_DEPTH: usize = 32;

/// Checks a cassette, or every cassette of a directory and those below it, and returns what is wrong.
///
/// Nothing is called and nothing is changed. Checked are: the format version; the order of takes, calls, frames and raw
/// chunks; each `request_hash` against the stored request; what the raw layer says, read by the protocol's extraction
/// rules, against `response_timeline`, `exception_boundary` and `usage` (texts, reasoning, tool calls and finish reasons of
/// each choice; frame boundaries are free); and that no secret is left. `vcr.toml` and the ignore paths in it are those of
/// the nearest directory above with a `vcr.toml` or a `Cargo.toml`.
///
/// In a directory, JSON files that are no cassettes are passed over.
///
/// ```no_run
/// let differences = vcr_runtime::verify("fixtures")?;
/// assert!(differences.is_empty(), "{differences:#?}");
/// # Ok::<(), vcr_runtime::Error>(())
/// ```
///
/// # Errors
/// When `path` is not there or cannot be read, or `vcr.toml` has a mistake. What is wrong inside a cassette is a
/// [`Difference`].
pub fn verify(path: impl AsRef<Path>) -> Result<Vec<Difference>> {
    verify_ignoring(path, std::iter::empty::<&str>())
}

/// As [`verify`], for cassettes whose tests leave more out of the comparison than `vcr.toml` says (`ignore` in the
/// attribute): a hash is right if it is that of the request with or without these JSON pointers.
///
/// # Errors
/// As [`verify`], and [`ErrorKind::Config`] when one of `ignore` is no JSON pointer.
pub fn verify_ignoring(
    path: impl AsRef<Path>,
    ignore: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Vec<Difference>> {
    let ignore: Vec<String> = ignore
        .into_iter()
        .map(|pointer| pointer.as_ref().to_owned())
        .collect();
    let path = path.as_ref();
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(
            ErrorKind::CassetteMissing,
            format!("there is no cassette and no directory {}", path.display()),
            "name a cassette or the directory that holds them",
        )
        .at(path),
        _ => Error::io("look at", path, &error),
    })?;
    let mut all = Vec::new();
    if metadata.is_dir() {
        let mut files = Vec::new();
        gather(path, 0, &mut files)?;
        files.sort();
        for file in files {
            let verifier = Verifier(Project::of(&file, &ignore)?);
            verifier.verify(&file, true, &mut all);
        }
    } else {
        Verifier(Project::of(path, &ignore)?).verify(path, false, &mut all);
    }
    Ok(all)
}

/// The JSON files of a directory and below. Links are not followed: a cassette lives inside its directory.
fn gather(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(directory).map_err(|error| Error::io("list", directory, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io("list", directory, &error))?;
        let path = entry.path();
        let kind = entry
            .file_type()
            .map_err(|error| Error::io("look at", &path, &error))?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() && !is_hidden && depth < MAX_DEPTH {
            gather(&path, depth + 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// A cassette under the rules of its project.
struct Verifier(Project);

impl Verifier {
    fn verify(&self, path: &Path, in_directory: bool, all: &mut Vec<Difference>) {
        let mut findings = Findings {
            all,
            path: path.to_owned(),
            at: String::new(),
        };
        let whole = match Whole::open(path) {
            Ok(whole) => whole,
            Err(error) => {
                let (kind, expected) = match error.kind() {
                    ErrorKind::CassetteVersion => {
                        (DifferenceKind::Version, "a version that this build reads")
                    }
                    _ => (DifferenceKind::Unreadable, "a readable cassette"),
                };
                findings.add(kind, "", expected, error.message());
                return;
            }
        };
        if in_directory && whole.latest.is_none() && whole.takes.is_empty() {
            return;
        }
        self.secrets(&whole, &mut findings);
        head(&whole, &mut findings);
        for stored in &whole.takes {
            self.take(stored, &mut findings);
        }
    }

    fn take(&self, stored: &Stored, findings: &mut Findings<'_>) {
        let id = &stored.take.trace_id;
        let mut findings = findings.below(&format!("traces.{id}"));
        let stated = stored
            .stated_id
            .as_ref()
            .map(|stated| stated.as_str().unwrap_or_default());
        if let Some(stated) = stated.filter(|stated| stated != id) {
            findings.add(DifferenceKind::Order, "trace_id", quoted(id), quoted(stated));
        }
        let mut last_us = 0;
        for (index, call) in stored.take.calls.iter().enumerate() {
            let place = format!("calls[{index}]");
            let mut findings = if stored.is_flat {
                findings.below("")
            } else {
                findings.below(&place)
            };
            if let Some(started_us) = call.started_us {
                if started_us < last_us {
                    let (expected, found) = (millis(last_us), millis(started_us));
                    findings.add(
                        DifferenceKind::Order,
                        "started_ms",
                        format!("at least {expected}"),
                        found,
                    );
                }
                last_us = last_us.max(started_us);
            }
            call::check(call, &self.0.ignore, &self.0.providers, &mut findings);
        }
    }

    /// The last look before a file is written, as it would be today.
    fn secrets(&self, whole: &Whole, findings: &mut Findings<'_>) {
        if let Some(hit) = self.0.redactor.scan(&whole.text) {
            let place = format!("line {} column {}", hit.line, hit.column);
            findings.add(DifferenceKind::Secret, &place, "no secret", hit.rule);
        }
    }
}

/// What the head says of the takes.
fn head(whole: &Whole, findings: &mut Findings<'_>) {
    let ids: Vec<&str> = whole
        .takes
        .iter()
        .map(|stored| stored.take.trace_id.as_str())
        .collect();
    let has = |id: &str| ids.contains(&id);
    match whole.latest.as_deref() {
        None => findings.add(
            DifferenceKind::Order,
            "latest_trace_id",
            "the id of a take",
            "nothing",
        ),
        Some(latest) if !has(latest) => {
            findings.add(
                DifferenceKind::Order,
                "latest_trace_id",
                "the id of a take",
                quoted(latest),
            );
        }
        Some(_) => {}
    }
    // A file written by hand needs no history.
    let Some(last) = whole.history.last() else { return };
    for (index, id) in whole.history.iter().enumerate() {
        let is_first = whole.history.iter().position(|other| other == id) == Some(index);
        if !has(id) || !is_first {
            let place = format!("history_keys[{index}]");
            findings.add(DifferenceKind::Order, &place, "each take once", quoted(id));
        }
    }
    for id in ids
        .iter()
        .filter(|id| !whole.history.iter().any(|known| known == *id))
    {
        findings.add(
            DifferenceKind::Order,
            "history_keys",
            format!("{} in it", quoted(id)),
            "not there",
        );
    }
    if let Some(latest) = whole.latest.as_ref().filter(|latest| *latest != last) {
        findings.add(
            DifferenceKind::Order,
            "latest_trace_id",
            format!("the last of history_keys, {}", quoted(last)),
            quoted(latest),
        );
    }
    if ids.len() > RING {
        findings.add(
            DifferenceKind::Order,
            "traces",
            format!("at most {RING} takes"),
            ids.len().to_string(),
        );
    }
}

pub(super) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

pub(super) fn millis(micros: u64) -> String {
    format!("{}.{:03} ms", micros / 1000, micros % 1000)
}
