//! Gemini and Ollama through the gateway: recorded from a loopback upstream, replayed without it.
#![cfg(feature = "gateway")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use vcr_runtime::{IncludeRaw, Mode, Speed, Vcr};

/// One answer of the upstream.
struct Answer {
    status: u16,
    content_type: &'static str,
    pieces: Vec<String>,
}

/// What a client got.
#[derive(Debug, PartialEq)]
struct Got {
    status: u16,
    content_type: String,
    body: String,
}

/// Serves one connection with `answer` and returns its origin.
async fn upstream(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !is_whole(&request) {
            assert!(socket.read_buf(&mut request).await.unwrap() > 0, "half a request");
        }
        let head = format!(
            "HTTP/1.1 {} X\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
            answer.status, answer.content_type
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        for piece in answer.pieces {
            let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
            socket.write_all(chunk.as_bytes()).await.unwrap();
            socket.flush().await.unwrap();
        }
        socket.write_all(b"0\r\n\r\n").await.unwrap();
    });
    origin
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

fn open(directory: &std::path::Path, mode: Mode, include_raw: IncludeRaw) -> Vcr {
    Vcr::builder()
        .scenario("s")
        .fixture_dir(directory)
        .mode(mode)
        .speed(Speed::Max)
        .include_raw(include_raw)
        .open()
        .unwrap()
}

async fn ask(base: &str, path: &str, body: &str) -> Got {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{base}{path}")).body(body.to_owned());
    let response = request.send().await.unwrap();
    let content_type = response
        .headers()
        .get("content-type")
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    Got {
        status: response.status().as_u16(),
        content_type,
        body: response.text().await.unwrap(),
    }
}

/// Records one call and replays it: what the client got live, what it gets now, and the cassette.
async fn round(include_raw: IncludeRaw, answer: Answer, paths: [&str; 2], body: &str) -> (Got, Got, String) {
    let directory = tempfile::tempdir().unwrap();
    let origin = upstream(answer).await;
    let vcr = open(directory.path(), Mode::Record, include_raw);
    let live = ask(&vcr.base_url_for(&origin).unwrap(), paths[0], body).await;
    let report = vcr.finish().await.unwrap();
    let cassette = std::fs::read_to_string(&report.written[0]).unwrap();

    let vcr = open(directory.path(), Mode::Replay, include_raw);
    let replayed = ask(&vcr.base_url_for("http://127.0.0.1:9").unwrap(), paths[1], body).await;
    vcr.finish().await.unwrap();
    (live, replayed, cassette)
}

fn call(cassette: &str) -> Value {
    let cassette: Value = serde_json::from_str(cassette).unwrap();
    let traces = cassette["traces"].as_object().unwrap();
    traces.values().next().unwrap().clone()
}

const GEMINI_BODY: &str = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;

fn gemini_chunk(text: &str, rest: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}],"role":"model"}}{rest},"index":0}}],"modelVersion":"g"}}"#
    )
}

fn array_answer() -> Answer {
    let (first, last) = (
        gemini_chunk("Hé", ""),
        gemini_chunk("llo", r#","finishReason":"STOP""#),
    );
    Answer {
        status: 200,
        content_type: "application/json; charset=UTF-8",
        pieces: vec![
            format!("[{}", &first[..20]),
            format!("{}\n,\r\n", &first[20..]),
            format!("{last}\n]\n"),
        ],
    }
}

#[tokio::test]
async fn the_array_form_of_a_stream_is_replayed_as_an_array() {
    let path = "/v1beta/models/gemini-x:streamGenerateContent";
    let paths = [&*format!("{path}?key=first"), &*format!("{path}?key=second")];
    for include_raw in [IncludeRaw::Auto, IncludeRaw::Always, IncludeRaw::Never] {
        let (live, replayed, cassette) = round(include_raw, array_answer(), paths, GEMINI_BODY).await;
        assert!(
            replayed.content_type.starts_with("application/json"),
            "{replayed:?}"
        );
        let (live, replayed): (Value, Value) = (
            serde_json::from_str(&live.body).unwrap(),
            serde_json::from_str(&replayed.body).unwrap(),
        );
        assert_eq!(live, replayed, "{include_raw:?}");
        assert!(!cassette.contains("first"), "the key is in the cassette");
        let call = call(&cassette);
        assert_eq!(
            call["response_timeline"].as_array().unwrap().len(),
            2,
            "{cassette}"
        );
        assert_eq!(
            call["raw_payload"].is_null(),
            include_raw != IncludeRaw::Always,
            "{cassette}"
        );
    }
}

#[tokio::test]
async fn events_of_gemini_end_in_crlf() {
    let path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
    let events = [
        gemini_chunk("Hé", ""),
        gemini_chunk("llo", r#","finishReason":"STOP""#),
    ];
    for include_raw in [IncludeRaw::Auto, IncludeRaw::Always] {
        let answer = Answer {
            status: 200,
            content_type: "text/event-stream",
            pieces: events
                .iter()
                .map(|event| format!("data: {event}\r\n\r\n"))
                .collect(),
        };
        let (live, replayed, cassette) = round(include_raw, answer, [path, path], GEMINI_BODY).await;
        assert_eq!(live, replayed, "{include_raw:?}");
        assert!(
            !cassette.contains("transcript"),
            "the usual framing needs no transcript"
        );
    }
}

#[tokio::test]
async fn a_server_that_answers_with_events_is_replayed_with_events() {
    let path = "/v1beta/models/gemini-x:streamGenerateContent";
    for include_raw in [IncludeRaw::Auto, IncludeRaw::Always] {
        let event = gemini_chunk("Hi", r#","finishReason":"STOP""#);
        let answer = Answer {
            status: 200,
            content_type: "text/event-stream",
            pieces: vec![format!("data: {event}\r\n\r\n")],
        };
        let (live, replayed, _) = round(include_raw, answer, [path, path], GEMINI_BODY).await;
        assert_eq!(live, replayed, "{include_raw:?}");
    }
}

#[tokio::test]
async fn an_error_keeps_its_content_type() {
    let answer = Answer {
        status: 404,
        content_type: "text/event-stream",
        pieces: vec![r#"{"error":{"code":404,"message":"no model","status":"NOT_FOUND"}}"#.to_owned()],
    };
    let path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
    let (live, replayed, _) = round(IncludeRaw::Auto, answer, [path, path], GEMINI_BODY).await;
    assert_eq!(live, replayed);
    assert_eq!(
        (live.status, live.content_type.as_str()),
        (404, "text/event-stream")
    );
}

#[tokio::test]
async fn ollama_streams_when_nothing_is_said() {
    let line = |content: &str, rest: &str| {
        format!(
            r#"{{"model":"m","created_at":"t","message":{{"role":"assistant","content":"{content}"}},{rest}}}"#
        )
    };
    let lines = [
        line("Hé", r#""done":false"#),
        line("llo", r#""done":false"#),
        line(
            "",
            r#""done":true,"done_reason":"stop","prompt_eval_count":4,"eval_count":2"#,
        ),
    ];
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for include_raw in [IncludeRaw::Auto, IncludeRaw::Always] {
        let answer = Answer {
            status: 200,
            content_type: "application/x-ndjson",
            // Split inside a character's line, as networks do.
            pieces: vec![body[..50].to_owned(), body[50..].to_owned()],
        };
        let request = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
        let (live, replayed, cassette) =
            round(include_raw, answer, ["/api/chat", "/api/chat"], request).await;
        assert_eq!(live.content_type, replayed.content_type);
        let text = |got: &Got| -> String {
            let lines = got
                .body
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines
                .map(|line| line["message"]["content"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            (text(&live), text(&replayed)),
            ("Héllo".to_owned(), "Héllo".to_owned())
        );
        assert!(replayed.body.lines().last().unwrap().contains(r#""done":true"#));
        let call = call(&cassette);
        assert_eq!(call["request_context"]["parameters"]["stream"], true);
        assert_eq!(call["usage"]["total_tokens"], 6);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_recorded_as_truncated() {
    let answer = Answer {
        status: 200,
        content_type: "application/json",
        pieces: vec![
            format!("[{}", gemini_chunk("Hé", "")),
            ",\r\n{\"candidates\"".to_owned(),
        ],
    };
    let path = "/v1beta/models/gemini-x:streamGenerateContent";
    let (_, replayed, cassette) = round(IncludeRaw::Auto, answer, [path, path], GEMINI_BODY).await;
    assert_eq!(
        call(&cassette)["exception_boundary"]["kind"],
        "truncated",
        "{cassette}"
    );
    assert!(
        replayed.body.starts_with("[{") && !replayed.body.ends_with(']'),
        "{}",
        replayed.body
    );
}
