//! What is said about a call that no script answers.

use std::fmt::Write as _;

use super::load::Script;
use super::script::ScriptSource;
use crate::error::{Error, ErrorKind};
use crate::model::CanonicalRequest;
use crate::source::miss::{count, describe_live};
use crate::source::{NotTaken, Where};

/// The error of a call that was not answered.
pub(super) fn report(
    source: &ScriptSource,
    live: &CanonicalRequest,
    why: &NotTaken,
    place: Where<'_>,
) -> Error {
    let (mut text, advice) = headline(source, why, place.private);
    let mut line = |label: &str, value: &str| {
        let _ = write!(text, "\n  {label:<9} {value}");
    };
    line("test", place.test);
    let all = source.scripts.iter().map(Script::len).sum();
    let taken: usize = source.scripts.iter().map(|script| script.next).sum();
    let bound = source
        .scripts
        .iter()
        .filter(|script| script.live.is_some())
        .count();
    line(
        "script",
        &format!(
            "{} ({bound} of {} bound, {taken} of {} taken)",
            source.path.display(),
            count(source.scripts.len(), "session"),
            calls(all)
        ),
    );
    if !place.private {
        line("request", &describe_live(live));
    }
    Error::new(ErrorKind::Miss, text, advice).at(&source.path)
}

fn headline(source: &ScriptSource, why: &NotTaken, private: bool) -> (String, String) {
    let recorded = source.scripts.len();
    let (text, advice) = match why {
        NotTaken::Unclear { scripts, hash } => return unclear(source, scripts, hash, private),
        NotTaken::Refused(error) => {
            let advice = match error.advice() {
                "" => "correct the request or the script",
                advice => advice,
            };
            (error.message().to_owned(), advice)
        }
        NotTaken::Exhausted { call, equal, .. } => {
            let script = source.scripts.get(*call);
            let name = script.map_or("", |script| script.name.as_str());
            let key = script
                .and_then(|script| script.live.as_ref())
                .filter(|_| !private);
            let of = key.map_or("a session".to_owned(), |key| session(key.as_deref()));
            (
                format!(
                    "call {} of {of} has no entry: its script {name} has {}",
                    equal + 1,
                    calls(*equal)
                ),
                "if the program is right to ask once more, record the session again, or append an entry in an override file",
            )
        }
        _ => (
            format!(
                "a call came from live session {}, and {} recorded",
                recorded + 1,
                match recorded {
                    1 => "only 1 session was".to_owned(),
                    more => format!("only {more} sessions were"),
                }
            ),
            "record the session again with all its children, and name their logs in `child_files`",
        ),
    };
    (text, advice.to_owned())
}

/// A session may be any of several that run side by side.
fn unclear(source: &ScriptSource, scripts: &[usize], hash: &str, private: bool) -> (String, String) {
    let scripts = || scripts.iter().filter_map(|slot| source.scripts.get(*slot));
    let names: Vec<&str> = scripts().map(|script| script.name.as_str()).collect();
    let names = match names.split_last() {
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    };
    let id = scripts().find_map(|script| Some(&script.header()?.id).filter(|id| !id.is_empty()));
    let id = id.map_or("ID".into(), |id| id.escape_debug().to_string());
    let hash = if private { "sha256:…" } else { hash };
    (
        format!("a session's first call may belong to {names}, whose sessions run side by side"),
        format!(
            "make the calls of each session through a handle with its recorded id, such as `vcr.session(\"{id}\")`, or write `\"firstRequestHash\":\"{hash}\"` into the header of the log that begins with this request"
        ),
    )
}

/// A live session by its key.
pub(super) fn session(key: Option<&str>) -> String {
    match key {
        Some(key) => format!("the session `{}`", key.escape_debug()),
        None => "the session without a key".to_owned(),
    }
}

pub(super) fn calls(number: usize) -> String {
    count(number, "call")
}

/// The error of a request that no script can answer.
pub(super) fn no_completion() -> Error {
    Error::new(
        ErrorKind::Miss,
        "a session script answers completions, and this request is none",
        "",
    )
}

/// The error of an entry that cannot be played as it stands.
pub(super) fn unplayable(script: &Script, number: usize, says: &str) -> Error {
    Error::new(
        ErrorKind::Miss,
        format!("call {} of {} cannot be played: {says}", number + 1, script.name),
        "",
    )
}
