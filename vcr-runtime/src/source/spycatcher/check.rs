//! Proves what a cassette says against itself.

use super::canonical::{Canonical, same};
use super::decode::{Unreadable, decode};
use super::events::EventReader;
use super::model::{Body, Data, Event, Interaction, Pairs, Stream};
use super::pointers::Pointers;
use crate::json::{Json, parse};
use crate::protocol::Framing;

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Which interaction, counted from 0.
    pub(crate) interaction: usize,
    /// Where in it: `request.stable_hash`.
    pub(crate) member: String,
    pub(crate) message: String,
}

/// What to prove besides the format's own rules.
pub(crate) struct Rules<'a> {
    pub(crate) ignored: &'a Pointers,
    /// Header names that must not be there, in any case.
    pub(crate) dropped: &'a [String],
    /// Whether a text holds a secret, and which.
    pub(crate) secret: &'a dyn Fn(&str) -> Option<String>,
}

/// Everything that does not hold, in the order of the file.
///
/// # Errors
/// [`Unreadable`].
pub(crate) fn check(text: &str, rules: &Rules<'_>) -> Result<Vec<Finding>, Unreadable> {
    let mut places = Vec::new();
    let interactions = decode(text, |place| places.push(place))?;
    let mut findings = Vec::new();
    for (index, (interaction, place)) in interactions.iter().zip(places).enumerate() {
        let document = parse(&text[place]).unwrap_or(Json::Null);
        let mut found = |member: &str, message: String| {
            findings.push(Finding {
                interaction: index,
                member: member.to_owned(),
                message,
            });
        };
        request(interaction, &document, rules, &mut found);
        response(interaction, &document, rules, &mut found);
    }
    Ok(findings)
}

fn request(
    interaction: &Interaction,
    document: &Json,
    rules: &Rules<'_>,
    found: &mut dyn FnMut(&str, String),
) {
    let request = &interaction.request;
    let body = json(&request.body);
    if body.is_none() {
        found(
            "request.body",
            "it is no JSON, so no request can match it".to_owned(),
        );
    }
    stated(document, &["request", "parsed_json"], body.as_ref(), found);
    headers("request.headers", &request.headers, rules, found);
    secrets("request.body", &request.body, rules, found);
    secrets("request.query", request.query.as_bytes(), rules, found);
    let envelope = request.canonical.as_deref().and_then(|text| parse(text).ok());
    let envelope = envelope.as_ref().and_then(Canonical::stored);
    let Some(mut envelope) = envelope else {
        found(
            "request.canonical_request",
            "it is missing, or no envelope".to_owned(),
        );
        return;
    };
    let recomputed = envelope.hash();
    match &request.hash {
        None => found("request.stable_hash", "it is missing".to_owned()),
        Some(hash) if *hash != recomputed => found(
            "request.stable_hash",
            format!("it is {hash}, and that of the canonical request is {recomputed}"),
        ),
        Some(_) => {}
    }
    let derived = Canonical::of(
        &request.method,
        &request.path,
        &request.query,
        body,
        rules.ignored,
    )
    .and_then(|derived| rules.ignored.apply(&mut envelope.body).map(|()| derived));
    match derived {
        Err(error) => found("request.body", error.to_string()),
        Ok(derived) if derived.text() != envelope.text() => found(
            "request.canonical_request",
            format!(
                "it is not that of the request: {}",
                super::diff(&derived, &envelope).replace('\n', "; ")
            ),
        ),
        Ok(_) => {}
    }
}

fn response(
    interaction: &Interaction,
    document: &Json,
    rules: &Rules<'_>,
    found: &mut dyn FnMut(&str, String),
) {
    let response = &interaction.response;
    if !(100..=599).contains(&response.status) {
        found(
            "response.status",
            format!("{} is no HTTP status", response.status),
        );
    }
    headers("response.headers", &response.headers, rules, found);
    match &response.body {
        Body::Whole(body) => {
            stated(document, &["response", "parsed_json"], json(body).as_ref(), found);
            secrets("response.body", body, rules, found);
        }
        Body::Stream(stream) => {
            events(stream, document, rules, found);
            transcript(stream, &response.headers, found);
            timing(stream, found);
        }
    }
}

fn events(stream: &Stream, document: &Json, rules: &Rules<'_>, found: &mut dyn FnMut(&str, String)) {
    let documents = document
        .get("response")
        .and_then(|response| response.get("events"));
    for (index, event) in stream.events.iter().enumerate() {
        let Event::Data(Data { raw, .. }) = event else {
            continue;
        };
        let member = format!("response.events[{index}]");
        let parsed = documents
            .and_then(|events| events.at(index))
            .and_then(|event| event.get("parsed_json"));
        compared(
            &format!("{member}.parsed_json"),
            parsed,
            parse(raw).ok().as_ref(),
            found,
        );
        secrets(&format!("{member}.raw"), raw.as_bytes(), rules, found);
    }
}

fn transcript(stream: &Stream, headers: &Pairs, found: &mut dyn FnMut(&str, String)) {
    if stream.transcript.is_empty() {
        return;
    }
    let content_type = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let framing = Framing::of(content_type.map(|(_, value)| value.as_str())).unwrap_or(Framing::Sse);
    let mut reader = EventReader::new(framing);
    reader.push(&stream.transcript, 0);
    let read = match reader.finish(0) {
        Ok((events, _)) => events,
        Err(fault) => return found("response.raw_transcript", fault.to_owned()),
    };
    let same = read.len() == stream.events.len()
        && read
            .iter()
            .zip(&stream.events)
            .all(|(one, other)| agree(one, other));
    if !same {
        found(
            "response.events",
            format!(
                "they are not those of the transcript, which has {} to their {}",
                read.len(),
                stream.events.len()
            ),
        );
    }
}

/// What the format does not keep of an event cannot disagree.
fn agree(read: &Event, stored: &Event) -> bool {
    match (read, stored) {
        (Event::Data(read), Event::Data(stored)) => {
            let field = |read: &Option<String>, stored: &Option<String>| stored.is_none() || read == stored;
            read.raw == stored.raw
                && field(&read.event, &stored.event)
                && field(&read.id, &stored.id)
                && field(&read.retry, &stored.retry)
        }
        _ => read == stored,
    }
}

fn timing(stream: &Stream, found: &mut dyn FnMut(&str, String)) {
    let Some(timing) = &stream.timing else {
        return;
    };
    let member = "response.timing.chunk_offsets_ms";
    let offsets = &timing.chunk_offsets_ms;
    if offsets.len() != stream.events.len() {
        found(
            member,
            format!("{} offsets for {} events", offsets.len(), stream.events.len()),
        );
    }
    if !offsets.is_sorted() {
        found(member, "an event is earlier than the one before it".to_owned());
    }
}

fn headers(member: &str, headers: &Pairs, rules: &Rules<'_>, found: &mut dyn FnMut(&str, String)) {
    for (name, _) in headers {
        if rules
            .dropped
            .iter()
            .any(|dropped| dropped.eq_ignore_ascii_case(name))
        {
            found(member, format!("`{name}` is there, which is to be dropped"));
        }
    }
}

fn secrets(member: &str, bytes: &[u8], rules: &Rules<'_>, found: &mut dyn FnMut(&str, String)) {
    if let Some(secret) = std::str::from_utf8(bytes).ok().and_then(rules.secret) {
        found(member, format!("it holds a secret: {secret}"));
    }
}

/// Compares a member that can be derived with what it is derived from.
fn stated(document: &Json, path: &[&str; 2], derived: Option<&Json>, found: &mut dyn FnMut(&str, String)) {
    let stated = document.get(path[0]).and_then(|part| part.get(path[1]));
    compared(&path.join("."), stated, derived, found);
}

/// Missing is as good as right: files written by hand lack what can be derived.
fn compared(
    member: &str,
    stated: Option<&Json>,
    derived: Option<&Json>,
    found: &mut dyn FnMut(&str, String),
) {
    let Some(stated) = stated else {
        return;
    };
    if !same(stated, derived.unwrap_or(&Json::Null)) {
        found(member, "it is not what the bytes say".to_owned());
    }
}

fn json(bytes: &[u8]) -> Option<Json> {
    parse(std::str::from_utf8(bytes).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{ "format_version": 1, "interactions": [ {
      "request": { "method": "POST", "path": "/v1/chat/completions", "query": "", "headers": [["content-type", "application/json"]],
        "body": [123, 125], "parsed_json": {},
        "canonical_request": { "method": "POST", "path": "/v1/chat/completions", "canonical_query": "", "canonical_body": {} },
        "stable_hash": "20793467582a70c1ddae675cdeb3c8397c0416a3e83bb245af07132f5871fa1e" },
      "response": { "kind": "stream", "status": 200, "headers": [["content-type", "text/event-stream"]],
        "events": [ { "kind": "comment", "text": "WAIT" }, { "kind": "data", "raw": "{\"n\":1.50}", "parsed_json": { "n": 1.5 } } ],
        "raw_transcript": ": WAIT\n\nevent: e\ndata: {\"n\":1.50}\n\n", "timing": { "ttft_ms": 12, "chunk_offsets_ms": [12, 40] } },
      "metadata": null } ] }"#;

    fn findings(text: &str) -> Vec<String> {
        let rules = Rules {
            ignored: &Pointers::default(),
            dropped: &["X-Secret".to_owned()],
            secret: &|text| text.contains("sk-canary").then(|| "a key".to_owned()),
        };
        let findings = check(text, &rules).unwrap();
        findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.member, finding.message))
            .collect()
    }

    #[test]
    fn a_whole_cassette_has_no_findings() {
        assert!(findings(GOOD).is_empty(), "{:?}", findings(GOOD));
    }

    #[test]
    fn each_layer_is_held_against_the_others() {
        for (good, bad, finding) in [
            ("1fa1e", "1fa1f", "request.stable_hash: it is 2079"),
            (
                "\"2079",
                "null, \"was\": \"2079",
                "request.stable_hash: it is missing",
            ),
            (
                "[123, 125]",
                "\"{\\\"a\\\":1}\"",
                "request.canonical_request: it is not that of the request: removed: canonical_body.a",
            ),
            (
                "\"parsed_json\": {},",
                "\"parsed_json\": 1,",
                "request.parsed_json: it is not what",
            ),
            ("[123, 125]", "\"{\"", "request.body: it is no JSON"),
            (
                "{ \"n\": 1.5 }",
                "{ \"n\": 2 }",
                "response.events[1].parsed_json: it is not",
            ),
            (
                "\"WAIT\"",
                "\"WAIS\"",
                "response.events: they are not those of the transcript",
            ),
            (
                ": WAIT\\n\\n",
                "",
                "response.events: they are not those of the transcript, which has 1 to their 2",
            ),
            ("[12, 40]", "[12]", "chunk_offsets_ms: 1 offsets for 2 events"),
            ("[12, 40]", "[12, 4]", "chunk_offsets_ms: an event is earlier"),
            (
                "\"status\": 200",
                "\"status\": 700",
                "response.status: 700 is no HTTP status",
            ),
            (
                "\"content-type\", \"app",
                "\"x-secret\", \"app",
                "request.headers: `x-secret` is there",
            ),
            (
                "\"query\": \"\"",
                "\"query\": \"k=sk-canary\"",
                "request.query: it holds a secret: a key",
            ),
        ] {
            assert!(GOOD.contains(good), "{good}");
            let found = findings(&GOOD.replacen(good, bad, 1));
            assert!(
                found.iter().any(|found| found.contains(finding)),
                "{bad}: {found:?}"
            );
        }
    }
}
