//! What an entry of an override document does, as a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::answer::{self, Ending};
use super::chunk::{Chunk, Timed};
use super::fill::Live;
use super::overrides::{Entry, Said, Thrown};
use crate::json::{Json, Object, parse};
use crate::model::{
    Boundary, BoundaryKind, Call, CanonicalRequest, Frames, HttpHead, Metrics, PLAIN, Piece, Raw, RawBody,
    RecordedRequest,
};
use crate::source::Hang;

/// How long each chunk is waited for, where that is not by the times of the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace(Option<u64>);

impl Pace {
    pub(super) fn of(pace: Option<Duration>) -> Self {
        Self(pace.map(|pace| u64::try_from(pace.as_micros()).unwrap_or(u64::MAX)))
    }

    /// The chunks with their times in microseconds from the call's start.
    pub(super) fn paced(self, chunks: Timed) -> impl Iterator<Item = (u64, Chunk)> {
        let first = chunks.first().map_or(0, |(time, _)| *time);
        (1_u64..)
            .zip(chunks)
            .map(move |(place, (time, chunk))| match self.0 {
                Some(pace) => (pace.saturating_mul(place), chunk),
                None => (time.saturating_sub(first).saturating_mul(1000), chunk),
            })
    }
}

/// The call that an entry makes of a request. `base` is the recorded call whose frames it may play.
pub(super) fn play(
    entry: &Entry,
    base: Option<&Call>,
    pace: Pace,
    live: &Live<'_>,
    request: &CanonicalRequest,
) -> Result<(Call, Option<Hang>), String> {
    let spoken = |chunks: &[Chunk], ending| {
        let mut chunks: Timed = chunks.iter().map(|chunk| (0, chunk.clone())).collect();
        chunks.iter_mut().try_for_each(|(_, chunk)| live.chunk(chunk))?;
        Ok::<Call, String>(answer::call(pace.paced(chunks), ending, &request.protocol))
    };
    let recorded = |frames: usize, ending| {
        let base = base.ok_or("it plays frames of a recorded call, and there is none")?;
        let mut call = beginning(base, frames, request);
        answer::close(&mut call, ending);
        Ok::<Call, String>(call)
    };
    let mut hang = None;
    let mut call = match entry {
        Entry::Chunks(chunks) => spoken(chunks, Ending::Said)?,
        Entry::Throw { said, failure } => {
            let ending = Ending::Throws(filled(failure, live)?);
            match said {
                Said::Chunks(chunks) => spoken(chunks, ending)?,
                Said::Frames(frames) => recorded(*frames, ending)?,
            }
        }
        Entry::Hang { frames, ready_file } => {
            let ready = ready(ready_file.as_deref(), live)?;
            hang = Some(Hang { ready });
            let ending = Ending::Never(Hang::default());
            match frames {
                Some(frames) => recorded(*frames, ending)?,
                None => spoken(&[Chunk::Start, partial()], ending)?,
            }
        }
        Entry::Cut { frames } => recorded(*frames, Ending::Breaks)?,
    };
    fit(&mut call, request);
    Ok((call, hang))
}

fn filled(failure: &Thrown, live: &Live<'_>) -> Result<Thrown, String> {
    let mut failure = failure.clone();
    live.text(&mut failure.message)?;
    live.text(&mut failure.code)?;
    Ok(failure)
}

fn partial() -> Chunk {
    Chunk::Text {
        index: 0,
        text: "partial".to_owned(),
    }
}

/// The ready file of a hang, which has to have a directory to be made in.
fn ready(name: Option<&str>, live: &Live<'_>) -> Result<Option<PathBuf>, String> {
    let Some(name) = name else { return Ok(None) };
    let mut name = name.to_owned();
    live.text(&mut name)?;
    let path = PathBuf::from(name);
    match missing_directory(&path) {
        None => Ok(Some(path)),
        Some(missing) => Err(format!(
            "its ready file cannot be made: there is no directory {}",
            missing.display()
        )),
    }
}

/// The directory of a file, where it is not there.
fn missing_directory(file: &Path) -> Option<&Path> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty())?;
    (!parent.is_dir()).then_some(parent)
}

/// The first frames of a recorded call, to be rendered: the bytes behind them, and the way in which the provider ended them,
/// belong to the whole answer.
fn beginning(base: &Call, frames: usize, request: &CanonicalRequest) -> Call {
    let mut call = Call {
        http: base.http.clone().filter(|head| head.status < 400 && frames > 0),
        frames: base
            .frames
            .iter()
            .take(frames)
            .cloned()
            .collect::<Vec<_>>()
            .into(),
        request: Arc::clone(&base.request),
        ..Call::default()
    };
    let total_us = call.frames.iter().map(|frame| frame.delta_us).sum();
    call.metrics = Some(Metrics {
        ttfb_us: call.frames.first().map_or(0, |frame| frame.delta_us),
        total_us,
    });
    if call.is_of_another_protocol(&request.protocol) {
        call = call.for_another_protocol();
    }
    call
}

/// Makes it an answer to the request.
pub(super) fn fit(call: &mut Call, request: &CanonicalRequest) {
    if !request.stream() {
        fail_whole(call);
    }
    if request.protocol == PLAIN {
        plain(call);
    }
    let hash = crate::canon::request_hash(request);
    call.request = Arc::new(RecordedRequest::recorded(request.clone(), hash));
}

/// Whoever reads no stream gets a failure alone, without what had been said before it.
fn fail_whole(call: &mut Call) {
    let Some(Boundary { kind, error_type, .. }) = &call.boundary else {
        return;
    };
    if *kind == BoundaryKind::Error || error_type == answer::BROKEN {
        call.frames = Frames::default();
        call.http.take_if(|head| head.status < 400);
    }
}

/// What no protocol renders has a body of its own: the text, or the failure as most servers word it.
fn plain(call: &mut Call) {
    let body = match &call.boundary {
        None => {
            let text: String = call.frames.views().map(|frame| frame.chunk).collect();
            match parse(&text) {
                Ok(body) => RawBody::Unary(body.into()),
                Err(_) => RawBody::Transcript(vec![Piece {
                    offset_us: 0,
                    bytes: text.into_bytes(),
                }]),
            }
        }
        Some(Boundary {
            kind: BoundaryKind::Error | BoundaryKind::Http,
            error_type,
            message,
            ..
        }) => {
            let mut error = Object::new();
            error.push("message", message.as_str());
            error.push("code", error_type.as_str());
            let mut body = Object::new();
            body.push("error", error);
            RawBody::Unary(Json::Object(body).into())
        }
        Some(_) => return,
    };
    if let (RawBody::Unary(_), Some(HttpHead { headers, .. })) = (&body, &mut call.http) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    call.raw = Some(Raw { body });
}
