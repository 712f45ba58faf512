use crate::json::{Json, Object};
use crate::model::BoundaryKind;
use crate::protocol::openai_chat::error;
use crate::protocol::rules::Reader;
use crate::protocol::{Answer, Event, Tail};

use super::render::fail;
use super::rules;
use super::skeleton::{open_last, skeleton};
use super::template::{COUNTS, Filled, Origin};

/// Reads a body; an error body is its own template.
pub(super) fn read(status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let mut reader = Reader::new(rules());
    let reading = reader.body(status, body, out);
    let mut template = body.clone();
    let mut odd = reading.odd;
    match template.as_object_mut() {
        Some(members) if matches!(members.get("output"), Some(Json::Array(_))) => slots(members),
        _ if reader.has_failed() => {}
        _ => odd = odd.or_else(|| Some("the body has no output".to_owned())),
    }
    Tail {
        template: Some(template),
        complete: true,
        odd,
    }
}

fn slots(body: &mut Object) {
    COUNTS.take(body);
    if let Some(Json::Array(output)) = body.get_mut("output") {
        let mut items: Vec<Json> = output.iter().map(skeleton).collect();
        open_last(&mut items);
        *output = items;
    }
}

/// The unary body of an answer.
pub(super) fn render(answer: &Answer<'_>) -> Json {
    match (Origin::of(answer.template), answer.template, answer.boundary) {
        (Origin::Nowhere, Some(body), Some(boundary)) => return error::with_message(body.clone(), boundary),
        (Origin::Nowhere, Some(body), None) => return body.clone(),
        (Origin::Nowhere, None, Some(boundary)) => return error::write(boundary),
        _ => {}
    }
    let filled = Filled::of(answer);
    let mut response = filled.response;
    // A failure in the middle of a stream is, told in one piece, a failed response.
    if filled.origin == Origin::Stream
        && let Some(boundary) = answer
            .boundary
            .filter(|boundary| boundary.kind == BoundaryKind::Error)
        && let Some(members) = response.as_object_mut()
        && members.get("error").is_none_or(Json::is_null)
    {
        fail(members, boundary);
    }
    response
}
