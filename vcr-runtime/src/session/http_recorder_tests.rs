use std::path::Path;

use super::*;
use crate::cassette::{Cassette, Chosen, Journal};
use crate::config::{Environment, IncludeRaw, Matching, RedactRules};
use crate::model::{BoundaryKind, CanonicalRequest, PLAIN, RawBody};
use crate::session::breaker::TokenQuota;
use crate::session::tape::{Found, Label, Role};
use crate::source::{Comparison, How, Remedy};

fn redactor() -> Redactor {
    let environment = Environment::from_pairs([("OPENAI_API_KEY", "test-7Qx-secret-value")]);
    Redactor::new(&RedactRules::default(), &environment).unwrap()
}

fn tape(path: &Path) -> Arc<Tape> {
    let label = Label {
        scenario: "s".to_owned(),
        test: None,
        made_of: None,
        remedy: Remedy::Test(String::new()),
    };
    let comparison = Comparison {
        redactor: Arc::new(redactor()),
        ignore: Arc::default(),
        cross: None,
    };
    let tape = Tape::open(
        path.to_owned(),
        Role::Record,
        None,
        label,
        comparison,
        &mut Vec::new(),
    );
    Arc::new(tape.unwrap())
}

fn place(tape: &Tape, request: &CanonicalRequest) -> Slot {
    let how = How {
        matching: Matching::Sequential,
        repeat: false,
        session: None,
        scope: None,
    };
    let Ok(Found::Record(slot)) = tape.find(request, how, 0.0, &|_| Ok(())) else {
        panic!("no place")
    };
    slot
}

/// One answer as it comes from an upstream.
#[derive(Clone, Copy)]
struct Told<'a> {
    protocol: &'a str,
    status: u16,
    content_type: &'a str,
    pieces: &'a [&'a [u8]],
    /// Otherwise the caller leaves.
    is_complete: bool,
}

const SSE: &str = "text/event-stream";

impl Told<'_> {
    fn record(&self, tape: &Arc<Tape>, cuts: bool) {
        let request = CanonicalRequest {
            protocol: self.protocol.to_owned(),
            model: "m".to_owned(),
            ..CanonicalRequest::default()
        };
        let slot = place(tape, &request);
        let keep = Keep {
            tick_us: 0,
            include_raw: IncludeRaw::Auto,
        };
        let breaker = cuts.then(|| Arc::new(TokenQuota(u64::MAX)) as Arc<dyn crate::StreamBreaker>);
        let call = CallRecorder::new(Arc::clone(tape), slot, keep, request, None, breaker);
        let mut recorder = Box::new(HttpRecorder::new(call, find(self.protocol)));
        let content_type = ("content-type".to_owned(), self.content_type.to_owned());
        recorder.head(self.status, &[content_type]);
        for piece in self.pieces {
            assert_eq!(recorder.bytes(piece), ControlFlow::Continue(()));
        }
        recorder.end(if self.is_complete {
            End::Complete
        } else {
            End::Cancelled
        });
    }
}

fn journal(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(Journal::path_of(path)).unwrap()).into_owned()
}

fn calls(path: &Path) -> Vec<Call> {
    Cassette::open(path, Chosen::Latest).unwrap().take.calls
}

/// What a call says, its times apart.
fn says(mut call: Call) -> String {
    call.started_us = None;
    call.metrics = None;
    for frame in &mut call.frames {
        frame.delta_us = 0;
    }
    if let Some(RawBody::Transcript(pieces)) = call.raw.as_mut().map(|raw| &mut raw.body) {
        pieces.iter_mut().for_each(|piece| piece.offset_us = 0);
    }
    format!("{call:?}")
}

const CHAT: [&[u8]; 4] = [
    b"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"caf\xc3",
    b"\xa9 \"},\"finish_reason\":null}]}\n\ndata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two\"},\"finish_reason\":null}]}\n",
    b"\ndata: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    b"data: [DONE]\n\n",
];
const OLLAMA: [&[u8]; 2] = [
    b"{\"model\":\"m\",\"created_at\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":\"one\"},\"done\":false}\n",
    b"{\"model\":\"m\",\"created_at\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
];
const UNARY: [&[u8]; 2] = [
    b"{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hello\"},",
    b"\"finish_reason\":\"stop\"}],\"odd\":1}",
];

#[test]
fn an_exchange_is_read_alike_at_once_and_when_the_take_is_kept_and_from_the_journal() {
    let told = |protocol, status, content_type, pieces, is_complete| Told {
        protocol,
        status,
        content_type,
        pieces,
        is_complete,
    };
    let cases = [
        told("openai-chat", 200, SSE, &CHAT[..], true),
        told("openai-chat", 200, SSE, &CHAT[..3], true),
        told("openai-chat", 200, SSE, &CHAT[..2], false),
        told("openai-chat", 200, "application/json", &UNARY[..], true),
        told(
            "openai-chat",
            429,
            "application/json",
            &[b"{\"error\":{\"message\":\"slow down\"}}"],
            true,
        ),
        told("openai-chat", 500, SSE, &[b"oops"], true),
        told("openai-chat", 200, SSE, &[], false),
        told("ollama-chat", 200, "application/x-ndjson", &OLLAMA[..], true),
        told(PLAIN, 200, "text/plain", &[b"pl", b"ain"], true),
        told(PLAIN, 200, SSE, &[b": x\n\ndata: a\n\n", b"data: b"], true),
    ];
    for (number, case) in cases.iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let [at_once, later, killed] = ["a.json", "b.json", "c.json"].map(|name| directory.path().join(name));
        let tape = self::tape(&at_once);
        case.record(&tape, true);
        assert!(!journal(&at_once).contains("\"heard\":"), "{number}");
        tape.keep(true, true, &mut Vec::new()).unwrap();
        let tape = self::tape(&later);
        case.record(&tape, false);
        let left = journal(&later);
        assert!(left.contains("\"heard\":"), "{number}: {left}");
        std::fs::copy(Journal::path_of(&later), Journal::path_of(&killed)).unwrap();
        tape.keep(true, true, &mut Vec::new()).unwrap();
        let recovered = crate::recover(&killed).unwrap();
        assert_eq!(recovered[0].calls, 1);
        let [at_once, later, killed] =
            [&at_once, &later, &recovered[0].file].map(|path| calls(path).remove(0));
        // To the microsecond.
        assert_eq!(format!("{later:?}"), format!("{killed:?}"), "{number}");
        assert_eq!(says(at_once), says(later), "{number}");
    }
}

#[test]
fn a_secret_is_not_in_the_journal_in_pieces_either() {
    let chat = |text: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
        )
    };
    let unary = |more: &str| {
        format!(
            "{{\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",{more}}},\"finish_reason\":\"stop\"}}]}}"
        )
    };
    let tool = |part: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":{part}}}}}]}}}}]}}\n\n"
        )
    };
    let whole = unary("\"content\":\"test-7Qx-secret-value\"");
    let (front, back) = whole.split_at(whole.find("secret").unwrap());
    let cases = [
        (SSE, vec![chat("a test-7Qx-secret-value"), chat(".")]),
        (SSE, vec![chat("test-7Qx"), chat("-secret-value")]),
        (
            SSE,
            "test-7Qx-secret-value"
                .split_inclusive(['-', 'Q', 'e'])
                .map(chat)
                .collect(),
        ),
        (
            SSE,
            [r#""{\"pass""#, r#""word\":\"test-7Q""#, r#""y-secret\"}""#]
                .map(tool)
                .to_vec(),
        ),
        ("application/json", vec![front.to_owned(), back.to_owned()]),
        (
            "application/json",
            vec![unary("\"content\":\"x\",\"api_key\":\"test-7Qy-secret\"")],
        ),
        (
            "text/plain",
            vec!["test-7Qx-".to_owned(), "secret-value".to_owned()],
        ),
    ];
    for (content_type, pieces) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let tape = tape(&path);
        let bytes: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
        Told {
            protocol: "openai-chat",
            status: 200,
            content_type,
            pieces: &bytes,
            is_complete: true,
        }
        .record(&tape, false);
        // Killed here.
        drop(tape);
        let left = journal(&path);
        assert!(
            left.contains("[REDACTED]") && !left.contains("\"heard\":"),
            "{left}"
        );
        for part in ["7Qx", "7Qy", "secret"] {
            assert!(!left.contains(part), "{left}");
        }
    }
}

#[test]
fn what_the_caller_leaves_is_kept_as_far_as_it_came() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    let tape = tape(&path);
    let request = CanonicalRequest {
        protocol: "openai-chat".to_owned(),
        ..CanonicalRequest::default()
    };
    let slot = place(&tape, &request);
    let keep = Keep {
        tick_us: 0,
        include_raw: IncludeRaw::Auto,
    };
    let call = CallRecorder::new(Arc::clone(&tape), slot, keep, request, None, None);
    let mut recorder = HttpRecorder::new(call, find("openai-chat"));
    recorder.head(200, &[("content-type".to_owned(), SSE.to_owned())]);
    assert_eq!(recorder.bytes(CHAT[0]), ControlFlow::Continue(()));
    assert_eq!(recorder.bytes(CHAT[1]), ControlFlow::Continue(()));
    drop(recorder);
    tape.keep(true, true, &mut Vec::new()).unwrap();
    let call = calls(&path).remove(0);
    let text: String = call.frames.iter().map(|frame| frame.chunk.as_str()).collect();
    assert_eq!(text, "café ");
    assert_eq!(call.boundary.unwrap().kind, BoundaryKind::Cancelled);
}
