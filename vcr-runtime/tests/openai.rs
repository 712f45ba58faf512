//! The Responses API and embeddings from socket to file and back.

#![allow(clippy::unwrap_used, reason = "helpers of tests may unwrap as tests do")]
#![cfg(feature = "gateway")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;

use vcr_runtime::{ErrorKind, Mode, Protocol, Vcr};

/// A provider that gives these answers, one a connection.
fn provider(answers: Vec<(&'static str, String)>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        for (content_type, body) in answers {
            let (mut socket, _) = listener.accept().unwrap();
            message(&mut BufReader::new(&socket));
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            socket.write_all(head.as_bytes()).unwrap();
            socket.write_all(body.as_bytes()).unwrap();
        }
    });
    (base, serving)
}

/// The first line and the body of a message.
fn message(reader: &mut impl BufRead) -> (String, String) {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line();
    let (mut length, mut chunked) = (None, false);
    loop {
        let header = line().to_ascii_lowercase();
        match header.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().ok(),
            Some(("transfer-encoding", value)) => chunked = value.trim() == "chunked",
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    loop {
        if chunked {
            let mut size = String::new();
            reader.read_line(&mut size).unwrap();
            length = usize::from_str_radix(size.trim(), 16).ok();
        }
        let mut piece = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut piece).unwrap();
        body.extend_from_slice(&piece);
        if chunked {
            reader.read_line(&mut String::new()).unwrap();
        }
        if !chunked || piece.is_empty() {
            return (first, String::from_utf8(body).unwrap());
        }
    }
}

fn post(base: &str, path: &str, body: &str) -> (String, String) {
    let (host, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut socket = TcpStream::connect(host).unwrap();
    let length = body.len();
    let request = format!(
        "POST /{prefix}{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).unwrap();
    message(&mut BufReader::new(socket))
}

fn open(directory: &Path, mode: Mode) -> Vcr {
    Vcr::builder()
        .scenario("s")
        .fixture_dir(directory)
        .mode(mode)
        .open()
        .unwrap()
}

/// Records the exchanges, replays them in the same order and gives back the cassette's text.
async fn record_and_replay(
    path: &str,
    exchanges: &[(&str, &'static str, String)],
) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let answers = exchanges
        .iter()
        .map(|(_, content_type, body)| (*content_type, body.clone()));
    let (base, serving) = provider(answers.collect());
    let vcr = open(directory.path(), Mode::Record);
    let gateway = vcr.base_url_for(&base).unwrap();
    for (request, _, body) in exchanges {
        assert_eq!(&post(&gateway, path, request).1, body);
    }
    serving.join().unwrap();
    let file = vcr.cassette_path().unwrap();
    vcr.finish().await.unwrap();

    let vcr = open(directory.path(), Mode::Replay);
    let gateway = vcr.base_url(Protocol::OpenAi).unwrap();
    for (request, _, body) in exchanges {
        assert_eq!(&post(&gateway, path, request).1, body);
    }
    vcr.finish().await.unwrap();
    (directory, std::fs::read_to_string(file).unwrap())
}

fn embeddings(embedding: &str) -> String {
    format!(
        r#"{{"object":"list","data":[{{"object":"embedding","index":0,"embedding":{embedding}}},{{"object":"embedding","index":1,"embedding":{embedding}}}],"model":"m","usage":{{"prompt_tokens":8,"total_tokens":8}}}}"#
    )
}

#[tokio::test]
async fn embeddings_are_replayed_exactly_from_one_line_a_vector() {
    let numbers: Vec<String> = (0..1536).map(|number| format!("-0.0{number}10")).collect();
    let floats = r#"{"model":"m","input":["The cat sat.","b"]}"#;
    let base64 = r#"{"model":"m","input":["The cat sat.","b"],"encoding_format":"base64"}"#;
    let json = "application/json";
    let (directory, text) = record_and_replay(
        "/embeddings",
        &[
            (floats, json, embeddings(&format!("[{}]", numbers.join(",")))),
            (
                base64,
                json,
                embeddings(&format!("\"{}\"", "AACAPw==".repeat(768))),
            ),
        ],
    )
    .await;
    assert_eq!(
        text.lines().filter(|line| line.contains("-0.0")).count(),
        2,
        "one line a vector"
    );
    assert!(!text.contains("raw_payload"), "nothing is kept twice");

    let vcr = open(directory.path(), Mode::Replay);
    let gateway = vcr.base_url(Protocol::OpenAi).unwrap();
    let (status, miss) = post(&gateway, "/embeddings", &floats.replace("cat", "dog"));
    assert!(status.contains("409"), "{status}");
    assert!(
        miss.contains("input[0]") && miss.contains("The dog sat."),
        "{miss}"
    );
    let error = vcr.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Miss);
    assert!(
        !format!("{error} {miss}").contains("-0.01"),
        "a vector was printed"
    );
}

#[tokio::test]
async fn a_responses_stream_needs_no_raw_layer() {
    let item = r#"{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi"}],"role":"assistant"}"#;
    let response = |status: &str, output: &str, usage: &str| {
        format!(
            r#"{{"id":"resp_1","object":"response","created_at":1,"status":"{status}","error":null,"model":"m","output":[{output}],"usage":{usage}}}"#
        )
    };
    let usage = r#"{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":13}"#;
    let events = [
        ("response.created", format!(r#""response":{}"#, response("in_progress", "", "null"))),
        ("response.in_progress", format!(r#""response":{}"#, response("in_progress", "", "null"))),
        ("response.output_item.added", r#""output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}"#.to_owned()),
        ("response.content_part.added", r#""item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}"#.to_owned()),
        ("response.output_text.delta", r#""item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hi","logprobs":[]"#.to_owned()),
        ("response.output_text.done", r#""item_id":"msg_1","output_index":0,"content_index":0,"text":"Hi","logprobs":[]"#.to_owned()),
        ("response.content_part.done", r#""item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi"}"#.to_owned()),
        ("response.output_item.done", format!(r#""output_index":0,"item":{item}"#)),
        ("response.completed", format!(r#""response":{}"#, response("completed", item, usage))),
    ];
    let body: String = (0..)
        .zip(&events)
        .map(|(number, (kind, members)): (usize, _)| {
            format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{members},\"sequence_number\":{number}}}\n\n")
        })
        .collect();
    let (_, text) = record_and_replay(
        "/responses",
        &[(
            r#"{"model":"m","instructions":"Be brief.","input":"Hi","stream":true}"#,
            "text/event-stream",
            body,
        )],
    )
    .await;
    assert!(text.contains(r#""chunk": "Hi""#), "{text}");
    assert_eq!(text.matches("Be brief.").count(), 1);
    assert!(!text.contains("raw_payload"), "{text}");
}
