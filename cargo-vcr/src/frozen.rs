//! `cargo vcr freeze`, `thaw` and `probe`: files of frozen answers.

use std::path::Path;
use std::process::ExitCode;

use vcr_runtime::{FrozenSnapshot, Result};

use crate::files::failed;
use crate::out;
use crate::words::Words;

pub(crate) fn freeze(cassette: &Path, frozen: &Path, words: &Words) -> ExitCode {
    let snapshot = vcr_runtime::freeze(cassette, frozen);
    end("freeze", snapshot.map(|snapshot| told(&snapshot, words)), words)
}

pub(crate) fn thaw(frozen: &Path, cassette: &Path, words: &Words) -> ExitCode {
    let changed = vcr_runtime::thaw(frozen, cassette).map(|changed| {
        let cassette = ("cassette", cassette.display().to_string().into());
        if changed == 0 {
            words.say("thawed-same", [cassette])
        } else {
            words.say("thawed", [cassette, ("changed", changed.into())])
        }
    });
    end("thaw", changed, words)
}

pub(crate) fn probe(frozen: &str, words: &Words) -> ExitCode {
    let (path, ceilings) = frozen.split_once('?').unwrap_or((frozen, ""));
    let path = Path::new(path);
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let source = format!("frozen:{name}?{ceilings}");
    let snapshot = vcr_runtime::probe_frozen(directory.unwrap_or(Path::new(".")), &source);
    end("probe", snapshot.map(|snapshot| told(&snapshot, words)), words)
}

fn told(snapshot: &FrozenSnapshot, words: &Words) -> String {
    let FrozenSnapshot {
        format_version,
        fixture_set_hash,
        entry_count,
        response_count,
        max_entries,
        max_result_bytes,
        ..
    } = snapshot;
    words.say(
        "frozen",
        [
            ("version", format_version.to_string().into()),
            ("hash", fixture_set_hash.as_str().into()),
            ("entries", entry_count.to_string().into()),
            ("max_entries", max_entries.to_string().into()),
            ("responses", response_count.to_string().into()),
            ("max_bytes", max_result_bytes.to_string().into()),
        ],
    )
}

fn end(command: &str, result: Result<String>, words: &Words) -> ExitCode {
    match result {
        Ok(line) => {
            out::line(&line);
            ExitCode::SUCCESS
        }
        Err(error) => failed(command, &error, words),
    }
}
