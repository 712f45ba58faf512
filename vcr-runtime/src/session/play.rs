//! A recorded call as an HTTP answer.

use std::sync::Arc;
use std::time::Duration;

use super::exchange::{Hanging, Pace, Playback, PlaybackBody, Written};
use super::failure::status_of;
use super::rendered;
use crate::config::{Chaos, Jitter, Settings, Speed};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Document, Json, compact};
use crate::model::{Boundary, BoundaryKind, Call, CanonicalRequest, HttpHead, RawBody, TRANSPORT};
use crate::protocol::{Answer, Delivery, Wire, in_array, is_streamed, recorded_delivery};

/// What a protocol puts around a payload, more or less.
const AROUND: usize = 16;

/// A call taken from a cassette, and how to deliver it.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) call: Arc<Call>,
    /// Its number in the take; chaos draws differ by call and not by the order of calls.
    pub(crate) index: usize,
    /// Its times are waited for as they stand, whatever the speed.
    pub(crate) timed: bool,
    pub(crate) hang: Option<Hanging>,
    pub(crate) settings: Arc<Settings>,
    /// The first eight digits of the take's id, for answers that have no id of their own.
    pub(crate) take: Option<[u8; 8]>,
}

/// What of a request says how its answer is delivered, as the caller sent it.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The form in which the caller reads a stream; `None` for a plain HTTP call.
    delivery: Option<Delivery<'static>>,
    stream: bool,
    model: String,
}

impl Asked {
    /// `wire` is the protocol that the caller speaks, `None` for a plain HTTP call.
    pub(crate) fn of(request: &CanonicalRequest, wire: Option<&'static dyn Wire>) -> Self {
        Self {
            delivery: wire.map(|wire| Delivery::of(wire, &request.parameters)),
            stream: request.stream(),
            model: request.model.clone(),
        }
    }
}

impl Played {
    /// The pace of the answer, counted from now. `steps` is how many chaos draws may be needed.
    pub(crate) fn pace(&self, steps: usize) -> Pace {
        let factor = match self.timed {
            true => 1.0,
            false => self.settings.speed.time_factor(),
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

    /// The answer over HTTP.
    pub(crate) fn http(mut self, asked: &Asked) -> Playback {
        let call = &*self.call;
        let total = Duration::from_micros(call.metrics.map_or(0, |metrics| metrics.total_us));
        if is_silent(call) && self.hang.is_none() {
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
                hang: None,
                end: total,
                pace: self.pace(1),
            };
        }
        let streamed = is_streamed(call).unwrap_or(asked.stream) && !is_http_error(call);
        let wants_stream = asked.stream || asked.delivery.is_none();
        let delivery = asked.delivery.map(|asked| match recorded_delivery(call) {
            Some(recorded) if recorded.is_array() => asked.answered(call.content_type()),
            _ => asked,
        });
        let is_array = delivery.is_some_and(|delivery| delivery.is_array());
        let same_form = streamed == wants_stream && (!streamed || is_array == in_array(call));
        let body = match (&call.raw, delivery) {
            // Before anything is said there is no head either.
            _ if self.hang.is_some() && call.frames.is_empty() => {
                PlaybackBody::Whole(total, Vec::new().into())
            }
            (Some(raw), _) if same_form || is_http_error(call) || delivery.is_none() => {
                raw_body(call, &raw.body, delivery, total, streamed)
            }
            (_, Some(delivery)) => self.rendered(
                delivery,
                &asked.model,
                wants_stream && !is_http_error(call),
                total,
            ),
            (_, None) => PlaybackBody::Whole(total, Vec::new().into()),
        };
        let steps = match &body {
            PlaybackBody::Pieces(pieces) => pieces.len(),
            PlaybackBody::Whole(..) | PlaybackBody::Nothing(_) | PlaybackBody::Unreachable(..) => 1,
        };
        let events = matches!(body, PlaybackBody::Pieces(_));
        let abort = breaks_off(call);
        let mut head = head(&mut self.call, delivery, events);
        if self.settings.cut_retry_after && self.settings.speed == Speed::Max {
            retry_at_once(&mut head);
        }
        Playback {
            head,
            abort,
            hang: self.hang.clone(),
            end: total,
            pace: self.pace(steps),
            body,
        }
    }

    /// Frames rendered into the caller's protocol.
    fn rendered(&self, delivery: Delivery<'_>, model: &str, stream: bool, total: Duration) -> PlaybackBody {
        let call = &*self.call;
        let wire = delivery.wire();
        if !stream
            && call.boundary.is_none()
            && let Some(Document::Text(template)) = &call.template
        {
            let texts: usize = call.frames.views().map(|frame| frame.chunk.len()).sum();
            let mut body = Vec::with_capacity(template.len() + texts + texts / 8 + 128);
            if wire.write_kept(template, &call.frames, call.usage.as_ref(), &mut body) {
                return PlaybackBody::Whole(total, body.into());
            }
        }
        let template = call.template.as_ref().map(Document::tree);
        let template = template
            .as_deref()
            .map(|template| wire.whole(template, &call.request));
        let template = template.as_deref();
        let digits = self
            .take
            .as_ref()
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let id = format!("vcr-{}", digits.unwrap_or("00000000"));
        let answer = Answer {
            frames: &call.frames,
            usage: call.usage.as_ref(),
            boundary: call.boundary.as_ref(),
            template,
            model: call.request.model.as_deref().unwrap_or(model),
            id: &id,
        };
        if !stream {
            let body = compact(&wire.render_unary(&answer));
            return PlaybackBody::Whole(total, body.into_bytes().into());
        }
        PlaybackBody::Pieces(rendered::pieces(call, delivery, &answer, total))
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
    let renderable =
        wire.is_some_and(|wire| !live.stream() || wire.renders_streams()) && !call.frames.is_empty();
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
    delivery: Option<Delivery<'_>>,
    total: Duration,
    streamed: bool,
) -> PlaybackBody {
    match (raw, delivery) {
        (RawBody::Unary(body), _) => PlaybackBody::Whole(total, body.text().into()),
        (RawBody::Chunks { chunks, offsets_us }, Some(delivery)) => {
            let at = |index: usize| {
                Duration::from_micros(
                    offsets_us
                        .get(index)
                        .or(offsets_us.last())
                        .copied()
                        .unwrap_or_default(),
                )
            };
            let template = call.template.as_ref().map(Document::tree);
            let template = template.as_deref();
            let chunks = chunks.texts();
            let mut written = Written::with_capacity(chunks.len() + 1, chunks.size() + AROUND * chunks.len());
            for (index, chunk) in chunks.iter().enumerate() {
                written.push(at(index), |out| delivery.write_piece(index, chunk, template, out));
            }
            let trailer = delivery.trailer(chunks.len(), template);
            if !trailer.is_empty() {
                written.push(at(usize::MAX).max(total), |out| out.push_str(trailer));
            }
            PlaybackBody::Pieces(written.into())
        }
        (RawBody::Chunks { chunks, .. }, None) => {
            let trees = Json::Array(chunks.trees().into_owned());
            PlaybackBody::Whole(total, compact(&trees).into_bytes().into())
        }
        (RawBody::Transcript(pieces), _) if streamed => PlaybackBody::Pieces(
            pieces
                .iter()
                .map(|piece| (Duration::from_micros(piece.offset_us), &piece.bytes))
                .collect(),
        ),
        (RawBody::Transcript(pieces), _) => PlaybackBody::Whole(
            total,
            pieces
                .iter()
                .flat_map(|piece| piece.bytes.iter().copied())
                .collect::<Vec<u8>>()
                .into(),
        ),
    }
}

/// Whether the answer is an error status with a body of its own, and no stream, whatever was asked for.
fn is_http_error(call: &Call) -> bool {
    status(call) >= 400
}

/// The status of the answer; for calls without one, the plausible one.
fn status(call: &Call) -> u16 {
    if let Some(head) = &call.http {
        return head.status;
    }
    match &call.boundary {
        // Nothing came before the error: over HTTP that is an error status.
        Some(boundary) if call.frames.is_empty() || boundary.kind == BoundaryKind::Http => {
            status_of(boundary)
        }
        _ => 200,
    }
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

/// Lets a client that obeys `retry-after` retry without waiting.
fn retry_at_once(head: &mut HttpHead) {
    for (name, value) in &mut head.headers {
        if matches!(name.as_str(), "retry-after" | "retry-after-ms") {
            "0".clone_into(value);
        }
    }
}

/// The head; for calls without one, the plausible one.
fn head(call: &mut Arc<Call>, delivery: Option<Delivery<'_>>, events: bool) -> HttpHead {
    let has_head = call.http.is_some();
    let is_http_error = is_http_error(call);
    // Of a call that is played but once it need not be copied.
    let recorded = match Arc::get_mut(call) {
        Some(call) => call.http.take(),
        None => call.http.clone(),
    };
    let mut head = recorded.unwrap_or_else(|| HttpHead {
        status: status(call),
        headers: Vec::new(),
    });
    let usual = match delivery {
        Some(delivery) if events => delivery.content_type(),
        _ => "application/json",
    };
    match head.headers.iter_mut().find(|(name, _)| name == "content-type") {
        // Rendered into another shape than it was recorded in: the type must follow. An error keeps its own, whatever it is.
        Some((_, value))
            if !is_http_error && delivery.is_some_and(|delivery| !delivery.fits(value, events)) =>
        {
            usual.clone_into(value);
        }
        Some(_) => {}
        None if !has_head || delivery.is_some() => {
            head.headers.push(("content-type".to_owned(), usual.to_owned()));
        }
        None => {}
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, ProjectFile};
    use crate::model::Raw;

    #[test]
    fn a_recorded_wait_is_cut_at_top_speed_where_it_is_wanted() {
        let call = Call {
            http: Some(HttpHead {
                status: 429,
                headers: ["retry-after", "retry-after-ms", "x-request-id"]
                    .map(|name| (name.to_owned(), "20".to_owned()))
                    .to_vec(),
            }),
            raw: Some(Raw {
                body: RawBody::Unary(Json::from("slow down").into()),
            }),
            ..Call::default()
        };
        for (toml, waits) in [
            ("", "20"),
            ("retry_after = \"keep\"", "20"),
            ("retry_after = \"cut\"", "0"),
            ("retry_after = \"cut\"\nspeed = \"real\"", "20"),
        ] {
            let project = ProjectFile::parse(toml, "vcr.toml".as_ref()).unwrap();
            let environment = Environment::default();
            let settings =
                Settings::resolve(&[], &environment, &project, crate::config::Mode::Replay).unwrap();
            let played = Played {
                call: Arc::new(call.clone()),
                index: 0,
                timed: false,
                hang: None,
                settings: Arc::new(settings),
                take: None,
            };
            let head = played.http(&Asked::of(&CanonicalRequest::default(), None)).head;
            let values: Vec<&str> = head
                .headers
                .iter()
                .map(|(_, value)| value.as_str())
                .take(3)
                .collect();
            assert_eq!(values, [waits, waits, "20"], "{toml}");
        }
    }
}
