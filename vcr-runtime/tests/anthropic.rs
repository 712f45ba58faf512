//! Anthropic Messages and Bedrock through the gateway: recorded from a scripted upstream, replayed without one.
#![cfg(feature = "gateway")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use vcr_runtime::{Mode, Vcr};

/// An upstream that answers one call after the other with these bodies.
fn upstream(answers: Vec<(&'static str, Vec<u8>)>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (content_type, body) in answers {
            let mut socket = listener.accept().unwrap().0;
            read_request(&mut socket);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            socket.write_all(head.as_bytes()).unwrap();
            // In odd pieces: characters and events are cut.
            for piece in body.chunks(7) {
                socket.write_all(piece).unwrap();
                socket.flush().unwrap();
            }
        }
    });
    base
}

fn read_request(socket: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&seen).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
                return;
            }
        }
        let count = socket.read(&mut buffer).unwrap();
        seen.extend_from_slice(&buffer[..count]);
    }
}

/// Posts to a base URL of the gateway and reads to the end.
fn post(base: &str, path: &str, body: &str) -> (String, Vec<u8>) {
    let (authority, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut socket = TcpStream::connect(authority).unwrap();
    let request = format!(
        "POST /{prefix}{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let body = answer.split_off(end + 4);
    let chunked = head.contains("transfer-encoding: chunked");
    (head, if chunked { joined(&body) } else { body })
}

/// The body without the marks between its chunks.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|window| window == b"\r\n").unwrap();
        let length = std::str::from_utf8(&chunks[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&chunks[end + 2..end + 2 + length]);
        chunks = &chunks[end + 2 + length + 2..];
    }
}

fn open(directory: &Path, mode: Mode) -> Vcr {
    Vcr::builder()
        .scenario("s")
        .fixture_dir(directory)
        .mode(mode)
        .open()
        .unwrap()
}

type Answer = (String, Vec<u8>);

/// Records the calls, replays them, and returns the cassette and both answers to each call.
async fn twice(
    answers: Vec<(&'static str, Vec<u8>)>,
    path: &str,
    requests: &[&str],
) -> (String, Vec<(Answer, Answer)>) {
    let directory = tempfile::tempdir().unwrap();
    let base = upstream(answers);
    let vcr = open(directory.path(), Mode::Record);
    let gateway = vcr.base_url_for(&base).unwrap();
    let live: Vec<Answer> = requests
        .iter()
        .map(|request| post(&gateway, path, request))
        .collect();
    let report = vcr.finish().await.unwrap();
    let cassette = std::fs::read_to_string(&report.written[0]).unwrap();

    let vcr = open(directory.path(), Mode::Replay);
    let gateway = vcr.base_url_for(&base).unwrap();
    let replayed: Vec<Answer> = requests
        .iter()
        .map(|request| post(&gateway, path, request))
        .collect();
    vcr.finish().await.unwrap();
    (cassette, live.into_iter().zip(replayed).collect())
}

const REQUEST: &str = r#"{"model":"claude-x","max_tokens":9,"system":"s","messages":[{"role":"user","content":"Hi"}],"stream":true}"#;
const SSE: &str = "text/event-stream; charset=utf-8";

fn events(payloads: &[&str], named: bool) -> Vec<u8> {
    let mut text = String::new();
    for payload in payloads {
        let (_, rest) = payload.split_once(r#""type":""#).unwrap();
        if named {
            text += &format!("event: {}\n", rest.split('"').next().unwrap());
        }
        text += &format!("data: {payload}\n\n");
    }
    text.into_bytes()
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_01","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#;
const BLOCK: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const TEXT: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hé 🦀"}}"#;

#[tokio::test]
async fn a_stream_is_replayed_with_its_event_names_and_needs_no_raw_layer() {
    let payloads = [
        START,
        BLOCK,
        r#"{"type":"ping"}"#,
        TEXT,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let answers = vec![(SSE, events(&payloads, true)), (SSE, events(&payloads, false))];
    let (cassette, calls) = twice(answers, "/v1/messages", &[REQUEST, REQUEST]).await;
    assert!(
        !cassette.contains("raw_payload") && !cassette.contains("\"note\""),
        "{cassette}"
    );
    assert!(
        cassette.contains(r#""role": "system""#)
            && cassette.contains(r#""native_finish_reason": "end_turn""#)
    );
    let told: Vec<&str> = payloads
        .iter()
        .copied()
        .filter(|payload| !payload.contains("ping"))
        .collect();
    for ((_, live), (head, replayed)) in calls {
        assert!(live.ends_with(b"{\"type\":\"message_stop\"}\n\n"));
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert_eq!(
            String::from_utf8(replayed).unwrap(),
            String::from_utf8(events(&told, true)).unwrap()
        );
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_recorded_and_replayed() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let body = events(&[START, BLOCK, TEXT, error], true);
    let (cassette, calls) = twice(vec![(SSE, body.clone())], "/v1/messages", &[REQUEST]).await;
    assert!(
        cassette.contains(r#""error_type": "overloaded_error""#),
        "{cassette}"
    );
    assert!(!cassette.contains("raw_payload"), "{cassette}");
    assert_eq!(calls[0].1.1, body);
}

#[tokio::test]
async fn a_binary_stream_is_replayed_byte_for_byte() {
    let body: Vec<u8> = (0..600_u32)
        .map(|number| u8::try_from(number % 251).unwrap())
        .collect();
    let request = r#"{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}"#;
    let answers = vec![("application/vnd.amazon.eventstream", body.clone())];
    let (cassette, calls) = twice(
        answers,
        "/model/amazon.nova-lite-v1%3A0/converse-stream",
        &[request],
    )
    .await;
    assert!(
        cassette.contains(r#""model": "amazon.nova-lite-v1:0""#),
        "{cassette}"
    );
    assert_eq!(calls[0].0.1, body);
    assert_eq!(calls[0].1.1, body);
}
