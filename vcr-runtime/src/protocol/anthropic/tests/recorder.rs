//! Recording as a session does it, without the session.

use crate::canon::equivalent;
use crate::json::{Json, parse};
use crate::model::{Boundary, BoundaryKind, Frame, Usage};
use crate::protocol::{Answer, Event, Framer, Framing, Tail, Wire, WireError, WireEvent};
use crate::protocol::{Timeline, Told};

use super::super::Messages;

#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) frames: Vec<Frame>,
    pub(super) usage: Option<Usage>,
    pub(super) boundary: Option<Boundary>,
    pub(super) tail: Tail,
    pub(super) ended: bool,
}

impl Recorded {
    fn of(timeline: Timeline, tail: Tail) -> Self {
        let ended = timeline.ended();
        let Told { frames, usage, error } = timeline.finish();
        Self {
            frames,
            usage,
            boundary: error.map(boundary),
            tail,
            ended,
        }
    }

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
        let events = Messages.render_stream(&self.answer());
        events.into_iter().map(|(_, payload)| payload).collect()
    }

    pub(super) fn wire(&self) -> String {
        self.rendered()
            .iter()
            .map(|payload| Messages.frame(payload))
            .collect()
    }

    pub(super) fn template(&self) -> String {
        self.tail
            .template
            .as_ref()
            .map(crate::json::compact)
            .unwrap_or_default()
    }

    /// The frames in short: reasoning, signature, text, native block, tool arguments, native reason.
    pub(super) fn told(&self) -> Vec<String> {
        let frames = self.frames.iter().map(|frame| {
            let mut parts = Vec::new();
            parts.extend(frame.reasoning.as_ref().map(|text| format!("thinks {text}")));
            parts.extend(
                frame
                    .reasoning_signature
                    .as_ref()
                    .map(|text| format!("signs {text}")),
            );
            parts.extend(
                Some(&frame.chunk)
                    .filter(|text| !text.is_empty())
                    .map(|text| format!("says {text}")),
            );
            parts.extend(frame.native.as_ref().map(crate::json::compact));
            for call in &frame.tool_calls {
                parts.push(format!(
                    "{} {}({})",
                    call.id, call.function.name, call.function.arguments
                ));
            }
            parts.extend(
                frame
                    .finish_reason
                    .as_ref()
                    .map(|reason| format!("ends {reason}")),
            );
            parts.join(", ")
        });
        frames.collect()
    }
}

fn boundary(error: WireError) -> Boundary {
    Boundary {
        kind: BoundaryKind::Error,
        error_type: error.error_type,
        message: error.message,
        status: error.status,
        code: error.code,
    }
}

pub(super) fn events(body: &str) -> Vec<WireEvent> {
    let mut framer = Framer::new(Framing::Sse);
    let mut out = Vec::new();
    framer.push(body.as_bytes(), &mut out);
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

/// Records events that come ten microseconds apart.
pub(super) fn record(events: &[WireEvent], timeline: Timeline) -> Recorded {
    paced(events, timeline, 10)
}

fn paced(events: &[WireEvent], mut timeline: Timeline, gap_us: u64) -> Recorded {
    let mut decoder = Messages.decoder();
    for (at, event) in (0..).zip(events) {
        let mut out = Vec::new();
        decoder.event(event, &mut out);
        timeline.push(at * gap_us, out);
    }
    Recorded::of(timeline, decoder.finish())
}

/// Records a whole stream with every event a frame of its own.
pub(super) fn record_text(body: &str) -> Recorded {
    record(&events(body), Timeline::new(0))
}

/// Records a whole stream with as few frames as can be.
pub(super) fn record_merged(events: &[WireEvent]) -> Recorded {
    paced(events, Timeline::unary(), 0)
}

pub(super) fn record_unary(status: u16, body: &Json) -> Recorded {
    let mut out: Vec<Event> = Vec::new();
    let tail = Messages.unary(status, body, &mut out);
    let mut timeline = Timeline::unary();
    timeline.push(0, out);
    Recorded::of(timeline, tail)
}

/// A stream of these payloads, each named by its type.
pub(super) fn stream(payloads: &[&str]) -> String {
    payloads
        .iter()
        .map(|payload| Messages.frame(&parse(payload).unwrap()))
        .collect()
}

/// Where two documents differ first, with both values.
pub(super) fn difference(a: &Json, b: &Json, path: &str) -> Option<String> {
    if equivalent(a, b) {
        return None;
    }
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
        }
        (Json::Array(x), Json::Array(y)) if x.len() == y.len() => {
            let items = x.iter().zip(y).enumerate();
            items
                .into_iter()
                .find_map(|(at, (a, b))| difference(a, b, &format!("{path}/{at}")))
        }
        _ => Some(format!("{path}: {a:?} became {b:?}")),
    }
}

/// What the canonical form of a stream would lose.
pub(super) fn loss(body: &str, recorded: &Recorded) -> Option<String> {
    let original = Messages.assemble(&payloads(&events(body)));
    difference(&original, &Messages.assemble(&recorded.rendered()), "")
}

/// What the canonical form of a unary body would lose.
pub(super) fn unary_loss(status: u16, body: &Json) -> Option<String> {
    let recorded = record_unary(status, body);
    difference(body, &Messages.render_unary(&recorded.answer()), "")
}
