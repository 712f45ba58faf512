//! What is said about a request that no frozen answer serves.

use std::fmt::Write as _;

use super::frozen::FrozenSource;
use super::neutral::{self, NoHash};
use super::private;
use crate::canon::hex;
use crate::error::{Error, ErrorKind};
use crate::model::CanonicalRequest;
use crate::source::miss::{count, describe_live};
use crate::source::{NotTaken, Where};

/// The error of a call that was not answered. `live` is the request as it came, `compared` as its hash was made.
pub(super) fn report(
    source: &FrozenSource,
    live: &CanonicalRequest,
    compared: &CanonicalRequest,
    why: NotTaken,
    place: Where<'_>,
) -> Error {
    if place.private {
        return in_private(source, compared, &why, place);
    }
    let hash = source.key(compared).ok().map(|key| neutral::text(&key));
    let mut text = headline(&why, hash.as_deref());
    let mut line = |label: &str, value: &str| {
        let _ = write!(text, "\n  {label:<9} {value}");
    };
    line("test", place.test);
    let set = hex(&source.fixtures.set_hash);
    let all = source.fixtures.responses;
    let (entries, used) = (source.fixtures.len(), source.served);
    let entries = format!("{entries} {}", if entries == 1 { "entry" } else { "entries" });
    line(
        "frozen",
        &format!(
            "{} (set {}, {entries}, {used} of {} used)",
            source.path.display(),
            &set[..8],
            count(all, "response")
        ),
    );
    line("request", &describe_live(live));
    if let Some(hash) = &hash {
        line("hash", hash);
    }
    if !source.ignore.is_empty() {
        line("ignored", &source.ignore.iter().collect::<Vec<_>>().join(", "));
    }
    Error::new(ErrorKind::Miss, text, advice(&why)).at(&source.path)
}

fn headline(why: &NotTaken, hash: Option<&str>) -> String {
    match (why, hash) {
        (NotTaken::Refused(error), _) => error.message().to_owned(),
        (NotTaken::Exhausted { call, equal, .. }, _) => format!(
            "replay sequence for this request is exhausted ({} in line {call}, all used)",
            count(*equal, "response")
        ),
        (_, Some(hash)) => format!("no replay fixture matches this request (request_hash: {hash})"),
        (_, None) => "no replay fixture matches this request".to_owned(),
    }
}

/// It tells nothing of the request.
fn advice(why: &NotTaken) -> &'static str {
    match why {
        NotTaken::Refused(_) => "correct the request or the file of frozen answers",
        NotTaken::Exhausted { .. } => {
            "if the program is right to ask once more, add a response to the entry's `responses`"
        }
        _ => "if the request is right, copy the hash into an entry with the response to it, and run again",
    }
}

/// Nothing of the request is told in public: an unsalted hash would say which requests are equal and let others guess.
fn in_private(source: &FrozenSource, compared: &CanonicalRequest, why: &NotTaken, place: Where<'_>) -> Error {
    let (what, reason) = match why {
        NotTaken::Exhausted { .. } => ("replay sequence for a request is exhausted", "exhausted"),
        NotTaken::Refused(error) => (
            "a request or the response to it cannot be replayed",
            error.message(),
        ),
        _ => ("no replay fixture matches a request", "unknown"),
    };
    let details = match source.key(compared) {
        Err(_) => "its details are private".to_owned(),
        Ok(key) => {
            let path = private::path_of(&source.path);
            let request = neutral::document(compared, &source.providers);
            let mut record = source.private.borrow_mut();
            match record.add(&path, &key, reason, place.test, request) {
                Ok(()) => format!("its details are private, in {}", path.display()),
                Err(error) => format!(
                    "its details are private, and {} could not be written: {error}",
                    path.display()
                ),
            }
        }
    };
    let text = format!("{what} of `{}` ({details})", place.test);
    Error::new(ErrorKind::Miss, text, advice(why)).at(&source.path)
}

/// The error of a request that cannot have an answer.
pub(super) fn no_hash(why: NoHash, ceiling: usize) -> Error {
    let text = match why {
        NoHash::Repeated => {
            "replay request could not be normalized: an object in it names a member twice".to_owned()
        }
        NoHash::TooLarge => format!("replay request is larger than its ceiling of {ceiling} bytes"),
    };
    Error::new(ErrorKind::Miss, text, "")
}

/// The error of a response that is no answer to such a request.
pub(super) fn malformed(line: u32, number: usize, why: &str) -> Error {
    let text = format!(
        "replay response {} of line {line} is no completion: {why}",
        number + 1
    );
    Error::new(ErrorKind::Miss, text, "")
}

/// The error of a run that has had all the answers that it may have.
pub(super) fn too_many(ceiling: usize) -> Error {
    Error::new(
        ErrorKind::Miss,
        format!(
            "the run has had {}, which is its ceiling",
            count(ceiling, "replayed call")
        ),
        "",
    )
}
