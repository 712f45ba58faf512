//! A frozen answer as a call, and a call as a frozen answer.

use std::sync::Arc;

use crate::json::{Json, Object, compact};
use crate::model::{
    Boundary, BoundaryKind, Call, CanonicalRequest, Frame, HttpHead, Raw, RawBody, RecordedRequest, ToolCall,
    Usage,
};
use crate::protocol::Providers;

/// What answers `request`. An error says what the response is wrong about, and quotes nothing of it but names of members.
pub(super) fn call(
    response: Json,
    request: &CanonicalRequest,
    providers: &Providers,
) -> Result<Call, String> {
    let mut call = if providers.completes(&request.protocol) {
        completion(&response)?
    } else {
        document(response, request)
    };
    // A recording that is mended by `mode = new` keeps the request that was answered.
    let hash = crate::canon::request_hash(request);
    call.request = Arc::new(RecordedRequest::recorded(request.clone(), hash));
    Ok(call)
}

/// A call that is answered by a document takes the response as it is.
fn document(response: Json, request: &CanonicalRequest) -> Call {
    let over_http = request.protocol != "intercept";
    Call {
        http: over_http.then(|| HttpHead {
            status: 200,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        }),
        raw: Some(Raw {
            body: RawBody::Unary(response.into()),
        }),
        ..Call::default()
    }
}

/// A completion by its members; each at most once, and none that means nothing.
fn completion(response: &Json) -> Result<Call, String> {
    let members = response.as_object().ok_or("it is no object")?;
    let mut frame = Frame::default();
    let mut call = Call::default();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let text = || text(name, value);
        match name.as_str() {
            "content" => frame.chunk = text()?,
            "structured_output" | "object" => frame.chunk = compact(value),
            "reasoning" => frame.reasoning = Some(text()?),
            "reasoning_signature" => frame.reasoning_signature = Some(text()?),
            "refusal" => frame.refusal = Some(text()?),
            "finish_reason" => frame.finish_reason = Some(text()?),
            "tool_calls" => frame.tool_calls = tool_calls(value)?,
            "usage" | "tokens" => call.usage = Some(usage(name, value)?),
            "error" => call.boundary = Some(boundary(value)?),
            other => return Err(format!("it has the member `{other}`, which no completion has")),
        }
    }
    if call.boundary.is_none() {
        if frame.is_blank() && members.get("content").is_none_or(Json::is_null) {
            return Err("it has neither `content` nor `tool_calls` nor `error`".to_owned());
        }
        let usual = if frame.tool_calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        frame.finish_reason.get_or_insert_with(|| usual.to_owned());
    }
    if !frame.is_blank() {
        call.frames.push(frame);
    }
    Ok(call)
}

fn text(name: &str, value: &Json) -> Result<String, String> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| format!("its `{name}` is no string"))
}

/// `{"id", "type": "function", "function": {"name", "arguments"}}`, or flat `{"id", "name", "args"}`; arguments as JSON
/// text or as an object.
fn tool_calls(value: &Json) -> Result<Vec<ToolCall>, String> {
    let items = value.as_array().ok_or("its `tool_calls` is no list")?;
    let call = |(index, item): (usize, &Json)| {
        let wrong = |what: &str| format!("its tool call {} has no {what}", index + 1);
        let function = item.get("function").unwrap_or(item);
        let name = function.get("name").and_then(Json::as_str);
        let arguments = function.get("arguments").or_else(|| function.get("args"));
        let arguments = match arguments {
            Some(Json::String(text)) => text.clone(),
            Some(object @ Json::Object(_)) => compact(object),
            _ => return Err(wrong("arguments")),
        };
        let id = item.get("id").and_then(Json::as_str).ok_or_else(|| wrong("id"))?;
        Ok(ToolCall::new(id, name.ok_or_else(|| wrong("name"))?, arguments))
    };
    items.iter().enumerate().map(call).collect()
}

/// The names by which each count is known.
const COUNTS: [&[&str]; 3] = [
    &["prompt_tokens", "input_tokens", "input"],
    &["completion_tokens", "output_tokens", "output"],
    &["total_tokens", "total"],
];

fn usage(name: &str, value: &Json) -> Result<Usage, String> {
    let members = value
        .as_object()
        .ok_or_else(|| format!("its `{name}` is no object"))?;
    let count = |names: &[&str]| {
        let found = names
            .iter()
            .find_map(|name| members.get(name))
            .filter(|value| !value.is_null());
        let wrong = || format!("its `{name}` has a count that is no whole number");
        found.map(|value| value.as_u64().ok_or_else(wrong)).transpose()
    };
    let [prompt, completion, total] = COUNTS;
    let mut usage = Usage::new(count(prompt)?.unwrap_or(0), count(completion)?.unwrap_or(0));
    if let Some(total) = count(total)? {
        usage.total_tokens = total;
    }
    let known = |name: &str| COUNTS.iter().any(|names| names.contains(&name));
    usage.details = members.iter().filter(|(name, _)| !known(name)).cloned().collect();
    Ok(usage)
}

fn boundary(value: &Json) -> Result<Boundary, String> {
    let text = |name: &str| value.get(name).and_then(Json::as_str).map(str::to_owned);
    let status = match value.get("status") {
        None | Some(Json::Null) => None,
        Some(status) => {
            let status = status.as_u64().and_then(|status| u16::try_from(status).ok());
            let status = status.filter(|status| (400..600).contains(status));
            Some(status.ok_or("the `status` of its `error` is none of 400 to 599")?)
        }
    };
    Ok(Boundary {
        kind: if status.is_some() {
            BoundaryKind::Http
        } else {
            BoundaryKind::Error
        },
        error_type: text("type").ok_or("its `error` has no `type`")?,
        message: text("message").ok_or("its `error` has no `message`")?,
        status,
        code: text("code"),
    })
}

/// What a recorded call answers, frozen. An error says what of it has no frozen form.
pub(super) fn response(call: &Call, providers: &Providers) -> Result<Json, String> {
    let protocol = call.request.protocol.as_deref().unwrap_or_default();
    if !providers.completes(protocol) {
        let no_object = || "its answer is no JSON object".to_owned();
        return match call.raw.as_ref().map(|raw| &raw.body) {
            Some(RawBody::Unary(body)) => match body.tree().into_owned() {
                body @ Json::Object(_) => Ok(body),
                _ => Err(no_object()),
            },
            _ => Err(no_object()),
        };
    }
    if call.frames.iter().any(|frame| frame.choice > 0) {
        return Err("it has several choices".to_owned());
    }
    if call.frames.iter().any(|frame| frame.native.is_some()) {
        return Err("it has a block that only its provider understands".to_owned());
    }
    let mut members = Object::new();
    said(&call.frames, &mut members);
    if let Some(usage) = &call.usage {
        let mut counts = Object::new();
        counts.push("prompt_tokens", usage.prompt_tokens);
        counts.push("completion_tokens", usage.completion_tokens);
        counts.push("total_tokens", usage.total_tokens);
        counts.0.extend(usage.details.iter().cloned());
        members.push("usage", counts);
    }
    if let Some(boundary) = &call.boundary {
        members.push("error", failed(boundary)?);
    }
    if members.is_empty() {
        return Err("it says nothing".to_owned());
    }
    Ok(members.into())
}

fn said(frames: &[Frame], members: &mut Object) {
    let joined = |part: fn(&Frame) -> Option<&str>| {
        let parts: Vec<&str> = frames.iter().filter_map(part).collect();
        (!parts.is_empty()).then(|| parts.concat())
    };
    let calls: Vec<Json> = frames
        .iter()
        .flat_map(|frame| &frame.tool_calls)
        .map(asked)
        .collect();
    let content: String = frames.iter().map(|frame| frame.chunk.as_str()).collect();
    let signature = frames
        .iter()
        .rev()
        .find_map(|frame| frame.reasoning_signature.clone());
    for (name, text) in [
        ("reasoning", joined(|frame| frame.reasoning.as_deref())),
        ("reasoning_signature", signature),
        (
            "content",
            (!content.is_empty() || (calls.is_empty() && !frames.is_empty())).then_some(content),
        ),
        ("refusal", joined(|frame| frame.refusal.as_deref())),
    ] {
        if let Some(text) = text {
            members.push(name, text);
        }
    }
    if !calls.is_empty() {
        members.push("tool_calls", calls);
    }
    if let Some(reason) = frames.iter().rev().find_map(|frame| frame.finish_reason.clone()) {
        members.push("finish_reason", reason);
    }
}

fn asked(call: &ToolCall) -> Json {
    let mut function = Object::new();
    function.push("name", call.function.name.as_str());
    function.push("arguments", call.function.arguments.as_str());
    let mut members = Object::new();
    members.push("id", call.id.as_str());
    members.push("type", "function");
    members.push("function", function);
    members.into()
}

/// How a call ended that failed with the provider's own error.
fn failed(boundary: &Boundary) -> Result<Json, String> {
    if !matches!(boundary.kind, BoundaryKind::Http | BoundaryKind::Error) {
        return Err(format!("it ended by `{}`", boundary.kind.as_str()));
    }
    let mut members = Object::new();
    members.push("type", boundary.error_type.as_str());
    members.push("message", boundary.message.as_str());
    if let Some(status) = boundary.status {
        members.push("status", u64::from(status));
    }
    if let Some(code) = &boundary.code {
        members.push("code", code.as_str());
    }
    Ok(members.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn live(protocol: &str) -> CanonicalRequest {
        CanonicalRequest {
            protocol: protocol.to_owned(),
            ..CanonicalRequest::default()
        }
    }

    fn read(text: &str) -> Result<Call, String> {
        call(parse(text).unwrap(), &live("completion"), &Providers::default())
    }

    /// Every member that there is.
    const FULL: &str = "{\"reasoning\":\"hm\",\"reasoning_signature\":\"s\",\"content\":\"Hé\",\
        \"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}],\"finish_reason\":\"tool_calls\",\
        \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":9,\"cached\":1}}";

    #[test]
    fn every_member_goes_in_and_comes_out() {
        let failed = "{\"content\":\"partial\",\"error\":{\"type\":\"overloaded\",\"message\":\"later\",\"status\":529,\"code\":\"busy\"}}";
        for text in [
            FULL,
            failed,
            "{\"content\":\"\",\"finish_reason\":\"stop\"}",
            "{\"refusal\":\"no\",\"finish_reason\":\"stop\"}",
        ] {
            let call = read(text).unwrap();
            assert_eq!(
                compact(&response(&call, &Providers::default()).unwrap()),
                text.replace("{\"refusal", "{\"content\":\"\",\"refusal")
            );
        }
    }

    #[test]
    fn short_forms_mean_the_same() {
        let call = read("{\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"name\":\"f\",\"args\":{\"x\":1}}],\"tokens\":{\"input\":3,\"output\":4}}").unwrap();
        let frame = &call.frames[0];
        assert_eq!(frame.tool_calls, [ToolCall::new("a", "f", "{\"x\":1}")]);
        assert_eq!(
            (frame.finish_reason.as_deref(), call.usage),
            (Some("tool_calls"), Some(Usage::new(3, 4)))
        );
        let call = read("{\"structured_output\":{\"a\":[1]}}").unwrap();
        assert_eq!(
            (
                call.frames[0].chunk.as_str(),
                call.frames[0].finish_reason.as_deref()
            ),
            ("{\"a\":[1]}", Some("stop"))
        );
        let error = read("{\"error\":{\"type\":\"T\",\"message\":\"m\"}}").unwrap();
        assert!(error.frames.is_empty() && error.boundary.unwrap().kind == BoundaryKind::Error);
    }

    #[test]
    fn what_is_no_completion_is_refused() {
        for (text, why) in [
            ("{}", "it has neither `content` nor `tool_calls` nor `error`"),
            (
                "{\"content\":null}",
                "it has neither `content` nor `tool_calls` nor `error`",
            ),
            (
                "{\"contnet\":\"x\"}",
                "it has the member `contnet`, which no completion has",
            ),
            ("{\"content\":1}", "its `content` is no string"),
            ("{\"tool_calls\":{}}", "its `tool_calls` is no list"),
            (
                "{\"tool_calls\":[{\"id\":\"a\",\"name\":\"f\"}]}",
                "its tool call 1 has no arguments",
            ),
            (
                "{\"tool_calls\":[{\"name\":\"f\",\"args\":{}}]}",
                "its tool call 1 has no id",
            ),
            (
                "{\"tool_calls\":[{\"id\":\"a\",\"args\":{}}]}",
                "its tool call 1 has no name",
            ),
            ("{\"content\":\"\",\"usage\":[]}", "its `usage` is no object"),
            (
                "{\"content\":\"\",\"tokens\":{\"input\":1.5}}",
                "its `tokens` has a count that is no whole number",
            ),
            ("{\"error\":{\"message\":\"m\"}}", "its `error` has no `type`"),
            (
                "{\"error\":{\"type\":\"T\",\"message\":\"m\",\"status\":200}}",
                "the `status` of its `error` is none of 400 to 599",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn documents_are_taken_as_they_are() {
        let body = "{\"data\":[{\"embedding\":[1.50]}]}";
        for (protocol, head) in [("intercept", false), ("http", true), ("openai-embeddings", true)] {
            let call = call(parse(body).unwrap(), &live(protocol), &Providers::default()).unwrap();
            assert_eq!(call.http.is_some(), head, "{protocol}");
            assert_eq!(compact(&response(&call, &Providers::default()).unwrap()), body);
        }
    }

    #[test]
    fn what_has_no_frozen_form_is_named() {
        let frame = |choice, native: Option<Json>| Frame {
            choice,
            native,
            chunk: "a".to_owned(),
            ..Frame::default()
        };
        let of = |frames: Vec<Frame>, kind: Option<BoundaryKind>| {
            let boundary = kind.map(|kind| Boundary {
                kind,
                error_type: String::new(),
                message: String::new(),
                status: None,
                code: None,
            });
            let call = Call {
                frames: frames.into(),
                boundary,
                request: Arc::new(RecordedRequest::recorded(live("openai-chat"), String::new())),
                ..Call::default()
            };
            response(&call, &Providers::default()).unwrap_err()
        };
        assert_eq!(of(vec![frame(1, None)], None), "it has several choices");
        assert_eq!(
            of(vec![frame(0, Some(Json::Null))], None),
            "it has a block that only its provider understands"
        );
        assert_eq!(
            of(vec![frame(0, None)], Some(BoundaryKind::Cutoff)),
            "it ended by `cutoff`"
        );
        assert_eq!(of(vec![], None), "it says nothing");
    }
}
