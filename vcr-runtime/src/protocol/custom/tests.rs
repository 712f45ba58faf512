use std::path::Path;

use super::Providers;
use crate::config::ProjectFile;
use crate::error::Error;
use crate::json::{Json, compact, parse};
use crate::model::Frame;
use crate::protocol::{Answer, Event, HttpRequest, Tail, Wire, WireEvent};

const ACME: &str = r#"
[providers.acme]
base_url = "https://llm.acme.example/v1"
path = "/generate"
[providers.acme.rules]
stream.end = "[END]"
event.choices = "results"
event.text = "out.text"
event.reasoning = "delta.content"
event.tool_calls = "delta.calls"
event.finish = "reason"
event.tool = { id = "ref", name = "fn", arguments = "input" }
event.usage = "meta.tokens"
body = { choices = "results", text = "out.text", finish = "reason", usage = "meta.tokens" }
usage = { prompt = "in", completion = "out" }
error.message = "why"
finish = { stop = ["DONE"], length = "CUT" }
"#;

fn providers(text: &str) -> Result<Providers, Error> {
    Providers::of(&ProjectFile::parse(text, Path::new("/p/vcr.toml")).unwrap())
}

fn acme() -> &'static dyn Wire {
    providers(ACME).unwrap().find("acme").unwrap()
}

const CHUNKS: [&str; 6] = [
    r#"{"id":"1","results":[{"index":0,"delta":{"role":"assistant"}}]}"#,
    r#"{"id":"1","results":[{"index":0,"delta":{"content":"Hm"}}]}"#,
    r#"{"id":"1","results":[{"index":0,"out":{"text":"Hello"}}]}"#,
    r#"{"id":"1","results":[{"index":0,"delta":{"calls":[{"index":0,"type":"function","ref":"c1","fn":"add","input":"{}"}]}}]}"#,
    r#"{"id":"1","results":[{"index":0,"delta":{},"reason":"DONE"}]}"#,
    r#"{"id":"1","results":[],"meta":{"tokens":{"in":3,"out":4}}}"#,
];

fn decoded(wire: &dyn Wire, chunks: &[&str]) -> (Vec<Event>, Tail) {
    let mut decoder = wire.decoder();
    let mut out = Vec::new();
    for chunk in chunks {
        let event = WireEvent {
            data: (*chunk).to_owned(),
            ..WireEvent::default()
        };
        decoder.event(&event, &mut out);
    }
    (out, decoder.finish())
}

fn chunks_with_end() -> Vec<&'static str> {
    CHUNKS.into_iter().chain(["[END]"]).collect()
}

#[test]
fn a_stream_is_read_by_its_own_names() {
    let (events, tail) = decoded(acme(), &chunks_with_end());
    assert_eq!(tail.odd, None);
    assert!(tail.complete);
    let usage = match &events[4] {
        Event::Usage(usage) => (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        other => panic!("{other:?}"),
    };
    assert_eq!(usage, (3, 4, 7));
    assert_eq!(
        events[..4],
        [
            Event::Reasoning {
                choice: 0,
                text: "Hm".to_owned()
            },
            Event::Text {
                choice: 0,
                text: "Hello".to_owned()
            },
            Event::Tool {
                choice: 0,
                index: 0,
                id: Some("c1".to_owned()),
                name: Some("add".to_owned()),
                arguments: "{}".to_owned(),
            },
            Event::Finish {
                choice: 0,
                reason: "stop".to_owned(),
                native: Some("DONE".to_owned())
            },
        ]
    );
    assert_eq!(events[5..], [Event::End]);
}

/// The frames that a recorder makes of the events of `CHUNKS`.
fn frames() -> Vec<Frame> {
    let mut reasoning = Frame {
        reasoning: Some("Hm".to_owned()),
        ..Frame::default()
    };
    reasoning.delta_us = 1;
    let mut last = Frame {
        tool_calls: vec![crate::model::ToolCall::new("c1", "add", "{}")],
        finish_reason: Some("stop".to_owned()),
        ..Frame::default()
    };
    last.native_finish_reason = Some("DONE".to_owned());
    vec![
        reasoning,
        Frame {
            chunk: "Hello".to_owned(),
            ..Frame::default()
        },
        last,
    ]
}

fn answer<'a>(frames: &'a [Frame], usage: &'a crate::Usage, template: Option<&'a Json>) -> Answer<'a> {
    Answer {
        frames,
        usage: Some(usage),
        boundary: None,
        template,
        model: "m",
        id: "vcr-1",
    }
}

#[test]
fn a_recorded_stream_goes_back_to_its_own_names() {
    let wire = acme();
    let (events, tail) = decoded(wire, &chunks_with_end());
    let usage = match &events[4] {
        Event::Usage(usage) => usage.clone(),
        other => panic!("{other:?}"),
    };
    let frames = frames();
    let rendered = wire.render_stream(&answer(&frames, &usage, tail.template.as_ref()));
    let rendered: Vec<Json> = rendered.into_iter().map(|(_, payload)| payload).collect();
    let wired: Vec<Json> = CHUNKS.iter().map(|chunk| parse(chunk).unwrap()).collect();
    assert_eq!(
        compact(&wire.assemble(&rendered)),
        compact(&wire.assemble(&wired))
    );
    let text = compact(&rendered[2]);
    assert!(
        text.contains(r#""out":{"text":"Hello"}"#) && text.contains("\"results\""),
        "{text}"
    );
    assert!(
        !text.contains("choices") && !text.contains("\"content\""),
        "{text}"
    );
    let rendered_again: Vec<String> = rendered.iter().map(compact).collect();
    let (again, _) = decoded(
        wire,
        &rendered_again.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    assert_eq!(again, events[..5]);
    assert_eq!(wire.trailer(tail.template.as_ref()), "data: [END]\n\n");
    assert_eq!(wire.end_marker(), "[END]");
}

#[test]
fn an_answer_from_elsewhere_gets_the_providers_words() {
    let mut frames = frames();
    frames[2].native_finish_reason = None;
    let usage = crate::Usage::new(3, 4);
    let rendered = acme().render_stream(&answer(&frames, &usage, None));
    let all: String = rendered.iter().map(|(_, payload)| compact(payload)).collect();
    assert!(
        all.contains(r#""reason":"DONE""#) && all.contains(r#""input":"{}""#),
        "{all}"
    );
    assert!(
        all.contains(r#""meta":{"tokens":{"total_tokens":7,"out":4,"in":3}}"#),
        "{all}"
    );
}

#[test]
fn a_body_comes_back_as_it_was() {
    let wire = acme();
    let body = r#"{"id":"1","results":[{"index":0,"out":{"text":"Hello"},"reason":"CUT"}],"meta":{"tokens":{"in":3,"out":4}}}"#;
    let mut events = Vec::new();
    let tail = wire.unary(200, &parse(body).unwrap(), &mut events);
    assert_eq!(tail.odd, None);
    assert_eq!(
        events[0],
        Event::Text {
            choice: 0,
            text: "Hello".to_owned()
        }
    );
    let frame = Frame {
        chunk: "Hello".to_owned(),
        finish_reason: Some("length".to_owned()),
        native_finish_reason: Some("CUT".to_owned()),
        ..Frame::default()
    };
    let usage = crate::Usage::new(3, 4);
    let rendered = wire.render_unary(&answer(&[frame], &usage, tail.template.as_ref()));
    assert_eq!(
        compact(&wire.comparable(&rendered)),
        compact(&wire.comparable(&parse(body).unwrap()))
    );
    let mut events = Vec::new();
    wire.unary(
        429,
        &parse(r#"{"error":{"why":"slow down","type":"rate"}}"#).unwrap(),
        &mut events,
    );
    match &events[..] {
        [Event::Error(error)] => {
            assert_eq!(
                (error.message.as_str(), error.error_type.as_str()),
                ("slow down", "rate")
            );
            assert_eq!(error.status, Some(429));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_below_the_base_are_the_providers() {
    let providers = providers(ACME).unwrap();
    let http = HttpRequest {
        method: "POST",
        path: "/generate",
        query: "",
        body: br#"{"model":"m","messages":[]}"#,
    };
    let recognised = |base: &str, http: &HttpRequest<'_>| {
        let (wire, request) = providers.recognise(base, http)?;
        Some((wire.name(), request.protocol, request.provider))
    };
    let acme = Some(("acme", "acme".to_owned(), "acme".to_owned()));
    assert_eq!(recognised("https://llm.acme.example/v1", &http), acme);
    assert_eq!(recognised("https://other.example/v1", &http), None);
    let usual = HttpRequest {
        path: "/chat/completions",
        ..http
    };
    let found = recognised("https://llm.acme.example/v1", &usual).unwrap();
    assert_eq!(found.0, "openai-chat");
    assert!(providers.find("openai-chat").is_some() && providers.find("nope").is_none());
}

#[test]
fn without_rules_only_name_and_path_differ() {
    let wire = providers("[providers.plain]\nbase_url = \"https://p.example\"").unwrap();
    let wire = wire.find("plain").unwrap();
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let (events, tail) = decoded(wire, &[chunk, "[DONE]"]);
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(wire.trailer(tail.template.as_ref()), "data: [DONE]\n\n");
}

#[test]
fn an_end_marker_can_be_absent() {
    let text = "[providers.endless]\nbase_url = \"https://p.example\"\nrules.stream.end = \"\"";
    let wire = providers(text).unwrap().find("endless").unwrap();
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let (_, tail) = decoded(wire, &[chunk]);
    assert!(tail.complete && wire.trailer(tail.template.as_ref()).is_empty());
}

#[test]
fn bad_tables_name_file_line_and_key() {
    let head = "[providers.bad]\nbase_url = \"http://a\"\n[providers.bad.rules]\n";
    for (rule, message, advice) in [
        (
            "events.text = \"a\"",
            "the rule `events.text` is not known",
            "allowed: `event`",
        ),
        (
            "event.txt = \"a\"",
            "the rule `event.txt` is not known, did you mean `event.text`?",
            "`event.tool.id`",
        ),
        (
            "usage.promt = \"a\"",
            "did you mean `usage.prompt`?",
            "allowed: `usage.prompt`",
        ),
        (
            "finish.stopp = \"a\"",
            "did you mean `finish.stop`?",
            "allowed: `finish.stop`",
        ),
        (
            "stream.names = \"a\"",
            "the rule `stream.names` is not known",
            "allowed: `stream.end`",
        ),
        (
            "event.text = \"a..b\"",
            "`event.text` holds `a..b`, which is no path",
            "joined by dots",
        ),
        (
            "event.text = \"a.0\"",
            "`event.text` holds `a.0`, which is no path",
            "positions are not possible",
        ),
        (
            "event.text = [\"a\", \"b\"]",
            "`event.text` must be one text",
            "write the one",
        ),
    ] {
        let error = providers(&format!("{head}{rule}\n")).unwrap_err();
        assert_eq!(error.line(), Some(4), "{error}");
        assert_eq!(error.path(), Some(Path::new("/p/vcr.toml")));
        assert!(error.message().starts_with("/p/vcr.toml line 4: "), "{error}");
        assert!(error.message().contains(message), "{error}");
        assert!(error.advice().contains(advice), "{error}");
    }
    let error = providers("\n[providers.openai-chat]\nbase_url = \"http://a\"").unwrap_err();
    assert_eq!(error.line(), Some(2), "{error}");
    assert!(
        error.message().contains("the name of a built-in protocol"),
        "{error}"
    );
}
