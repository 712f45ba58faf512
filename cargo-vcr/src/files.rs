//! `cargo vcr recover` and `cargo vcr verify`: work on cassettes as files.

use std::path::Path;
use std::process::ExitCode;

use crate::out;
use crate::words::Words;

/// Where a project keeps its cassettes unless told otherwise.
pub(crate) const FIXTURES: &str = "fixtures";

/// Puts what interrupted recordings left into side files.
pub(crate) fn recover(path: &Path, words: &Words) -> ExitCode {
    match vcr_runtime::recover(path) {
        Ok(all) => {
            if all.is_empty() {
                out::line(&words.say("recover-none", [("path", path.display().to_string().into())]));
            }
            for one in all {
                out::line(&words.say(
                    "recovered",
                    [
                        ("calls", one.calls.into()),
                        ("cassette", one.cassette.display().to_string().into()),
                        ("file", one.file.display().to_string().into()),
                    ],
                ));
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed("recover", &error, words),
    }
}

/// Proves cassettes; what is wrong comes a line each.
pub(crate) fn verify(path: &Path, words: &Words) -> ExitCode {
    match vcr_runtime::verify(path) {
        Ok(differences) => {
            for one in &differences {
                out::line(&words.say(
                    "verify-difference",
                    [
                        ("path", one.path.display().to_string().into()),
                        ("kind", one.kind.as_str().into()),
                        ("at", one.at.as_str().into()),
                        ("expected", one.expected.as_str().into()),
                        ("found", one.found.as_str().into()),
                    ],
                ));
            }
            if differences.is_empty() {
                out::line(&words.say("verify-sound", [("path", path.display().to_string().into())]));
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => failed("verify", &error, words),
    }
}

/// Says why a command failed.
pub(crate) fn failed(command: &str, error: &vcr_runtime::Error, words: &Words) -> ExitCode {
    out::fault(&words.failed(command, &words.error(error)));
    ExitCode::FAILURE
}
