//! `cargo vcr freeze`, `thaw` and `probe`: files of frozen answers.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use vcr_runtime::{FrozenSnapshot, Result};

pub(crate) fn freeze(cassette: &Path, frozen: &Path) -> ExitCode {
    end(
        "freeze",
        vcr_runtime::freeze(cassette, frozen).map(|snapshot| told(&snapshot)),
    )
}

pub(crate) fn thaw(frozen: &Path, cassette: &Path) -> ExitCode {
    let changed = vcr_runtime::thaw(frozen, cassette).map(|changed| match changed {
        0 => format!("{} says the same already", cassette.display()),
        1 => format!("{} has a new take with 1 changed answer", cassette.display()),
        many => format!(
            "{} has a new take with {many} changed answers",
            cassette.display()
        ),
    });
    end("thaw", changed)
}

pub(crate) fn probe(frozen: &str) -> ExitCode {
    let (path, ceilings) = frozen.split_once('?').unwrap_or((frozen, ""));
    let path = Path::new(path);
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let source = format!("frozen:{name}?{ceilings}");
    let snapshot = vcr_runtime::probe_frozen(directory.unwrap_or(Path::new(".")), &source);
    end("probe", snapshot.map(|snapshot| told(&snapshot)))
}

fn told(snapshot: &FrozenSnapshot) -> String {
    let FrozenSnapshot {
        format_version,
        fixture_set_hash,
        entry_count,
        response_count,
        max_entries,
        max_result_bytes,
        ..
    } = snapshot;
    format!(
        "format {format_version}, {fixture_set_hash}, entries {entry_count} (at most {max_entries}), responses {response_count} (of at most {max_result_bytes} bytes)"
    )
}

fn end(command: &str, result: Result<String>) -> ExitCode {
    let (code, written) = match result {
        Ok(line) => (ExitCode::SUCCESS, writeln!(std::io::stdout(), "{line}")),
        Err(error) => (
            ExitCode::FAILURE,
            writeln!(std::io::stderr(), "cargo vcr {command}: {error}"),
        ),
    };
    // Who closed the pipe does not want to know.
    drop(written);
    code
}
