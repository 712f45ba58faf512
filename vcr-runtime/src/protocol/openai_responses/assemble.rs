//! The answer as a client sees it, for comparing two streams of one answer.
//!
//! Clients of this protocol look at every event: the SDKs hand them out as they come and build their snapshots of them.
//! So all of them are compared, in order and with every member. What makes no difference: where text is cut into
//! deltas, the numbers of the events (only that there are any), padding, and the order of members.

use crate::json::{Json, Object};

use super::words::{SEQUENCE, is_noise, type_of};

const DELTA: &str = "delta";
const LOGPROBS: &str = "logprobs";

/// See the module.
pub(super) fn assemble(payloads: &[Json]) -> Json {
    let mut events: Vec<Json> = Vec::new();
    let mut numbered = true;
    for payload in payloads {
        let payload = without_noise(payload, &mut numbered);
        let is_delta = type_of(&payload).ends_with(".delta") && text(&payload).is_some();
        if is_delta && events.last_mut().is_some_and(|last| continues(last, &payload)) {
            continue;
        }
        if is_delta && text(&payload) == Some("") {
            continue;
        }
        events.push(payload);
    }
    let mut assembled = Object::new();
    assembled.push("events", events);
    assembled.push("numbered", numbered);
    let mut assembled = Json::Object(assembled);
    assembled.sort();
    assembled
}

fn text(event: &Json) -> Option<&str> {
    event.get(DELTA)?.as_str()
}

fn without_noise(payload: &Json, numbered: &mut bool) -> Json {
    let Some(members) = payload.as_object() else {
        return payload.clone();
    };
    *numbered &= members.get(SEQUENCE).is_some();
    members
        .iter()
        .filter(|(name, _)| !is_noise(name))
        .cloned()
        .collect::<Object>()
        .into()
}

/// Whether a delta continues the event before it; if so, it is appended.
fn continues(last: &mut Json, delta: &Json) -> bool {
    let rest = |event: &Json| -> Vec<(String, Json)> {
        let members = event.as_object().into_iter().flat_map(Object::iter);
        let mut rest: Vec<_> = members
            .filter(|(name, _)| name != DELTA && name != LOGPROBS)
            .cloned()
            .collect();
        rest.sort_by(|a, b| a.0.cmp(&b.0));
        rest
    };
    if text(last).is_none() || rest(last) != rest(delta) {
        return false;
    }
    let (Some(members), Some(more)) = (last.as_object_mut(), text(delta)) else {
        return false;
    };
    if let Some(Json::String(known)) = members.get_mut(DELTA) {
        known.push_str(more);
    }
    match (members.get_mut(LOGPROBS), delta.get(LOGPROBS)) {
        (Some(Json::Array(known)), Some(Json::Array(more))) => known.extend_from_slice(more),
        (None, Some(told)) => members.push(LOGPROBS, told.clone()),
        _ => {}
    }
    true
}
