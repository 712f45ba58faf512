use crate::json::{Json, Object};
use crate::protocol::common::fill_text;
use crate::protocol::rules::{Field, Reader};
use crate::protocol::{Answer, Event, Tail};

use super::endpoint::Endpoint;
use super::template::{
    self, Origin, USAGE_LACKS, fill_tool_call, is_slot, line, members_of, name_calls, of_stream, origin,
    put_slots, reason, usage_members, usual_tool_call,
};
use super::words::{
    DONE, DONE_REASON, ERROR, MESSAGE, RULES, THINKING, TOOL_CALLS, is_counter, lacking, with_message,
    write_error,
};

/// Reads a body; an error body is its own template.
pub(super) fn read(endpoint: &Endpoint, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let mut reader = Reader::new(&RULES);
    let from = out.len();
    let reading = reader.body(status, body, out);
    name_calls(&mut out[from..]);
    let mut template = body.clone();
    let mut odd = reading.odd.as_ref().map(|odd| format!("the body {odd}"));
    if !reader.has_failed() {
        put_slots(&mut template, &reading);
        let told = if endpoint.has_message {
            MESSAGE
        } else {
            endpoint.text
        };
        match template.as_object_mut() {
            Some(members) => {
                if members.get(told).is_none() {
                    odd.get_or_insert_with(|| format!("the body has no {told}"));
                }
                if reader.usage().is_some() {
                    let lacks = lacking(members);
                    members.0.retain(|(name, _)| !is_counter(name));
                    if !lacks.is_empty() {
                        members.push(USAGE_LACKS, lacks);
                    }
                }
            }
            None => odd = Some(format!("the body is {}, not an object", body.kind())),
        }
    }
    Tail {
        template: Some(template),
        complete: true,
        odd,
    }
}

/// The unary body of an answer.
pub(super) fn render(endpoint: &Endpoint, answer: &Answer<'_>) -> Json {
    match (origin(answer), answer.template, answer.boundary) {
        (Origin::Unary, Some(body), Some(boundary)) => with_message(body.clone(), boundary),
        (Origin::Unary, Some(body), None) => filled(endpoint, members_of(Some(body)), answer).into(),
        // A failure in the middle of a stream is, told in one piece, a failure.
        (_, _, Some(boundary)) => match of_stream(answer, ERROR) {
            Some(payload) => with_message(payload.clone(), boundary),
            None => write_error(boundary),
        },
        _ => filled(endpoint, usual(endpoint, answer), answer).into(),
    }
}

/// The body that Ollama would send, with its slots.
fn usual(endpoint: &Endpoint, answer: &Answer<'_>) -> Object {
    let mut body = line(endpoint, answer);
    if endpoint.has_message {
        let mut message = template::message(answer);
        message.push(endpoint.text, "");
        body.push(MESSAGE, message);
    } else {
        body.push(endpoint.text, "");
    }
    body.push(DONE, true);
    if of_stream(answer, DONE_REASON).is_none() {
        body.push(DONE_REASON, Field::Finish.slot());
    }
    body.0.extend(members_of(of_stream(answer, template::LAST)));
    body
}

fn filled(endpoint: &Endpoint, mut body: Object, answer: &Answer<'_>) -> Object {
    let said = template::said(answer.frames);
    let told = if endpoint.has_message {
        body.get_mut(MESSAGE).and_then(Json::as_object_mut)
    } else {
        Some(&mut body)
    };
    if let Some(told) = told {
        fill_text(told, THINKING, Field::Reasoning.slot(), &said.thinking);
        fill_text(told, endpoint.text, Field::Text.slot(), &said.text);
        fill_tools(told, &said, of_stream(answer, template::TOOL_CALL));
    }
    if is_slot(body.get(DONE_REASON), Field::Finish) {
        body.set(DONE_REASON, reason(answer, said.finish));
    }
    body.remove(USAGE_LACKS);
    if let Some(usage) = answer.usage {
        body.0.extend(usage_members(answer, usage));
    }
    body
}

fn fill_tools(told: &mut Object, said: &template::Said<'_>, form: Option<&Json>) {
    let forms = match told.get(TOOL_CALLS) {
        Some(Json::Array(forms)) => forms.clone(),
        _ if said.tools.is_empty() => return,
        _ => Vec::new(),
    };
    let usual = form.cloned().unwrap_or_else(usual_tool_call);
    let calls = (0..).zip(&said.tools).map(|(index, call)| {
        let form = usize::try_from(index).ok().and_then(|at| forms.get(at));
        fill_tool_call(form.unwrap_or(&usual), index, call)
    });
    told.set(TOOL_CALLS, calls.collect::<Vec<_>>());
}
