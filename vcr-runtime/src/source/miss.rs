//! The report of a call that nothing recorded answers: one screen, from the nearest recording to the next command.

use std::fmt::Write as _;

use super::cursor::Cursor;
use super::{CassetteSource, NotTaken, Where};
use crate::canon;
use crate::error::{Error, ErrorKind};
use crate::json::Json;
use crate::model::{CanonicalRequest, RecordedRequest, texts};

/// At most this many lines of differences; the rest is counted.
const LINES: usize = 12;

/// The error of a call that was not taken.
pub(super) fn report(
    source: &CassetteSource,
    live: &CanonicalRequest,
    not_taken: NotTaken,
    place: Where<'_>,
) -> Error {
    let advice = advice(&not_taken, place);
    if place.private {
        let what = match not_taken {
            NotTaken::Early { .. } => "a request came before its turn in",
            NotTaken::Over | NotTaken::Exhausted { .. } => {
                "every recorded call that answers a request was used in"
            }
            NotTaken::Unknown | NotTaken::Late | NotTaken::Refused(_) | NotTaken::Unclear { .. } => {
                "no recorded call answers a request of"
            }
        };
        let text = format!("{what} `{}` (its details are private)", place.test);
        return Error::new(ErrorKind::Miss, text, advice);
    }
    let text = screen(source, live, &not_taken, place);
    Error::new(ErrorKind::Miss, text, advice).at(&source.path)
}

/// What to do about it; it tells nothing of the request.
fn advice(not_taken: &NotTaken, place: Where<'_>) -> String {
    match not_taken {
        NotTaken::Early { .. } => {
            format!(
                "if the order of these calls does not matter, {}",
                place.remedy.keyed()
            )
        }
        NotTaken::Exhausted { .. } | NotTaken::Over if place.remedy.used_up().is_some() => {
            place.remedy.used_up().unwrap_or_default().to_owned()
        }
        _ => format!(
            "if the new request is right, record it: {} (all calls) or {} (only this one)",
            place.remedy.record(),
            place.remedy.new_calls()
        ),
    }
}

fn screen(
    source: &CassetteSource,
    live: &CanonicalRequest,
    not_taken: &NotTaken,
    place: Where<'_>,
) -> String {
    let cursor = &source.cursor;
    let calls = cursor.len();
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        let _ = write!(text, "\n  {label:<9} {value}");
    };
    line("test", place.test);
    line(
        "cassette",
        &format!(
            "{} (take {}, {})",
            source.path.display(),
            short(&source.trace_id),
            count(calls, "call")
        ),
    );
    line("request", &describe_live(live));
    let headline = match not_taken {
        // Cassettes know no live sessions.
        NotTaken::Unknown | NotTaken::Unclear { .. } => {
            nearest(source, live, &mut line);
            "no recorded call answers this request".to_owned()
        }
        NotTaken::Exhausted { call, by, equal } => {
            line("nearest", &format!("call {} is equal in every field", call + 1));
            format!(
                "every recorded call that answers this request has been used ({}; call {} answered request {by})",
                count(*equal, "equal call"),
                call + 1
            )
        }
        NotTaken::Over if calls == 0 => "the cassette has no calls".to_owned(),
        NotTaken::Over => format!("every recorded call has been used ({})", count(calls, "call")),
        NotTaken::Early { call, waits_for } => {
            line("answer", &format!("call {} would answer it", call + 1));
            line(
                "waits for",
                &format!("call {}: {}", waits_for + 1, describe(&cursor.key(*waits_for))),
            );
            format!(
                "this request came before call {}, which had ended before it when it was recorded",
                waits_for + 1
            )
        }
        NotTaken::Late => "the test has ended".to_owned(),
        NotTaken::Refused(error) => error.message().to_owned(),
    };
    used(cursor, &mut line);
    if !source.ignore.is_empty() {
        line("ignored", &source.ignore.iter().collect::<Vec<_>>().join(", "));
    }
    line("matching", &place.matching.to_string());
    format!("{headline}{text}")
}

fn nearest(source: &CassetteSource, live: &CanonicalRequest, line: &mut impl FnMut(&str, &str)) {
    let cursor = &source.cursor;
    // Calls not yet used are the better candidates; used ones are shown when nothing else is left.
    let open: Vec<usize> = cursor.leftovers().collect();
    let candidates = if open.is_empty() {
        (0..cursor.len()).collect()
    } else {
        open
    };
    let keys: Vec<_> = candidates.iter().map(|index| cursor.key(*index)).collect();
    let Some(found) = canon::nearest(keys.iter().map(AsRef::as_ref), live) else {
        line("nearest", "the cassette has no calls");
        return;
    };
    let index = candidates[found];
    let key = &*keys[found];
    let state = match cursor.taken()[index] {
        Some(by) => format!("used by request {by}"),
        None => "not used yet".to_owned(),
    };
    line(
        "nearest",
        &format!("call {}: {} ({state})", index + 1, describe(key)),
    );
    let mut live = live.clone();
    source.ignore.apply(&mut live);
    // Spellings of two protocols differ everywhere; what counts is what they ask for.
    let forms = cursor.forms(index, &live);
    let forms = forms.map(|(key, live)| (RecordedRequest::recorded(key, String::new()), live));
    let (key, live) = forms.as_ref().map_or((key, &live), |(key, live)| (key, live));
    let changes = canon::diff(key, live);
    for change in changes.iter().take(LINES) {
        line("", &change.to_string());
    }
    if changes.len() > LINES {
        line("", &format!("and {} more differences", changes.len() - LINES));
    }
    if let Some(what) = canon::differs_only_in(&changes, key, live) {
        line(
            "hint",
            &format!(
                "it differs only in {what}; keep it out of the prompt, or leave the member out with `ignore`"
            ),
        );
    }
}

fn used(cursor: &Cursor, line: &mut impl FnMut(&str, &str)) {
    let taken: Vec<String> = cursor
        .taken()
        .iter()
        .enumerate()
        .filter_map(|(call, by)| by.map(|by| format!("call {} by request {by}", call + 1)))
        .collect();
    const SHOWN: usize = 6;
    match taken.len() {
        0 => line("used", "none yet"),
        all if all > SHOWN => line(
            "used",
            &format!("{} and {} more", taken[..SHOWN].join(", "), all - SHOWN),
        ),
        _ => line("used", &taken.join(", ")),
    }
}

/// One line about a recorded request.
pub(super) fn describe(request: &RecordedRequest) -> String {
    summary(
        request.model.as_deref().unwrap_or("any model"),
        request.messages.as_deref().unwrap_or_default(),
        request
            .parameters
            .as_ref()
            .and_then(|parameters| parameters.get("path"))
            .and_then(Json::as_str),
    )
}

pub(super) fn describe_live(request: &CanonicalRequest) -> String {
    let path = request.parameters.get("path").and_then(Json::as_str);
    let text = summary(&request.model, &request.messages, path);
    let stream = if request.stream() { ", stream" } else { "" };
    format!("{} {text}{stream}", request.protocol)
}

fn summary(model: &str, messages: &[Json], path: Option<&str>) -> String {
    if messages.is_empty() {
        return path.unwrap_or(model).to_owned();
    }
    let last = messages.last().map(said).unwrap_or_default();
    format!("{model}, {}, last {last}", count(messages.len(), "message"))
}

/// The role and the beginning of a message.
fn said(message: &Json) -> String {
    let role = message.get("role").and_then(Json::as_str).unwrap_or("message");
    format!("{role} {:?}", excerpt(&texts(message).join(" "), 60))
}

/// The first characters of a text, with an ellipsis where it was longer.
fn excerpt(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn short(trace_id: &str) -> &str {
    trace_id.get(..8).unwrap_or(trace_id)
}
