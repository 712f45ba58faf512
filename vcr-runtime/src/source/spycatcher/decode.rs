//! Reading a cassette: one pass over the text, and nothing built of what can be derived.

use super::model::{
    Body, Data, Event, FORMAT_VERSION, Interaction, Metadata, Pairs, Request, Response, Stream, Timing,
};
use crate::json::{Json, JsonError, Limits, Parser};

/// Why a text is no cassette that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// No JSON, or not the members that the format has, with the place.
    Broken(String),
    Version(u32),
}

type Parsed<T> = Result<T, JsonError>;

/// The interactions of a cassette. `placed` gets the range of each in the text.
///
/// # Errors
/// [`Unreadable`].
pub(crate) fn decode(
    text: &str,
    mut placed: impl FnMut(std::ops::Range<usize>),
) -> Result<Vec<Interaction>, Unreadable> {
    let mut parser = Parser::new(text, Limits::default());
    let mut version = None;
    let mut interactions = None;
    let mut foreign = None;
    let read = parser.members(|parser, key| match &*key {
        "format_version" => {
            let found = parser
                .value()?
                .as_u64()
                .and_then(|found| u32::try_from(found).ok());
            let found = found.ok_or_else(|| parser.error("expected a version number"))?;
            version = Some(found);
            if found == FORMAT_VERSION {
                return Ok(());
            }
            // What follows may be of another shape; its faults are none.
            foreign = Some(found);
            Err(parser.error("another version"))
        }
        "interactions" => {
            let mut all = Vec::new();
            parser.items(|parser, _| {
                parser.ahead();
                let start = parser.offset();
                all.push(interaction(parser)?);
                placed(start..parser.offset());
                Ok(())
            })?;
            interactions = Some(all);
            Ok(())
        }
        _ => parser.skip().map(drop),
    });
    if let Some(found) = foreign {
        return Err(Unreadable::Version(found));
    }
    read.and_then(|()| parser.end())
        .map_err(|error| Unreadable::Broken(error.to_string()))?;
    let missing = |name: &str| Unreadable::Broken(format!("the member `{name}` is missing"));
    version.ok_or_else(|| missing("format_version"))?;
    interactions.ok_or_else(|| missing("interactions"))
}

fn interaction(parser: &mut Parser<'_>) -> Parsed<Interaction> {
    let (mut asked, mut answered, mut metadata) = (None, None, Metadata::default());
    parser.members(|parser, key| {
        match &*key {
            "request" => asked = Some(request(parser)?),
            "response" => answered = Some(response(parser)?),
            "metadata" => metadata = self::metadata(parser)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    Ok(Interaction {
        request: asked.ok_or_else(|| parser.error("the member `request` is missing"))?,
        response: answered.ok_or_else(|| parser.error("the member `response` is missing"))?,
        metadata,
    })
}

fn request(parser: &mut Parser<'_>) -> Parsed<Request> {
    let mut request = Request::default();
    parser.members(|parser, key| {
        match &*key {
            "method" => request.method = text(parser)?,
            "path" => request.path = text(parser)?,
            "query" => request.query = text(parser)?,
            "headers" => request.headers = pairs(parser)?,
            "body" => request.body = bytes(parser)?,
            "canonical_request" => {
                let envelope = parser.skip()?;
                request.canonical = (envelope != "null").then(|| envelope.into());
            }
            "stable_hash" => request.hash = optional_text(parser)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    if request.method.is_empty() {
        return Err(parser.error("the request's member `method` is missing"));
    }
    if request.path.is_empty() {
        return Err(parser.error("the request's member `path` is missing"));
    }
    Ok(request)
}

fn response(parser: &mut Parser<'_>) -> Parsed<Response> {
    let (mut kind, mut status, mut headers) = (None, None, Pairs::new());
    let (mut body, mut events, mut stream) = (None, None, Stream::default());
    parser.members(|parser, key| {
        match &*key {
            "kind" => kind = Some(text(parser)?),
            "status" => status = Some(number(parser)?),
            "headers" => headers = pairs(parser)?,
            "body" => body = Some(bytes(parser)?),
            "events" => events = Some(self::events(parser)?),
            "raw_transcript" => stream.transcript = bytes(parser)?,
            "timing" => stream.timing = timing(parser)?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    let status = status.and_then(|status| u16::try_from(status).ok());
    let status =
        status.ok_or_else(|| parser.error("the response's member `status` is missing or no status"))?;
    let body = match kind.as_deref() {
        Some("non_stream") => body
            .map(Body::Whole)
            .ok_or_else(|| parser.error("the response's member `body` is missing"))?,
        Some("stream") => {
            stream.events =
                events.ok_or_else(|| parser.error("the response's member `events` is missing"))?;
            Body::Stream(stream)
        }
        _ => return Err(parser.error("the response's member `kind` must be `non_stream` or `stream`")),
    };
    Ok(Response {
        status,
        headers,
        body,
    })
}

fn events(parser: &mut Parser<'_>) -> Parsed<Vec<Event>> {
    let mut events = Vec::new();
    parser.items(|parser, _| {
        let (mut kind, mut comment, mut raw, mut data) = (None, None, None, Data::default());
        parser.members(|parser, key| {
            match &*key {
                "kind" => kind = Some(text(parser)?),
                "text" => comment = Some(text(parser)?),
                "raw" => raw = Some(text(parser)?),
                "event" => data.event = optional_text(parser)?,
                "id" => data.id = optional_text(parser)?,
                "retry" => data.retry = optional_text(parser)?,
                _ => drop(parser.skip()?),
            }
            Ok(())
        })?;
        events.push(match (kind.as_deref(), comment, raw) {
            (Some("comment"), Some(text), _) => Event::Comment(text),
            (Some("data"), _, Some(raw)) => {
                data.raw = raw;
                Event::Data(data)
            }
            _ => {
                return Err(parser.error("an event has `kind` and either `text` (comment) or `raw` (data)"));
            }
        });
        Ok(())
    })?;
    Ok(events)
}

fn timing(parser: &mut Parser<'_>) -> Parsed<Option<Timing>> {
    if peeks_null(parser)? {
        return Ok(None);
    }
    let mut timing = Timing::default();
    parser.members(|parser, key| {
        match &*key {
            "ttft_ms" => timing.ttft_ms = number(parser)?,
            "chunk_offsets_ms" => parser.items(|parser, _| {
                timing.chunk_offsets_ms.push(number(parser)?);
                Ok(())
            })?,
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    Ok(Some(timing))
}

fn metadata(parser: &mut Parser<'_>) -> Parsed<Metadata> {
    let mut metadata = Metadata::default();
    if peeks_null(parser)? {
        return Ok(metadata);
    }
    parser.members(|parser, key| {
        match &*key {
            "protocol_id" => metadata.protocol_id = text(parser)?,
            "upstream_id" => metadata.upstream_id = text(parser)?,
            "recorded_at" => metadata.recorded_at = text(parser)?,
            "relative_offset_ms" => metadata.relative_offset_ms = number(parser)?,
            "stream_answered_whole" => {
                metadata.stream_answered_whole = parser.value()?.as_bool().unwrap_or_default();
            }
            _ => drop(parser.skip()?),
        }
        Ok(())
    })?;
    Ok(metadata)
}

/// Passes over a `null`, if one comes next.
fn peeks_null(parser: &mut Parser<'_>) -> Parsed<bool> {
    let is_null = parser.ahead() == Some(b'n');
    if is_null {
        parser.skip()?;
    }
    Ok(is_null)
}

fn text(parser: &mut Parser<'_>) -> Parsed<String> {
    match parser.value()? {
        Json::String(text) => Ok(text),
        _ => Err(parser.error("expected a string")),
    }
}

fn optional_text(parser: &mut Parser<'_>) -> Parsed<Option<String>> {
    match parser.value()? {
        Json::String(text) => Ok(Some(text)),
        Json::Null => Ok(None),
        _ => Err(parser.error("expected a string or null")),
    }
}

fn number(parser: &mut Parser<'_>) -> Parsed<u64> {
    let number = parser.value()?.as_u64();
    number.ok_or_else(|| parser.error("expected a whole number"))
}

/// The bytes as numbers; also as text, which is how people write them by hand.
fn bytes(parser: &mut Parser<'_>) -> Parsed<Vec<u8>> {
    if parser.ahead() == Some(b'"') {
        return text(parser).map(String::into_bytes);
    }
    if peeks_null(parser)? {
        return Ok(Vec::new());
    }
    parser.bytes()
}

fn pairs(parser: &mut Parser<'_>) -> Parsed<Pairs> {
    let mut pairs = Pairs::new();
    parser.items(|parser, _| {
        let mut pair = Vec::with_capacity(2);
        parser.items(|parser, _| {
            pair.push(text(parser)?);
            Ok(())
        })?;
        match <[String; 2]>::try_from(pair) {
            Ok([name, value]) => pairs.push((name, value)),
            Err(_) => return Err(parser.error("a header is a pair of name and value")),
        }
        Ok(())
    })?;
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str) -> String {
        match decode(text, |_| ()) {
            Err(Unreadable::Broken(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_cassette_written_by_hand_is_read() {
        let text = r#"{ "format_version": 1, "mine": [], "interactions": [ {
            "request": { "method": "POST", "path": "/v1/chat/completions", "query": "", "headers": [["a", "1"], ["a", "2"]],
              "body": [123, 125], "parsed_json": {}, "canonical_request": { "method": "POST" }, "stable_hash": "20" },
            "response": { "kind": "stream", "status": 200, "headers": [],
              "events": [ { "kind": "comment", "text": "WAIT" }, { "kind": "data", "raw": "{}", "parsed_json": {} } ],
              "raw_transcript": [], "timing": { "ttft_ms": 12, "chunk_offsets_ms": [12, 40] } },
            "metadata": { "protocol_id": "p", "upstream_id": "u", "recorded_at": "t", "relative_offset_ms": 3 } }, {
            "request": { "method": "GET", "path": "/x", "stable_hash": null, "canonical_request": null },
            "response": { "kind": "non_stream", "status": 404, "headers": [], "body": "n\u00f6", "parsed_json": null } } ] }"#;
        let mut places = Vec::new();
        let read = decode(text, |place| places.push(text[place].to_owned())).unwrap();
        assert_eq!(read.len(), 2);
        assert!(places[0].starts_with('{') && places[0].ends_with("} }"));
        assert_eq!(read[0].request.body, b"{}");
        assert_eq!(read[0].request.headers.len(), 2);
        assert_eq!(
            read[0].request.canonical.as_deref(),
            Some(r#"{ "method": "POST" }"#)
        );
        let Body::Stream(stream) = &read[0].response.body else {
            panic!("no stream");
        };
        assert_eq!(stream.events.len(), 2);
        assert_eq!(stream.timing.as_ref().unwrap().chunk_offsets_ms, [12, 40]);
        assert_eq!(read[0].metadata.relative_offset_ms, 3);
        assert_eq!(
            (read[1].request.hash.as_ref(), read[1].request.canonical.as_ref()),
            (None, None)
        );
        assert_eq!(read[1].response.body, Body::Whole("n\u{f6}".into()));
    }

    #[test]
    fn another_version_is_told_apart_from_a_broken_file() {
        assert_eq!(
            decode(r#"{"format_version":2,"interactions":{"odd":true}}"#, |_| ()),
            Err(Unreadable::Version(2))
        );
        for (text, message) in [
            ("", "the document is empty at line 1 column 1"),
            ("{", "line 1"),
            (r#"{"interactions":[]}"#, "the member `format_version` is missing"),
            (r#"{"format_version":1}"#, "the member `interactions` is missing"),
            (
                r#"{"format_version":"1","interactions":[]}"#,
                "expected a version number",
            ),
            (r#"{"format_version":1,"interactions":[]}x"#, "something follows"),
            (
                r#"{"format_version":1,"interactions":[{"request":{"method":"POST","path":"/"}}]}"#,
                "the member `response` is missing",
            ),
            (
                r#"{"format_version":1,"interactions":[{"request":{"method":"POST","path":"/","body":[256]}}]}"#,
                "expected a byte, a number from 0 to 255 at line 1 column 84 (in `interactions[0].request.body[0]`)",
            ),
            (
                r#"{"format_version":1,"interactions":[{"request":{"method":"POST","path":"/","body":[01]}}]}"#,
                "not a JSON number",
            ),
            (
                r#"{"format_version":1,"interactions":[{"response":{"kind":"odd","status":200}}]}"#,
                "must be `non_stream` or `stream`",
            ),
            (
                r#"{"format_version":1,"interactions":[{"response":{"kind":"stream","status":70000}}]}"#,
                "no status",
            ),
        ] {
            let said = broken(text);
            assert!(said.contains(message), "{text}: {said}");
        }
    }
}
