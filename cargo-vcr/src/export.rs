//! `cargo vcr export`: cassettes in forms of other programs.

use std::path::Path;
use std::process::ExitCode;

use crate::files::failed;
use crate::out;
use crate::words::Words;

/// Writes session logs, and says what they do not have.
pub(crate) fn session(cassette: &Path, file: &Path, words: &Words) -> ExitCode {
    match vcr_runtime::export_session(cassette, file) {
        Ok(export) => {
            let files: Vec<_> = export
                .files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            out::line(&words.say(
                "exported",
                [
                    ("calls", export.calls.into()),
                    ("files", files.join(", ").into()),
                    ("attribute", export.attribute().into()),
                ],
            ));
            for what in &export.left_out {
                out::line(&words.say("left-out", [("what", what.as_str().into())]));
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed("export", &error, words),
    }
}
