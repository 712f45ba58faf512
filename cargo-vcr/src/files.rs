//! `cargo vcr recover` and `cargo vcr verify`: work on cassettes as files.

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Where a project keeps its cassettes unless told otherwise.
pub(crate) const FIXTURES: &str = "fixtures";

/// Puts what interrupted recordings left into side files.
pub(crate) fn recover(path: &Path) -> ExitCode {
    match vcr_runtime::recover(path) {
        Ok(all) => {
            if all.is_empty() {
                say(&format_args!(
                    "no recording was interrupted in {}",
                    path.display()
                ));
            }
            for one in all {
                say(&format_args!(
                    "{} finished calls of {} are in {}; rename it to replay from it",
                    one.calls,
                    one.cassette.display(),
                    one.file.display()
                ));
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed("recover", &error),
    }
}

/// Proves cassettes; what is wrong comes a line each.
pub(crate) fn verify(path: &Path) -> ExitCode {
    match vcr_runtime::verify(path) {
        Ok(differences) => {
            for one in &differences {
                say(&format_args!(
                    "{}: {}: {}: expected {}, found {}",
                    one.path.display(),
                    one.kind,
                    one.at,
                    one.expected,
                    one.found
                ));
            }
            if differences.is_empty() {
                say(&format_args!("{}: nothing is wrong", path.display()));
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => failed("verify", &error),
    }
}

fn say(line: &dyn Display) {
    // Who closed stdout does not want to know.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn failed(command: &str, error: &vcr_runtime::Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "cargo vcr {command}: {error}");
    ExitCode::FAILURE
}
