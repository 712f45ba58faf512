//! A good cassette, altered in each way.

use std::path::Path;

use super::*;
use crate::canon::{from_recorded, request_hash};
use crate::cassette::Whole;

const ID: &str = "0a0b0c0d0e0f10111213141516171819";

/// A recorded stream with a tool call beside the text, and a unary answer.
const GOOD: &str = r#"{
  "scenario": "s",
  "latest_trace_id": "0a0b0c0d0e0f10111213141516171819",
  "history_keys": ["0a0b0c0d0e0f10111213141516171819"],
  "traces": {"0a0b0c0d0e0f10111213141516171819": {
    "trace_id": "0a0b0c0d0e0f10111213141516171819",
    "calls": [
      {
        "started_ms": 1.0,
        "request_hash": "$HASH0",
        "protocol": "openai-chat",
        "request_context": {"model": "m", "provider": "openai", "messages": [{"role": "user", "content": "Hi"}],
          "parameters": {"temperature": null, "max_tokens": null, "stream": true, "run": "r1"}},
        "http": {"status": 200, "headers": [["content-type", "text/event-stream"]]},
        "network_metrics": {"ttfb_ms": 10.0, "total_duration_ms": 40.0},
        "response_timeline": [
          {"delta_ms": 10.0, "chunk": "", "reasoning": "Hm"},
          {"delta_ms": 10.0, "chunk": "Hello "},
          {"delta_ms": 10.0, "chunk": "there", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}], "finish_reason": "tool_calls"}
        ],
        "exception_boundary": {"occurred": false},
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "details": {"cost": 0.5}},
        "raw_payload": {"stream_chunks": [
          {"choices": [{"index": 0, "delta": {"reasoning": "Hm"}, "finish_reason": null}]},
          {"choices": [{"index": 0, "delta": {"content": "Hello there"}, "finish_reason": null}]},
          {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": null}]},
          {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
          {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "cost": 0.50}}
        ], "chunk_offsets_ms": [10.0, 20.0, 25.0, 30.0, 30.0]}
      },
      {
        "started_ms": 50.0,
        "request_hash": "$HASH1",
        "protocol": "openai-chat",
        "request_context": {"model": "m", "provider": "openai", "messages": [{"role": "user", "content": "Bye"}],
          "parameters": {"temperature": null, "max_tokens": null, "stream": false}},
        "http": {"status": 200, "headers": [["content-type", "application/json"]]},
        "response_timeline": [{"delta_ms": 0.0, "chunk": "Bye", "finish_reason": "stop"}],
        "exception_boundary": {"occurred": false},
        "raw_payload": {"sync_response": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Bye"}, "finish_reason": "stop"}]}}
      }
    ]
  }}
}"#;

fn good() -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.json");
    std::fs::write(&path, GOOD).unwrap();
    let calls = Whole::open(&path).unwrap().takes.remove(0).take.calls;
    calls
        .iter()
        .enumerate()
        .fold(GOOD.to_owned(), |text, (index, call)| {
            text.replace(
                &format!("$HASH{index}"),
                &request_hash(&from_recorded(&call.request)),
            )
        })
}

fn verified(text: &str, ignore: &[&str]) -> Vec<Difference> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.json");
    std::fs::write(&path, text).unwrap();
    let differences = verify_ignoring(&path, ignore).unwrap();
    assert!(differences.iter().all(|difference| difference.path == path));
    differences
}

/// Kind, place below the take, expected, found.
fn told(text: &str) -> Vec<(&'static str, String, String, String)> {
    let shorten = |difference: Difference| {
        let at = difference.at.replace(&format!("traces.{ID}"), "$");
        let found = difference
            .found
            .replace(&difference.path.display().to_string(), "$PATH");
        (difference.kind.as_str(), at, difference.expected, found)
    };
    verified(text, &[]).into_iter().map(shorten).collect()
}

#[track_caller]
fn altered(from: &str, to: &str, expected: &[(&'static str, &str, &str, &str)]) {
    let text = good();
    assert!(text.contains(from), "{from}");
    let told = told(&text.replacen(from, to, 1));
    let told: Vec<_> = told
        .iter()
        .map(|(kind, at, expected, found)| (*kind, at.as_str(), expected.as_str(), found.as_str()))
        .collect();
    assert_eq!(told, expected, "{from} -> {to}");
}

#[test]
fn a_good_cassette_has_no_differences() {
    assert_eq!(verified(&good(), &[]), []);
}

#[test]
fn altered_texts_are_found_in_their_frame() {
    altered(
        r#""chunk": "there""#,
        r#""chunk": "where""#,
        &[(
            "timeline",
            "$.calls[0].response_timeline[2].chunk",
            "\"Hello there\"",
            "\"Hello where\"",
        )],
    );
    altered(
        r#""chunk": "Hello ""#,
        r#""chunk": "Hallo ""#,
        &[(
            "timeline",
            "$.calls[0].response_timeline[1].chunk",
            "\"Hello there\"",
            "\"Hallo there\"",
        )],
    );
    altered(
        r#""reasoning": "Hm"}"#,
        r#""reasoning": "Hmm"}"#,
        &[(
            "timeline",
            "$.calls[0].response_timeline[0].reasoning",
            "\"Hm\"",
            "\"Hmm\"",
        )],
    );
    altered(
        r#""chunk": "Bye""#,
        r#""chunk": """#,
        &[(
            "timeline",
            "$.calls[1].response_timeline[0].chunk",
            "\"Bye\"",
            "\"\"",
        )],
    );
    altered(
        r#""chunk": "Bye""#,
        r#""chunk": "Bye", "refusal": "no""#,
        &[(
            "timeline",
            "$.calls[1].response_timeline[0].refusal",
            "\"\"",
            "\"no\"",
        )],
    );
}

#[test]
fn altered_ends_are_found() {
    altered(
        r#""arguments": "{}"}}], "finish_reason": "tool_calls"}"#,
        r#""arguments": "{1}"}}], "finish_reason": "stop"}"#,
        &[
            (
                "timeline",
                "$.calls[0].response_timeline[2].tool_calls",
                "\"c1 f({})\"",
                "\"c1 f({1})\"",
            ),
            (
                "timeline",
                "$.calls[0].response_timeline[2].finish_reason",
                "\"tool_calls\"",
                "\"stop\"",
            ),
        ],
    );
    altered(
        r#""chunk": "Bye", "finish_reason": "stop"}"#,
        r#""chunk": "Bye", "choice": 1}"#,
        &[
            (
                "timeline",
                "$.calls[1].response_timeline (choice 0).chunk",
                "\"Bye\"",
                "\"\"",
            ),
            (
                "timeline",
                "$.calls[1].response_timeline (choice 0).finish_reason",
                "\"stop\"",
                "nothing",
            ),
            (
                "timeline",
                "$.calls[1].response_timeline[0].chunk",
                "\"\"",
                "\"Bye\"",
            ),
        ],
    );
    altered(
        r#"{"occurred": false}"#,
        r#"{"occurred": true, "error_type": "E", "message": "m"}"#,
        &[(
            "timeline",
            "$.calls[0].exception_boundary",
            "nothing",
            "the error \"m\" (E)",
        )],
    );
}

#[test]
fn an_altered_raw_layer_is_found_as_well() {
    altered(
        r#""content": "Hello there""#,
        r#""content": "Hello""#,
        &[(
            "timeline",
            "$.calls[0].response_timeline[1].chunk",
            "\"Hello\"",
            "\"Hello there\"",
        )],
    );
    altered(
        r#"{"choices": [], "usage""#,
        r#"{"error": {"message": "boom", "type": "t"}, "choices": [], "usage""#,
        &[(
            "timeline",
            "$.calls[0].exception_boundary",
            "the error \"boom\" (t)",
            "nothing",
        )],
    );
}

#[test]
fn altered_usage_is_found() {
    altered(
        r#""usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "details": {"cost": 0.5}}"#,
        r#""usage": {"prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 8, "details": {"cost": 0.6}}"#,
        &[
            ("usage", "$.calls[0].usage.prompt_tokens", "3", "2"),
            ("usage", "$.calls[0].usage.completion_tokens", "4", "5"),
            ("usage", "$.calls[0].usage.total_tokens", "7", "8"),
            (
                "usage",
                "$.calls[0].usage.details",
                "{\"cost\":0.50}",
                "{\"cost\":0.6}",
            ),
        ],
    );
    altered(
        r#""chunk": "Bye", "finish_reason": "stop"}],"#,
        r#""chunk": "Bye", "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},"#,
        &[("usage", "$.calls[1].usage", "nothing", "1 + 1 = 2 tokens")],
    );
}

#[test]
fn an_altered_request_has_another_hash() {
    let text = good().replacen("\"content\": \"Bye\"}]", "\"content\": \"Buy\"}]", 1);
    let differences = verified(&text, &[]);
    assert_eq!(differences.len(), 1, "{differences:#?}");
    assert_eq!(differences[0].kind, DifferenceKind::RequestHash);
    assert_eq!(differences[0].at, format!("traces.{ID}.calls[1].request_hash"));
    assert!(differences[0].expected.starts_with("sha256:") && good().contains(&differences[0].found));
}

#[test]
fn ignored_parts_may_be_left_out_of_the_hash() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.json");
    std::fs::write(&path, GOOD).unwrap();
    let mut request = from_recorded(&Whole::open(&path).unwrap().takes[0].take.calls[0].request);
    let with = request_hash(&request);
    request.parameters.remove("run");
    let text = good().replace(&with, &request_hash(&request));
    assert_eq!(verified(&text, &[]).len(), 1);
    assert_eq!(verified(&text, &["/run"]), []);
    // In the project's file it counts as well.
    std::fs::write(&path, &text).unwrap();
    std::fs::write(directory.path().join("vcr.toml"), "ignore = [\"/run\"]").unwrap();
    assert_eq!(verify(&path).unwrap(), []);
    assert!(verify_ignoring(&path, ["no pointer"]).is_err());
}

#[test]
fn disorder_is_found() {
    altered(
        "\"started_ms\": 50.0",
        "\"started_ms\": 0.5",
        &[("order", "$.calls[1].started_ms", "at least 1.000 ms", "0.500 ms")],
    );
    altered(
        "\"total_duration_ms\": 40.0",
        "\"total_duration_ms\": 20.0",
        &[(
            "order",
            "$.calls[0].response_timeline",
            "deltas of at most 20.000 ms",
            "30.000 ms in all",
        )],
    );
    altered(
        "[10.0, 20.0, 25.0, 30.0, 30.0]",
        "[10.0, 20.0, 15.0, 30.0, 30.0]",
        &[(
            "order",
            "$.calls[0].raw_payload",
            "piece 2 at 20.000 ms or later",
            "15.000 ms",
        )],
    );
    altered(
        "\"trace_id\": \"0a",
        "\"trace_id\": \"ff",
        &[(
            "order",
            "$.trace_id",
            &format!("\"{ID}\""),
            &format!("\"ff{}\"", &ID[2..]),
        )],
    );
    altered(
        "\"latest_trace_id\": \"0a",
        "\"latest_trace_id\": \"ff",
        &[
            (
                "order",
                "latest_trace_id",
                "the id of a take",
                &format!("\"ff{}\"", &ID[2..]),
            ),
            (
                "order",
                "latest_trace_id",
                &format!("the last of history_keys, \"{ID}\""),
                &format!("\"ff{}\"", &ID[2..]),
            ),
        ],
    );
    altered(
        "\"history_keys\": [",
        "\"history_keys\": [\"gone\", ",
        &[("order", "history_keys[0]", "each take once", "\"gone\"")],
    );
}

#[test]
fn secrets_are_found_and_not_told() {
    let canary = "sk-proj-q7ZtR0123456789abcdef";
    let text = good().replacen("\"scenario\": \"s\"", &format!("\"scenario\": \"{canary}\""), 1);
    let told = told(&text);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].0, told[0].1.as_str()), ("secret", "line 2 column 16"));
    assert!(!format!("{told:?}").contains(canary));
}

#[test]
fn other_versions_and_broken_files_are_differences() {
    altered(
        "{\n  \"scenario\"",
        "{\"format_version\": 2,\n  \"scenario\"",
        &[(
            "version",
            "",
            "a version that this build reads",
            &format!(
                "{} has cassette format 2.0, this build of vcr-runtime {} reads format 1.x",
                "$PATH",
                env!("CARGO_PKG_VERSION")
            ),
        )],
    );
    let text = &good()[..200];
    let told = told(text);
    assert_eq!((told.len(), told[0].0), (1, "unreadable"));
    assert!(told[0].3.contains("line "), "{}", told[0].3);
}

#[test]
fn a_directory_is_searched_and_other_files_are_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("b");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::create_dir_all(directory.path().join(".git")).unwrap();
    let bad = good().replacen("\"Bye\", \"finish", "\"Boo\", \"finish", 1);
    std::fs::write(directory.path().join("a.json"), good()).unwrap();
    std::fs::write(below.join("c.json"), &bad).unwrap();
    std::fs::write(directory.path().join(".git/d.json"), &bad).unwrap();
    std::fs::write(directory.path().join("package.json"), "{\"name\": \"x\"}").unwrap();
    std::fs::write(directory.path().join("notes.txt"), "x").unwrap();
    let differences = verify(directory.path()).unwrap();
    let paths: Vec<&Path> = differences
        .iter()
        .map(|difference| difference.path.as_path())
        .collect();
    assert_eq!(paths, [below.join("c.json")]);
    let shown = differences[0].to_string();
    assert!(
        shown.ends_with("response_timeline[0].chunk: expected \"Bye\", found \"Boo\""),
        "{shown}"
    );
    let missing = verify(directory.path().join("nope")).unwrap_err();
    assert_eq!(missing.kind(), crate::ErrorKind::CassetteMissing);
}

#[test]
fn what_is_written_by_hand_needs_no_layers() {
    let text = r#"{"latest_trace_id": "a", "traces": {"a": {
        "request_context": {"messages": [{"role": "user", "content": "hi"}]},
        "response_timeline": [{"chunk": "Hello"}]}}}"#;
    assert_eq!(verified(text, &[]), []);
}
