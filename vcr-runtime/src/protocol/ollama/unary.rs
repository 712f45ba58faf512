use crate::json::{Json, Object};
use crate::protocol::common::{fill_text, take_text};
use crate::protocol::{Answer, Event, Tail};

use super::decode::{finish, is_error, said, tool};
use super::endpoint::Endpoint;
use super::template::{
    self, Origin, fill_tool_call, line, members_of, of_stream, origin, reason, usual_tool_call,
};
use super::words::{
    DONE, DONE_REASON, ERROR, MESSAGE, THINKING, TOOL_CALLS, is_counter, read_error, read_usage,
    with_message, write_error, write_usage,
};

const TEXT: &str = "$text";
const REASONING: &str = "$thinking";
const REASON: &str = "$done_reason";

/// Reads a body; an error body is its own template.
pub(super) fn read(endpoint: &Endpoint, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
    let failed = status >= 400 || body.as_object().is_some_and(is_error);
    let mut template = body.clone();
    let mut odd = None;
    if failed {
        let status = (status >= 400).then_some(status);
        out.push(Event::Error(read_error(status, body)));
    } else if let Some(members) = template.as_object_mut() {
        take(endpoint, members, out);
        let told = if endpoint.has_message {
            MESSAGE
        } else {
            endpoint.text
        };
        if members.get(told).is_none() {
            odd = Some(format!("the body has no {told}"));
        }
    } else {
        odd = Some(format!("the body is {}, not an object", body.kind()));
    }
    Tail {
        template: Some(template),
        complete: true,
        odd,
    }
}

fn take(endpoint: &Endpoint, members: &mut Object, out: &mut Vec<Event>) {
    let told = if endpoint.has_message {
        members.get_mut(MESSAGE).and_then(Json::as_object_mut)
    } else {
        Some(&mut *members)
    };
    let called = told.is_some_and(|told| take_said(endpoint, told, out));
    if members.get(DONE).and_then(Json::as_bool) == Some(true) {
        out.push(finish(members, called));
        take_text(members, DONE_REASON, REASON);
    }
    if let Some(usage) = read_usage(members) {
        out.push(Event::Usage(usage));
        members.0.retain(|(name, _)| !is_counter(name));
    }
}

/// Whether there are tool calls.
fn take_said(endpoint: &Endpoint, told: &mut Object, out: &mut Vec<Event>) -> bool {
    let thinking = take_text(told, THINKING, REASONING).unwrap_or_default();
    let text = take_text(told, endpoint.text, TEXT).unwrap_or_default();
    out.extend(said(thinking, text));
    let Some(Json::Array(calls)) = told.get_mut(TOOL_CALLS) else {
        return false;
    };
    for (index, form) in (0..).zip(calls.iter_mut()) {
        out.push(tool(index, form));
    }
    !calls.is_empty()
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
        body.push(DONE_REASON, REASON);
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
        fill_text(told, THINKING, REASONING, &said.thinking);
        fill_text(told, endpoint.text, TEXT, &said.text);
        fill_tools(told, &said, of_stream(answer, template::TOOL_CALL));
    }
    if body.get(DONE_REASON).and_then(Json::as_str) == Some(REASON) {
        body.set(DONE_REASON, reason(answer, said.finish));
    }
    if let Some(usage) = answer.usage {
        body.0.extend(write_usage(usage, answer.template.is_some()));
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
