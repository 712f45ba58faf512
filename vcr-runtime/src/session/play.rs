//! A recorded call as an HTTP answer.

use std::sync::Arc;
use std::time::Duration;

use super::exchange::{Pace, Playback, PlaybackBody};
use super::failure::status_of;
use super::http_recorder::TRANSPORT;
use crate::config::{Chaos, Jitter, Settings, Speed};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, compact};
use crate::model::{Boundary, BoundaryKind, Call, CanonicalRequest, HttpHead, RawBody};
use crate::protocol::{Answer, Wire};

/// A call taken from a cassette, and how to deliver it.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) call: Arc<Call>,
    /// Its number in the take; chaos draws differ by call and not by the order of calls.
    pub(crate) index: usize,
    pub(crate) settings: Arc<Settings>,
    /// `vcr-` and eight digits of the take's id, for answers that have no id of their own.
    pub(crate) id: String,
}

impl Played {
    /// The pace of the answer, counted from now. `steps` is how many chaos draws may be needed.
    pub(crate) fn pace(&self, steps: usize) -> Pace {
        let factor = match self.settings.speed {
            Speed::Max => 0.0,
            Speed::Real => 1.0,
            Speed::Factor(factor) => 1.0 / factor,
        };
        let extra = match self.settings.chaos {
            Chaos::None => Vec::new(),
            Chaos::Fixed(latency) => vec![latency],
            Chaos::Jitter { lo, hi } => {
                let seed = self.settings.chaos_seed.unwrap_or_default();
                let mut jitter = Jitter::new(seed.wrapping_add(self.index as u64));
                (0..steps.max(1)).map(|_| jitter.next_between(lo, hi)).collect()
            }
        };
        Pace::new(factor, extra)
    }

    /// The answer over HTTP. `wire` is the protocol that the caller speaks, `None` for a plain HTTP call.
    pub(crate) fn http(&self, wire: Option<&'static dyn Wire>, live: &CanonicalRequest) -> Playback {
        let call = &*self.call;
        let total = Duration::from_micros(call.metrics.map_or(0, |metrics| metrics.total_us));
        if is_silent(call) {
            let unreachable = call
                .boundary
                .as_ref()
                .filter(|boundary| boundary.kind == BoundaryKind::Error);
            let body = match unreachable {
                Some(Boundary {
                    error_type, message, ..
                }) => PlaybackBody::Unreachable(
                    total,
                    format!("the upstream gave no answer when this was recorded ({error_type}): {message}"),
                ),
                None => PlaybackBody::Nothing(total),
            };
            return Playback {
                head: HttpHead::default(),
                body,
                abort: true,
                pace: self.pace(1),
            };
        }
        let streamed = is_streamed(call).unwrap_or_else(|| live.stream()) && !is_http_error(call);
        let wants_stream = live.stream() || wire.is_none();
        let body = match (&call.raw, wire) {
            (Some(raw), _) if streamed == wants_stream || is_http_error(call) || wire.is_none() => {
                raw_body(call, &raw.body, wire, total, streamed)
            }
            (_, Some(wire)) => self.rendered(wire, &live.model, wants_stream && !is_http_error(call), total),
            (_, None) => PlaybackBody::Whole(total, Vec::new()),
        };
        let steps = match &body {
            PlaybackBody::Pieces(pieces) => pieces.len(),
            PlaybackBody::Whole(..) | PlaybackBody::Nothing(_) | PlaybackBody::Unreachable(..) => 1,
        };
        let events = matches!(body, PlaybackBody::Pieces(_));
        Playback {
            head: head(call, wire, events),
            abort: breaks_off(call),
            pace: self.pace(steps),
            body,
        }
    }

    /// Frames rendered into the caller's protocol.
    fn rendered(&self, wire: &dyn Wire, model: &str, stream: bool, total: Duration) -> PlaybackBody {
        let call = &*self.call;
        let answer = Answer {
            frames: &call.frames,
            usage: call.usage.as_ref(),
            boundary: call.boundary.as_ref(),
            template: call.template.as_ref(),
            http: call.http.as_ref(),
            model: call.request.model.as_deref().unwrap_or(model),
            id: &self.id,
        };
        if !stream {
            return PlaybackBody::Whole(total, compact(&wire.render_unary(&answer)).into_bytes());
        }
        let mut due = Vec::with_capacity(call.frames.len());
        let mut sum = 0;
        for frame in &call.frames {
            sum += frame.delta_us;
            due.push(Duration::from_micros(sum));
        }
        let template = call.template.as_ref();
        let at = |index: usize| due.get(index).or(due.last()).copied().unwrap_or_default();
        let mut pieces: Vec<(Duration, Vec<u8>)> = wire
            .render_stream(&answer)
            .into_iter()
            .map(|(index, payload)| (at(index), wire.frame(&payload).into_bytes()))
            .collect();
        if call.boundary.is_none() && !wire.trailer(template).is_empty() {
            pieces.push((at(usize::MAX), wire.trailer(template).as_bytes().to_vec()));
        }
        PlaybackBody::Pieces(pieces)
    }
}

/// Whether a call can answer a request at all: a unary body never answers a stream request, nor the reverse, unless there
/// are frames to render.
pub(crate) fn check_shape(
    call: &Call,
    live: &CanonicalRequest,
    wire: Option<&'static dyn Wire>,
) -> Result<()> {
    let Some(streamed) = is_streamed(call) else {
        return Ok(());
    };
    let renderable = wire.is_some() && !call.frames.is_empty();
    if wire.is_none() || streamed == live.stream() || is_http_error(call) || is_silent(call) || renderable {
        return Ok(());
    }
    let (recorded, asked) = if streamed {
        ("stream", "unary")
    } else {
        ("unary", "stream")
    };
    Err(Error::new(
        ErrorKind::Miss,
        format!("the recorded {recorded} answer cannot answer a {asked} request"),
        "record it again with VCR_MODE=record",
    ))
}

/// The body from the raw layer.
fn raw_body(
    call: &Call,
    raw: &RawBody,
    wire: Option<&'static dyn Wire>,
    total: Duration,
    streamed: bool,
) -> PlaybackBody {
    let template = call.template.as_ref();
    match (raw, wire) {
        (RawBody::Unary(body), _) => PlaybackBody::Whole(total, compact(body).into_bytes()),
        (RawBody::Chunks { chunks, offsets_us }, Some(wire)) => {
            let at = |index: usize| {
                Duration::from_micros(
                    offsets_us
                        .get(index)
                        .or(offsets_us.last())
                        .copied()
                        .unwrap_or_default(),
                )
            };
            let mut pieces: Vec<_> = chunks
                .iter()
                .enumerate()
                .map(|(index, chunk)| (at(index), wire.frame(chunk).into_bytes()))
                .collect();
            if !wire.trailer(template).is_empty() {
                pieces.push((at(usize::MAX), wire.trailer(template).as_bytes().to_vec()));
            }
            PlaybackBody::Pieces(pieces)
        }
        (RawBody::Chunks { chunks, .. }, None) => {
            PlaybackBody::Whole(total, compact(&Json::Array(chunks.clone())).into_bytes())
        }
        (RawBody::Transcript(pieces), _) if streamed => PlaybackBody::Pieces(
            pieces
                .iter()
                .map(|piece| (Duration::from_micros(piece.offset_us), piece.bytes.clone()))
                .collect(),
        ),
        (RawBody::Transcript(pieces), _) => PlaybackBody::Whole(
            total,
            pieces
                .iter()
                .flat_map(|piece| piece.bytes.iter().copied())
                .collect(),
        ),
    }
}

/// Whether the recorded answer was a stream; `None` when the file does not say (written by hand).
pub(crate) fn is_streamed(call: &Call) -> Option<bool> {
    let content_type = call.http.as_ref().and_then(|head| {
        head.headers
            .iter()
            .find(|(name, _)| name == "content-type")
            .map(|(_, value)| value.as_str())
    });
    match (content_type, &call.raw) {
        (Some(value), _) => Some(crate::protocol::Framing::of(Some(value)).is_some()),
        (None, Some(raw)) => Some(!matches!(raw.body, RawBody::Unary(_))),
        (None, None) => None,
    }
}

fn is_http_error(call: &Call) -> bool {
    call.http.as_ref().map_or_else(
        || {
            call.boundary
                .as_ref()
                .is_some_and(|boundary| boundary.kind == BoundaryKind::Http)
        },
        |head| head.status >= 400,
    )
}

/// Whether nothing at all came back: a transport failure before the head.
fn is_silent(call: &Call) -> bool {
    let transport = call.boundary.as_ref().is_some_and(|boundary| {
        matches!(boundary.kind, BoundaryKind::Error | BoundaryKind::Cancelled)
            && (boundary.kind == BoundaryKind::Cancelled || boundary.code.as_deref() == Some(TRANSPORT))
    });
    transport && call.http.is_none() && call.frames.is_empty() && call.request.hash.is_some()
}

/// Whether the connection breaks after the body, as it did (or would have) live.
fn breaks_off(call: &Call) -> bool {
    call.boundary
        .as_ref()
        .is_some_and(|boundary| match boundary.kind {
            BoundaryKind::Cutoff | BoundaryKind::Cancelled => true,
            BoundaryKind::Error => boundary.code.as_deref() == Some(TRANSPORT),
            // An orderly end that came too early ends in order again.
            BoundaryKind::Http | BoundaryKind::Truncated => false,
        })
}

/// The head; for calls without one, the plausible one.
fn head(call: &Call, wire: Option<&'static dyn Wire>, events: bool) -> HttpHead {
    let mut head = call.http.clone().unwrap_or_else(|| HttpHead {
        status: match &call.boundary {
            // Nothing came before the error: over HTTP that is an error status.
            Some(boundary) if call.frames.is_empty() || boundary.kind == BoundaryKind::Http => {
                status_of(boundary)
            }
            _ => 200,
        },
        headers: Vec::new(),
    });
    let usual = match wire {
        Some(wire) if events => wire.stream_content_type(),
        _ => "application/json",
    };
    match head.headers.iter_mut().find(|(name, _)| name == "content-type") {
        // Rendered into another shape than it was recorded in: the type must follow.
        Some((_, value))
            if wire.is_some() && crate::protocol::Framing::of(Some(value)).is_some() != events =>
        {
            usual.clone_into(value);
        }
        Some(_) => {}
        None if call.http.is_none() || wire.is_some() => {
            head.headers.push(("content-type".to_owned(), usual.to_owned()));
        }
        None => {}
    }
    head
}
