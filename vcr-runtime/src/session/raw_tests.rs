use super::*;
use crate::model::{Frame, HttpHead, Usage};
use crate::protocol::{Timeline, find};

const CHAT: &str = "openai-chat";

fn stream(payloads: &[&str]) -> Evidence {
    let payloads = payloads.iter().map(|data| Payload {
        name: None,
        data: (*data).to_owned(),
    });
    let payloads: Vec<Payload> = payloads.collect();
    Evidence::Stream {
        pieces: Vec::new(),
        passages: (0..payloads.len()).map(Passage::One).collect(),
        payloads,
    }
}

/// A call of what the wire's own decoder reads.
fn call(protocol: &str, evidence: &Evidence) -> Call {
    let wire = find(protocol).unwrap();
    let (mut timeline, template) = match evidence {
        Evidence::Stream { payloads, .. } => {
            let mut decoder = wire.decoder();
            let mut timeline = Timeline::new(0);
            for (at_us, payload) in (1..).zip(payloads) {
                let event = crate::protocol::WireEvent {
                    data: payload.data.clone(),
                    ..Default::default()
                };
                let mut said = Vec::new();
                decoder.event(&event, &mut said);
                timeline.push(at_us, said);
            }
            (timeline, decoder.finish().template)
        }
        Evidence::Body { bytes, .. } => {
            let mut said = Vec::new();
            let body = parse(std::str::from_utf8(bytes).unwrap()).unwrap();
            let template = wire.unary(200, &body, &mut said).template;
            let mut timeline = Timeline::unary();
            timeline.push(0, said);
            (timeline, template)
        }
        Evidence::Nothing => panic!("nothing to read"),
    };
    let told = std::mem::replace(&mut timeline, Timeline::unary()).finish();
    Call {
        http: Some(HttpHead {
            status: 200,
            headers: Vec::new(),
        }),
        frames: told.frames.into(),
        usage: told.usage,
        template: template.map(Into::into),
        ..Call::default()
    }
}

fn kept(protocol: &str, evidence: Evidence, include: IncludeRaw, change: fn(&mut Call)) -> Call {
    let mut call = call(protocol, &evidence);
    change(&mut call);
    let request = CanonicalRequest::default();
    let redactor = Redactor::none();
    keep(&mut call, find(protocol), &request, evidence, include, &redactor);
    call
}

fn chat() -> Evidence {
    stream(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
        "[DONE]",
    ])
}

fn body() -> Evidence {
    let bytes = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
    Evidence::Body {
        offset_us: 0,
        bytes: bytes.as_bytes().to_vec(),
    }
}

#[test]
fn what_the_rules_read_as_recorded_needs_no_raw_layer() {
    // The calls of the last two have no ids, which the table alone cannot give them.
    let gemini = stream(&[
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}}"#,
    ]);
    let ollama = stream(&[
        r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}"#,
        r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#,
    ]);
    for (protocol, evidence) in [
        (CHAT, chat()),
        (CHAT, body()),
        ("gemini", gemini),
        ("ollama-chat", ollama),
    ] {
        let call = kept(protocol, evidence, IncludeRaw::Auto, |_| {});
        assert_eq!((call.raw, call.note), (None, None), "{protocol}");
    }
}

#[test]
fn what_the_rules_read_otherwise_is_kept_and_named() {
    type Case = (fn() -> Evidence, fn(&mut Call), &'static str);
    let cases: [Case; 5] = [
        (
            chat,
            |call| call.frames[1].chunk = "la".to_owned(),
            "response_timeline[1].chunk",
        ),
        (
            body,
            |call| call.frames[0].chunk.push('!'),
            "response_timeline[0].chunk",
        ),
        (
            chat,
            |call| {
                call.frames
                    .iter_mut()
                    .for_each(|frame| frame.finish_reason = None);
            },
            "response_timeline[2].finish_reason",
        ),
        (
            chat,
            |call| call.usage = Some(Usage::new(1, 3)),
            "usage.completion_tokens",
        ),
        (body, |call| call.usage = None, "usage"),
    ];
    for (evidence, change, place) in cases {
        let call = kept(CHAT, evidence(), IncludeRaw::Auto, change);
        assert!(call.raw.is_some(), "{place}");
        let note = format!("raw kept: `{place}` as the rules read it");
        assert_eq!(call.note.as_deref(), Some(note.as_str()));

        let call = kept(CHAT, evidence(), IncludeRaw::Never, change);
        assert!(call.raw.is_none(), "{place}");
        let note = format!("without the raw layer this is lost: `{place}` as the rules read it");
        assert_eq!(call.note.as_deref(), Some(note.as_str()));
    }
}

#[test]
fn the_name_of_an_event_counts() {
    let named = || Evidence::Stream {
        pieces: Vec::new(),
        payloads: vec![Payload {
            name: Some("error".to_owned()),
            data: r#"{"message":"too much","type":"server_error"}"#.to_owned(),
        }],
        passages: vec![Passage::One(0)],
    };
    let call = kept(CHAT, named(), IncludeRaw::Auto, |call| {
        call.frames = vec![Frame::default()].into();
    });
    let note = call.note.unwrap();
    assert_eq!(note, "raw kept: `exception_boundary` as the rules read it");
}
