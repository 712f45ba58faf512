use super::support::{Wire, playback, replaying, whole};

fn refused(raw: impl FnOnce(u16) -> String) -> (u16, String) {
    let gateway = replaying(|| playback(&[], whole("reached"), false));
    gateway.add_upstream("http://127.0.0.1:9/v1").unwrap();
    let mut caller = Wire::connect(gateway.addr());
    caller.write(raw(gateway.addr().port()).as_bytes());
    let (head, body) = caller.message();
    (head.status(), String::from_utf8(body).unwrap())
}

#[test]
fn a_foreign_host_is_refused() {
    for host in ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:PORT"] {
        let (status, body) = refused(|port| {
            let host = host.replace("PORT", &port.to_string());
            format!("GET /openai/v1/x HTTP/1.1\r\nHost: {host}\r\n\r\n")
        });
        assert_eq!(status, 403, "{host}");
        assert!(body.contains("\"vcr_forbidden_host\""), "{body}");
    }
    let missing = refused(|_| "GET /openai/v1/x HTTP/1.1\r\n\r\n".to_owned());
    assert_eq!(missing.0, 403);
    let twice =
        refused(|port| format!("GET /openai/v1/x HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil\r\n\r\n"));
    assert_eq!(twice.0, 403);
}

#[test]
fn every_name_of_loopback_is_accepted() {
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let answer = refused(|port| format!("GET /openai/v1/x HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"));
        assert_eq!(answer, (200, "reached".to_owned()), "{host}");
    }
}

#[test]
fn proxy_requests_are_refused() {
    for target in [
        "http://api.openai.com/openai/v1/x",
        "http://localhost:PORT/openai/v1/x",
    ] {
        let (status, body) = refused(|port| {
            let target = target.replace("PORT", &port.to_string());
            format!("GET {target} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n")
        });
        assert_eq!(status, 400, "{target}");
        assert!(body.contains("no proxy"), "{body}");
    }
    let connect =
        refused(|port| format!("CONNECT api.openai.com:443 HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
    assert_eq!(connect.0, 400);
}

#[test]
fn an_older_http_is_refused() {
    let (status, _) = refused(|port| format!("GET /openai/v1/x HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n"));
    assert_eq!(status, 505);
}

#[test]
fn an_unknown_prefix_lists_the_known_ones() {
    let (status, body) = refused(|port| format!("GET /v1/chat HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
    assert_eq!(status, 404);
    assert!(
        body.contains("/openai/v1, /up/0 (http://127.0.0.1:9/v1)"),
        "{body}"
    );
}

#[test]
fn a_body_beyond_the_limit_is_refused_and_the_answer_can_be_read() {
    let gateway = replaying(|| playback(&[], whole("reached"), false));
    let host = gateway.addr();
    let mebibyte = vec![b'x'; 1 << 20];

    let mut by_length = Wire::connect(host);
    by_length.write(
        format!(
            "POST /openai/v1/x HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n",
            (64 << 20) + 1
        )
        .as_bytes(),
    );
    for _ in 0..64 {
        by_length.write(&mebibyte);
    }
    by_length.write(b"x");
    assert_eq!(by_length.head().status(), 413);

    let mut by_chunks = Wire::connect(host);
    by_chunks.write(
        format!("POST /openai/v1/x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n")
            .as_bytes(),
    );
    for _ in 0..65 {
        by_chunks.chunk(&mebibyte);
    }
    by_chunks.chunk(b"");
    let (head, body) = by_chunks.message();
    assert_eq!(head.status(), 413);
    assert!(String::from_utf8(body).unwrap().contains("64 MiB"));

    let mut asking = Wire::connect(host);
    asking.write(format!("POST /openai/v1/x HTTP/1.1\r\nHost: {host}\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n", 65 << 20).as_bytes());
    assert_eq!(asking.head().status(), 413);
}

#[test]
fn a_body_of_exactly_the_limit_is_accepted() {
    let gateway = replaying(|| playback(&[], whole("reached"), false));
    let mut caller = Wire::connect(gateway.addr());
    caller.request("POST", "/openai/v1/x", &[], &vec![b'x'; 64 << 20]);
    assert_eq!(caller.message().1, b"reached");
}
