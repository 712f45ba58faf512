use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;

use super::OpenAiEmbeddings;
use crate::canon::{diff, request_hash};
use crate::cassette::{take_document, take_of, take_text};
use crate::json::{Document, Json, Limits, Parser, compact, parse};
use crate::model::{Boundary, BoundaryKind, Call, CanonicalRequest, Frame, RecordedRequest, Take, Usage};
use crate::protocol::{Answer, HttpRequest, Tail, Wire};
use crate::protocol::{Timeline, Told};

fn request(path: &str, body: &str) -> Option<CanonicalRequest> {
    OpenAiEmbeddings.request(&HttpRequest {
        method: "POST",
        path,
        query: "",
        body: body.as_bytes(),
    })
}

fn asked(body: &str) -> CanonicalRequest {
    request("/v1/embeddings", body).unwrap()
}

fn record(status: u16, body: &str) -> (Told, Tail) {
    let mut out = Vec::new();
    let tail = OpenAiEmbeddings.unary(status, &parse(body).unwrap(), &mut out);
    let mut timeline = Timeline::unary();
    timeline.push(0, out);
    (timeline.finish(), tail)
}

fn answer<'a>(told: &'a Told, template: Option<&'a Json>, boundary: Option<&'a Boundary>) -> Answer<'a> {
    Answer {
        frames: &told.frames,
        usage: told.usage.as_ref(),
        boundary,
        template,
        model: "m",
        id: "vcr-00000000",
    }
}

fn served(told: &Told, tail: &Tail) -> String {
    compact(&OpenAiEmbeddings.render_unary(&answer(told, tail.template.as_ref(), None)))
}

/// Spellings that a detour through doubles would not survive, and as many plain ones as such vectors have.
fn vector(seed: usize) -> String {
    let odd = [
        "0.010",
        "-1.0e-07",
        "0.1000000000000000055511151231257827",
        "-0.0",
        "1E-3",
        "7",
    ];
    let plain = (odd.len()..1536).map(|at| format!("-0.0{}", at * 31 + seed));
    odd.into_iter()
        .map(str::to_owned)
        .chain(plain)
        .collect::<Vec<_>>()
        .join(",")
}

fn body(embeddings: &[String]) -> String {
    let data: Vec<String> = (0..)
        .zip(embeddings)
        .map(|(at, embedding): (usize, _)| {
            format!(r#"{{"object":"embedding","index":{at},"embedding":{embedding}}}"#)
        })
        .collect();
    format!(
        r#"{{"object":"list","data":[{}],"model":"text-embedding-3-small","usage":{{"prompt_tokens":8,"total_tokens":8}}}}"#,
        data.join(",")
    )
}

fn floats() -> String {
    body(&[format!("[{}]", vector(1)), format!("[{}]", vector(2))])
}

fn base64() -> String {
    let text = |seed: u8| {
        let bytes: Vec<u8> = (0..1536_u16)
            .flat_map(|at| f32::from(at * u16::from(seed)).to_le_bytes())
            .collect();
        format!("\"{}\"", BASE64.encode(bytes))
    };
    body(&[text(3), text(5)])
}

#[test]
fn vectors_come_back_to_the_letter_in_both_encodings() {
    for body in [floats(), base64()] {
        let (told, tail) = record(200, &body);
        assert_eq!(tail.odd, None);
        assert_eq!(told.frames.len(), 2);
        assert_eq!(told.usage, Some(Usage::new(8, 0)));
        assert_eq!(
            tail.template.as_ref().map(compact).as_deref(),
            Some(r#"{"object":"list","data":"$data","model":"text-embedding-3-small","usage":"$usage"}"#)
        );
        assert_eq!(served(&told, &tail), body);
    }
}

#[test]
fn a_vector_is_one_line_of_the_file_which_loads_and_saves_the_same() {
    for body in [floats(), base64()] {
        let (told, tail) = record(200, &body);
        let call = Call {
            frames: told.frames.into(),
            usage: told.usage,
            template: tail.template.map(Into::into),
            ..Call::default()
        };
        let take = Take {
            trace_id: "0".repeat(32),
            calls: vec![call],
        };
        let file = take_text(&take_document(&take));
        let long: Vec<&str> = file.lines().filter(|line| line.len() > 2000).collect();
        assert_eq!(long.len(), 2, "one line a vector, which is one a frame");
        assert!(long.iter().all(|line| line.contains("\"embedding\": ")));

        let reread = take_of(&"0".repeat(32), &mut Parser::new(&file, Limits::default()))
            .unwrap()
            .take;
        assert_eq!(take_text(&take_document(&reread)), file);
        let told = Told {
            frames: reread.calls[0].frames.to_vec(),
            usage: reread.calls[0].usage.clone(),
            error: None,
        };
        let template = reread.calls[0].template.as_ref().map(Document::tree);
        let rendered = OpenAiEmbeddings.render_unary(&answer(&told, template.as_deref(), None));
        assert_eq!(compact(&rendered), body);
    }
}

#[test]
fn encoding_and_dimensions_make_other_keys() {
    let requests = [
        r#"{"model":"m","input":["a","b"]}"#,
        r#"{"model":"m","input":["a","b"],"encoding_format":"float"}"#,
        r#"{"model":"m","input":["a","b"],"encoding_format":"base64"}"#,
        r#"{"model":"m","input":["a","b"],"encoding_format":"base64","dimensions":256}"#,
        r#"{"model":"m","input":["a","c"]}"#,
        r#"{"model":"n","input":["a","b"]}"#,
        r#"{"model":"m","input":"a"}"#,
        r#"{"model":"m","input":[1,2,3]}"#,
    ];
    let hashes: std::collections::BTreeSet<String> =
        requests.iter().map(|body| request_hash(&asked(body))).collect();
    assert_eq!(hashes.len(), requests.len());
}

#[test]
fn a_miss_names_the_changed_input_and_prints_no_vector() {
    let tokens = |last: u32| {
        let numbers: Vec<String> = (0..1536).chain([last]).map(|number| number.to_string()).collect();
        format!(
            r#"{{"model":"m","input":[[{}],"x"],"encoding_format":"float"}}"#,
            numbers.join(",")
        )
    };
    for (recorded, live, path) in [
        (
            r#"{"model":"m","input":["The cat sat.","b"]}"#.to_owned(),
            r#"{"model":"m","input":["The dog sat.","b"]}"#.to_owned(),
            "input[0]",
        ),
        (tokens(1), tokens(2), "input[0]"),
    ] {
        let recorded = RecordedRequest::recorded(asked(&recorded), String::new());
        let changes = diff(&recorded, &asked(&live));
        assert_eq!(changes.len(), 1);
        let line = changes[0].to_string();
        assert!(line.contains(path), "{line}");
        assert!(line.len() < 200, "{line}");
    }
}

#[test]
fn a_request_is_read_and_rebuilt() {
    for text in [
        r#"{"model":"m","input":["a","b"],"encoding_format":"base64"}"#,
        r#"{"model":"m","input":[[1,2],[3]],"dimensions":256,"user":null}"#,
        r#"{"model":"m","input":""}"#,
    ] {
        let first = asked(text);
        assert!(first.messages.is_empty() && !first.stream());
        assert_eq!(compact(&OpenAiEmbeddings.rebuild(&first)), text);
        assert_eq!(asked(&compact(&OpenAiEmbeddings.rebuild(&first))), first);
    }
    assert_eq!(
        compact(&OpenAiEmbeddings.rebuild(&asked(
            r#"{"vcr_mode":"record","input":"a","model":"m","metadata":{"vcr":"live"}}"#
        ))),
        r#"{"model":"m","input":"a"}"#
    );
    let azure = request("/openai/deployments/ada/embeddings", r#"{"input":"a"}"#).unwrap();
    assert_eq!(azure.model, "ada");
    for (path, body) in [
        ("/v1/embeddings", r#"{"model":"m"}"#),
        ("/v1/embeddings", "[]"),
        ("/v1/chat/completions", r#"{"input":"a"}"#),
    ] {
        assert!(request(path, body).is_none(), "{path} {body}");
    }
}

#[test]
fn errors_and_odd_bodies_come_back() {
    for (status, body, message) in [
        (
            429,
            r#"{"error":{"message":"slow down","type":"t","param":null,"code":null}}"#,
            Some("slow down"),
        ),
        (400, r#"{"detail":"bad"}"#, Some("bad")),
        (200, r#"{"error":{"message":"m","code":502}}"#, Some("m")),
        (200, r#"{"object":"list"}"#, None),
        (200, r#"{"data":"$data"}"#, None),
    ] {
        let (told, tail) = record(status, body);
        assert_eq!(
            told.error.as_ref().map(|error| error.message.as_str()),
            message,
            "{body}"
        );
        assert_eq!(tail.odd.is_some(), message.is_none(), "{body}");
        let boundary = message.map(|message| Boundary {
            kind: BoundaryKind::Http,
            error_type: "t".to_owned(),
            message: message.to_owned(),
            status: Some(status),
            code: None,
        });
        if tail.odd.is_none() {
            let answer = answer(&told, tail.template.as_ref(), boundary.as_ref());
            assert_eq!(compact(&OpenAiEmbeddings.render_unary(&answer)), body);
        }
    }
}

#[test]
fn an_answer_written_by_hand_is_a_plausible_body() {
    let told = Told {
        frames: vec![Frame {
            native: parse(r#"{"object":"embedding","index":0,"embedding":[0.5]}"#).ok(),
            ..Frame::default()
        }],
        ..Told::default()
    };
    assert_eq!(
        compact(&OpenAiEmbeddings.render_unary(&answer(&told, None, None))),
        r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"model":"m","usage":{"prompt_tokens":0,"total_tokens":0}}"#
    );
}

/// One embedding as the provider spells it: numbers in any spelling, or their bytes in base64.
fn embedding() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?";
    let floats = prop::collection::vec(number, 0..6).prop_map(|numbers| format!("[{}]", numbers.join(",")));
    let bytes = prop::collection::vec(any::<f32>(), 0..6).prop_map(|numbers| {
        let bytes: Vec<u8> = numbers.into_iter().flat_map(f32::to_le_bytes).collect();
        format!("\"{}\"", BASE64.encode(bytes))
    });
    prop_oneof![floats, bytes]
}

proptest! {
    #[test]
    fn canonical_to_wire_to_canonical_is_the_identity(embeddings in prop::collection::vec(embedding(), 0..4), tokens in 0_u64..1000) {
        let frames = (0..).zip(&embeddings).map(|(at, embedding): (usize, _)| Frame {
            native: parse(&format!(r#"{{"object":"embedding","index":{at},"embedding":{embedding}}}"#)).ok(),
            ..Frame::default()
        });
        let told = Told { frames: frames.collect(), usage: Some(Usage::new(tokens, 0)), ..Told::default() };
        let body = compact(&OpenAiEmbeddings.render_unary(&answer(&told, None, None)));
        for embedding in &embeddings {
            prop_assert!(body.contains(embedding.as_str()), "{} is not in {}", embedding, body);
        }
        let (again, tail) = record(200, &body);
        prop_assert_eq!(&again.frames, &told.frames);
        prop_assert_eq!(&again.usage, &told.usage);
        prop_assert_eq!(&tail.odd, &None);
        // What was learned from the body gives the same body again.
        prop_assert_eq!(served(&again, &tail), body);
    }
}
