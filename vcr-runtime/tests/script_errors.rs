//! What is wrong with a session script, or with what is asked of it, fails the test by its first cause, although the program
//! under test swallows every error: the sentence, the file and its line, and what to do next.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use serde_json::{Value, json};
use vcr_runtime::{Error, ErrorKind, Failure, Mode, Reply, Request, Vcr};

const LOG: &str = "session:p.jsonl";
const FAMILY: &str = "session:p.jsonl?child=a.jsonl&child=b.jsonl";
const PATCHED: &str = "session:p.jsonl?override=o.json";

const CORRECT_LINE: &str = "correct the line, or record the session again";
const CORRECT_FILE: &str = "correct the override file";
const ANOTHER: &str = "name another file of the fixture directory";
const EITHER: &str = "correct the request or the script";

fn header(id: &str, created: u32) -> Value {
    json!({"type": "session", "version": 0, "id": id, "createdAt": created})
}

fn event(chunk: &Value) -> Value {
    json!({"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": chunk}})
}

fn call(text: &str) -> [Value; 2] {
    [
        event(&json!({"type": "text-delta", "index": 0, "text": text})),
        event(&json!({"type": "finish", "reason": {"kind": "stop"}})),
    ]
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// A log with calls that say so.
fn log(id: &str, created: u32, texts: &[&str]) -> String {
    let calls = texts.iter().flat_map(|text| call(text));
    lines(&[header(id, created)].into_iter().chain(calls).collect::<Vec<_>>())
}

fn patch(at: u32, entry: &Value) -> String {
    json!({"patches": [{"at": at, "entry": entry}]}).to_string()
}

async fn went_live(_: Request) -> Result<Reply, Failure> {
    Err(Failure::new("Live", "the call went live"))
}

/// Opens a session; `source` may have files of other settings behind it: `session:p.jsonl?child=a.jsonl&override=o.json`.
fn opened(directory: &Path, source: &str) -> Vcr {
    let (name, others) = source.split_once('?').unwrap_or((source, ""));
    let builder = Vcr::builder().scenario("s").fixture_dir(directory);
    let builder = builder.mode(Mode::Replay).source(name);
    let others = others.split('&').filter_map(|other| other.split_once('='));
    let builder = others.fold(builder, |builder, (name, file)| match name {
        "child" => builder.child_files([file]),
        _ => builder.override_file(file),
    });
    builder.open().unwrap()
}

/// Asks as each of these agents in turn, pays no heed to what comes of it, and returns why the test fails.
async fn verdict(directory: &Path, source: &str, agents: &[&str]) -> Error {
    let vcr = opened(directory, source);
    for agent in agents {
        let client = vcr.session(*agent).client(went_live);
        let _ = client.completion(Request::new("m").user("goal-7")).await;
    }
    vcr.finish().await.unwrap_err()
}

/// One fault: the files, the source, who asks, and what is said.
struct Row {
    files: Vec<(&'static str, String)>,
    source: &'static str,
    agents: &'static [&'static str],
    kind: ErrorKind,
    /// The file that is named and is the error's own, and its line.
    place: (&'static str, Option<usize>),
    /// What follows the file in the first line.
    says: &'static str,
    advice: &'static str,
}

/// What people call a file.
fn noun(name: &str) -> &'static str {
    match name {
        "o.json" => "override file",
        _ => "session script",
    }
}

impl Row {
    /// A rule that a file breaks; `says` follows the file's name and line.
    fn broken(
        files: Vec<(&'static str, String)>,
        source: &'static str,
        place: (&'static str, Option<usize>),
        says: &'static str,
        advice: &'static str,
    ) -> Self {
        Self {
            files,
            source,
            agents: &["main", "main"],
            kind: ErrorKind::CassetteBroken,
            place,
            says,
            advice,
        }
    }

    /// A call that no script answers; `says` is the first line.
    fn missed(
        files: Vec<(&'static str, String)>,
        source: &'static str,
        agents: &'static [&'static str],
        says: &'static str,
        advice: &'static str,
    ) -> Self {
        Self {
            files,
            source,
            agents,
            kind: ErrorKind::Miss,
            place: ("p.jsonl", None),
            says,
            advice,
        }
    }

    async fn check(self) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in &self.files {
            std::fs::write(root.path().join(name), text).unwrap();
        }
        let error = verdict(root.path(), self.source, self.agents).await;
        let (name, line) = self.place;
        let path = root.path().join(name);
        let line_text = line.map_or_else(String::new, |line| format!(" line {line}"));
        let first = error.message().lines().next().unwrap();
        let expected = match self.kind {
            ErrorKind::Miss => self.says.to_owned(),
            _ => format!("the {} {}{line_text} {}", noun(name), path.display(), self.says),
        };
        assert_eq!(first, expected);
        assert_eq!((error.kind(), error.line()), (self.kind, line), "{error}");
        assert_eq!(error.path(), Some(&*path), "{error}");
        assert_eq!(error.advice(), self.advice, "{error}");
    }
}

#[tokio::test]
async fn a_broken_log_is_named_with_its_line() {
    let good = || log("p", 1, &["a"]);
    let full = json!({"type": "x", "seq": 1, "time": 1, "data": {}});
    let projected = json!({"type": "x", "data": {}});
    let version = json!({"type": "session", "version": 7});
    let unchecked = event(&json!({"type": "tool-call-delta", "index": 0, "id": "t", "argumentsDelta": {}}));
    let nested = format!("{{\"type\":\"x\",\"data\":{}", "[".repeat(100_000));
    for (text, line, says) in [
        (String::new(), None, "has no header"),
        (
            lines(&[version]),
            Some(1),
            "is the header of version 7, and version 0 is understood",
        ),
        (
            lines(&[header("p", 1), full.clone(), projected.clone()]),
            Some(3),
            "has no number and time, and the lines before it have: projected and full lines do not mix",
        ),
        (
            lines(&[header("p", 1), projected, full]),
            Some(3),
            "has a number and a time, and the lines before it have none: projected and full lines do not mix",
        ),
        (
            lines(&[header("p", 1), unchecked]),
            Some(2),
            "has a chunk that has an `argumentsDelta` that is no text",
        ),
        (
            good() + "\n\n" + &nested + "\n",
            Some(6),
            "is no JSON document: the document is nested too deeply (column 83)",
        ),
    ] {
        let advice = match line {
            Some(_) => CORRECT_LINE,
            None => "record the session again, or name another file in `source`",
        };
        Row::broken(vec![("p.jsonl", text)], LOG, ("p.jsonl", line), says, advice)
            .check()
            .await;
    }
    let open = lines(&[header("b", 3), call("x")[0].clone()]);
    Row::broken(
        vec![("p.jsonl", good()), ("a.jsonl", log("a", 2, &["a"])), ("b.jsonl", open)],
        FAMILY,
        ("b.jsonl", Some(2)),
        "begins the call of turn 1 step 1, which has no `finish` before the log ends",
        "a call that ended by an error or was cancelled is no part of a log: say what it did in an override file (`override_file`), as a list of entries",
    )
    .check()
    .await;
}

#[tokio::test]
async fn a_broken_override_is_named_with_its_place() {
    let hang = json!({"kind": "hang"});
    let unchecked = json!({"kind": "chunks", "chunks": [{"type": "text-delta", "index": 0, "text": "a"}, {"type": "usage", "usage": {}}]});
    for (text, says, advice) in [
        (
            patch(3, &hang),
            "has a patch at 3, and the log has 1 call",
            "patch a call that is there, counted from 0, or append by `at` with the number of calls",
        ),
        (
            patch(0, &unchecked),
            "has patch 0.entry.chunks[1], which has a `usage` that has no `inputTokens`",
            CORRECT_FILE,
        ),
        (
            "[".repeat(100_000),
            "is no JSON document: the document is nested too deeply (column 65)",
            CORRECT_FILE,
        ),
    ] {
        let files = vec![("p.jsonl", log("p", 1, &["a"])), ("o.json", text)];
        Row::broken(files, PATCHED, ("o.json", None), says, advice)
            .check()
            .await;
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named_whichever_it_is() {
    for (missing, advice) in [
        (
            "p.jsonl",
            "put the log of a recorded session there, or name another file in `source`; every call may also be written by hand, in an override file",
        ),
        (
            "b.jsonl",
            "record the session with its children again, or leave the file out of `child_files`",
        ),
    ] {
        let all = ["p.jsonl", "a.jsonl", "b.jsonl"]
            .into_iter()
            .filter(|name| *name != missing);
        let files = all.map(|name| (name, log(name, 1, &["a"]))).collect();
        let mut row = Row::broken(
            files,
            FAMILY,
            (missing, None),
            "cannot be read: there is no such file",
            advice,
        );
        row.kind = ErrorKind::CassetteMissing;
        row.check().await;
    }
    let mut row = Row::broken(
        vec![("p.jsonl", log("p", 1, &["a"]))],
        PATCHED,
        ("o.json", None),
        "cannot be read: there is no such file",
        "put the document there, or leave `override_file` out",
    );
    row.kind = ErrorKind::CassetteMissing;
    row.check().await;
    for name in ["p.jsonl", "a.jsonl", "o.json"] {
        let source = match name {
            "o.json" => PATCHED,
            _ => "session:p.jsonl?child=a.jsonl",
        };
        let noun = noun(name);
        let says = |says: &str| format!("the {noun} {{}} cannot be read: {says}");
        let check = async |spoil: &dyn Fn(&Path), text: String, advice: &str| {
            let root = tempfile::tempdir().unwrap();
            for name in ["p.jsonl", "a.jsonl"] {
                std::fs::write(root.path().join(name), log(name, 1, &["a"])).unwrap();
            }
            let path = root.path().join(name);
            let _ = std::fs::remove_file(&path);
            spoil(&path);
            let error = verdict(root.path(), source, &["main"]).await;
            assert_eq!(error.message(), text.replace("{}", &path.display().to_string()));
            assert_eq!(
                (error.kind(), error.path()),
                (ErrorKind::CassetteBroken, Some(&*path))
            );
            assert_eq!(error.advice(), advice);
        };
        let shorter = match name {
            "o.json" => "write a shorter one",
            _ => "record a shorter session",
        };
        // One gigabyte without a line end; no byte of it is read.
        let huge = |path: &Path| std::fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
        check(&huge, says("it is larger than 64000000 bytes"), shorter).await;
        let directory = |path: &Path| std::fs::create_dir(path).unwrap();
        check(&directory, says("it is no regular file"), ANOTHER).await;
        let bytes = |path: &Path| std::fs::write(path, b"{\"type\":\"session\"}\xff").unwrap();
        check(&bytes, says("it is not UTF-8"), ANOTHER).await;
        #[cfg(unix)]
        {
            let outside = tempfile::tempdir().unwrap();
            let target = outside.path().join("log");
            std::fs::write(&target, log("p", 1, &["a"])).unwrap();
            let link = |path: &Path| std::os::unix::fs::symlink(&target, path).unwrap();
            check(&link, says("a link leads out of the fixture directory"), ANOTHER).await;
        }
    }
}

#[tokio::test]
async fn a_call_without_an_entry_says_whose_it_is() {
    let family = || {
        vec![
            ("p.jsonl", log("p", 1, &["p0"])),
            ("a.jsonl", log("rec-a", 2, &["a0", "a1"])),
            ("b.jsonl", log("rec-b", 3, &["b0", "b1"])),
        ]
    };
    Row::missed(
        family(),
        FAMILY,
        &["main", "main"],
        "call 2 of the session `main` has no entry: its script p.jsonl has 1 call",
        "if the program is right to ask once more, record the session again, or append an entry in an override file",
    )
    .check()
    .await;
    Row::missed(
        family(),
        FAMILY,
        &["main", "rec-a", "rec-b", "fourth"],
        "a call came from live session 4, and only 3 sessions were recorded",
        "record the session again with all its children, and name their logs in `child_files`",
    )
    .check()
    .await;
    let root = tempfile::tempdir().unwrap();
    for (name, text) in family() {
        std::fs::write(root.path().join(name), text).unwrap();
    }
    let error = verdict(root.path(), FAMILY, &["main", "x", "y", "x"]).await;
    assert_eq!(
        error.message().lines().next().unwrap(),
        "a session's first call may belong to a.jsonl or b.jsonl, whose sessions run side by side"
    );
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Miss, Some(&*root.path().join("p.jsonl")))
    );
    let advice = error.advice();
    assert!(
        advice.starts_with("make the calls of each session through a handle with its recorded id, such as `vcr.session(\"rec-a\")`, or write `\"firstRequestHash\":\"sha256:"),
        "{advice}"
    );
    // The way out that it names is one.
    let hash = advice
        .split_once("\"sha256:")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0;
    let told = log("rec-b", 3, &["b0", "b1"]).replacen(
        '{',
        &format!("{{\"firstRequestHash\":\"sha256:{hash}\","),
        1,
    );
    std::fs::write(root.path().join("b.jsonl"), told).unwrap();
    let vcr = opened(root.path(), FAMILY);
    for (agent, said) in [("main", "p0"), ("x", "b0"), ("y", "a0"), ("x", "b1"), ("y", "a1")] {
        let client = vcr.session(agent).client(went_live);
        let answer = client.completion(Request::new("m").user("goal-7")).await;
        assert_eq!(answer.unwrap().text, said);
    }
    vcr.finish().await.unwrap();
}

#[tokio::test]
async fn an_entry_that_cannot_be_played_says_why() {
    for (text, says) in [
        (
            "{{fromRequest:nothing-like-it}}",
            "call 1 of p.jsonl cannot be played: the pattern `nothing-like-it` of a placeholder matches nothing in the request",
        ),
        (
            "{{fromRequest:(?<=goal-)7}}",
            "call 1 of p.jsonl cannot be played: the pattern `(?<=goal-)7` of a placeholder is no regular expression: error: look-around, including look-ahead and look-behind, is not supported",
        ),
        (
            "{{fromRequest:(a{1000}){1000}}}",
            "call 1 of p.jsonl cannot be played: the pattern `(a{1000}){1000}` of a placeholder is no regular expression: Compiled regex exceeds size limit of 1048576 bytes.",
        ),
        (
            "behind {{fromRequest:goal",
            "call 1 of p.jsonl cannot be played: the placeholder `{{fromRequest:goal` is not closed by `}}`",
        ),
        (
            "{{session:2}}",
            "call 1 of p.jsonl cannot be played: the placeholder `{{session:2}}` is used, and no live session with a key is bound to that script yet",
        ),
    ] {
        Row::missed(
            vec![("p.jsonl", log("p", 1, &[text]))],
            LOG,
            &["main", "main"],
            says,
            EITHER,
        )
        .check()
        .await;
    }
}

#[tokio::test]
async fn a_ready_file_without_a_directory_is_refused_before_anything_is_said() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("none");
    let hang = json!({"kind": "hang", "readyFile": missing.join("ready")});
    std::fs::write(root.path().join("p.jsonl"), log("p", 1, &["a"])).unwrap();
    std::fs::write(root.path().join("o.json"), patch(0, &hang)).unwrap();
    let error = verdict(root.path(), PATCHED, &["main"]).await;
    let first = format!(
        "call 1 of p.jsonl cannot be played: its ready file cannot be made: there is no directory {}",
        missing.display()
    );
    assert_eq!(error.message().lines().next().unwrap(), first);
    assert_eq!((error.kind(), error.advice()), (ErrorKind::Miss, EITHER));
}
