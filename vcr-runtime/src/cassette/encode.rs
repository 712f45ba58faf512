//! Takes and calls as JSON, in the member order of the seed's schema.

use crate::json::{Json, Number, Object};
use crate::model::{Boundary, Call, Frame, HttpHead, Metrics, Raw, RawBody, Take, ToolCall, Usage};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// A take: the seed's flat trace when it has one call, `calls` otherwise.
pub(crate) fn take_document(take: &Take) -> Json {
    let mut document = Object::new();
    document.push("trace_id", take.trace_id.as_str());
    if let [call] = take.calls.as_slice() {
        document.0.extend(call_members(call));
    } else {
        let calls = take
            .calls
            .iter()
            .map(|call| Json::Object(call_members(call)))
            .collect::<Vec<_>>();
        document.push("calls", calls);
    }
    Json::Object(document)
}

/// The members of one call.
pub(crate) fn call_members(call: &Call) -> Object {
    let mut members = Object::new();
    let request = &call.request;
    if let Some(protocol) = &request.protocol {
        members.push("protocol", protocol.as_str());
    }
    if let Some(hash) = &request.hash {
        members.push("request_hash", hash.as_str());
    }
    if let Some(started) = call.started_us {
        members.push("started_ms", Number::from_micros_as_ms(started));
    }
    if let Some(over) = call.over_us {
        members.push("ended_ms", Number::from_micros_as_ms(over));
    }
    let mut context = Object::new();
    if let Some(model) = &request.model {
        context.push("model", model.as_str());
    }
    if let Some(provider) = &request.provider {
        context.push("provider", provider.as_str());
    }
    if let Some(messages) = &request.messages {
        context.push("messages", messages.clone());
    }
    if let Some(parameters) = &request.parameters {
        context.push("parameters", parameters.clone());
    }
    members.push("request_context", context);
    if let Some(head) = &call.http {
        members.push("http", http(head));
    }
    if let Some(metrics) = call.metrics {
        members.push("network_metrics", network_metrics(metrics));
    }
    members.push(
        "response_timeline",
        call.frames.iter().map(frame).collect::<Vec<_>>(),
    );
    members.push("exception_boundary", boundary(call.boundary.as_ref()));
    if let Some(counts) = &call.usage {
        members.push("usage", usage(counts));
    }
    if let Some(template) = &call.template {
        members.push("template", template.tree().into_owned());
    }
    if let Some(raw) = &call.raw {
        members.push("raw_payload", raw_payload(raw));
    }
    if let Some(note) = &call.note {
        members.push("note", note.as_str());
    }
    members
}

fn http(head: &HttpHead) -> Object {
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| Json::Array(vec![name.as_str().into(), value.as_str().into()]));
    let mut object = Object::new();
    object.push("status", head.status);
    object.push("headers", headers.collect::<Vec<_>>());
    object
}

fn network_metrics(metrics: Metrics) -> Object {
    let mut object = Object::new();
    object.push("ttfb_ms", Number::from_micros_as_ms(metrics.ttfb_us));
    object.push("total_duration_ms", Number::from_micros_as_ms(metrics.total_us));
    object
}

fn frame(frame: &Frame) -> Json {
    let mut object = Object::new();
    object.push("delta_ms", Number::from_micros_as_ms(frame.delta_us));
    object.push("chunk", frame.chunk.as_str());
    for (name, text) in [
        ("reasoning", &frame.reasoning),
        ("reasoning_signature", &frame.reasoning_signature),
        ("refusal", &frame.refusal),
    ] {
        if let Some(text) = text {
            object.push(name, text.as_str());
        }
    }
    if !frame.tool_calls.is_empty() {
        object.push(
            "tool_calls",
            frame.tool_calls.iter().map(tool_call).collect::<Vec<_>>(),
        );
    }
    if frame.choice != 0 {
        object.push("choice", frame.choice);
    }
    for (name, text) in [
        ("finish_reason", &frame.finish_reason),
        ("native_finish_reason", &frame.native_finish_reason),
    ] {
        if let Some(text) = text {
            object.push(name, text.as_str());
        }
    }
    if let Some(native) = &frame.native {
        object.push("native", native.clone());
    }
    Json::Object(object)
}

fn tool_call(call: &ToolCall) -> Json {
    let mut function = Object::new();
    function.push("name", call.function.name.as_str());
    function.push("arguments", call.function.arguments.as_str());
    let mut object = Object::new();
    object.push("id", call.id.as_str());
    object.push("type", "function");
    object.push("function", function);
    Json::Object(object)
}

fn boundary(boundary: Option<&Boundary>) -> Object {
    let mut object = Object::new();
    object.push("occurred", boundary.is_some());
    let Some(boundary) = boundary else {
        return object;
    };
    object.push("kind", boundary.kind.as_str());
    object.push("error_type", boundary.error_type.as_str());
    object.push("message", boundary.message.as_str());
    if let Some(status) = boundary.status {
        object.push("status", status);
    }
    if let Some(code) = &boundary.code {
        object.push("code", code.as_str());
    }
    object
}

fn usage(usage: &Usage) -> Object {
    let mut object = Object::new();
    object.push("prompt_tokens", usage.prompt_tokens);
    object.push("completion_tokens", usage.completion_tokens);
    object.push("total_tokens", usage.total_tokens);
    if !usage.details.is_empty() {
        object.push("details", usage.details.clone());
    }
    object
}

fn raw_payload(raw: &Raw) -> Object {
    let mut object = Object::new();
    match &raw.body {
        RawBody::Unary(body) => object.push("sync_response", body.tree().into_owned()),
        RawBody::Chunks { chunks, offsets_us } => {
            object.push("stream_chunks", chunks.trees().into_owned());
            let offsets = offsets_us
                .iter()
                .map(|offset| Json::Number(Number::from_micros_as_ms(*offset)));
            object.push("chunk_offsets_ms", offsets.collect::<Vec<_>>());
        }
        RawBody::Transcript(pieces) => {
            let pieces = pieces.iter().map(|piece| {
                let mut object = Object::new();
                object.push("offset_ms", Number::from_micros_as_ms(piece.offset_us));
                match std::str::from_utf8(&piece.bytes) {
                    Ok(text) => object.push("text", text),
                    Err(_) => object.push("base64", BASE64.encode(&piece.bytes)),
                }
                Json::Object(object)
            });
            object.push("transcript", pieces.collect::<Vec<_>>());
        }
    }
    object
}
