//! The raw layer: what the wire said, kept where the canonical layer would lose something.

use super::listener::Passage;
use super::rendered;
use crate::config::IncludeRaw;
use crate::json::{Document, Json, compact, parse};
use crate::model::{Call, CanonicalRequest, Piece, Raw, RawBody};
use crate::protocol::{Answer, Delivery, Framer, Wire};
use crate::redact::Redactor;
use crate::verify::{misread_body, misread_stream};

/// The body as it came.
#[derive(Debug, Default)]
pub(crate) enum Evidence {
    /// None: an in-process call, or nothing arrived.
    #[default]
    Nothing,
    /// A unary body.
    Body { offset_us: u64, bytes: Vec<u8> },
    /// One piece an event, the payload of each event that has one, and these payloads as they are compared.
    Stream {
        pieces: Vec<Piece>,
        payloads: Vec<Payload>,
        passages: Vec<Passage>,
    },
}

/// The payload of one event.
#[derive(Debug)]
pub(crate) struct Payload {
    /// The `event:` field.
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// The documents that came, parsed once for all that compares them.
enum Documents {
    Body(Json),
    /// One a passage that is no end marker, and the names under which they came.
    Stream(Vec<Json>, Vec<Option<String>>),
}

/// Decides whether `call` keeps its raw layer, and notes why.
pub(crate) fn keep(
    call: &mut Call,
    wire: Option<&'static dyn Wire>,
    request: &CanonicalRequest,
    mut evidence: Evidence,
    include: IncludeRaw,
    redactor: &Redactor,
) {
    if matches!(evidence, Evidence::Nothing) {
        return;
    }
    let Some(wire) = wire else {
        // A plain HTTP call has no other layer.
        call.raw = redacted(plain(evidence), redactor).or_else(|| {
            note(call, "the body was dropped because it holds a secret in pieces");
            None
        });
        return;
    };
    // What is gone through here may be large. The documents go before the answer is rendered; where the raw layer stays,
    // they are read again from its bytes.
    let documents = documents(wire, &mut evidence);
    // Whatever was odd about the bytes is a reason to keep them.
    let loss = call.note.clone().or_else(|| match documents {
        Ok(documents) => misread(call, wire, &documents).or_else(|| loss(call, wire, request, documents)),
        Err(odd) => Some(odd),
    });
    let wanted = match include {
        IncludeRaw::Always => true,
        IncludeRaw::Never => matches!(evidence, Evidence::Stream { .. }) && !wire.renders_streams(),
        IncludeRaw::Auto => loss.is_some(),
    };
    match (wanted, loss) {
        // What the call's own note says is not said twice.
        (false, Some(_)) if call.note.is_some() => note(call, "without the raw layer this is lost"),
        (false, Some(loss)) => note(call, &format!("without the raw layer this is lost: {loss}")),
        (false, None) => {}
        (true, loss) => {
            if include == IncludeRaw::Auto
                && call.note.is_none()
                && let Some(loss) = loss
            {
                note(call, &format!("raw kept: {loss}"));
            }
            let delivery = Delivery::of(wire, &request.parameters);
            let layer = layer(delivery, call, evidence);
            call.raw = redacted(layer, redactor);
            if call.raw.is_none() {
                note(call, "raw dropped: a secret stood in it across several chunks");
            }
        }
    }
}

/// Drops bytes in which a secret stands in pieces that only the frames could show: no single event holds it.
pub(super) fn drop_transcript(call: &mut Call) {
    let is_transcript = |raw: &Raw| matches!(raw.body, RawBody::Transcript(_));
    if call.raw.as_ref().is_some_and(is_transcript) {
        call.raw = None;
        note(call, "raw dropped: a secret stood in it across several chunks");
    }
}

fn note(call: &mut Call, text: &str) {
    match &mut call.note {
        Some(note) => {
            note.push_str("; ");
            note.push_str(text);
        }
        None => call.note = Some(text.to_owned()),
    }
}

/// The documents of the evidence, or what is odd about it. An event may be large: its text goes when it is read.
fn documents(wire: &dyn Wire, evidence: &mut Evidence) -> Result<Documents, String> {
    match evidence {
        Evidence::Body { bytes, .. } => {
            let text = std::str::from_utf8(bytes).ok();
            let body = text.and_then(|text| parse(text.trim()).ok());
            body.map(Documents::Body)
                .ok_or_else(|| "the body is not JSON".to_owned())
        }
        Evidence::Stream {
            payloads, passages, ..
        } => {
            let mut payloads = std::mem::take(payloads);
            let passages = std::mem::take(passages);
            let mut documents = Vec::with_capacity(passages.len());
            let mut names = Vec::with_capacity(passages.len());
            for passage in passages {
                let (name, data) = match passage {
                    Passage::One(number) => match payloads.get_mut(number) {
                        Some(payload) => (payload.name.take(), std::mem::take(&mut payload.data)),
                        None => continue,
                    },
                    Passage::Joined { name, data } => (name, data),
                };
                if data.trim() == wire.end_marker() {
                    continue;
                }
                documents.push(parse(&data).map_err(|_| "an event is not JSON".to_owned())?);
                names.push(name);
            }
            Ok(Documents::Stream(documents, names))
        }
        Evidence::Nothing => Ok(Documents::Stream(Vec::new(), Vec::new())),
    }
}

/// Where the rules read something else than the timeline and the usage say: both are what replay and people rely on.
fn misread(call: &Call, wire: &dyn Wire, documents: &Documents) -> Option<String> {
    let place = match documents {
        Documents::Body(body) => misread_body(call, wire, body),
        Documents::Stream(documents, names) => {
            let names = names.iter().map(Option::as_deref);
            misread_stream(call, wire, &names.zip(documents).collect::<Vec<_>>())
        }
    };
    place.map(|place| format!("`{place}` as the rules read it"))
}

/// What an SDK would see in the wire form and not in the rendered canonical form; `None` when they are the same.
fn loss(call: &Call, wire: &dyn Wire, request: &CanonicalRequest, documents: Documents) -> Option<String> {
    let joined = match documents {
        Documents::Stream(..) => rendered::joined(wire, &call.frames),
        Documents::Body(_) => None,
    };
    let template = call.template.as_ref().map(Document::tree);
    let answer = Answer {
        frames: joined.as_deref().unwrap_or(&call.frames),
        usage: call.usage.as_ref(),
        boundary: call.boundary.as_ref(),
        template: template.as_deref(),
        model: &request.model,
        id: "",
    };
    let (wired, rendered) = match documents {
        Documents::Body(body) if body.as_object().is_none() => {
            return Some(format!("the body is {}", body.kind()));
        }
        Documents::Body(body) => {
            let wired = wire.comparable(&body);
            drop(body);
            (wired, wire.comparable(&wire.render_unary(&answer)))
        }
        Documents::Stream(chunks, _) => {
            let wired = wire.assemble(&chunks);
            drop(chunks);
            let rendered: Vec<Json> = wire
                .render_stream(&answer)
                .into_iter()
                .map(|(_, chunk)| chunk)
                .collect();
            (wired, wire.assemble(&rendered))
        }
    };
    let mut lost = Vec::new();
    differences(&wired, &rendered, String::new(), &mut lost);
    told(&lost)
}

/// As many as a person reads, and how many more there are.
fn told(lost: &[String]) -> Option<String> {
    const SHOWN: usize = 8;
    let mut text = lost.get(..SHOWN).unwrap_or(lost).join(", ");
    if lost.len() > SHOWN {
        text.push_str(&format!(" and {} more", lost.len() - SHOWN));
    }
    (!text.is_empty()).then_some(text)
}

/// The paths of all members in which two documents differ.
fn differences(wired: &Json, rendered: &Json, path: String, lost: &mut Vec<String>) {
    if crate::canon::equivalent(wired, rendered) {
        return;
    }
    match (wired, rendered) {
        (Json::Object(a), Json::Object(b)) => {
            let before = lost.len();
            for (key, value) in a.iter() {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                match b.get(key) {
                    None => lost.push(format!("`{path}` has no canonical form")),
                    Some(other) => differences(value, other, path, lost),
                }
            }
            for (key, _) in b.iter().filter(|(key, _)| a.get(key).is_none()) {
                lost.push(format!("`{path}` would gain `{key}`"));
            }
            if lost.len() == before {
                lost.push(format!("`{path}`"));
            }
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, format!("{path}[{index}]"), lost);
            }
        }
        _ => lost.push(format!("`{path}` differs")),
    }
}

/// The raw layer of a call whose protocol is known: the seed's form where it gives back the same bytes.
fn layer(delivery: Delivery<'_>, call: &Call, evidence: Evidence) -> Raw {
    let body = match evidence {
        Evidence::Stream { pieces, .. } => match usual(delivery, call, &pieces) {
            Some(body) => body,
            None => RawBody::Transcript(pieces),
        },
        other => return plain(other),
    };
    Raw { body }
}

fn plain(evidence: Evidence) -> Raw {
    let body = match evidence {
        Evidence::Body { offset_us, bytes } => match exact_json(&bytes) {
            Some(body) => RawBody::Unary(body.into()),
            None => RawBody::Transcript(vec![Piece { offset_us, bytes }]),
        },
        Evidence::Stream { pieces, .. } => RawBody::Transcript(pieces),
        Evidence::Nothing => RawBody::Transcript(Vec::new()),
    };
    Raw { body }
}

/// The document, when its compact form is these bytes. Not `null`, which in a cassette means that a member is absent.
fn exact_json(bytes: &[u8]) -> Option<Json> {
    let document = parse(std::str::from_utf8(bytes).ok()?).ok()?;
    (!document.is_null() && compact(&document).as_bytes() == bytes).then_some(document)
}

/// `stream_chunks`, when the protocol's usual framing of them gives back the bytes that came.
fn usual(delivery: Delivery<'_>, call: &Call, pieces: &[Piece]) -> Option<RawBody> {
    let template = call.template.as_ref().map(Document::tree);
    let template = template.as_deref();
    let mut framer = Framer::new(delivery.framing(call.content_type())?);
    let mut events = Vec::new();
    let mut offsets = Vec::new();
    for piece in pieces {
        framer.push(&piece.bytes, &mut events);
        offsets.resize(events.len(), piece.offset_us);
    }
    framer.finish(&mut events);
    offsets.resize(events.len(), pieces.last().map_or(0, |piece| piece.offset_us));
    let (mut chunks, mut offsets_us) = (Vec::new(), Vec::new());
    let mut text = String::new();
    for (event, offset_us) in events.into_iter().zip(offsets) {
        if event.data.is_empty() || event.data.trim() == delivery.wire().end_marker() {
            continue;
        }
        let chunk = parse(&event.data).ok()?;
        text.push_str(&delivery.piece(chunks.len(), &chunk, template));
        chunks.push(chunk);
        offsets_us.push(offset_us);
    }
    text.push_str(delivery.trailer(chunks.len(), template));
    let mut rest = text.as_bytes();
    for piece in pieces {
        rest = rest.strip_prefix(piece.bytes.as_slice())?;
    }
    rest.is_empty().then_some(RawBody::Chunks {
        chunks: chunks.into(),
        offsets_us,
    })
}

/// The layer without secrets; `None` when a secret can only be seen across pieces and so cannot be cut out of one.
fn redacted(mut raw: Raw, redactor: &Redactor) -> Option<Raw> {
    match &mut raw.body {
        RawBody::Unary(body) => {
            body.change(|body| {
                redactor.json(body);
            });
        }
        RawBody::Chunks { chunks, .. } => {
            chunks.change(|chunks| {
                redactor.stream(chunks);
            });
        }
        RawBody::Transcript(pieces) => {
            if let [piece] = pieces.as_mut_slice()
                && let Some(body) = without_secret_members(&piece.bytes, redactor)
            {
                return Some(Raw {
                    body: RawBody::Unary(body.into()),
                });
            }
            for piece in pieces.iter_mut() {
                if let Ok(text) = std::str::from_utf8(&piece.bytes)
                    && let std::borrow::Cow::Owned(clean) = redactor.text(text)
                {
                    piece.bytes = clean.into_bytes();
                }
            }
            let whole: Vec<u8> = pieces
                .iter()
                .flat_map(|piece| piece.bytes.iter().copied())
                .collect();
            let whole = String::from_utf8_lossy(&whole);
            if matches!(redactor.text(&whole), std::borrow::Cow::Owned(_)) {
                return None;
            }
        }
    }
    Some(raw)
}

/// A JSON body that held secrets by the names of its members, without them; its white space goes with them.
fn without_secret_members(bytes: &[u8], redactor: &Redactor) -> Option<Json> {
    let mut body = parse(std::str::from_utf8(bytes).ok()?.trim()).ok()?;
    redactor.json(&mut body).then_some(body)
}

#[cfg(test)]
#[path = "raw_tests.rs"]
mod tests;
