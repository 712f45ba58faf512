use super::*;
use crate::json::Json;
use crate::model::{Boundary, BoundaryKind, Frame, Metrics, RecordedRequest, Usage};

fn call(asked: &str, chunks: &[&str]) -> Call {
    let mut message = Object::new();
    message.push("role", "user");
    message.push("content", asked);
    let request = CanonicalRequest {
        protocol: "completion".to_owned(),
        model: "m".to_owned(),
        messages: vec![Json::Object(message)],
        ..CanonicalRequest::default()
    };
    let hash = canon::request_hash(&request);
    Call {
        request: RecordedRequest::recorded(request, hash).into(),
        started_us: Some(0),
        metrics: Some(Metrics {
            ttfb_us: 1_000,
            total_us: 9_000,
        }),
        frames: chunks
            .iter()
            .map(|chunk| Frame {
                delta_us: 1_000,
                chunk: (*chunk).to_owned(),
                finish_reason: chunk.ends_with('.').then(|| "stop".to_owned()),
                ..Frame::default()
            })
            .collect(),
        usage: Some(Usage::new(1, 2)),
        ..Call::default()
    }
}

struct Files {
    _root: tempfile::TempDir,
    cassette: std::path::PathBuf,
    frozen: std::path::PathBuf,
}

fn recorded(calls: Vec<Call>) -> Files {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("vcr.toml"), "").unwrap();
    let (cassette, frozen) = (root.path().join("a.json"), root.path().join("sub/a.jsonl"));
    let take = Take {
        trace_id: "0".repeat(32),
        calls,
    };
    let head = Head {
        scenario: "s",
        test: Some("my::test"),
    };
    cassette::save(&cassette, &cassette, head, &take, &|_| None).unwrap();
    Files {
        _root: root,
        cassette,
        frozen,
    }
}

#[test]
fn what_was_frozen_and_not_changed_leaves_the_cassette_alone() {
    let files = recorded(vec![
        call("a", &["He", "llo."]),
        call("b", &["x."]),
        call("a", &["again."]),
    ]);
    let snapshot = freeze(&files.cassette, &files.frozen).unwrap();
    assert_eq!((snapshot.entry_count, snapshot.response_count), (2, 3));
    let text = std::fs::read_to_string(&files.frozen).unwrap();
    let usage = "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}";
    assert!(
        text.contains(&format!(
            "\"responses\":[{{\"content\":\"Hello.\",\"finish_reason\":\"stop\",{usage}}},"
        )),
        "{text}"
    );
    let before = std::fs::read(&files.cassette).unwrap();
    assert_eq!(thaw(&files.frozen, &files.cassette).unwrap(), 0);
    assert_eq!(std::fs::read(&files.cassette).unwrap(), before);
    assert!(!Journal::path_of(&files.cassette).exists());
    // Freezing again gives the same bytes.
    freeze(&files.cassette, &files.frozen).unwrap();
    assert_eq!(std::fs::read_to_string(&files.frozen).unwrap(), text);
}

#[test]
fn a_changed_answer_comes_back_as_a_new_take() {
    let files = recorded(vec![call("a", &["He", "llo."]), call("b", &["x."])]);
    freeze(&files.cassette, &files.frozen).unwrap();
    let text = std::fs::read_to_string(&files.frozen).unwrap();
    std::fs::write(&files.frozen, text.replace("Hello.", "Changed.")).unwrap();
    assert_eq!(thaw(&files.frozen, &files.cassette).unwrap(), 1);
    let take = Cassette::open(&files.cassette, Chosen::Latest).unwrap().take;
    assert_ne!(take.trace_id, "0".repeat(32));
    let first = &take.calls[0];
    assert_eq!(
        (
            first.frames.len(),
            first.frames[0].chunk.as_str(),
            first.frames[0].delta_us
        ),
        (1, "Changed.", 9_000)
    );
    assert_eq!(first.request, call("a", &[]).request);
    assert_eq!(take.calls[1].frames, call("b", &["x."]).frames);
    let whole = Whole::open(&files.cassette).unwrap();
    assert!(whole.text.contains("\"scenario\": \"s\"") && whole.text.contains("\"test\": \"my::test\""));
    assert_eq!(whole.takes.len(), 2);
}

#[test]
fn a_file_that_is_not_of_this_cassette_is_refused() {
    let files = recorded(vec![call("a", &["x."]), call("b", &["y."])]);
    freeze(&files.cassette, &files.frozen).unwrap();
    let text = std::fs::read_to_string(&files.frozen).unwrap();
    let first = text.lines().next().unwrap();
    std::fs::write(&files.frozen, first).unwrap();
    let error = thaw(&files.frozen, &files.cassette).unwrap_err();
    assert!(error.message().contains("has no answer for call 2 of"), "{error}");
    let hash = &first[first.find("sha256:").unwrap()..][..71];
    let zeros = format!("sha256:{}", "0".repeat(64));
    let other = text.clone() + &first.replace(hash, &zeros);
    std::fs::write(&files.frozen, other).unwrap();
    let error = thaw(&files.frozen, &files.cassette).unwrap_err();
    assert!(error.message().contains("has 3 answers, and"), "{error}");
    std::fs::write(
        &files.frozen,
        text.replace("\"content\":\"x.\"", "\"contnet\":\"x.\""),
    )
    .unwrap();
    let error = thaw(&files.frozen, &files.cassette).unwrap_err();
    assert!(error.message().contains("`contnet`"), "{error}");
}

#[test]
fn what_has_no_frozen_form_is_refused_and_writes_nothing() {
    let mut cut = call("a", &["x"]);
    cut.boundary = Some(Boundary {
        kind: BoundaryKind::Cutoff,
        error_type: "T".to_owned(),
        message: "m".to_owned(),
        status: None,
        code: None,
    });
    let mut by_hand = call("b", &["y."]);
    by_hand.request = RecordedRequest::default().into();
    for (broken, why) in [
        (cut, "it ended by `cutoff`"),
        (by_hand, "its request is not complete"),
    ] {
        let files = recorded(vec![call("ok", &["."]), broken]);
        let error = freeze(&files.cassette, &files.frozen).unwrap_err();
        assert!(
            error.message().contains("call 2 of") && error.message().contains(why),
            "{error}"
        );
        assert!(!files.frozen.exists());
    }
}
