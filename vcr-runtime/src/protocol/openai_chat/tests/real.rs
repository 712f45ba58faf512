//! Real recordings, where they are at hand: what comes back without the raw layer.

use std::fs;
use std::path::{Path, PathBuf};

use crate::json::{Json, parse};
use crate::protocol::{Framing, HttpRequest, Wire, WireEvent};

use super::super::OpenAiChat;
use super::recorder::{difference, events, payloads, record, record_unary};

const FOLDERS: [&str; 8] = [
    "openai-chat",
    "azure",
    "deepseek",
    "groq",
    "llamacpp",
    "mistral",
    "openrouter",
    "vllm",
];

/// What needs the raw layer, and only that. A change of this list is a change of what recordings cost.
const NEED_RAW: [&str; 0] = [];

struct Row {
    name: String,
    events: usize,
    difference: Option<String>,
    template: usize,
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
        let verdict = row.difference.as_deref().unwrap_or("equal");
        println!(
            "{:60} {:4} events, template {:5} bytes: {verdict}",
            row.name, row.events, row.template
        );
    }
    let differing: Vec<&str> = rows
        .iter()
        .filter(|row| row.difference.is_some())
        .map(|row| row.name.as_str())
        .collect();
    assert!(rows.len() >= 25, "only {} recordings were found", rows.len());
    assert_eq!(differing, NEED_RAW);
}

fn root() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/real-traffic");
    let root = std::env::var_os("VCR_REAL_TRAFFIC").map_or_else(|| PathBuf::from(default), PathBuf::from);
    root.is_dir().then_some(root)
}

fn file_rows(folder: &str, file: &Path) -> Vec<Row> {
    let text = fs::read_to_string(file).unwrap();
    let stem = file
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .split('.')
        .next()
        .unwrap();
    if file.extension().is_some_and(|extension| extension == "jsonl") {
        let body: String = text.lines().map(|line| format!("data: {line}\n\n")).collect();
        return vec![stream_row(format!("{folder}/{stem}"), body.as_bytes())];
    }
    let document = parse(&text).unwrap();
    let exchanges = document.get("exchanges").and_then(Json::as_array).unwrap();
    let rows = exchanges.iter().zip(1..).filter_map(|(exchange, number)| {
        let name = format!("{folder}/{stem} #{number}");
        exchange_row(name, exchange.get("request")?, exchange.get("response")?)
    });
    rows.collect()
}

/// `None` for requests of other protocols, of which some files have one.
fn exchange_row(name: String, request: &Json, response: &Json) -> Option<Row> {
    let body = |side: &Json| match (side.get("body_text"), side.get("body_json")) {
        (Some(Json::String(text)), _) => text.clone(),
        (_, json) => crate::json::compact(json.unwrap()),
    };
    let path = request.get("path").or_else(|| request.get("url"))?.as_str()?;
    let sent = body(request);
    let http = HttpRequest {
        method: "POST",
        path,
        query: "",
        body: sent.as_bytes(),
    };
    let canonical = OpenAiChat.request(&http)?;
    assert!(!canonical.model.is_empty(), "{name}");

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
    Some(match OpenAiChat.framing(content_type) {
        Some(Framing::Sse) => stream_row(name, answer.as_bytes()),
        _ => unary_row(name, status, &answer),
    })
}

fn stream_row(name: String, body: &[u8]) -> Row {
    let events = events(body);
    let joined: Vec<u8> = events.iter().flat_map(|event| event.bytes.clone()).collect();
    assert!(body.starts_with(&joined), "{name}: bytes were lost");
    let mut recorded = record(&events);
    assert!(recorded.tail.complete, "{name}");

    let original = payloads(&events);
    let compare = |rendered: &[Json]| {
        difference(
            &OpenAiChat.assemble(&original),
            &OpenAiChat.assemble(rendered),
            "",
        )
    };
    let fine = compare(&recorded.rendered());
    recorded.coalesce();
    assert_eq!(
        compare(&recorded.rendered()),
        fine,
        "{name}: coalescing made a difference"
    );
    again(&name, &recorded.rendered());
    Row {
        name,
        events: events.len(),
        difference: fine,
        template: recorded.template().len(),
    }
}

/// What was rendered must itself be a stream that is recorded to the same.
fn again(name: &str, rendered: &[Json]) {
    let events: Vec<WireEvent> = rendered
        .iter()
        .map(|payload| WireEvent {
            data: crate::json::compact(payload),
            ..WireEvent::default()
        })
        .collect();
    let recorded = record(&events);
    let twice = recorded.rendered();
    assert_eq!(
        OpenAiChat.assemble(rendered),
        OpenAiChat.assemble(&twice),
        "{name}"
    );
}

fn unary_row(name: String, status: u16, body: &str) -> Row {
    let body = parse(body.trim()).unwrap();
    let mut recorded = record_unary(status, &body);
    assert_eq!(recorded.boundary.is_some(), status >= 400, "{name}");
    let fine = difference(&body, &OpenAiChat.render_unary(&recorded.answer()), "");
    recorded.coalesce();
    assert_eq!(
        difference(&body, &OpenAiChat.render_unary(&recorded.answer()), ""),
        fine,
        "{name}"
    );
    Row {
        name,
        events: 1,
        difference: fine,
        template: recorded.template().len(),
    }
}
