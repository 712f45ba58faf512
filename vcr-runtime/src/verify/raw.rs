use crate::json::{Json, parse};
use crate::model::{Call, RawBody};
use crate::protocol::{
    Decoder, Event, Framer, Framing, Providers, Timeline, Told, Wire, WireEvent, is_streamed,
};

/// What the raw layer of a call says by its protocol's rules; `None` when there is no raw layer, or no such protocol.
pub(super) fn told(call: &Call, providers: &Providers) -> Option<Told> {
    let raw = call.raw.as_ref()?;
    let wire = providers.find(call.request.protocol.as_deref()?)?;
    let status = call.http.as_ref().map_or(200, |head| head.status);
    let body = match &raw.body {
        RawBody::Unary(body) => body.tree().into_owned(),
        RawBody::Chunks { chunks, .. } => {
            let texts = chunks.texts();
            let framed = texts.iter().map(|chunk| {
                let mut out = String::new();
                wire.write_frame(chunk, &mut out);
                out
            });
            return Some(streamed(call, wire, framed.map(String::into_bytes)));
        }
        RawBody::Transcript(pieces) if is_streamed(call) == Some(true) && status < 400 => {
            return Some(streamed(
                call,
                wire,
                pieces.iter().map(|piece| piece.bytes.clone()),
            ));
        }
        RawBody::Transcript(pieces) => {
            let bytes: Vec<u8> = pieces
                .iter()
                .flat_map(|piece| piece.bytes.iter().copied())
                .collect();
            let text = String::from_utf8_lossy(&bytes);
            match parse(text.trim_start_matches('\u{feff}').trim()) {
                Ok(body) => body,
                // An error page of a proxy is an error all the same.
                Err(_) if status >= 400 => Json::from(text.as_ref()),
                Err(_) => return None,
            }
        }
    };
    if let Json::Array(items) = &body
        && status < 400
        && asks_for_stream(call)
    {
        // A stream as one JSON array, as Gemini sends it unless it is asked for events.
        let framed = items.iter().map(|item| wire.frame(item).into_bytes());
        return Some(streamed(call, wire, framed));
    }
    Some(of_body(wire, status, &body))
}

/// What a unary body says.
pub(super) fn of_body(wire: &dyn Wire, status: u16, body: &Json) -> Told {
    let mut events = Vec::new();
    wire.unary(status, body, &mut events);
    let mut timeline = Timeline::unary();
    timeline.push(0, events);
    timeline.finish()
}

/// What the events of a stream say.
pub(super) fn decoded(wire: &dyn Wire, events: impl Iterator<Item = WireEvent>) -> Told {
    let mut reading = Reading::new(wire);
    for event in events {
        reading.take(&mut vec![event]);
    }
    reading.timeline.finish()
}

fn asks_for_stream(call: &Call) -> bool {
    let parameters = call.request.parameters.as_ref();
    let stream = parameters.and_then(|parameters| parameters.get("stream"));
    stream.and_then(Json::as_bool) == Some(true)
}

fn streamed(call: &Call, wire: &dyn Wire, pieces: impl Iterator<Item = Vec<u8>>) -> Told {
    let content_type = call.content_type();
    let framing = wire
        .framing(content_type)
        .or_else(|| wire.framing(Some(wire.stream_content_type())));
    let mut reading = Reading::new(wire);
    let mut events = Vec::new();
    let mut framer = Framer::new(framing.unwrap_or(Framing::Opaque));
    for piece in pieces {
        framer.push(&piece, &mut events);
        reading.take(&mut events);
    }
    framer.finish(&mut events);
    reading.take(&mut events);
    reading.timeline.finish()
}

struct Reading {
    decoder: Box<dyn Decoder>,
    timeline: Timeline,
}

impl Reading {
    fn new(wire: &dyn Wire) -> Self {
        Self {
            decoder: wire.decoder(),
            timeline: Timeline::new(0),
        }
    }

    fn take(&mut self, events: &mut Vec<WireEvent>) {
        for event in events.drain(..) {
            let mut said: Vec<Event> = Vec::new();
            self.decoder.event(&event, &mut said);
            self.timeline.push(0, said);
        }
    }
}
