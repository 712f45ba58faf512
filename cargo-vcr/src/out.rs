//! Lines for people. Who closed the stream does not want to know.

use std::io::Write as _;

/// What was asked for.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// What went wrong, and what happened besides.
pub(crate) fn fault(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
