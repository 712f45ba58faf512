//! How a cassette stands in its file: what people compare in a diff is a line. A frame is one, however long its text, and
//! so are a raw chunk, the usage, the end and the template; of a request every message is one. What is larger and may
//! change in parts, such as a tool's schema, is broken where it is too wide.

use crate::json::{Json, Place, block, fitted, line_into};

/// The text of the whole file.
pub(super) fn file(document: &Json) -> String {
    let mut out = String::with_capacity(4096);
    block(document, Place::default(), &mut out, top);
    out.push('\n');
    out
}

fn top(name: &str, value: &Json, place: Place, out: &mut String) {
    match name {
        "traces" => block(value, place, out, |_, take, place, out| {
            block(take, place, out, in_take);
        }),
        // An id a line, whether they would fit or not: a new take adds one and takes one away.
        "history_keys" => block(value, place, out, line),
        _ => fitted(value, place, out),
    }
}

fn in_take(name: &str, value: &Json, place: Place, out: &mut String) {
    match name {
        "calls" => block(value, place, out, |_, call, place, out| {
            block(call, place, out, in_call);
        }),
        _ => in_call(name, value, place, out),
    }
}

fn in_call(name: &str, value: &Json, place: Place, out: &mut String) {
    match name {
        "request_context" => block(value, place, out, in_request),
        "response_timeline" => block(value, place, out, line),
        "raw_payload" => block(value, place, out, in_raw),
        "network_metrics" | "exception_boundary" | "usage" | "template" => line_into(value, out),
        _ => fitted(value, place, out),
    }
}

fn in_request(name: &str, value: &Json, place: Place, out: &mut String) {
    match name {
        "messages" => block(value, place, out, |_, message, place, out| {
            fitted(message, place, out);
        }),
        _ => fitted(value, place, out),
    }
}

fn in_raw(name: &str, value: &Json, place: Place, out: &mut String) {
    match name {
        "stream_chunks" | "transcript" => block(value, place, out, line),
        "chunk_offsets_ms" => line_into(value, out),
        _ => fitted(value, place, out),
    }
}

fn line(_: &str, value: &Json, _: Place, out: &mut String) {
    line_into(value, out);
}

/// One take, as it stands in a file.
#[cfg(test)]
pub(crate) fn take(document: &Json) -> String {
    let mut out = String::new();
    block(document, Place::default(), &mut out, in_take);
    out
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    use super::*;
    use crate::json::parse;

    #[test]
    fn every_kind_has_its_place() {
        let long = "long ".repeat(40);
        let text = format!(
            r#"{{
  "format_version": 1,
  "history_keys": [
    "a"
  ],
  "traces": {{
    "a": {{
      "trace_id": "a",
      "calls": [
        {{
          "request_context": {{
            "model": "m",
            "messages": [
              {{"role": "system", "content": "{long}"}},
              {{"role": "user", "content": [{{"type": "text", "text": "hi"}}]}},
              {{
                "role": "assistant",
                "content": [
                  {{"type": "text", "text": "{long}"}},
                  {{"type": "text", "text": "{long}"}}
                ]
              }}
            ],
            "parameters": {{"temperature": null, "max_tokens": 16, "stream": true}}
          }},
          "http": {{"status": 200, "headers": [["content-type", "text/event-stream"]]}},
          "network_metrics": {{"ttfb_ms": 40.0, "total_duration_ms": 190.0}},
          "response_timeline": [
            {{"delta_ms": 40.0, "chunk": "{long}", "reasoning": "{long}"}},
            {{"delta_ms": 0.0, "chunk": "", "tool_calls": [{{"id": "{long}", "type": "function"}}], "finish_reason": "tool_calls"}}
          ],
          "exception_boundary": {{"occurred": true, "kind": "error", "error_type": "{long}", "message": "{long}"}},
          "usage": {{"prompt_tokens": 1, "details": {{"{long}": {{"{long}": 0}}}}}},
          "template": {{"id": "{long}", "model": "{long}"}},
          "raw_payload": {{
            "stream_chunks": [
              {{"id": "{long}", "text": "{long}"}},
              {{"id": "x"}}
            ],
            "chunk_offsets_ms": [1.0, 2.0]
          }}
        }},
        {{
          "response_timeline": [],
          "exception_boundary": {{"occurred": false}}
        }}
      ]
    }}
  }},
  "mine": {{"x": [1, {{"y": 2}}]}}
}}
"#
        );
        let document = parse(&text).unwrap();
        assert_eq!(file(&document), text);
        // What is not of the expected kind is written all the same.
        for odd in [
            r#"{"traces": [3, {"calls": "x"}]}"#,
            r#"{"traces": {"a": 7}}"#,
            "[]",
            "7",
        ] {
            let document = parse(odd).unwrap();
            assert_eq!(parse(&file(&document)).unwrap(), document, "{odd}");
        }
    }

    fn cassettes(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_other = entry.file_name() == "target" || entry.file_name() == "node_modules";
            if path.is_dir() && !is_other {
                cassettes(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "json")
                && path
                    .parent()
                    .and_then(Path::file_name)
                    .is_some_and(|name| name == "fixtures")
            {
                found.push(path);
            }
        }
    }

    /// The committed cassettes stand in their files as they would if they were recorded today. After a deliberate change of
    /// the layout: `CASSETTE_LAYOUT=overwrite cargo test -p vcr-runtime layout`.
    #[test]
    fn committed_cassettes_have_this_layout() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut found = Vec::new();
        cassettes(&root, &mut found);
        let mut ours = 0;
        for path in found {
            let text = fs::read_to_string(&path).unwrap();
            let Ok(document) = parse(&text) else { continue };
            // What people wrote by hand stands as they wrote it.
            if document.get("recorded_with").is_none() {
                continue;
            }
            ours += 1;
            let right = file(&document);
            if text != right && env::var("CASSETTE_LAYOUT").as_deref() == Ok("overwrite") {
                fs::write(&path, right).unwrap();
                continue;
            }
            assert_eq!(text, right, "{}", path.display());
        }
        assert!(ours > 0, "no cassettes below {}", root.display());
    }
}
