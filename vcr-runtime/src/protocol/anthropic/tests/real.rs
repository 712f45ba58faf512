//! Real recordings, where they are at hand: what comes back without the raw layer.

use std::fs;
use std::path::{Path, PathBuf};

use crate::json::{Json, parse};
use crate::protocol::{Framing, HttpRequest, Wire};

use super::super::Messages;
use super::recorder::{
    difference, events, loss, payloads, record_merged, record_text, record_unary, unary_loss,
};

struct Row {
    name: String,
    events: usize,
    wire: usize,
    template: usize,
    loss: Option<String>,
}

#[test]
fn real_recordings_come_back_from_their_canonical_form() {
    let Some(root) = root() else {
        println!("skipped: no recordings; VCR_REAL_TRAFFIC names their directory");
        return;
    };
    let mut files: Vec<PathBuf> = fs::read_dir(root.join("anthropic"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let rows: Vec<Row> = files.iter().flat_map(|file| file_rows(file)).collect();
    for row in &rows {
        let verdict = row.loss.as_deref().unwrap_or("equal");
        println!(
            "{:50} {:3} events, {:5} bytes, template {:4}: {verdict}",
            row.name, row.events, row.wire, row.template
        );
    }
    assert!(rows.len() >= 9, "only {} recordings were found", rows.len());
    // None needs the raw layer. A change of this is a change of what recordings cost.
    assert!(rows.iter().all(|row| row.loss.is_none()));
}

fn root() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/real-traffic");
    let root = std::env::var_os("VCR_REAL_TRAFFIC").map_or_else(|| PathBuf::from(default), PathBuf::from);
    root.is_dir().then_some(root)
}

fn file_rows(file: &Path) -> Vec<Row> {
    let document = parse(&fs::read_to_string(file).unwrap()).unwrap();
    let stem = file
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .split('.')
        .next()
        .unwrap();
    let exchanges = document.get("exchanges").and_then(Json::as_array).unwrap();
    let rows = (1..).zip(exchanges).map(|(number, exchange)| {
        let name = format!("{stem} #{number}");
        row(
            name,
            exchange.get("request").unwrap(),
            exchange.get("response").unwrap(),
        )
    });
    rows.collect()
}

fn row(name: String, request: &Json, response: &Json) -> Row {
    let body = |side: &Json| side.get("body_text").unwrap().as_str().unwrap().to_owned();
    let path = request
        .get("path")
        .or_else(|| request.get("url"))
        .and_then(Json::as_str)
        .unwrap();
    let sent = body(request);
    let http = HttpRequest {
        method: "POST",
        path,
        query: "",
        body: sent.as_bytes(),
    };
    let canonical = Messages.request(&http).unwrap();
    let rebuilt = Messages.rebuild(&canonical);
    if canonical.stream() {
        assert_eq!(difference(&parse(&sent).unwrap(), &rebuilt, ""), None, "{name}");
    }

    let status = u16::try_from(response.get("status").and_then(Json::as_u64).unwrap()).unwrap();
    let headers = response.get("headers").and_then(Json::as_array).unwrap();
    let content_type = headers.iter().find_map(|header| {
        let is_it = header.at(0)?.as_str()?.eq_ignore_ascii_case("content-type");
        header.at(1)?.as_str().filter(|_| is_it)
    });
    let answer = body(response);
    match Messages.framing(content_type) {
        Some(Framing::Sse) => stream_row(name, &answer),
        _ => unary_row(name, status, &answer),
    }
}

fn stream_row(name: String, body: &str) -> Row {
    let recorded = record_text(body);
    assert!(recorded.tail.complete && recorded.ended, "{name}");
    assert_eq!(recorded.tail.odd, None, "{name}");
    let fine = loss(body, &recorded);
    assert_eq!(
        loss(body, &record_merged(&events(body))),
        fine,
        "{name}: coalescing made a difference"
    );
    // What was rendered is itself a stream that is recorded to the same.
    let again = record_text(&recorded.wire());
    assert_eq!(again.wire(), recorded.wire(), "{name}");
    Row {
        name,
        events: payloads(&events(body)).len(),
        wire: body.len(),
        template: recorded.template().len(),
        loss: fine,
    }
}

fn unary_row(name: String, status: u16, body: &str) -> Row {
    let json = parse(body).unwrap();
    let recorded = record_unary(status, &json);
    assert_eq!(recorded.boundary.is_some(), status >= 400, "{name}");
    if status < 400 {
        // Asked for as a stream, it is the same message.
        let mut streamed = Messages.assemble(&recorded.rendered());
        streamed.as_object_mut().unwrap().remove("message_stop");
        assert_eq!(difference(&json, &streamed, ""), None, "{name}");
    }
    Row {
        name,
        events: 1,
        wire: body.len(),
        template: recorded.template().len(),
        loss: unary_loss(status, &json),
    }
}
