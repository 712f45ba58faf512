use super::*;
use crate::config::{Environment, Matching, RedactRules};
use crate::model::Frame;

fn open(path: &Path, redactor: Redactor) -> Result<(Tape, Vec<String>)> {
    let label = Label {
        scenario: "s".to_owned(),
        test: None,
        remedy: Remedy::Test(String::new()),
    };
    let mut notes = Vec::new();
    let tape = Tape::open(
        path.to_owned(),
        Role::Record,
        None,
        label,
        Comparison {
            redactor: Arc::new(redactor),
            ignore: Arc::default(),
            cross: None,
        },
        &mut notes,
    )?;
    Ok((tape, notes))
}

fn record(tape: &Tape, call: Call) {
    let request = CanonicalRequest::default();
    let how = How {
        matching: Matching::Sequential,
        repeat: false,
    };
    match tape.find(&request, how, &|_| Ok(())) {
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
