//! The runner on bodies that pass, panic and fail. The cassettes are in a temporary directory, so that nothing here
//! depends on the modes of the run.

use std::path::Path;

use super::*;
use crate::error::ErrorKind;
use crate::front::{CallError, Reply, Request};
use crate::session::Failure;

/// A test of `#[vcr_test]`, as the expansion describes it.
fn spec(directory: &Path, mode: &'static str, should_panic: bool) -> &'static Spec {
    let directory: &'static str = Box::leak(directory.to_str().unwrap().to_owned().into_boxed_str());
    Box::leak(Box::new(Spec {
        package: "p",
        // Where no vcr.toml is found.
        manifest_dir: directory,
        module: "p::tests",
        // One cassette file is one test's: the directory, which nobody else has, makes it so.
        function: "t",
        fixture_dir: Some(directory),
        mode: Some(mode),
        should_panic,
        ..Spec::DEFAULT
    }))
}

async fn ask(vcr: &Vcr, text: &str) -> Result<String, CallError> {
    let upstream = |_: Request| async { Ok::<_, Failure>(Reply::text("answer")) };
    let request = Request::new("m").user(text);
    Ok(vcr.client(upstream).completion(request).await?.text)
}

const PASSES: Body<()> = Body::Async(|vcr| {
    Box::pin(async move {
        ask(&vcr, "one").await.unwrap();
    })
});

const PANICS: Body<()> = Body::Async(|vcr| {
    Box::pin(async move {
        panic!("{} on purpose", ask(&vcr, "one").await.unwrap());
    })
});

const PANICS_AT_ONCE: Body<()> = Body::Async(|_| Box::pin(async { panic!("answer on purpose") }));

const ASKS_ELSE: Body<()> = Body::Async(|vcr| {
    Box::pin(async move {
        ask(&vcr, "two").await.unwrap();
    })
});

const SWALLOWS: Body<()> = Body::Async(|vcr| {
    Box::pin(async move {
        ask(&vcr, "two").await.unwrap_err();
        panic!("answer on purpose");
    })
});

/// What the harness sees: the text of the panic, or none.
fn outcome(spec: &'static Spec, body: Body<()>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| run(spec, body))).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default()
    })
}

fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("json"))
        .collect();
    names.sort();
    names
}

const CASSETTE: &str = "fixture_p_tests_t.json";

#[test]
fn a_panicking_test_records_beside_its_cassette() {
    let directory = tempfile::tempdir().unwrap();
    let found = outcome(spec(directory.path(), "record", false), PANICS);
    assert_eq!(found, Err("answer on purpose".to_owned()));
    assert_eq!(files(directory.path()), ["fixture_p_tests_t.new.json"]);
}

#[test]
fn a_test_that_panics_as_it_should_records_its_cassette() {
    let directory = tempfile::tempdir().unwrap();
    let found = outcome(spec(directory.path(), "record", true), PANICS);
    assert_eq!(found, Err("answer on purpose".to_owned()));
    assert_eq!(files(directory.path()), [CASSETTE]);
    let found = outcome(spec(directory.path(), "replay", true), PANICS);
    assert_eq!(found, Err("answer on purpose".to_owned()));
}

#[test]
fn a_test_that_should_have_panicked_records_beside_its_cassette() {
    let directory = tempfile::tempdir().unwrap();
    // The harness fails it, because it did not panic.
    assert_eq!(outcome(spec(directory.path(), "record", true), PASSES), Ok(()));
    assert_eq!(files(directory.path()), ["fixture_p_tests_t.new.json"]);
}

#[test]
fn no_fault_of_the_session_is_taken_for_the_panic_of_the_test() {
    let recorded = tempfile::tempdir().unwrap();
    outcome(spec(recorded.path(), "record", true), PANICS).unwrap_err();
    let empty = tempfile::tempdir().unwrap();
    for (directory, body) in [
        // Left over, missed and panicked over, missed and swallowed, no cassette.
        (&recorded, PANICS_AT_ONCE),
        (&recorded, ASKS_ELSE),
        (&recorded, SWALLOWS),
        (&empty, PANICS),
    ] {
        assert_eq!(outcome(spec(directory.path(), "replay", true), body), Ok(()));
    }
    // A session that cannot even be opened.
    assert_eq!(outcome(spec(recorded.path(), "no-mode", true), PANICS), Ok(()));
}

#[test]
fn without_should_panic_the_session_fails_the_test_by_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    outcome(spec(directory.path(), "record", false), PASSES).unwrap();
    assert_eq!(outcome(spec(directory.path(), "replay", false), PASSES), Ok(()));

    let nothing = Body::Async(|_| Box::pin(async {}));
    let found = outcome(spec(directory.path(), "replay", false), nothing).unwrap_err();
    assert!(found.contains("1 recorded call was never asked for"), "{found}");

    // The first cause stays the failure: the body's own panic, though a miss is behind it.
    let found = outcome(spec(directory.path(), "replay", false), SWALLOWS).unwrap_err();
    assert_eq!(found, "answer on purpose");

    let found = outcome(spec(directory.path(), "no-mode", false), PASSES).unwrap_err();
    assert!(found.contains("no-mode"), "{found}");
}

#[test]
fn an_error_is_returned_untouched() {
    let directory = tempfile::tempdir().unwrap();
    outcome(spec(directory.path(), "record", false), PASSES).unwrap();
    let missed = run(
        spec(directory.path(), "replay", false),
        Body::Async(|vcr| Box::pin(async move { ask(&vcr, "two").await })),
    );
    match missed {
        Err(CallError::Vcr(error)) => assert_eq!(error.kind(), ErrorKind::Miss),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_exit_code_decides_like_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let failing: Body<ExitCode> = Body::Async(|vcr| {
        Box::pin(async move {
            ask(&vcr, "one").await.unwrap();
            ExitCode::from(3)
        })
    });
    let code = run(spec(directory.path(), "record", false), failing);
    assert_eq!(code, ExitCode::from(3));
    assert_eq!(files(directory.path()), ["fixture_p_tests_t.new.json"]);
}

#[test]
fn the_tests_own_failure_comes_first_and_leftovers_take_one_line() {
    let verdict = |failure: Option<Error>| Verdict {
        report: crate::session::Report::default(),
        failure,
        line: None,
        remarks: 0,
    };
    let error = |kind| {
        Error::new(
            kind,
            "3 recorded calls were never asked for\n  call 1: prompt",
            "advice",
        )
    };
    let mut left_over = verdict(Some(error(ErrorKind::Verdict)));
    let lines = first_cause(&mut left_over);
    assert!(lines[0].contains("failed by itself"), "{lines:?}");
    assert_eq!(lines[1..], ["vcr: 3 recorded calls were never asked for"]);
    assert!(left_over.failure.is_none());
    // A miss may well be the cause, so it is told in full.
    let mut miss = verdict(Some(error(ErrorKind::Miss)));
    assert!(first_cause(&mut miss).is_empty());
    assert!(miss.failure.is_some());
    // Nothing to tell apart.
    assert!(first_cause(&mut verdict(None)).is_empty());
}
