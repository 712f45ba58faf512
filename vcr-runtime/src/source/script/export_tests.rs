use super::*;
use crate::canon;
use crate::cassette::{self, Head};
use crate::json::{Json, Object, parse};
use crate::model::{
    Boundary, BoundaryKind, CanonicalRequest, Frame, HttpHead, Metrics, RecordedRequest, ToolCall, Usage,
};
use crate::source::script::answer::{self, Ending};

fn request(protocol: &str, session: Option<&str>) -> CanonicalRequest {
    let mut parameters = Object::new();
    if let Some(session) = session {
        let mut metadata = Object::new();
        metadata.push("session_id", session);
        parameters.push("metadata", metadata);
    }
    CanonicalRequest {
        protocol: protocol.to_owned(),
        model: "m".to_owned(),
        messages: vec![parse(r#"{"role":"user","content":"Hi"}"#).unwrap()],
        parameters,
        ..CanonicalRequest::default()
    }
}

fn call(frames: Vec<Frame>) -> Call {
    let request = request("openai-chat", None);
    let hash = canon::request_hash(&request);
    let total_us = frames.iter().map(|frame| frame.delta_us).sum();
    Call {
        request: RecordedRequest::recorded(request, hash).into(),
        started_us: Some(5_000),
        metrics: Some(Metrics { ttfb_us: 0, total_us }),
        frames: frames.into(),
        ..Call::default()
    }
}

fn frame(delta_us: u64, chunk: &str) -> Frame {
    Frame {
        delta_us,
        chunk: chunk.to_owned(),
        ..Frame::default()
    }
}

fn finish(reason: &str) -> Frame {
    Frame {
        finish_reason: Some(reason.to_owned()),
        ..frame(1_000, "")
    }
}

fn ended(kind: BoundaryKind, status: Option<u16>, code: Option<&str>) -> Boundary {
    Boundary {
        kind,
        error_type: "rate_limit_error".to_owned(),
        message: "slow down".to_owned(),
        status,
        code: code.map(str::to_owned),
    }
}

/// Exports a cassette of these calls.
fn export(calls: Vec<Call>) -> (tempfile::TempDir, Result<SessionExport>) {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("vcr.toml"), "").unwrap();
    let cassette = root.path().join("a.json");
    let take = Take {
        trace_id: uuid::Uuid::now_v7().simple().to_string(),
        calls,
    };
    let head = Head {
        scenario: "s",
        test: None,
    };
    cassette::save(&cassette, &cassette, head, &take, &|_| None).unwrap();
    let export = export_session(&cassette, root.path().join("sub/log.jsonl"));
    (root, export)
}

/// The calls of a log as they are replayed.
fn derived(path: &Path) -> Vec<Call> {
    let log = Log::read(std::fs::read_to_string(path).unwrap(), false).unwrap();
    (0..log.len())
        .map(|index| {
            let chunks = log.call(index).unwrap();
            let first = chunks[0].0;
            let chunks = chunks
                .into_iter()
                .map(|(time, chunk)| ((time - first) * 1000, chunk));
            answer::call(chunks, Ending::Said, "openai-chat")
        })
        .collect()
}

/// What a caller is told: texts with the times at which they have come, in milliseconds, and the rest.
type Told = (
    Vec<(u64, String)>,
    Vec<(u64, String)>,
    Vec<ToolCall>,
    Option<String>,
);

fn told(call: &Call) -> Told {
    let mut told = Told::default();
    let mut at_us = 0;
    for frame in call.frames.iter() {
        at_us += frame.delta_us;
        let mut push = |to: fn(&mut Told) -> &mut Vec<(u64, String)>, text: &str| {
            if !text.is_empty() {
                to(&mut told).push((at_us / 1000, text.to_owned()));
            }
        };
        push(|told| &mut told.0, frame.reasoning.as_deref().unwrap_or_default());
        push(|told| &mut told.1, &frame.chunk);
        told.2.extend(frame.tool_calls.iter().cloned());
        told.3 = frame.finish_reason.clone().or(told.3);
    }
    told
}

#[test]
fn what_was_recorded_is_what_the_log_replays() {
    let mut thinking = frame(40_000, "");
    thinking.reasoning = Some("hm".to_owned());
    let mut calling = finish("tool_calls");
    calling.tool_calls = vec![
        ToolCall::new("t1", "f", "{\"a\":1}"),
        ToolCall::new("t2", "g", "{"),
    ];
    let mut first = call(vec![
        thinking,
        frame(10_000, "a"),
        frame(20_000, "b"),
        frame(30_000, ""),
        frame(5_000, "c"),
        frame(5_000, "d"),
        calling,
    ]);
    let mut usage = Usage::new(20, 9);
    usage.details = parse(
        r#"{"prompt_tokens_details":{"cached_tokens":8,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":3}}"#,
    )
    .unwrap()
    .as_object()
    .unwrap()
    .clone();
    first.usage = Some(usage);
    let unary = call(vec![Frame {
        finish_reason: Some("length".to_owned()),
        ..frame(0, "whole")
    }]);
    let calls = vec![first, unary, call(vec![finish("stop")])];
    let (root, exported) = export(calls.clone());
    let exported = exported.unwrap();
    assert_eq!((exported.calls, exported.left_out.as_slice()), (3, &[][..]));
    assert_eq!(exported.attribute(), "source = \"session:log.jsonl\"");
    let path = root.path().join("sub/log.jsonl");
    assert_eq!(exported.files, std::slice::from_ref(&path));
    let again = derived(&path);
    for (recorded, replayed) in calls.iter().zip(&again) {
        assert_eq!(told(replayed), told(recorded));
        assert_eq!(replayed.boundary, None);
    }
    let counted = again[0].usage.clone().unwrap();
    assert_eq!(
        (
            counted.prompt_tokens,
            counted.completion_tokens,
            counted.total_tokens
        ),
        (20, 9, 29)
    );
    assert_eq!(counted.details()["prompt_tokens_details"]["cached_tokens"], 8);
    let text = std::fs::read_to_string(&path).unwrap();
    let header = parse(text.lines().next().unwrap()).unwrap();
    let created = header.get("createdAt").and_then(Json::as_u64).unwrap();
    assert!(
        created > 1_600_000_000_000,
        "the time of the recording: {created}"
    );
    assert!(
        text.contains("\"type\":\"text-chunks\"") && text.contains("\"dt\":[20,35,5]"),
        "{text}"
    );
    // Once more gives the same bytes.
    export_session(root.path().join("a.json"), &path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn failures_are_entries_like_others() {
    let mut limited = call(vec![]);
    limited.boundary = Some(ended(BoundaryKind::Http, Some(429), None));
    limited.http = Some(HttpHead {
        status: 429,
        headers: vec![("Retry-After".to_owned(), "2".to_owned())],
    });
    let mut broken = call(vec![frame(1_000, "so far")]);
    broken.boundary = Some(ended(BoundaryKind::Error, None, Some("transport")));
    let mut within = call(vec![Frame {
        finish_reason: Some("error".to_owned()),
        ..frame(0, "")
    }]);
    within.boundary = Some(ended(BoundaryKind::Error, Some(429), None));
    within.http = Some(HttpHead {
        status: 200,
        headers: Vec::new(),
    });
    let mut left = call(vec![frame(1_000, "so far")]);
    left.boundary = Some(ended(BoundaryKind::Cancelled, None, None));
    let (root, exported) = export(vec![limited, broken, left, within]);
    assert_eq!(
        exported.unwrap().left_out,
        [
            "call 2: the type of its error, `rate_limit_error`",
            "call 4: its finish reason, because it failed behind it",
            "call 4: that its error came in an answer with the status 200",
        ]
    );
    let again = derived(&root.path().join("sub/log.jsonl"));
    let boundary = |index: usize| again[index].boundary.clone().unwrap();
    let head = again[0].http.clone().unwrap();
    let wait = ("retry-after-ms".to_owned(), "2000".to_owned());
    assert!(head.status == 429 && head.headers.contains(&wait), "{head:?}");
    assert_eq!(
        (boundary(0).error_type.as_str(), boundary(0).status),
        ("rate_limit_error", Some(429))
    );
    assert_eq!(boundary(1).code.as_deref(), Some("transport"));
    assert_eq!(boundary(2).kind, BoundaryKind::Cancelled);
    assert_eq!(again[2].frames[0].chunk, "so far");
    assert_eq!(boundary(3).status, Some(429));
}

#[test]
fn what_a_log_has_no_word_for_is_named() {
    let mut signed = frame(0, "a");
    signed.reasoning = Some("hm".to_owned());
    signed.reasoning_signature = Some("c2ln".to_owned());
    let mut native = finish("stop");
    native.native_finish_reason = Some("stop_sequence".to_owned());
    let mut odd = call(vec![signed, native]);
    let mut usage = Usage::new(3, 4);
    usage.details =
        parse(r#"{"cost":0.1,"nothing":null,"server_tool_use":{"web_search_requests":2,"none":0}}"#)
            .unwrap()
            .as_object()
            .unwrap()
            .clone();
    odd.usage = Some(usage);
    let endless = call(vec![frame(0, "a")]);
    let (_root, exported) = export(vec![endless, odd]);
    assert_eq!(
        exported.unwrap().left_out,
        [
            "call 1: that it gives no reason for its end: the log says `stop`",
            "call 2: the signature of its reasoning",
            "call 2: the provider's own word for its end, `stop_sequence`",
            "call 2: `cost` of its usage",
            "call 2: `server_tool_use.web_search_requests` of its usage",
        ]
    );
}

#[test]
fn what_would_be_lost_is_refused_and_nothing_is_written() {
    let second = Frame {
        choice: 1,
        ..frame(0, "b")
    };
    let refusal = Frame {
        refusal: Some("no".to_owned()),
        ..frame(0, "")
    };
    let native = Frame {
        native: Some(parse(r#"{"type":"server_tool_use"}"#).unwrap()),
        ..frame(0, "")
    };
    let cut = |kind| {
        let mut call = call(vec![frame(0, "a")]);
        call.boundary = Some(ended(kind, None, None));
        call
    };
    let mut embedding = call(vec![]);
    let request = request("openai-embeddings", None);
    let hash = canon::request_hash(&request);
    embedding.request = RecordedRequest::recorded(request, hash).into();
    let tool = |arguments: &str| Frame {
        tool_calls: vec![ToolCall::new("t", "f", arguments)],
        ..finish("tool_calls")
    };
    for (call, why) in [
        (call(vec![frame(0, "a"), second]), "it has several choices"),
        (call(vec![refusal]), "it has a refusal apart from its text"),
        (call(vec![native]), "only its provider understands"),
        (
            call(vec![finish("content_filter")]),
            "it ended by `content_filter`",
        ),
        (cut(BoundaryKind::Truncated), "it ended by `truncated`"),
        (cut(BoundaryKind::Cutoff), "it ended by `cutoff`"),
        (embedding, "it is no completion but a call of `openai-embeddings`"),
        (
            call(vec![frame(0, "{{from"), frame(0, "Request:x}}"), finish("stop")]),
            "it says `{{fromRequest:`, which a log would fill in",
        ),
        (call(vec![tool("\"{{session:1}}\"")]), "it says `{{session:`"),
    ] {
        let (root, exported) = export(vec![call_ok(), call]);
        let error = exported.unwrap_err();
        assert!(
            error.message().contains("call 2 of") && error.message().contains(why),
            "{error}"
        );
        assert!(!root.path().join("sub/log.jsonl").exists());
    }
}

fn call_ok() -> Call {
    call(vec![frame(0, "fine"), finish("stop")])
}

#[test]
fn every_session_has_a_log() {
    let of = |session: Option<&str>, text: &str, started_us: u64| {
        let mut call = call(vec![frame(0, text), finish("stop")]);
        let request = request("openai-chat", session);
        let hash = canon::request_hash(&request);
        call.request = RecordedRequest::recorded(request, hash).into();
        call.started_us = Some(started_us);
        call
    };
    let (root, exported) = export(vec![
        of(Some("main"), "plan", 0),
        of(Some("kid"), "child", 9_000),
        of(Some("main"), "end", 20_000),
        of(None, "alone", 30_000),
    ]);
    let exported = exported.unwrap();
    assert_eq!(
        exported.attribute(),
        "source = \"session:log.jsonl\", child_files = [\"log.1.jsonl\", \"log.2.jsonl\"]"
    );
    let texts = |name: &str| -> Vec<String> {
        let calls = derived(&root.path().join("sub").join(name));
        calls
            .iter()
            .map(|call| call.frames.iter().map(|frame| frame.chunk.as_str()).collect())
            .collect()
    };
    assert_eq!(texts("log.jsonl"), ["plan", "end"]);
    assert_eq!(texts("log.1.jsonl"), ["child"]);
    assert_eq!(texts("log.2.jsonl"), ["alone"]);
    let id = std::fs::read_to_string(&exported.files[1]).unwrap();
    assert!(
        id.starts_with("{\"type\":\"session\",\"version\":0,\"id\":\"kid\","),
        "{id}"
    );
}

#[test]
fn a_secret_keeps_the_file_from_being_written() {
    let key = format!("sk-proj-{}", "a1B2".repeat(12));
    let (root, exported) = export(vec![call(vec![frame(0, &key), finish("stop")])]);
    assert_eq!(exported.unwrap_err().kind(), ErrorKind::Secret);
    assert!(!root.path().join("sub/log.jsonl").exists());
}

#[test]
fn the_committed_cassettes_are_exported_whole() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let root = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for name in ["conversation", "stream", "unary"] {
        let cassette = fixtures.join(format!("fixture_real_model_smollm2_{name}.json"));
        let take = Cassette::open(&cassette, Chosen::Latest).unwrap().take;
        let log = root.path().join(format!("{name}.jsonl"));
        let exported = export_session(&cassette, &log).unwrap();
        assert_eq!(exported.calls, take.calls.len());
        for (recorded, replayed) in take.calls.iter().zip(derived(&log)) {
            let (recorded_told, replayed_told) = (told(recorded), told(&replayed));
            let text = |told: &Told| -> String { told.1.iter().map(|(_, text)| text.as_str()).collect() };
            assert_eq!(text(&replayed_told), text(&recorded_told));
            assert_eq!(
                (replayed_told.2, replayed_told.3),
                (recorded_told.2, recorded_told.3)
            );
            let counts = |call: &Call| {
                let usage = call.usage.as_ref();
                usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens))
            };
            assert_eq!(counts(&replayed), counts(recorded));
            seen += 1;
        }
    }
    assert!(seen > 3, "{seen}");
}
