//! JSON to takes and calls. Cassettes are untrusted and often written by hand, so every mismatch names its place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::json::{Json, Object};
use crate::model::{
    Boundary, BoundaryKind, Call, Frame, HttpHead, Metrics, Piece, Raw, RawBody, RecordedRequest, Take,
    ToolCall, Usage,
};

/// A member that is not what the schema says; the path grows from the inside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Innermost segment first.
    pub(crate) path: Vec<Segment>,
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Key(String),
    Index(usize),
}

type Read<T> = Result<T, Wrong>;

impl Wrong {
    fn new(message: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            message: message.into(),
        }
    }

    fn expected(what: &str, found: &Json) -> Self {
        Self::new(format!("expected {what}, found {}", found.kind()))
    }

    pub(crate) fn below(mut self, key: &str) -> Self {
        self.path.push(Segment::Key(key.to_owned()));
        self
    }

    fn at(mut self, index: usize) -> Self {
        self.path.push(Segment::Index(index));
        self
    }

    /// `traces.ab.calls[2].usage`.
    pub(crate) fn path_text(&self) -> String {
        let mut text = String::new();
        for segment in self.path.iter().rev() {
            match segment {
                Segment::Key(key) if text.is_empty() => text.push_str(key),
                Segment::Key(key) => {
                    text.push('.');
                    text.push_str(key);
                }
                Segment::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }
}

/// Reads one take; `id` is its key in `traces`.
pub(crate) fn take_of(id: &str, document: Json) -> Read<Take> {
    let mut members = object(document)?;
    let calls = match members.remove("calls") {
        None => vec![call_of(members)?],
        Some(calls) => {
            let items = array(calls).map_err(|wrong| wrong.below("calls"))?;
            let mut calls = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let call = object(item).and_then(call_of);
                calls.push(call.map_err(|wrong| wrong.at(index).below("calls"))?);
            }
            calls
        }
    };
    Ok(Take {
        trace_id: id.to_owned(),
        calls,
    })
}

/// Reads one call. Members that this version does not know are ignored.
pub(crate) fn call_of(mut members: Object) -> Read<Call> {
    let mut call = Call::default();
    let context = optional(&mut members, "request_context", object)?.unwrap_or_default();
    call.request = request_of(context).map_err(|wrong| wrong.below("request_context"))?;
    call.request.protocol = optional(&mut members, "protocol", string)?;
    call.request.hash = optional(&mut members, "request_hash", string)?;
    call.started_us = optional(&mut members, "started_ms", micros)?;
    call.over_us = optional(&mut members, "ended_ms", micros)?;
    call.http = optional(&mut members, "http", |value| object(value).and_then(http_of))?;
    call.metrics = optional(&mut members, "network_metrics", |value| {
        object(value).and_then(metrics_of)
    })?;
    call.frames =
        optional(&mut members, "response_timeline", |value| list(value, frame_of))?.unwrap_or_default();
    call.boundary = optional(&mut members, "exception_boundary", |value| {
        object(value).and_then(boundary_of)
    })?
    .flatten();
    call.usage = optional(&mut members, "usage", |value| object(value).and_then(usage_of))?;
    call.template = optional(&mut members, "template", Ok)?;
    call.raw = optional(&mut members, "raw_payload", |value| {
        object(value).and_then(raw_of)
    })?
    .flatten();
    call.note = optional(&mut members, "note", string)?;
    Ok(call)
}

fn request_of(mut members: Object) -> Read<RecordedRequest> {
    Ok(RecordedRequest {
        hash: None,
        protocol: None,
        model: optional(&mut members, "model", string)?,
        provider: optional(&mut members, "provider", string)?,
        messages: optional(&mut members, "messages", array)?,
        parameters: optional(&mut members, "parameters", object)?,
    })
}

fn http_of(mut members: Object) -> Read<HttpHead> {
    let status = required(&mut members, "status", |value| {
        value
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (100..600).contains(status))
            .ok_or_else(|| Wrong::expected("an HTTP status from 100 to 599", &value))
    })?;
    let headers = optional(&mut members, "headers", |value| list(value, header_of))?.unwrap_or_default();
    Ok(HttpHead { status, headers })
}

fn header_of(value: Json) -> Read<(String, String)> {
    match array(value)?.as_slice() {
        [Json::String(name), Json::String(value)] => Ok((name.clone(), value.clone())),
        _ => Err(Wrong::new(
            "expected a pair of strings, a header's name and value",
        )),
    }
}

fn metrics_of(mut members: Object) -> Read<Metrics> {
    Ok(Metrics {
        ttfb_us: optional(&mut members, "ttfb_ms", micros)?.unwrap_or_default(),
        total_us: optional(&mut members, "total_duration_ms", micros)?.unwrap_or_default(),
    })
}

fn frame_of(value: Json) -> Read<Frame> {
    let mut members = object(value)?;
    Ok(Frame {
        delta_us: optional(&mut members, "delta_ms", micros)?.unwrap_or_default(),
        chunk: optional(&mut members, "chunk", string)?.unwrap_or_default(),
        reasoning: optional(&mut members, "reasoning", string)?,
        reasoning_signature: optional(&mut members, "reasoning_signature", string)?,
        refusal: optional(&mut members, "refusal", string)?,
        tool_calls: optional(&mut members, "tool_calls", |value| list(value, tool_call_of))?
            .unwrap_or_default(),
        choice: optional(&mut members, "choice", |value| {
            value
                .as_u64()
                .and_then(|choice| u32::try_from(choice).ok())
                .ok_or_else(|| Wrong::expected("the number of a choice", &value))
        })?
        .unwrap_or_default(),
        finish_reason: optional(&mut members, "finish_reason", string)?,
        native_finish_reason: optional(&mut members, "native_finish_reason", string)?,
        native: optional(&mut members, "native", Ok)?,
    })
}

fn tool_call_of(value: Json) -> Read<ToolCall> {
    let mut members = object(value)?;
    let id = optional(&mut members, "id", string)?.unwrap_or_default();
    let mut function = required(&mut members, "function", object)?;
    let name = required(&mut function, "name", string).map_err(|wrong| wrong.below("function"))?;
    let arguments = optional(&mut function, "arguments", string).map_err(|wrong| wrong.below("function"))?;
    Ok(ToolCall::new(id, name, arguments.unwrap_or_default()))
}

fn boundary_of(mut members: Object) -> Read<Option<Boundary>> {
    let occurred = optional(&mut members, "occurred", |value| {
        value
            .as_bool()
            .ok_or_else(|| Wrong::expected("true or false", &value))
    })?;
    if occurred != Some(true) {
        return Ok(None);
    }
    let kind = optional(&mut members, "kind", |value| {
        let text = string(value)?;
        BoundaryKind::parse(&text).ok_or_else(|| {
            Wrong::new(format!(
                "`{text}` is not one of error, http, cutoff, cancelled, truncated"
            ))
        })
    })?;
    Ok(Some(Boundary {
        kind: kind.unwrap_or(BoundaryKind::Error),
        error_type: optional(&mut members, "error_type", string)?.unwrap_or_else(|| "Error".to_owned()),
        message: optional(&mut members, "message", string)?.unwrap_or_default(),
        status: optional(&mut members, "status", |value| {
            value
                .as_u64()
                .and_then(|status| u16::try_from(status).ok())
                .ok_or_else(|| Wrong::expected("an HTTP status", &value))
        })?,
        code: optional(&mut members, "code", string)?,
    }))
}

/// Old files of the seed's tool hold provider-native names; what cannot be mapped stays among the details.
fn usage_of(mut members: Object) -> Read<Usage> {
    let mut take = |names: &[&str]| {
        names.iter().find_map(|name| {
            let count = members.get(name).and_then(Json::as_u64)?;
            members.remove(name);
            Some(count)
        })
    };
    let prompt_tokens = take(&["prompt_tokens", "input_tokens", "prompt_token_count"]).unwrap_or_default();
    let completion_tokens =
        take(&["completion_tokens", "output_tokens", "candidates_token_count"]).unwrap_or_default();
    let total_tokens = take(&["total_tokens", "total_token_count"])
        .unwrap_or(prompt_tokens.saturating_add(completion_tokens));
    let mut details = optional(&mut members, "details", object)?.unwrap_or_default();
    details.0.extend(members);
    Ok(Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens,
        details,
    })
}

fn raw_of(mut members: Object) -> Read<Option<Raw>> {
    if let Some(pieces) = optional(&mut members, "transcript", |value| list(value, piece_of))? {
        return Ok(Some(Raw {
            body: RawBody::Transcript(pieces),
        }));
    }
    if let Some(body) = optional(&mut members, "sync_response", Ok)? {
        return Ok(Some(Raw {
            body: RawBody::Unary(body),
        }));
    }
    let Some(chunks) = optional(&mut members, "stream_chunks", array)? else {
        return Ok(None);
    };
    let offsets_us =
        optional(&mut members, "chunk_offsets_ms", |value| list(value, micros))?.unwrap_or_default();
    Ok(Some(Raw {
        body: RawBody::Chunks { chunks, offsets_us },
    }))
}

fn piece_of(value: Json) -> Read<Piece> {
    let mut members = object(value)?;
    let offset_us = optional(&mut members, "offset_ms", micros)?.unwrap_or_default();
    if let Some(text) = optional(&mut members, "text", string)? {
        return Ok(Piece {
            offset_us,
            bytes: text.into_bytes(),
        });
    }
    let bytes = required(&mut members, "base64", |value| {
        BASE64
            .decode(string(value)?)
            .map_err(|error| Wrong::new(format!("this is no base64: {error}")))
    })?;
    Ok(Piece { offset_us, bytes })
}

fn object(value: Json) -> Read<Object> {
    match value {
        Json::Object(object) => Ok(object),
        other => Err(Wrong::expected("an object", &other)),
    }
}

fn array(value: Json) -> Read<Vec<Json>> {
    match value {
        Json::Array(items) => Ok(items),
        other => Err(Wrong::expected("an array", &other)),
    }
}

fn string(value: Json) -> Read<String> {
    match value {
        Json::String(text) => Ok(text),
        other => Err(Wrong::expected("a string", &other)),
    }
}

fn list<T>(value: Json, read: impl Fn(Json) -> Read<T>) -> Read<Vec<T>> {
    let items = array(value)?;
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| read(item).map_err(|wrong| wrong.at(index)))
        .collect()
}

/// Milliseconds to whole microseconds. A year is more than any call takes and keeps sums from overflowing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
fn micros(value: Json) -> Read<u64> {
    const YEAR_MS: f64 = 366.0 * 86_400_000.0;
    match value.as_f64() {
        Some(ms) if (0.0..=YEAR_MS).contains(&ms) => Ok((ms * 1000.0).round() as u64),
        Some(_) => Err(Wrong::new(
            "a time must be a number of milliseconds from 0 to a year",
        )),
        None => Err(Wrong::expected("a number of milliseconds", &value)),
    }
}

/// The member `key` read by `read`; an explicit `null` counts as absent.
fn optional<T>(members: &mut Object, key: &str, read: impl FnOnce(Json) -> Read<T>) -> Read<Option<T>> {
    match members.remove(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => read(value).map(Some).map_err(|wrong| wrong.below(key)),
    }
}

fn required<T>(members: &mut Object, key: &str, read: impl FnOnce(Json) -> Read<T>) -> Read<T> {
    optional(members, key, read)?.ok_or_else(|| Wrong::new(format!("the member `{key}` is missing")))
}

#[cfg(test)]
mod tests {
    use super::super::encode::take_document;
    use super::*;
    use crate::json::{parse, pretty};

    fn wrong(text: &str) -> (String, String) {
        let wrong = take_of("t", parse(text).unwrap()).unwrap_err();
        (wrong.path_text(), wrong.message)
    }

    #[test]
    fn mistakes_name_their_place() {
        for (text, path, message) in [
            ("[]", "", "expected an object, found an array"),
            (
                "{\"calls\":[{},{\"usage\":3}]}",
                "calls[1].usage",
                "expected an object, found a number",
            ),
            (
                "{\"response_timeline\":[{\"delta_ms\":-1}]}",
                "response_timeline[0].delta_ms",
                "a time must be a number of milliseconds from 0 to a year",
            ),
            (
                "{\"response_timeline\":[{\"delta_ms\":1e999}]}",
                "response_timeline[0].delta_ms",
                "a time must be a number of milliseconds from 0 to a year",
            ),
            (
                "{\"response_timeline\":[{\"tool_calls\":[{\"function\":{}}]}]}",
                "response_timeline[0].tool_calls[0].function",
                "the member `name` is missing",
            ),
            (
                "{\"exception_boundary\":{\"occurred\":true,\"kind\":\"boom\"}}",
                "exception_boundary.kind",
                "`boom` is not one of error, http, cutoff, cancelled, truncated",
            ),
            (
                "{\"http\":{\"status\":7}}",
                "http.status",
                "expected an HTTP status from 100 to 599, found a number",
            ),
        ] {
            assert_eq!(wrong(text), (path.to_owned(), message.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_written_again() {
        let text = r#"{"trace_id":"t","protocol":"openai-chat","request_hash":"sha256:00","started_ms":0.25,"ended_ms":7.5,"request_context":{"model":"m","provider":"p","messages":[{"role":"user","content":"hi"}],"parameters":{"temperature":null,"max_tokens":16,"stream":true,"seed":9007199254740993}},"http":{"status":200,"headers":[["content-type","text/event-stream"]]},"network_metrics":{"ttfb_ms":40.0,"total_duration_ms":190.001},"response_timeline":[{"delta_ms":40.0,"chunk":"Hel","reasoning":"r","reasoning_signature":"s","refusal":"no"},{"delta_ms":0.0,"chunk":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"z\""}}],"choice":1,"finish_reason":"tool_calls","native_finish_reason":"tool_use","native":{"x":1.50}}],"exception_boundary":{"occurred":true,"kind":"truncated","error_type":"E","message":"m","status":200,"code":"c"},"usage":{"prompt_tokens":1,"completion_tokens":3,"total_tokens":4,"details":{"cost":1.0e-07}},"template":{"id":"x"},"raw_payload":{"transcript":[{"offset_ms":1.0,"text":"a\u0000"},{"offset_ms":2.0,"base64":"//uQZAA="}]},"note":"n"}"#;
        let document = parse(text).unwrap();
        let take = take_of("t", document.clone()).unwrap();
        assert_eq!(pretty(&take_document(&take)), pretty(&document));
    }

    #[test]
    fn native_usage_names_of_old_files_are_understood() {
        let text =
            r#"{"usage":{"prompt_token_count":3,"candidates_token_count":4,"total_token_count":9,"odd":1}}"#;
        let take = take_of("t", parse(text).unwrap()).unwrap();
        let usage = take.calls[0].usage.clone().unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (3, 4, 9)
        );
        assert_eq!(usage.details.get("odd").and_then(Json::as_u64), Some(1));
    }
}
