//! A setting outside its set is refused before any call, with the words that are allowed.

use vcr_tests::project::Project;

#[test]
fn values_that_are_forgiven() {
    let project = Project::shared();
    for (value, mode) in [
        ("", "Replay"),
        ("   ", "Replay"),
        ("REPLAY", "Replay"),
        (" replay ", "Replay"),
        ("Record", "Record"),
        ("live", "Live"),
        ("Auto", "Auto"),
    ] {
        let fixtures = tempfile::tempdir().unwrap();
        // Replay wants a cassette: one without calls is made first.
        let run = || project.direct("verdict", "probe").fixtures(fixtures.path());
        run().env("VCR_MODE", "record").outcome().expect(true);
        let outcome = run().env("VCR_MODE", value).outcome();
        if outcome.output.contains("probe runs in") {
            outcome.says(&format!("probe runs in {mode}"));
        } else {
            assert_eq!(mode, "Replay", "{value:?} is {mode}:\n{}", outcome.output);
            outcome.says("VCR_MODE=record");
        }
    }
}

#[test]
fn values_that_are_refused() {
    let project = Project::shared();
    for (name, value, allowed) in [
        ("VCR_MODE", "replya", "replay"),
        ("VCR_MODE", "true", "record"),
        ("VCR_SPEED", "fast", "max"),
        ("VCR_SPEED", "-2x", "max"),
        ("VCR_SPEED", "0", "max"),
        ("VCR_SPEED", "NaN", "max"),
        ("VCR_CHAOS", "-1", ".."),
        ("VCR_CHAOS", "5..2", ".."),
        ("VCR_CHAOS", "inf", ".."),
        ("VCR_TICK", "abc", "0"),
        ("VCR_TICK", "-0.5", "0"),
        ("VCR_INCLUDE_RAW", "maybe", "auto"),
        ("VCR_MATCHING", "fuzzy", "keyed"),
    ] {
        let fixtures = tempfile::tempdir().unwrap();
        let mut run = project.direct("verdict", "passes").fixtures(fixtures.path());
        if name != "VCR_MODE" {
            run = run.env("VCR_MODE", "record");
        }
        let outcome = run.env(name, value).outcome();
        outcome
            .expect(false)
            .says(name)
            .says(value)
            .says(allowed)
            .never_says("asked:");
        assert_eq!(
            std::fs::read_dir(fixtures.path()).unwrap().count(),
            0,
            "{name}={value} wrote a file"
        );
    }
}

#[test]
fn an_unknown_name_is_warned_about_with_the_nearest() {
    let project = Project::shared();
    let fixtures = tempfile::tempdir().unwrap();
    let outcome = project
        .direct("verdict", "passes")
        .fixtures(fixtures.path())
        .env("VCR_MODE", "record")
        .env("VCR_MOED", "replay")
        .outcome();
    outcome.expect(true).says("VCR_MOED").says("VCR_MODE");
}

/// A list that answers the calls of `passes` without any cassette.
fn list() -> String {
    let said = ["answer to first", "answer to second"].map(|text| {
        serde_json::json!({"kind": "chunks", "chunks": [
            {"type": "text-delta", "index": 0, "text": text},
            {"type": "finish", "reason": {"kind": "stop"}}]})
    });
    serde_json::json!(said).to_string()
}

#[test]
fn variables_name_the_files_that_answer() {
    let project = Project::shared();
    let fixtures = tempfile::tempdir().unwrap();
    let document = fixtures.path().join("o.json");
    std::fs::write(&document, list()).unwrap();
    let run = || project.direct("verdict", "passes").fixtures(fixtures.path());
    for name in ["VCR_OVERRIDE_FILE", "DSH_SNAPSHOT_OVERRIDE"] {
        for value in ["o.json", document.to_str().unwrap()] {
            let outcome = run().env(name, value).outcome();
            outcome
                .expect(true)
                .never_says("went live")
                .never_says("not known");
        }
    }
    // What a variable names need not be there.
    let outcome = run().env("DSH_SNAPSHOT_OVERRIDE", "none.json").outcome();
    outcome.expect(false).says("there is no cassette");
    let outcome = run().env("DSH_SNAPSHOT_FILE", "parent.jsonl").outcome();
    outcome
        .expect(false)
        .says("the session script")
        .says("parent.jsonl cannot be read: there is no such file");
    let both = run()
        .env("DSH_SNAPSHOT_FILE", "a.jsonl")
        .env("VCR_SOURCE", "session:b.jsonl");
    both.outcome()
        .expect(false)
        .says("`VCR_SOURCE` holds `session:b.jsonl`, and `DSH_SNAPSHOT_FILE` holds `session:a.jsonl`, which contradict each other")
        .never_says("asked:");
}

#[test]
fn no_test_can_change_anothers_mode() {
    // The environment is taken before main: what a test sets later is not seen. The builder's session is opened after.
    let before = vcr_runtime::Config::from_env().unwrap().mode;
    assert_eq!(before, vcr_runtime::Config::from_env().unwrap().mode);
    assert_eq!(
        before,
        vcr_runtime::Mode::Replay,
        "this suite runs without VCR_MODE"
    );
}
