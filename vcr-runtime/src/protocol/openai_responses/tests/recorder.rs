//! Recording and rendering without sockets.

use crate::json::{Json, compact, parse};
use crate::model::{Boundary, BoundaryKind, Frame, Usage};
use crate::protocol::Timeline;
use crate::protocol::{Answer, Framer, Framing, Tail, Wire, WireEvent};

use super::super::OpenAiResponses;

#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    pub(super) frames: Vec<Frame>,
    pub(super) usage: Option<Usage>,
    pub(super) boundary: Option<Boundary>,
    pub(super) tail: Tail,
    pub(super) ended: bool,
}

impl Recorded {
    pub(super) fn answer(&self) -> Answer<'_> {
        Answer {
            frames: &self.frames,
            usage: self.usage.as_ref(),
            boundary: self.boundary.as_ref(),
            template: self.tail.template.as_ref(),
            model: "model-of-request",
            id: "vcr-00000000",
        }
    }

    /// The payloads that the recording renders to.
    pub(super) fn rendered(&self) -> Vec<Json> {
        let events = OpenAiResponses.render_stream(&self.answer());
        assert!(
            events.is_sorted_by_key(|(frame, _)| *frame),
            "an event comes before the one before it"
        );
        events.into_iter().map(|(_, payload)| payload).collect()
    }

    pub(super) fn template(&self) -> String {
        self.tail.template.as_ref().map(compact).unwrap_or_default()
    }

    /// All texts of a kind.
    pub(super) fn text(&self, of: fn(&Frame) -> Option<&str>) -> String {
        self.frames.iter().filter_map(of).collect()
    }
}

pub(super) fn events(body: &[u8]) -> Vec<WireEvent> {
    let mut framer = Framer::new(Framing::Sse);
    let mut out = Vec::new();
    framer.push(body, &mut out);
    framer.finish(&mut out);
    out
}

/// The payloads of the events that have one.
pub(super) fn payloads(events: &[WireEvent]) -> Vec<Json> {
    events
        .iter()
        .filter_map(|event| parse(&event.data).ok())
        .collect()
}

/// Each event its own frame.
pub(super) const FINE: u64 = 0;
/// All events but the first in as few frames as there can be.
pub(super) const COARSE: u64 = u64::MAX - 1;

pub(super) fn record(events: &[WireEvent], tick_us: u64) -> Recorded {
    let mut decoder = OpenAiResponses.decoder();
    let mut timeline = Timeline::new(tick_us);
    for event in events {
        let mut out = Vec::new();
        decoder.event(event, &mut out);
        timeline.push(0, out);
    }
    told(timeline, decoder.finish())
}

pub(super) fn record_unary(status: u16, body: &Json) -> Recorded {
    let mut out = Vec::new();
    let tail = OpenAiResponses.unary(status, body, &mut out);
    let mut timeline = Timeline::unary();
    timeline.push(0, out);
    told(timeline, tail)
}

fn told(timeline: Timeline, tail: Tail) -> Recorded {
    let ended = timeline.ended();
    let told = timeline.finish();
    let error = told.error.map(|error| Boundary {
        kind: BoundaryKind::Error,
        error_type: error.error_type,
        message: error.message,
        status: error.status,
        code: error.code,
    });
    let truncated = (!tail.complete).then(|| Boundary {
        kind: BoundaryKind::Truncated,
        error_type: "Truncated".to_owned(),
        message: "cut".to_owned(),
        status: None,
        code: None,
    });
    Recorded {
        frames: told.frames,
        usage: told.usage,
        boundary: error.or(truncated),
        tail,
        ended,
    }
}

/// The bytes of a stream of these payloads.
pub(super) fn wire(payloads: &[Json]) -> Vec<u8> {
    let text: String = payloads
        .iter()
        .map(|payload| OpenAiResponses.frame(payload))
        .collect();
    text.into_bytes()
}

pub(super) fn stream(payloads: &[&str]) -> Vec<WireEvent> {
    let payloads: Vec<Json> = payloads.iter().map(|text| parse(text).unwrap()).collect();
    events(&wire(&payloads))
}

/// Where two documents differ first, with both values.
pub(super) fn difference(a: &Json, b: &Json, path: &str) -> Option<String> {
    match (a, b) {
        (Json::Object(x), Json::Object(y)) => {
            let names = x.iter().chain(y.iter()).map(|(name, _)| name);
            names
                .into_iter()
                .find_map(|name| match (x.get(name), y.get(name)) {
                    (Some(a), Some(b)) => difference(a, b, &format!("{path}/{name}")),
                    (Some(_), None) => Some(format!("{path}/{name} only in the original")),
                    (None, _) => Some(format!("{path}/{name} only in the rendered")),
                })
                .or_else(|| (x != y).then(|| format!("{path} has other key order")))
        }
        (Json::Array(x), Json::Array(y)) => x
            .iter()
            .zip(y)
            .enumerate()
            .find_map(|(at, (a, b))| difference(a, b, &format!("{path}/{at}")))
            .or_else(|| {
                (x.len() != y.len()).then(|| format!("{path} has {} items, then {}", x.len(), y.len()))
            }),
        _ => (a != b).then(|| format!("{path}: {} became {}", compact(a), compact(b))),
    }
}
