use std::time::Duration;

use super::support::{Wire, gateway, pieces, playback, replaying, whole};
use crate::error::{Error, ErrorKind};
use crate::json::{Json, parse};
use crate::model::HttpHead;
use crate::session::{HttpTurn, PlaybackBody};

const SSE: &[(&str, &str)] = &[("content-type", "text/event-stream")];

#[test]
fn a_whole_body_is_sent_with_its_own_length() {
    let recorded = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
        ("content-length", "3"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("x-request-id", "r1"),
    ];
    let gateway = replaying(move || playback(&recorded, whole("{\"a\":1}"), false));
    let mut caller = Wire::connect(gateway.addr());
    // Twice on one connection: it stays open.
    for _ in 0..2 {
        caller.request("POST", "/openai/v1/chat/completions", &[], b"{}");
        let (head, body) = caller.message();
        assert_eq!((head.status(), body.as_slice()), (200, &b"{\"a\":1}"[..]));
        assert_eq!(head.get("content-type"), Some("application/json"));
        assert_eq!(head.get("x-request-id"), Some("r1"));
        for name in ["content-encoding", "transfer-encoding", "connection"] {
            assert_eq!(head.get(name), None);
        }
    }
}

#[test]
fn the_session_sees_the_request_as_it_was_made() {
    let gateway = gateway(|upstream, request, control| {
        let seen = format!(
            "{} {} {} {}?{} {:?} {control:?}",
            upstream.provider,
            upstream.base,
            request.method,
            request.path,
            request.query,
            String::from_utf8_lossy(request.body),
        );
        HttpTurn::Replay(playback(&[], whole(seen), false))
    });
    let mut caller = Wire::connect(gateway.addr());
    caller.request(
        "POST",
        "/openai/v1/chat:go?key=a%20b",
        &[("X-Key", "k"), ("X-Vcr-Scenario", "s")],
        b"{\"b\":2}",
    );
    assert_eq!(
        String::from_utf8(caller.message().1).unwrap(),
        "openai https://api.openai.invalid/v1 POST /chat:go?key=a%20b \"{\\\"b\\\":2}\" [(\"x-vcr-scenario\", \"s\")]"
    );
    caller.get("/openai/v1");
    assert_eq!(
        String::from_utf8(caller.message().1).unwrap(),
        "openai https://api.openai.invalid/v1 GET /? \"\" []"
    );
}

#[test]
fn pieces_stay_pieces() {
    let odd: &[&[u8]] = &[
        b": ping\r\n\r\nda",
        b"",
        b"ta: caf\xc3",
        b"\xa9 \0\x1b",
        b"\xff\xfb\x90",
        b"\n\n",
    ];
    let gateway = replaying(move || playback(SSE, pieces(odd), false));
    let mut caller = Wire::connect(gateway.addr());
    for _ in 0..2 {
        caller.request("POST", "/openai/v1/chat", &[], b"");
        let head = caller.head();
        assert_eq!(head.get("content-type"), Some("text/event-stream"));
        assert_eq!(head.get("content-length"), None);
        let expected: Vec<_> = odd
            .iter()
            .filter(|piece| !piece.is_empty())
            .map(|piece| piece.to_vec())
            .collect();
        assert_eq!(caller.chunks(), (expected, true));
    }
}

#[test]
fn an_aborted_stream_breaks_after_its_last_piece() {
    let gateway = replaying(|| playback(SSE, pieces(&[b"data: par\n\n", b"data: tial\n\n"]), true));
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/chat");
    assert_eq!(caller.head().status(), 200);
    let expected = vec![b"data: par\n\n".to_vec(), b"data: tial\n\n".to_vec()];
    assert_eq!(caller.chunks(), (expected, false));
}

#[test]
fn an_aborted_whole_body_breaks_too() {
    let gateway = replaying(|| playback(&[], whole("{\"a\":"), true));
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/chat");
    assert_eq!(caller.head().status(), 200);
    assert_eq!(caller.chunks(), (vec![b"{\"a\":".to_vec()], false));
}

#[test]
fn nothing_of_a_large_stream_is_lost_when_it_breaks() {
    // More than the sockets and hyper's buffer hold, so that the break comes while much of it is still unwritten.
    let piece = vec![b'x'; 1 << 20];
    let all = PlaybackBody::Pieces(std::iter::repeat_n((Duration::ZERO, piece), 10).collect());
    let PlaybackBody::Pieces(all) = all else {
        unreachable!()
    };
    let gateway = replaying(move || playback(SSE, PlaybackBody::Pieces(all.clone()), true));
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/chat");
    assert_eq!(caller.head().status(), 200);
    let (chunks, ended) = caller.chunks();
    assert_eq!((chunks.len(), ended), (10, false));
    assert!(chunks.iter().all(|chunk| chunk.len() == 1 << 20));
}

#[test]
fn a_recorded_transport_failure_is_no_answer_at_all() {
    let gateway = replaying(|| playback(&[], PlaybackBody::Nothing(Duration::ZERO), false));
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/chat");
    assert!(caller.is_closed());
}

#[test]
fn large_and_binary_bodies_come_back_equal() {
    let large: Vec<u8> = (0..10_000_000_u32).map(|at| (at % 251) as u8).collect();
    let recorded = large.clone();
    let gateway =
        replaying(move || playback(&[("content-type", "audio/mpeg")], whole(recorded.clone()), false));
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/audio");
    assert!(caller.message().1 == large);
}

#[test]
fn head_requests_get_the_head_alone() {
    let gateway = replaying(|| playback(SSE, pieces(&[b"data: x\n\n"]), false));
    let mut caller = Wire::connect(gateway.addr());
    caller.request("HEAD", "/openai/v1/models", &[], b"");
    assert_eq!(caller.head().status(), 200);
    // Nothing of a body stands between this and the next answer.
    caller.get("/openai/v1/models");
    assert_eq!(caller.head().line, "HTTP/1.1 200 OK");
}

#[test]
fn a_caller_that_hangs_up_does_not_trouble_the_next() {
    let gateway = replaying(|| {
        let piece = vec![b'x'; 1 << 20];
        playback(
            SSE,
            PlaybackBody::Pieces(std::iter::repeat_n((Duration::ZERO, piece), 10).collect()),
            false,
        )
    });
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/chat");
    caller.exactly(10);
    drop(caller);
    let mut next = Wire::connect(gateway.addr());
    next.get("/openai/v1/chat");
    next.head();
    assert_eq!(next.chunks().0.len(), 10);
}

#[test]
fn a_miss_is_a_409_that_says_why() {
    let gateway = gateway(|_, request, _| {
        let kind = match request.path {
            "/miss" => ErrorKind::Miss,
            "/missing" => ErrorKind::CassetteMissing,
            _ => ErrorKind::Ended,
        };
        HttpTurn::Refused(Error::new(kind, "no recorded \"call\"\nmatches", "record it"))
    });
    let mut caller = Wire::connect(gateway.addr());
    for (path, code) in [
        ("/openai/v1/miss", "vcr_replay_miss"),
        ("/openai/v1/missing", "vcr_cassette_missing"),
        ("/openai/v1/other", "vcr_error"),
    ] {
        caller.request("POST", path, &[], b"{}");
        let (head, body) = caller.message();
        assert_eq!(head.status(), 409);
        assert_eq!(head.get("content-type"), Some("application/json"));
        let document = parse(std::str::from_utf8(&body).unwrap()).unwrap();
        assert_eq!(document.get("type").and_then(Json::as_str), Some("error"));
        let error = document.get("error").unwrap();
        for key in ["type", "code"] {
            assert_eq!(error.get(key).and_then(Json::as_str), Some(code));
        }
        assert_eq!(error.get("param"), Some(&Json::Null));
        let message = "no recorded \"call\"\nmatches\nrecord it";
        assert_eq!(error.get("message").and_then(Json::as_str), Some(message));
    }
}

#[test]
fn a_status_that_cannot_be_sent_is_named() {
    let gateway = replaying(|| {
        let mut playback = playback(&[], whole(""), false);
        playback.head = HttpHead {
            status: 101,
            headers: vec![],
        };
        playback
    });
    let mut caller = Wire::connect(gateway.addr());
    caller.get("/openai/v1/chat");
    let (head, body) = caller.message();
    assert_eq!(head.status(), 409);
    assert!(String::from_utf8(body).unwrap().contains("status 101"));
}
