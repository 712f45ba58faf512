use super::*;
use crate::cassette::{Cassette, Chosen};
use crate::config::{Environment, Matching, RedactRules};
use crate::model::Frame;
use crate::source::CassetteSource;

fn open(path: &Path, redactor: Redactor) -> Result<(Tape, Vec<String>)> {
    open_as(Role::Record, path, redactor)
}

fn open_as(role: Role, path: &Path, redactor: Redactor) -> Result<(Tape, Vec<String>)> {
    let label = Label {
        scenario: "s".to_owned(),
        test: None,
        made_of: None,
        remedy: Remedy::Test(String::new()),
    };
    let comparison = Comparison {
        redactor: Arc::new(redactor),
        ignore: Arc::default(),
        cross: None,
    };
    let source: Option<Box<dyn Source>> = match role {
        Role::Record => None,
        Role::Replay | Role::New => Some(Box::new(CassetteSource::open(
            path,
            None,
            &label.remedy,
            &comparison,
        )?)),
    };
    let mut notes = Vec::new();
    let tape = Tape::open(path.to_owned(), role, source, label, comparison, &mut notes)?;
    Ok((tape, notes))
}

const fn once(matching: Matching) -> How<'static> {
    How {
        matching,
        repeat: false,
        session: None,
        scope: None,
    }
}

fn record(tape: &Tape, call: Call) {
    let request = CanonicalRequest::default();
    match tape.find(&request, once(Matching::Sequential), 0.0, &|_| Ok(())) {
        Ok(Found::Record(slot)) => tape.record(slot.index, call),
        other => panic!("{other:?}"),
    }
}

fn says(text: &str) -> Call {
    Call {
        frames: vec![Frame {
            chunk: text.to_owned(),
            ..Frame::default()
        }]
        .into(),
        ..Call::default()
    }
}

#[test]
fn what_fails_to_redact_is_not_in_the_journal_either() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    let environment = Environment::from_pairs([("OPENAI_API_KEY", "test-7Qx-secret-value")]);
    let redactor = Redactor::new(&RedactRules::default(), &environment).unwrap();
    let (tape, _) = open(&path, redactor).unwrap();
    record(&tape, says("fine"));
    record(&tape, says("test-7Qx-secret-value"));
    let journal = std::fs::read_to_string(Journal::path_of(&path)).unwrap();
    assert!(
        journal.contains("fine") && !journal.contains("test-7Qx"),
        "{journal}"
    );
    assert_eq!(
        tape.keep(true, true, &mut Vec::new()).unwrap_err().kind(),
        ErrorKind::Secret
    );
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("test-7Qx"), "{text}");
    }
}

#[test]
fn a_refusal_that_a_retry_overcame_is_left_out_where_it_is_wanted() {
    let ended = |hash: &str, status: u16| Call {
        request: crate::model::RecordedRequest {
            hash: Some(hash.to_owned()),
            ..Default::default()
        }
        .into(),
        boundary: (status >= 400).then(|| crate::model::Boundary {
            kind: crate::model::BoundaryKind::Http,
            error_type: "E".to_owned(),
            message: String::new(),
            status: Some(status),
            code: None,
        }),
        ..Call::default()
    };
    let calls = [
        ("a", 429),
        ("b", 503),
        ("a", 400),
        ("a", 500),
        ("a", 200),
        ("a", 429),
    ];
    for (keep, kept) in [(true, 6), (false, 4)] {
        let directory = tempfile::tempdir().unwrap();
        let (tape, _) = open(&directory.path().join("a.json"), Redactor::none()).unwrap();
        for (hash, status) in calls {
            record(&tape, ended(hash, status));
        }
        let mut notes = Vec::new();
        assert_eq!(tape.keep(true, keep, &mut notes).unwrap(), Kept::Saved(kept));
        assert_eq!(notes.is_empty(), keep);
        assert!(
            keep || notes[0].starts_with("2 refused calls left out"),
            "{notes:?}"
        );
    }
}

#[test]
fn an_interrupted_recording_that_cannot_be_set_aside_stays_in_its_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    let (tape, _) = open(&path, Redactor::none()).unwrap();
    record(&tape, says("precious"));
    drop(tape);
    std::fs::write(&path, "{").unwrap();
    assert_eq!(
        open(&path, Redactor::none()).unwrap_err().kind(),
        ErrorKind::CassetteBroken
    );
    std::fs::remove_file(&path).unwrap();
    let (_, notes) = open(&path, Redactor::none()).unwrap();
    assert!(notes[0].contains("left 1 finished call"), "{notes:?}");
    let aside = std::fs::read_to_string(path.with_extension("interrupted.json")).unwrap();
    assert!(aside.contains("precious"));
}

fn asks(prompt: &str) -> CanonicalRequest {
    CanonicalRequest {
        protocol: "p".to_owned(),
        model: "m".to_owned(),
        messages: vec![crate::json::Json::from(prompt)],
        ..CanonicalRequest::default()
    }
}

/// A call as it was recorded, with its span in milliseconds.
fn ran(prompt: &str, start: u64, end: u64) -> Call {
    Call {
        request: crate::model::RecordedRequest::recorded(asks(prompt), "sha256:0".to_owned()).into(),
        started_us: Some(start * 1000),
        metrics: Some(crate::model::Metrics {
            ttfb_us: 0,
            total_us: (end - start) * 1000,
        }),
        ..says(prompt)
    }
}

fn write(path: &Path, calls: Vec<Call>) {
    let take = Take {
        trace_id: "old".to_owned(),
        calls,
    };
    let head = Head {
        scenario: "s",
        test: None,
    };
    cassette::save(path, path, head, &take, &|_| None).unwrap();
}

/// Plays the calls that are there and records the others, one after the other.
fn mend(path: &Path, prompts: &[&str]) -> Tape {
    let (tape, _) = open_as(Role::New, path, Redactor::none()).unwrap();
    for prompt in prompts {
        let found = tape.find(&asks(prompt), once(Matching::Keyed), 0.0, &|_| Ok(()));
        if let Found::Record(slot) = found.unwrap() {
            let mut call = ran(prompt, 0, 0);
            call.started_us = Some(slot.started_us);
            tape.record(slot.index, call);
        }
    }
    tape
}

/// Whether a replay in recorded order may ask in this order.
fn allows(path: &Path, prompts: &[&str]) -> bool {
    let (tape, _) = open_as(Role::Replay, path, Redactor::none()).unwrap();
    prompts.iter().all(|prompt| {
        let found = tape.find(&asks(prompt), once(Matching::Sequential), 0.0, &|_| Ok(()));
        found.is_ok()
    })
}

#[test]
fn a_mended_take_keeps_the_order_of_what_happened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    // `a` and `b` ran at once, `c` after them; each took long.
    write(
        &path,
        vec![ran("a", 0, 2000), ran("b", 1000, 3000), ran("c", 3000, 9000)],
    );
    assert!(allows(&path, &["b", "a", "c"]) && !allows(&path, &["a", "c", "b"]));
    let tape = mend(&path, &["a", "b", "c", "new", "c2"]);
    assert_eq!(tape.keep(true, true, &mut Vec::new()).unwrap(), Kept::Saved(5));
    for (order, allowed) in [
        (["a", "b", "c", "new", "c2"], true),
        // What ran at once still may come in any order.
        (["b", "a", "c", "new", "c2"], true),
        // What came one after the other must: copied after copied, live after copied, live after live.
        (["a", "c", "b", "new", "c2"], false),
        (["a", "b", "new", "c", "c2"], false),
        (["a", "b", "c", "c2", "new"], false),
    ] {
        assert_eq!(allows(&path, &order), allowed, "{order:?}");
    }
    // How long each took live is not lost.
    let mended = Cassette::open(&path, Chosen::Latest).unwrap().take.calls;
    let totals: Vec<u64> = mended.iter().map(|call| call.metrics.unwrap().total_us).collect();
    assert_eq!(totals[..3], [2_000_000, 2_000_000, 6_000_000]);
    // Mended once more, it says the same.
    let tape = mend(&path, &["a", "b", "c", "new", "c2", "c3"]);
    tape.keep(true, true, &mut Vec::new()).unwrap();
    assert!(allows(&path, &["b", "a", "c", "new", "c2", "c3"]));
    assert!(!allows(&path, &["a", "c", "b", "new", "c2", "c3"]));
}

#[test]
fn what_comes_between_two_calls_that_ran_at_once_parts_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    write(&path, vec![ran("a", 0, 2000), ran("b", 1000, 3000)]);
    let tape = mend(&path, &["a", "new", "b"]);
    tape.keep(true, true, &mut Vec::new()).unwrap();
    assert!(allows(&path, &["a", "new", "b"]));
    assert!(!allows(&path, &["new", "a", "b"]) && !allows(&path, &["b", "a", "new"]));
}

#[test]
fn copied_calls_are_in_the_journal_once_a_call_was_paid_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    write(&path, vec![ran("a", 0, 1), ran("b", 1, 2), ran("c", 2, 3)]);
    let entries = || {
        let text = std::fs::read_to_string(Journal::path_of(&path)).unwrap();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // Killed before anything was paid for: nothing to recover.
    drop(mend(&path, &["a", "b"]));
    assert_eq!(entries().len(), 0);
    // Killed later: all of it, in the order in which it happened.
    drop(mend(&path, &["a", "b", "new", "c"]));
    assert_eq!(entries().len(), 4);
    let (_, notes) = open(&path, Redactor::none()).unwrap();
    assert!(notes[0].contains("left 4 finished calls"), "{notes:?}");
    let aside = path.with_extension("interrupted.json");
    assert!(allows(&aside, &["a", "b", "new", "c"]) && !allows(&aside, &["a", "new"]));
}

#[test]
fn each_interrupted_recording_has_a_file_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    for (number, text) in ["one", "two", "three"].into_iter().enumerate() {
        let (tape, notes) = open(&path, Redactor::none()).unwrap();
        assert_eq!(notes.len(), usize::from(number > 0), "{notes:?}");
        record(&tape, says(text));
        // Killed: dropped without a verdict.
    }
    let (tape, _) = open(&path, Redactor::none()).unwrap();
    tape.keep(true, true, &mut Vec::new()).unwrap();
    for (name, text) in [
        ("a.interrupted.json", "one"),
        ("a.interrupted-2.json", "two"),
        ("a.interrupted-3.json", "three"),
    ] {
        let aside = std::fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(aside.contains(text), "{name}: {aside}");
    }
}

#[test]
fn a_recording_that_was_killed_after_it_was_saved_left_nothing() {
    for passed in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let journal = Journal::path_of(&path);
        let (tape, _) = open(&path, Redactor::none()).unwrap();
        record(&tape, says("once"));
        let text = std::fs::read(&journal).unwrap();
        tape.keep(passed, true, &mut Vec::new()).unwrap();
        // As if the journal had not been removed any more.
        std::fs::write(&journal, text).unwrap();
        let (_, notes) = open(&path, Redactor::none()).unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        assert!(!path.with_extension("interrupted.json").exists());
    }
}

#[test]
fn a_good_recording_takes_the_place_of_one_that_failed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    let side = cassette::side_path(&path);
    for (text, passed, removed) in [
        ("one", false, 0),
        ("two", false, 0),
        ("three", true, 1),
        ("four", false, 0),
        // The same as in the cassette, which is left alone.
        ("three", true, 1),
    ] {
        let (tape, _) = open(&path, Redactor::none()).unwrap();
        record(&tape, says(text));
        let mut notes = Vec::new();
        tape.keep(passed, true, &mut notes).unwrap();
        assert_eq!(side.exists(), !passed, "{text}");
        assert_eq!(notes.len(), removed, "{notes:?}");
        assert!(notes.iter().all(|note| note.contains("a.new.json")), "{notes:?}");
    }
}

#[test]
fn a_tape_that_is_closed_answers_nothing_and_keeps_what_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    let (tape, _) = open(&path, Redactor::none()).unwrap();
    let request = CanonicalRequest::default();
    let find = |tape: &Tape| tape.find(&request, once(Matching::Sequential), 0.0, &|_| Ok(()));
    let Ok(Found::Record(slot)) = find(&tape) else {
        panic!("no place")
    };
    tape.close();
    assert!(matches!(find(&tape), Err(NotTaken::Late)));
    tape.record(slot.index, says("in flight"));
    assert_eq!(tape.keep(true, true, &mut Vec::new()).unwrap(), Kept::Saved(1));
    let (replay, _) = open_as(Role::Replay, &path, Redactor::none()).unwrap();
    replay.close();
    assert!(matches!(find(&replay), Err(NotTaken::Late)));
}
