//! Reads unary bodies. The template of one is the body itself with a word such as `$text` where a canonical part was.

use crate::json::{Json, Object};
use crate::protocol::paths::{Step, follow};
use crate::protocol::rules::{Field, Hit, Reader, Reading, Rules};
use crate::protocol::{Event, Tail};

use super::unary::{TOOL_CALLS, usual_tool_slot};
use super::words::{read_usage, write_usage};

/// Reads a body; an error body is its own template.
pub(super) fn read(rules: &'static Rules, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let mut reader = Reader::new(rules);
    let reading = reader.body(status, body, out);
    let mut template = body.clone();
    let has_choices = body
        .get("choices")
        .is_some_and(|choices| choices.as_array().is_some());
    let odd = if has_choices {
        take_parts(&mut template, &reading);
        reading.odd.map(|odd| format!("the body {odd}"))
    } else {
        (!reader.has_failed()).then(|| "the body has no choices".to_owned())
    };
    Tail {
        template: Some(template),
        complete: true,
        odd,
    }
}

/// Puts slots where the canonical parts were.
fn take_parts(body: &mut Json, reading: &Reading) {
    for hit in &reading.hits {
        let Some(value) = follow(body, &hit.steps) else {
            continue;
        };
        match hit.field {
            Field::Usage => *value = usage_slot(value),
            Field::Text | Field::Reasoning if !is_alone(hit, reading) => {}
            // Arguments that are an object stay, as the frames have them as text.
            Field::ToolArguments if value.as_str().is_none() => {}
            Field::Tool | Field::Error | Field::Native => {}
            field => *value = field.slot().into(),
        }
    }
    let choices = body.as_object_mut().and_then(|body| body.get_mut("choices"));
    if let Some(Json::Array(choices)) = choices {
        choices.iter_mut().for_each(shorten_tools);
    }
}

/// Text that is spread over several parts of a kind stays in the template as it is, because a frame does not tell
/// where one part ends.
fn is_alone(hit: &Hit, reading: &Reading) -> bool {
    let of_kind = |other: &&Hit| other.field == hit.field && other.steps.get(..2) == hit.steps.get(..2);
    reading.hits.iter().filter(of_kind).count() == 1
}

/// Tool calls in the usual spelling need no template but that they are there.
fn shorten_tools(choice: &mut Json) {
    let Some(message) = follow(choice, &[Step::Key("message")]).and_then(Json::as_object_mut) else {
        return;
    };
    let calls = message
        .get("tool_calls")
        .and_then(Json::as_array)
        .unwrap_or_default();
    if !calls.is_empty() && calls.iter().all(|call| *call == usual_tool_slot()) {
        message.set("tool_calls", TOOL_CALLS);
    }
}

/// The counts leave the template; where they do not come in the usual order, their names stay.
fn usage_slot(wire: &Json) -> Json {
    let is_usual = read_usage(wire).is_some_and(|usage| *wire == Json::Object(write_usage(&usage)));
    if is_usual {
        return Field::Usage.slot().into();
    }
    let names = wire.as_object().into_iter().flat_map(Object::iter);
    Json::Array(names.map(|(name, _)| name.as_str().into()).collect())
}
