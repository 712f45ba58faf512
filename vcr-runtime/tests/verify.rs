//! What is recorded verifies: the cassettes of this repository, and real recordings that pass through the gateway.
#![cfg(feature = "gateway")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde_json::Value;
use vcr_runtime::{DifferenceKind, IncludeRaw, Mode, Vcr, resolve, verify};

#[test]
fn the_cassettes_of_this_repository_verify() {
    for directory in ["../fixtures", "tests/fixtures"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        let differences = verify(path).unwrap();
        assert!(differences.is_empty(), "{differences:#?}");
    }
}

/// A real exchange that has its body as text.
struct Exchange {
    name: String,
    path: String,
    request: String,
    status: u64,
    content_type: String,
    body: String,
}

fn exchanges() -> Vec<Exchange> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/real-traffic");
    let root = std::env::var_os("VCR_REAL_TRAFFIC").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let mut all = Vec::new();
    for folder in std::fs::read_dir(root).into_iter().flatten().flatten() {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            if file
                .path()
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                let text = std::fs::read_to_string(file.path()).unwrap();
                let document: Value = serde_json::from_str(&text).unwrap();
                let items = resolve(&document, "exchanges")
                    .and_then(Value::as_array)
                    .unwrap()
                    .iter();
                all.extend(items.filter_map(|item| exchange(&file.path(), item)));
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn exchange(file: &Path, item: &Value) -> Option<Exchange> {
    let text = |path: &str| resolve(item, path)?.as_str().map(str::to_owned);
    let headers = resolve(item, "response.headers")?.as_array()?;
    let content_type = headers.iter().find(|header| header[0] == "content-type")?;
    let url = text("request.url");
    let path = url
        .as_ref()
        .and_then(|url| url.splitn(4, '/').nth(3))
        .map(|path| format!("/{path}"));
    let pair = |item: &Value| Some(format!("{}={}", item[0].as_str()?, item[1].as_str()?));
    let query = resolve(item, "request.query").and_then(Value::as_array);
    let query: Vec<String> = query.into_iter().flatten().filter_map(pair).collect();
    let path = text("request.path").or(path)?;
    Some(Exchange {
        name: file.display().to_string(),
        path: if query.is_empty() {
            path
        } else {
            format!("{path}?{}", query.join("&"))
        },
        request: text("request.body_text")?,
        status: resolve(item, "response.status")?.as_u64()?,
        content_type: content_type[1].as_str()?.to_owned(),
        body: text("response.body_text")?,
    })
}

/// Answers one connection with the exchange's answer, in odd pieces.
fn serve(listener: &TcpListener, exchange: &Exchange) {
    let mut socket = listener.accept().unwrap().0;
    read_request(&mut socket);
    let head = format!(
        "HTTP/1.1 {} X\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        exchange.status,
        exchange.content_type,
        exchange.body.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    for piece in exchange.body.as_bytes().chunks(701) {
        socket.write_all(piece).unwrap();
        socket.flush().unwrap();
    }
}

fn read_request(socket: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let head = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        if let Some(end) = head {
            let head = String::from_utf8_lossy(&seen[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            if seen.len() - end - 4 >= length.map_or(0, |length| length.trim().parse().unwrap()) {
                return;
            }
        }
        let count = socket.read(&mut buffer).unwrap();
        seen.extend_from_slice(&buffer[..count]);
    }
}

fn post(base: &str, exchange: &Exchange) {
    let (authority, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut socket = TcpStream::connect(authority).unwrap();
    let request = format!(
        "POST /{prefix}{} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
        exchange.path.replace(' ', "%20"),
        exchange.request.len(),
        exchange.request
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    let status = String::from_utf8_lossy(&answer[..12]).into_owned();
    assert_eq!(
        status,
        format!("HTTP/1.1 {}", exchange.status),
        "{}",
        exchange.name
    );
}

/// Records all exchanges, each as a cassette of its own.
fn record(directory: &Path, exchanges: &[Exchange], include_raw: IncludeRaw) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::scope(|threads| {
        threads.spawn(|| exchanges.iter().for_each(|exchange| serve(&listener, exchange)));
        for (index, exchange) in exchanges.iter().enumerate() {
            let vcr = Vcr::builder()
                .scenario(format!("real_{index}"))
                .fixture_dir(directory)
                .mode(Mode::Record)
                .include_raw(include_raw)
                .open()
                .unwrap();
            post(&vcr.base_url_for(&base).unwrap(), exchange);
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(vcr.finish())
                .unwrap();
        }
    });
}

#[test]
fn real_recordings_verify_and_a_changed_word_shows() {
    let exchanges = exchanges();
    if exchanges.is_empty() {
        println!("skipped: no recordings; VCR_REAL_TRAFFIC names their directory");
        return;
    }
    for include_raw in [IncludeRaw::Always, IncludeRaw::Auto] {
        let directory = tempfile::tempdir().unwrap();
        record(directory.path(), &exchanges, include_raw);
        let differences = verify(directory.path()).unwrap();
        let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
        assert!(shown.is_empty(), "{include_raw:?}: {}", shown.join("\n"));
        if include_raw == IncludeRaw::Always {
            change_a_word(directory.path());
        }
    }
}

/// Changes the first word of each timeline, which the raw layer then contradicts.
fn change_a_word(directory: &Path) {
    let (mut changed, mut found) = (0, 0);
    for file in std::fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let Some((before, after)) = text.split_once("\"response_timeline\"") else {
            continue;
        };
        let text = "\"chunk\": \"";
        let Some((at, _)) = after
            .match_indices(text)
            .find(|(at, _)| !after[at + text.len()..].starts_with('"'))
        else {
            continue;
        };
        let (same, changed_from) = after.split_at(at + text.len());
        let after = format!("{same}x{changed_from}");
        std::fs::write(&path, format!("{before}\"response_timeline\"{after}")).unwrap();
        changed += 1;
        let differences = verify(&path).unwrap();
        let is_it = differences.len() == 1 && differences[0].kind == DifferenceKind::Timeline;
        assert!(is_it, "{}: {differences:#?}", path.display());
        found += 1;
    }
    assert!(changed >= 10 && found == changed, "{found} of {changed}");
}
