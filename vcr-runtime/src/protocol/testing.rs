//! Records and replays answers without sockets, as the session does, for the tests of the protocols.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Answer, Framer, Framing, HttpRequest, Tail, Wire, WireEvent};
use crate::canon::equivalent;
use crate::json::{Json, compact, parse};
use crate::model::{Boundary, BoundaryKind, Frame, Frames, Usage};
use crate::protocol::{Timeline, Told};

/// A tick that merges whatever can be merged.
pub(crate) const WIDE: u64 = u64::MAX / 2;

#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) frames: Vec<Frame>,
    pub(crate) usage: Option<Usage>,
    pub(crate) boundary: Option<Boundary>,
    pub(crate) tail: Tail,
}

impl Recorded {
    pub(crate) fn answer(&self) -> Answer<'_> {
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
    pub(crate) fn rendered(&self, wire: &dyn Wire) -> Vec<Json> {
        let chunks = wire.render_stream(&self.answer());
        chunks.into_iter().map(|(_, payload)| payload).collect()
    }

    pub(crate) fn template(&self) -> String {
        self.tail.template.as_ref().map(compact).unwrap_or_default()
    }

    /// The parts that a canonical answer consists of, without times.
    pub(crate) fn said(&self) -> (Vec<Frame>, Option<&Usage>, Option<&Boundary>) {
        let timeless = self.frames.iter().map(|frame| Frame {
            delta_us: 0,
            ..frame.clone()
        });
        (timeless.collect(), self.usage.as_ref(), self.boundary.as_ref())
    }

    fn new(told: Told, tail: Tail, status: u16) -> Self {
        let boundary = told.error.map(|error| Boundary {
            kind: if status >= 400 {
                BoundaryKind::Http
            } else {
                BoundaryKind::Error
            },
            error_type: error.error_type,
            message: error.message,
            status: error.status,
            code: error.code,
        });
        Self {
            frames: told.frames,
            usage: told.usage,
            boundary,
            tail,
        }
    }
}

pub(crate) fn events(framing: Framing, body: &[u8]) -> Vec<WireEvent> {
    let mut framer = Framer::new(framing);
    let mut out = Vec::new();
    framer.push(body, &mut out);
    framer.finish(&mut out);
    out
}

/// The payloads of the events that have one.
pub(crate) fn payloads(events: &[WireEvent]) -> Vec<Json> {
    events
        .iter()
        .filter_map(|event| parse(&event.data).ok())
        .collect()
}

/// One event each millisecond.
pub(crate) fn record(wire: &dyn Wire, events: &[WireEvent], tick_us: u64) -> Recorded {
    let mut decoder = wire.decoder();
    let mut timeline = Timeline::new(tick_us);
    for (at, event) in (1..).zip(events) {
        let mut out = Vec::new();
        decoder.event(event, &mut out);
        timeline.push(at * 1000, out);
    }
    Recorded::new(timeline.finish(), decoder.finish(), 200)
}

/// A stream of these payloads.
pub(crate) fn record_texts(wire: &dyn Wire, payloads: &[&str]) -> Recorded {
    let events: Vec<WireEvent> = payloads.iter().map(|payload| event(payload)).collect();
    record(wire, &events, 0)
}

pub(crate) fn record_payloads(wire: &dyn Wire, payloads: &[Json], tick_us: u64) -> Recorded {
    let events: Vec<WireEvent> = payloads.iter().map(|payload| event(&compact(payload))).collect();
    record(wire, &events, tick_us)
}

fn event(data: &str) -> WireEvent {
    WireEvent {
        data: data.to_owned(),
        ..WireEvent::default()
    }
}

pub(crate) fn record_unary(wire: &dyn Wire, status: u16, body: &Json) -> Recorded {
    let mut out = Vec::new();
    let tail = wire.unary(status, body, &mut out);
    let mut timeline = Timeline::unary();
    timeline.push(0, out);
    Recorded::new(timeline.finish(), tail, status)
}

/// Where two documents differ first; `None` when they say the same.
pub(crate) fn difference(a: &Json, b: &Json, path: &str) -> Option<String> {
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
        (Json::Array(x), Json::Array(y)) if x.len() == y.len() => x
            .iter()
            .zip(y)
            .enumerate()
            .find_map(|(at, (a, b))| difference(a, b, &format!("{path}/{at}"))),
        _ => Some(format!("{path}: {} became {}", compact(a), compact(b))),
    }
}

/// What became of one real recording.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    events: usize,
    wire: usize,
    template: usize,
    pub(crate) difference: Option<String>,
}

/// Every recording of a folder, through the wires that take its requests; a table of them is printed. `None` where
/// there are no recordings.
pub(crate) fn real_rows(wires: &[&'static dyn Wire], folder: &str) -> Option<Vec<Row>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/real-traffic");
    let root = std::env::var_os("VCR_REAL_TRAFFIC").map_or_else(|| PathBuf::from(default), PathBuf::from);
    if !root.is_dir() {
        println!("skipped: no recordings; VCR_REAL_TRAFFIC names their directory");
        return None;
    }
    let entries = fs::read_dir(root.join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let rows: Vec<Row> = files
        .iter()
        .flat_map(|file| file_rows(wires, folder, file))
        .collect();
    for row in &rows {
        println!(
            "{:45} {:4} events {:6} bytes, template {:5} bytes: {}",
            row.name,
            row.events,
            row.wire,
            row.template,
            row.difference.as_deref().unwrap_or("equal")
        );
    }
    Some(rows)
}

fn file_rows(wires: &[&'static dyn Wire], folder: &str, file: &Path) -> Vec<Row> {
    let text = fs::read_to_string(file).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let stem = format!("{folder}/{}", name.split('.').next().unwrap());
    if name.ends_with(".ndjson") {
        return vec![stream_row(wires[0], stem, Framing::Ndjson, text.as_bytes())];
    }
    let document = parse(&text).unwrap();
    let exchanges = document.get("exchanges").and_then(Json::as_array).unwrap();
    let rows = exchanges.iter().zip(1..).map(|(exchange, number)| {
        let part = |name| exchange.get(name).unwrap();
        exchange_row(
            wires,
            format!("{stem} #{number}"),
            part("request"),
            part("response"),
        )
    });
    rows.collect()
}

fn exchange_row(wires: &[&'static dyn Wire], name: String, request: &Json, response: &Json) -> Row {
    let body = |side: &Json| match (side.get("body_text"), side.get("body_json")) {
        (Some(Json::String(text)), _) => text.clone(),
        (_, json) => compact(json.unwrap()),
    };
    let url = request
        .get("path")
        .or_else(|| request.get("url"))
        .and_then(Json::as_str)
        .unwrap();
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let listed = request
        .get("query")
        .and_then(Json::as_array)
        .unwrap_or_default()
        .iter();
    let listed =
        listed.filter_map(|pair| Some(format!("{}={}", pair.at(0)?.as_str()?, pair.at(1)?.as_str()?)));
    let query = listed.chain([query.to_owned()]).collect::<Vec<_>>().join("&");
    let sent = body(request);
    let http = HttpRequest {
        method: "POST",
        path,
        query: &query,
        body: sent.as_bytes(),
    };
    let (wire, canonical) = wires
        .iter()
        .find_map(|wire| Some((*wire, wire.request(&http)?)))
        .unwrap_or_else(|| panic!("{name}: nobody takes the request"));
    assert!(
        !canonical.model.is_empty() && !canonical.messages.is_empty(),
        "{name}"
    );
    let rebuilt = compact(&wire.rebuild(&canonical));
    let again = wire.request(&HttpRequest {
        body: rebuilt.as_bytes(),
        ..http
    });
    assert_eq!(again.as_ref(), Some(&canonical), "{name}");

    let status = u16::try_from(response.get("status").and_then(Json::as_u64).unwrap()).unwrap();
    let answer = body(response);
    let headers = response
        .get("headers")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let content_type = headers.iter().find_map(|header| {
        let is_it = header.at(0)?.as_str()?.eq_ignore_ascii_case("content-type");
        header.at(1)?.as_str().filter(|_| is_it)
    });
    match wire.framing(content_type).filter(|_| status < 400) {
        Some(framing) => {
            assert!(canonical.stream(), "{name}");
            stream_row(wire, name, framing, answer.as_bytes())
        }
        None => unary_row(wire, name, status, &answer),
    }
}

fn stream_row(wire: &dyn Wire, name: String, framing: Framing, body: &[u8]) -> Row {
    let events = events(framing, body);
    let joined: Vec<u8> = events.iter().flat_map(|event| event.bytes.clone()).collect();
    assert_eq!(joined, body, "{name}: bytes were lost");
    let original = wire.assemble(&payloads(&events));
    let compare = |rendered: &[Json]| difference(&original, &wire.assemble(rendered), "");
    let recorded = record(wire, &events, 0);
    assert!(recorded.tail.complete, "{name}");
    assert_eq!(recorded.tail.odd, None, "{name}");
    let fine = compare(&recorded.rendered(wire));
    let coarse = compare(&record(wire, &events, WIDE).rendered(wire));
    assert_eq!(fine, coarse, "{name}: coalescing made a difference");
    // What was rendered must itself be a stream that is recorded to the same.
    let again = record_payloads(wire, &recorded.rendered(wire), 0);
    assert_eq!(again.template(), recorded.template(), "{name}");
    assert_eq!(again.rendered(wire), recorded.rendered(wire), "{name}");
    Row {
        name,
        events: events.len(),
        wire: body.len(),
        template: recorded.template().len(),
        difference: fine,
    }
}

fn unary_row(wire: &dyn Wire, name: String, status: u16, body: &str) -> Row {
    let document = parse(body.trim()).unwrap();
    let recorded = record_unary(wire, status, &document);
    assert_eq!(recorded.boundary.is_some(), status >= 400, "{name}");
    assert_eq!(recorded.tail.odd, None, "{name}");
    let rendered = wire.render_unary(&recorded.answer());
    if let Some(written) = written(wire, &recorded.answer()) {
        assert_eq!(written, compact(&rendered), "{name}");
    }
    Row {
        name,
        events: 1,
        wire: body.len(),
        template: recorded.template().len(),
        difference: difference(&wire.comparable(&document), &wire.comparable(&rendered), ""),
    }
}

/// The unary body that a call which was read from a file is answered with, where the protocol writes it without a tree.
pub(crate) fn written(wire: &dyn Wire, answer: &Answer<'_>) -> Option<String> {
    let template = compact(answer.template?);
    let mut frames = Frames::default();
    for frame in answer.frames {
        let mut rest = frame.clone();
        let chunk = std::mem::take(&mut rest.chunk);
        frames.push_text(rest, &chunk);
    }
    let mut out = Vec::new();
    wire.write_kept(&template, &frames, answer.usage, &mut out)
        .then(|| String::from_utf8(out).unwrap())
}

/// A provider-neutral request, as [`crate::Request`] makes it, from the body of a chat completion.
pub(crate) fn neutral(body: &str) -> crate::model::CanonicalRequest {
    let http = HttpRequest {
        method: "POST",
        path: "/chat/completions",
        query: "",
        body: body.as_bytes(),
    };
    let wire = super::find("openai-chat").expect("chat completions are built in");
    wire.request(&http).expect("the body is one of chat completions")
}
