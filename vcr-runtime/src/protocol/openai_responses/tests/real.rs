//! Real recordings, where they are at hand: what comes back without the raw layer.

use std::fs;
use std::path::{Path, PathBuf};

use crate::json::{Json, compact, parse};
use crate::protocol::{Framing, HttpRequest, Wire};

use super::super::OpenAiResponses;
use super::recorder::{COARSE, FINE, Recorded, difference, events, payloads, record, record_unary, wire};

/// One answer each of `openai-chat` and `mistral` is of this protocol too: the path decides, not the folder.
const FOLDERS: [&str; 3] = ["openai-responses", "openai-chat", "mistral"];

/// What needs the raw layer, and only that. A change of this list is a change of what recordings cost.
const NEED_RAW: [&str; 0] = [];

struct Row {
    name: String,
    events: usize,
    bytes: usize,
    difference: Option<String>,
    kept: usize,
}

#[test]
fn real_recordings_come_back_from_their_canonical_form() {
    let Some(root) = root() else {
        println!("skipped: no recordings; VCR_REAL_TRAFFIC names their directory");
        return;
    };
    let mut rows = Vec::new();
    for folder in FOLDERS {
        let mut files: Vec<PathBuf> = fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files.iter().for_each(|file| rows.extend(file_rows(folder, file)));
    }
    for row in &rows {
        println!(
            "{:50} {:3} events, {:5} bytes, template {:5}: {}",
            row.name,
            row.events,
            row.bytes,
            row.kept,
            row.difference.as_deref().unwrap_or("equal")
        );
    }
    let differing: Vec<&str> = rows
        .iter()
        .filter(|row| row.difference.is_some())
        .map(|row| row.name.as_str())
        .collect();
    assert!(rows.len() >= 10, "only {} recordings were found", rows.len());
    assert_eq!(differing, NEED_RAW);
}

fn root() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/real-traffic");
    let root = std::env::var_os("VCR_REAL_TRAFFIC").map_or_else(|| PathBuf::from(default), PathBuf::from);
    root.is_dir().then_some(root)
}

fn file_rows(folder: &str, file: &Path) -> Vec<Row> {
    let text = fs::read_to_string(file).unwrap();
    let stem = file.file_name().unwrap().to_str().unwrap();
    let (stem, extension) = stem.split_once('.').unwrap();
    let name = format!("{folder}/{stem}");
    match extension {
        "sse" => vec![stream_row(name, text.as_bytes())],
        "chunks.jsonl" => {
            let chunks: Vec<Json> = text.lines().map(|line| parse(line).unwrap()).collect();
            if chunks[0].get("type").is_none() {
                return Vec::new();
            }
            vec![stream_row(name, &wire(&chunks))]
        }
        _ => {
            let document = parse(&text).unwrap();
            let exchanges = document.get("exchanges").and_then(Json::as_array).unwrap();
            let rows = exchanges.iter().zip(1..).filter_map(|(exchange, number)| {
                let name = format!("{name} #{number}");
                exchange_row(name, exchange.get("request")?, exchange.get("response")?)
            });
            rows.collect()
        }
    }
}

/// `None` for requests of other protocols.
fn exchange_row(name: String, request: &Json, response: &Json) -> Option<Row> {
    let body = |side: &Json| match (side.get("body_text"), side.get("body_json")) {
        (Some(Json::String(text)), _) => text.clone(),
        (_, json) => compact(json.unwrap()),
    };
    let path = request.get("path").or_else(|| request.get("url"))?.as_str()?;
    let sent = body(request);
    let http = HttpRequest {
        method: "POST",
        path,
        query: "",
        body: sent.as_bytes(),
    };
    let canonical = OpenAiResponses.request(&http)?;
    assert!(
        !canonical.model.is_empty() && !canonical.messages.is_empty(),
        "{name}"
    );
    let rebuilt = compact(&OpenAiResponses.rebuild(&canonical));
    let again = HttpRequest {
        body: rebuilt.as_bytes(),
        ..http
    };
    assert_eq!(
        OpenAiResponses.request(&again).as_ref(),
        Some(&canonical),
        "{name}"
    );

    let status = u16::try_from(response.get("status").and_then(Json::as_u64).unwrap_or(200)).unwrap();
    let answer = body(response);
    let headers = response
        .get("headers")
        .and_then(Json::as_array)
        .unwrap_or_default();
    let content_type = headers.iter().find_map(|header| {
        let is_it = header.at(0)?.as_str()?.eq_ignore_ascii_case("content-type");
        header.at(1)?.as_str().filter(|_| is_it)
    });
    Some(match OpenAiResponses.framing(content_type) {
        Some(Framing::Sse) => stream_row(name, answer.as_bytes()),
        _ => unary_row(name, status, &answer),
    })
}

fn stream_row(name: String, body: &[u8]) -> Row {
    let events = events(body);
    let original = payloads(&events);
    let recorded = record(&events, FINE);
    assert!(recorded.tail.complete, "{name}");
    assert_eq!(recorded.tail.odd, None, "{name}");
    assert!(recorded.ended, "{name}");

    let assembled = OpenAiResponses.assemble(&original);
    let compare =
        |recorded: &Recorded| difference(&assembled, &OpenAiResponses.assemble(&recorded.rendered()), "");
    let fine = compare(&recorded);
    let coarse = record(&events, COARSE);
    assert_eq!(compare(&coarse), fine, "{name}: coalescing made a difference");
    // What was rendered must itself be a stream that is recorded to the same.
    let rendered = coarse.rendered();
    let again = record(&super::recorder::events(&wire(&rendered)), COARSE);
    assert_eq!(again.rendered(), rendered, "{name}");
    assert_eq!(again.template(), coarse.template(), "{name}");
    Row {
        name,
        events: events.len(),
        bytes: body.len(),
        difference: fine,
        kept: recorded.template().len(),
    }
}

fn unary_row(name: String, status: u16, body: &str) -> Row {
    let document = parse(body.trim()).unwrap();
    let recorded = record_unary(status, &document);
    assert_eq!(recorded.boundary.is_some(), status >= 400, "{name}");
    assert_eq!(recorded.tail.odd, None, "{name}");
    Row {
        name,
        events: 1,
        bytes: body.len(),
        difference: difference(&document, &OpenAiResponses.render_unary(&recorded.answer()), ""),
        kept: recorded.template().len(),
    }
}
