use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::support::{LONG, Log, Provider, Told, Wire, gateway, pairs, recording};
use crate::session::{End, HttpTurn};

fn failed(log: &Log) -> (String, String) {
    match log.rest().1 {
        End::Failed { error_type, message } => (error_type, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_piece_is_seen_before_the_upstream_sends_the_next() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.stream();
    // The head comes without any of the body.
    let head = caller.head();
    assert_eq!(
        (head.status(), head.get("content-type")),
        (200, Some("text/event-stream"))
    );
    for piece in [&b"data: caf\xc3"[..], b"\xa9\r\n\r\n", b": ping\n\n", b"\0\xff"] {
        upstream.chunk(piece);
        assert_eq!(caller.next_chunk().unwrap(), piece);
        assert_eq!(log.bytes(), piece);
    }
    upstream.chunk(b"");
    assert_eq!(caller.next_chunk().unwrap(), b"");
    assert_eq!(log.next(), Told::End(End::Complete));
    drop(gateway);
    assert!(log.is_over());
}

#[test]
fn a_unary_answer_is_complete_before_the_caller_has_it() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.accept();
    upstream.message();
    upstream.write(b"HTTP/1.1 201 Created\r\nContent-Length: 7\r\nKeep-Alive: 5\r\nX-Id: 1\r\n\r\n{\"a\":1}");
    let head = caller.head();
    assert_eq!(head.status(), 201);
    assert_eq!(
        (head.get("content-length"), head.get("keep-alive")),
        (Some("7"), None)
    );
    assert_eq!(caller.body(&head), b"{\"a\":1}");
    let headers = pairs(&[("content-length", "7"), ("keep-alive", "5"), ("x-id", "1")]);
    assert_eq!(log.next(), Told::Head(201, headers));
    assert_eq!(log.rest(), (b"{\"a\":1}".to_vec(), End::Complete));
}

#[test]
fn the_upstream_gets_the_request_but_not_what_is_between_us() {
    let provider = Provider::start();
    let (gateway, _log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    let headers = [
        ("Authorization", "Bearer k"),
        ("User-Agent", "sdk/1"),
        ("Accept-Encoding", "gzip, br"),
        ("X-Vcr-Scenario", "s"),
        ("Connection", "keep-alive, x-hop"),
        ("X-Hop", "1"),
    ];
    caller.request("PUT", "/up/0/a%2Fb:go?key=canary&alt=sse", &headers, b"\0body");
    let mut upstream = provider.accept();
    let (head, body) = upstream.message();
    assert_eq!(head.line, "PUT /v1/a%2Fb:go?key=canary&alt=sse HTTP/1.1");
    assert_eq!(body, b"\0body");
    assert_eq!(head.get("authorization"), Some("Bearer k"));
    assert_eq!(head.get("user-agent"), Some("sdk/1"));
    assert_eq!(head.get("accept-encoding"), Some("identity"));
    assert_eq!(
        provider.base(),
        format!("http://{}/v1", head.get("host").unwrap())
    );
    assert_eq!((head.get("x-vcr-scenario"), head.get("x-hop")), (None, None));
}

#[test]
fn a_reset_in_the_middle_breaks_the_callers_connection() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], LONG);
    let mut upstream = provider.accept();
    upstream.head();
    upstream.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    caller.head();
    for piece in [b"par", b"ial"] {
        upstream.chunk(piece);
        assert_eq!(caller.next_chunk().unwrap(), piece);
    }
    upstream.reset();
    assert_eq!(caller.next_chunk(), None);
    assert_eq!(log.bytes(), b"par");
    assert_eq!(log.bytes(), b"ial");
    assert_eq!(failed(&log).0, "reset");
}

#[test]
fn an_end_before_the_announced_length_is_a_failure() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.accept();
    upstream.message();
    upstream.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    drop(upstream);
    assert_eq!(caller.head().get("content-length"), Some("9"));
    assert_eq!(caller.exactly(4), b"half");
    assert!(caller.is_closed());
    assert_eq!(log.bytes(), b"half");
    assert_eq!(failed(&log).0, "body");
}

#[test]
fn no_answer_is_a_502_that_names_the_upstream_without_the_key() {
    for fault in ["connect", "reset"] {
        let provider = Provider::start();
        let base = provider.base();
        let (gateway, log) = recording(&provider, usize::MAX);
        let mut caller = Wire::connect(gateway.addr());
        if fault == "connect" {
            drop(provider);
            caller.request("POST", "/up/0/chat?key=canary", &[("x-api-key", "canary")], b"{}");
        } else {
            caller.request("POST", "/up/0/chat?key=canary", &[("x-api-key", "canary")], LONG);
            let mut upstream = provider.accept();
            upstream.head();
            upstream.reset();
        }
        let (head, body) = caller.message();
        let body = String::from_utf8(body).unwrap();
        assert_eq!(head.status(), 502);
        assert!(
            body.contains("\"vcr_upstream_error\"") && body.contains(&base),
            "{body}"
        );
        let (error_type, message) = failed(&log);
        assert_eq!(error_type, fault);
        assert!(
            !body.contains("canary") && !message.contains("canary"),
            "{body} {message}"
        );
        drop(gateway);
        assert!(log.is_over());
    }
}

#[test]
fn a_caller_that_hangs_up_cancels_the_recording() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.stream();
    caller.head();
    upstream.chunk(b"data: [DONE]\n\n");
    caller.next_chunk();
    drop(caller);
    // The upstream is still open.
    assert_eq!(log.rest(), (b"data: [DONE]\n\n".to_vec(), End::Cancelled));
    assert!(upstream.is_closed());
    drop(gateway);
    assert!(log.is_over());
}

#[test]
fn a_caller_that_does_not_wait_for_the_head_cancels_too() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.accept();
    upstream.message();
    drop(caller);
    assert_eq!(log.next(), Told::End(End::Cancelled));
    drop(gateway);
    assert!(log.is_over());
}

#[test]
fn the_breaker_cuts_inside_a_piece() {
    let provider = Provider::start();
    for (cut, passed) in [
        (5, vec![b"abc".to_vec(), b"de".to_vec()]),
        (3, vec![b"abc".to_vec()]),
    ] {
        let (gateway, log) = recording(&provider, cut);
        let mut caller = Wire::connect(gateway.addr());
        caller.request("POST", "/up/0/chat", &[], b"{}");
        let mut upstream = provider.stream();
        caller.head();
        upstream.chunk(b"abc");
        assert_eq!(log.bytes(), b"abc");
        upstream.chunk(b"def");
        assert_eq!(caller.chunks(), (passed, false));
        assert_eq!(log.rest(), (b"def".to_vec(), End::CutOff));
        drop(gateway);
        assert!(log.is_over());
    }
}

#[test]
fn answers_without_a_body_are_complete() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    for (method, head, length) in [
        ("HEAD", "200 OK\r\nContent-Length: 42", Some("42")),
        ("POST", "204 No Content", None),
        ("GET", "302 Found\r\nLocation: /x\r\nContent-Length: 0", Some("0")),
    ] {
        caller.request(method, "/up/0/x", &[], b"");
        let mut upstream = provider.accept();
        assert!(upstream.head().line.starts_with(method));
        upstream.write(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes());
        let answer = caller.head();
        assert_eq!(answer.line, format!("HTTP/1.1 {}", head.lines().next().unwrap()));
        assert_eq!(answer.get("content-length"), length);
        assert_eq!(log.rest(), (vec![], End::Complete));
    }
}

#[test]
fn a_compressed_answer_is_recorded_and_passed_on_plain() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(b"{\"a\":1}").unwrap();
    let gzip = gzip.finish().unwrap();
    let mut upstream = provider.accept();
    upstream.message();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        gzip.len()
    );
    upstream.write(&[head.as_bytes(), &gzip].concat());
    let head = caller.head();
    assert_eq!(head.get("content-encoding"), None);
    assert_eq!(caller.chunks(), (vec![b"{\"a\":1}".to_vec()], true));
    assert_eq!(log.next(), Told::Head(200, vec![]));
    assert_eq!(log.rest(), (b"{\"a\":1}".to_vec(), End::Complete));
}

#[test]
fn a_coding_that_cannot_be_undone_is_refused_when_recording() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.accept();
    upstream.message();
    upstream.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nbr!");
    let (head, body) = caller.message();
    assert_eq!(head.status(), 502);
    assert!(String::from_utf8(body).unwrap().contains("content-encoding br"));
    assert_eq!(failed(&log).0, "body");
}

#[test]
fn live_calls_pass_through() {
    let provider = Provider::start();
    let gateway = gateway(|_, _, _| HttpTurn::Live);
    gateway.add_upstream(&provider.base()).unwrap();
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/0/chat", &[], b"{}");
    let mut upstream = provider.accept();
    upstream.message();
    upstream.write(
        b"HTTP/1.1 429 Too Many\r\nContent-Encoding: br\r\nRetry-After: 2\r\nContent-Length: 3\r\n\r\nbr!",
    );
    let head = caller.head();
    assert_eq!((head.status(), head.get("retry-after")), (429, Some("2")));
    assert_eq!(head.get("content-encoding"), Some("br"));
    assert_eq!(caller.body(&head), b"br!");
}

#[test]
fn large_bodies_pass_both_ways() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let large: Vec<u8> = (0..10_000_000_u32).map(|at| (at % 251) as u8).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut upstream = provider.accept();
            let (_, body) = upstream.message();
            upstream.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes());
            upstream.write(&body);
        });
        let mut caller = Wire::connect(gateway.addr());
        caller.request("POST", "/up/0/chat", &[], &large);
        assert!(caller.message().1 == large);
    });
    let (recorded, end) = log.rest();
    assert!(recorded == large);
    assert_eq!(end, End::Complete);
}

#[test]
fn an_upstream_that_closes_without_a_word_fails_no_later_call() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let mut caller = Wire::connect(gateway.addr());
    for _ in 0..50 {
        caller.request("POST", "/up/0/chat", &[], b"{}");
        let mut upstream = provider.accept();
        upstream.message();
        upstream.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        let (head, body) = caller.message();
        assert_eq!((head.status(), &*body), (200, &b"{}"[..]));
        assert_eq!(log.rest().1, End::Complete);
    }
}

#[test]
fn an_upstream_that_speaks_no_tls_is_a_failed_connect() {
    let provider = Provider::start();
    let (gateway, log) = recording(&provider, usize::MAX);
    let secure = provider.base().replacen("http:", "https:", 1);
    assert_eq!(gateway.add_upstream(&secure).unwrap(), 1);
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/up/1/chat", &[], b"{}");
    let mut upstream = provider.accept();
    upstream.write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(caller.message().0.status(), 502);
    assert_eq!(failed(&log).0, "connect");
}
