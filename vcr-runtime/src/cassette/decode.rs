//! The text of a cassette to takes and calls, without a document tree between. Cassettes are untrusted and often
//! written by hand, so every mismatch names its place.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::fault::{
    Fault, Read, flag, items, list, members, micros, object, optional, string, text, text_into, value, whole,
};
use crate::json::{Document, Documents, Json, Object, Parser, Texts};
use crate::model::{
    Boundary, BoundaryKind, Call, Frame, Frames, HttpHead, Metrics, Piece, Raw, RawBody, RecordedRequest,
    Take, ToolCall, Usage,
};

/// A take as it is stored; its id is its key in `traces`.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) take: Take,
    /// The member `trace_id`, which repeats the key.
    pub(crate) stated_id: Option<Json>,
    /// Whether the take is flat, so that its call is the take itself.
    pub(crate) is_flat: bool,
}

/// Reads one take; `id` is its key in `traces`.
pub(crate) fn take_of(id: &str, parser: &mut Parser<'_>) -> Read<Stored> {
    let (mut flat, mut calls, mut stated_id) = (CallParts::default(), None, None);
    members(parser, |parser, key| {
        match &*key {
            "calls" => calls = optional(parser, |parser| list(parser, call_of))?,
            "trace_id" => stated_id = Some(parser.value()?),
            _ => flat.member(&key, parser)?,
        }
        Ok(())
    })?;
    let is_flat = calls.is_none();
    Ok(Stored {
        take: Take {
            trace_id: id.to_owned(),
            calls: calls.unwrap_or_else(|| vec![flat.call()]),
        },
        stated_id,
        is_flat,
    })
}

/// Reads one call. Members that this version does not know are ignored.
pub(super) fn call_of(parser: &mut Parser<'_>) -> Read<Call> {
    let mut parts = CallParts::default();
    members(parser, |parser, key| parts.member(&key, parser))?;
    Ok(parts.call())
}

/// A call whose members come in any order.
#[derive(Default)]
struct CallParts {
    call: Call,
    request: RecordedRequest,
    protocol: Option<String>,
    hash: Option<String>,
}

impl CallParts {
    fn member(&mut self, key: &str, parser: &mut Parser<'_>) -> Read<()> {
        let call = &mut self.call;
        match key {
            "request_context" => self.request = optional(parser, request_of)?.unwrap_or_default(),
            "protocol" => self.protocol = optional(parser, string)?,
            "request_hash" => self.hash = optional(parser, string)?,
            "started_ms" => call.started_us = optional(parser, micros)?,
            "ended_ms" => call.over_us = optional(parser, micros)?,
            "http" => call.http = optional(parser, http_of)?,
            "network_metrics" => call.metrics = optional(parser, metrics_of)?,
            "response_timeline" => call.frames = optional(parser, frames_of)?.unwrap_or_default(),
            "exception_boundary" => call.boundary = optional(parser, boundary_of)?.flatten(),
            "usage" => call.usage = optional(parser, usage_of)?,
            "template" => call.template = optional(parser, |parser| Ok(Document::read(parser)?))?,
            "raw_payload" => call.raw = optional(parser, raw_of)?.flatten(),
            "note" => call.note = optional(parser, string)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    }

    fn call(self) -> Call {
        let mut call = self.call;
        call.request = Arc::new(RecordedRequest {
            hash: self.hash,
            protocol: self.protocol,
            ..self.request
        });
        call
    }
}

fn request_of(parser: &mut Parser<'_>) -> Read<RecordedRequest> {
    let mut request = RecordedRequest::default();
    members(parser, |parser, key| {
        match &*key {
            "model" => request.model = optional(parser, string)?,
            "provider" => request.provider = optional(parser, string)?,
            "messages" => request.messages = optional(parser, |parser| list(parser, value))?,
            "parameters" => request.parameters = optional(parser, object)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    Ok(request)
}

fn http_of(parser: &mut Parser<'_>) -> Read<HttpHead> {
    let (mut status, mut headers) = (None, None);
    members(parser, |parser, key| {
        match &*key {
            "status" => status = optional(parser, status_of)?,
            "headers" => headers = optional(parser, |parser| list(parser, header_of))?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    Ok(HttpHead {
        status: status.ok_or_else(|| Fault::missing("status"))?,
        headers: headers.unwrap_or_default(),
    })
}

fn status_of(parser: &mut Parser<'_>) -> Read<u16> {
    let value = parser.value()?;
    whole(&value)
        .filter(|status| (100..600).contains(status))
        .ok_or_else(|| Fault::expected("an HTTP status from 100 to 599", &value))
}

fn header_of(parser: &mut Parser<'_>) -> Read<(String, String)> {
    match list(parser, value)?.as_slice() {
        [Json::String(name), Json::String(value)] => Ok((name.clone(), value.clone())),
        _ => Err(Fault::new(
            "expected a pair of strings, a header's name and value",
        )),
    }
}

fn metrics_of(parser: &mut Parser<'_>) -> Read<Metrics> {
    let mut metrics = Metrics::default();
    members(parser, |parser, key| {
        match &*key {
            "ttfb_ms" => metrics.ttfb_us = optional(parser, micros)?.unwrap_or_default(),
            "total_duration_ms" => metrics.total_us = optional(parser, micros)?.unwrap_or_default(),
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    Ok(metrics)
}

fn frames_of(parser: &mut Parser<'_>) -> Read<Frames> {
    let mut frames = Frames::default();
    let mut chunk = String::new();
    items(parser, |parser, _| {
        let mut frame = Frame::default();
        chunk.clear();
        members(parser, |parser, key| match &*key {
            "chunk" => {
                // Of a member that stands there twice the last counts.
                chunk.clear();
                optional(parser, |parser| text_into(parser, &mut chunk)).map(drop)
            }
            _ => frame_member(&mut frame, &key, parser),
        })?;
        frames.push_text(frame, &chunk);
        Ok(())
    })?;
    Ok(frames)
}

fn frame_member(frame: &mut Frame, key: &str, parser: &mut Parser<'_>) -> Read<()> {
    match key {
        "delta_ms" => frame.delta_us = optional(parser, micros)?.unwrap_or_default(),
        "reasoning" => frame.reasoning = optional(parser, string)?,
        "reasoning_signature" => frame.reasoning_signature = optional(parser, string)?,
        "refusal" => frame.refusal = optional(parser, string)?,
        "tool_calls" => {
            frame.tool_calls = optional(parser, |parser| list(parser, tool_call_of))?.unwrap_or_default();
        }
        "choice" => {
            frame.choice = optional(parser, |parser| {
                let value = parser.value()?;
                whole(&value).ok_or_else(|| Fault::expected("the number of a choice", &value))
            })?
            .unwrap_or_default();
        }
        "finish_reason" => frame.finish_reason = optional(parser, string)?,
        "native_finish_reason" => frame.native_finish_reason = optional(parser, string)?,
        "native" => frame.native = optional(parser, value)?,
        _ => drop(parser.skip()?),
    }
    Ok(())
}

fn tool_call_of(parser: &mut Parser<'_>) -> Read<ToolCall> {
    let (mut id, mut function) = (None, None);
    members(parser, |parser, key| {
        match &*key {
            "id" => id = optional(parser, string)?,
            "function" => function = optional(parser, function_of)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    let (name, arguments) = function.ok_or_else(|| Fault::missing("function"))?;
    Ok(ToolCall::new(id.unwrap_or_default(), name, arguments))
}

fn function_of(parser: &mut Parser<'_>) -> Read<(String, String)> {
    let (mut name, mut arguments) = (None, None);
    members(parser, |parser, key| {
        match &*key {
            "name" => name = optional(parser, string)?,
            "arguments" => arguments = optional(parser, string)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    let name = name.ok_or_else(|| Fault::missing("name"))?;
    Ok((name, arguments.unwrap_or_default()))
}

fn boundary_of(parser: &mut Parser<'_>) -> Read<Option<Boundary>> {
    let (mut occurred, mut error_type) = (false, None);
    let mut boundary = Boundary {
        kind: BoundaryKind::Error,
        error_type: String::new(),
        message: String::new(),
        status: None,
        code: None,
    };
    members(parser, |parser, key| {
        match &*key {
            "occurred" => occurred = optional(parser, flag)?.unwrap_or_default(),
            "kind" => boundary.kind = optional(parser, kind_of)?.unwrap_or(BoundaryKind::Error),
            "error_type" => error_type = optional(parser, string)?,
            "message" => boundary.message = optional(parser, string)?.unwrap_or_default(),
            "status" => {
                boundary.status = optional(parser, |parser| {
                    let value = parser.value()?;
                    whole(&value).ok_or_else(|| Fault::expected("an HTTP status", &value))
                })?;
            }
            "code" => boundary.code = optional(parser, string)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    boundary.error_type = error_type.unwrap_or_else(|| "Error".to_owned());
    Ok(occurred.then_some(boundary))
}

fn kind_of(parser: &mut Parser<'_>) -> Read<BoundaryKind> {
    let text = string(parser)?;
    BoundaryKind::parse(&text).ok_or_else(|| {
        Fault::new(format!(
            "`{text}` is not one of error, http, cutoff, cancelled, truncated"
        ))
    })
}

/// Old files of the seed's tool hold provider-native names; what cannot be mapped stays among the details.
fn usage_of(parser: &mut Parser<'_>) -> Read<Usage> {
    let mut members = object(parser)?;
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
    let mut details = match members.remove("details") {
        None | Some(Json::Null) => Object::new(),
        Some(Json::Object(details)) => details,
        Some(other) => return Err(Fault::expected("an object", &other).below("details")),
    };
    details.0.extend(members);
    Ok(Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens,
        details,
    })
}

fn raw_of(parser: &mut Parser<'_>) -> Read<Option<Raw>> {
    let (mut transcript, mut unary, mut chunks, mut offsets_us) = (None, None, None, None);
    members(parser, |parser, key| {
        match &*key {
            "transcript" => transcript = optional(parser, |parser| list(parser, piece_of))?,
            "sync_response" => unary = optional(parser, |parser| Ok(Document::read(parser)?))?,
            "stream_chunks" => chunks = optional(parser, chunks_of)?,
            "chunk_offsets_ms" => offsets_us = optional(parser, |parser| list(parser, micros))?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    let body = match (transcript, unary, chunks) {
        (Some(pieces), _, _) => RawBody::Transcript(pieces),
        (None, Some(body), _) => RawBody::Unary(body),
        (None, None, Some(chunks)) => RawBody::Chunks {
            chunks,
            offsets_us: offsets_us.unwrap_or_default(),
        },
        (None, None, None) => return Ok(None),
    };
    Ok(Some(Raw { body }))
}

fn chunks_of(parser: &mut Parser<'_>) -> Read<Documents> {
    let mut texts = Texts::default();
    items(parser, |parser, _| Ok(texts.read(parser)?))?;
    texts.shrink_to_fit();
    Ok(Documents::Texts(texts))
}

fn piece_of(parser: &mut Parser<'_>) -> Read<Piece> {
    let (mut offset_us, mut plain, mut coded) = (0, None, None);
    members(parser, |parser, key| {
        match &*key {
            "offset_ms" => offset_us = optional(parser, micros)?.unwrap_or_default(),
            "text" => plain = optional(parser, string)?.map(String::into_bytes),
            "base64" => coded = optional(parser, base64_of)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    let bytes = plain.or(coded).ok_or_else(|| Fault::missing("base64"))?;
    Ok(Piece { offset_us, bytes })
}

fn base64_of(parser: &mut Parser<'_>) -> Read<Vec<u8>> {
    BASE64
        .decode(&*text(parser)?)
        .map_err(|error| Fault::new(format!("this is no base64: {error}")))
}

#[cfg(test)]
mod tests {
    use super::super::encode::take_document;
    use super::super::file::parser;
    use super::*;
    use crate::json::{compact, parse};

    fn wrong(text: &str) -> (String, String) {
        match take_of("t", &mut parser(text)) {
            Err(Fault::Wrong(wrong)) => (wrong.path_text(), wrong.message),
            other => panic!("{other:?}"),
        }
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
        let take = take_of("t", &mut parser(text)).unwrap().take;
        assert_eq!(compact(&take_document(&take)), compact(&document));
    }

    #[test]
    fn native_usage_names_of_old_files_are_understood() {
        let text =
            r#"{"usage":{"prompt_token_count":3,"candidates_token_count":4,"total_token_count":9,"odd":1}}"#;
        let take = take_of("t", &mut parser(text)).unwrap().take;
        let usage = take.calls[0].usage.clone().unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (3, 4, 9)
        );
        assert_eq!(usage.details.get("odd").and_then(Json::as_u64), Some(1));
    }
}
