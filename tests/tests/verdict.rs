//! The verdict table of a session, row by row, as a user's project under `cargo test` and under nextest shows it.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use tempfile::TempDir;
use vcr_tests::project::{Outcome, Project, Runner};
use vcr_tests::rig::Cassette;

const RUNNERS: [Runner; 2] = [Runner::Test, Runner::Nextest];

/// One test of the project with a fixture directory of its own.
struct Row {
    project: Project,
    runner: Runner,
    test: &'static str,
    fixtures: TempDir,
}

impl Row {
    /// The row with the recording made; `None` when the runner is not installed.
    fn recorded(runner: Runner, test: &'static str) -> Option<Self> {
        let row = Self::empty(runner, test);
        // `should_panic` wants the fault.
        let env: &[(&str, &str)] = if test == "expects_a_panic" { &[FAULT] } else { &[] };
        row.run("record", env)?.expect(true);
        assert_eq!(row.files().len(), 1, "{:?}", row.files());
        Some(row)
    }

    fn empty(runner: Runner, test: &'static str) -> Self {
        let fixtures = tempfile::tempdir().unwrap();
        let project = Project::shared();
        Self {
            project,
            runner,
            test,
            fixtures,
        }
    }

    fn run(&self, mode: &str, env: &[(&str, &str)]) -> Option<Outcome> {
        let mut run = self.project.run(self.runner, "verdict", self.test)?;
        run = run.env("VCR_MODE", mode).fixtures(self.fixtures.path());
        for (name, value) in env {
            run = run.env(name, value);
        }
        Some(run.outcome())
    }

    fn replay(&self, env: &[(&str, &str)]) -> Outcome {
        self.run("replay", env).unwrap()
    }

    fn files(&self) -> Vec<String> {
        files(self.fixtures.path())
    }

    fn cassette(&self) -> String {
        let files = self.files();
        let name = files
            .iter()
            .find(|name| !name.ends_with(".new.json"))
            .expect("a cassette");
        std::fs::read_to_string(self.fixtures.path().join(name)).unwrap()
    }
}

fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

const FAULT: (&str, &str) = ("APP_FAULT", "1");

#[test]
fn a_test_that_passes_passes_and_calls_nothing() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "passes") else {
            continue;
        };
        row.replay(&[]).expect(true).never_says("went live");
    }
}

#[test]
fn a_test_that_passes_prints_nothing_in_replay_and_one_line_in_record() {
    let fixtures = tempfile::tempdir().unwrap();
    let project = Project::shared();
    let run = |mode: &str, env: &[(&str, &str)]| {
        let run = project.direct("verdict", "passes").fixtures(fixtures.path());
        let run = env.iter().fold(run, |run, (name, value)| run.env(name, value));
        run.env("VCR_MODE", mode).outcome()
    };
    let lines = |outcome: &Outcome| {
        outcome
            .output
            .lines()
            .filter(|line| line.contains("vcr: "))
            .count()
    };
    assert_eq!(lines(run("record", &[]).expect(true)), 1);
    // Nor what only a failure needs: that nothing was compared, and the seed of the latency.
    let all = [
        ("VCR_MATCHING", "order"),
        ("VCR_CHAOS", "0..1"),
        ("VCR_SPEED", "real"),
    ];
    for env in [&all[..0], &all[..1], &all[..2], &all[..]] {
        let outcome = run("replay", env);
        assert_eq!(lines(outcome.expect(true)), 0, "{}", outcome.output);
    }
    let outcome = run("replay", &[all[0], all[1], ("APP_MORE", "1")]);
    outcome
        .expect(false)
        .says("compared no request")
        .says("VCR_CHAOS_SEED=");
}

#[test]
fn a_panic_stays_the_first_cause() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "panics") else {
            continue;
        };
        let before = row.cassette();
        let outcome = row.replay(&[FAULT]);
        outcome
            .expect(false)
            .says("the assertion of the test")
            .never_says("went live")
            .never_says("SIGABRT");
        assert_eq!(row.cassette(), before);
        assert_eq!(row.files().len(), 1, "replay wrote {:?}", row.files());
    }
}

#[test]
fn an_err_is_returned_untouched() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "returns_err") else {
            continue;
        };
        row.replay(&[FAULT])
            .expect(false)
            .says("boom")
            .never_says("went live")
            .never_says("SIGABRT");
    }
}

#[test]
fn a_timeout_of_the_test_is_its_own_failure() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "times_out") else {
            continue;
        };
        row.replay(&[FAULT])
            .expect(false)
            .says("Elapsed")
            .never_says("SIGABRT");
    }
}

#[test]
fn a_swallowed_miss_fails_the_test() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "swallows") else {
            continue;
        };
        row.replay(&[]).expect(true);
        row.replay(&[FAULT])
            .expect(false)
            .says("messages[0].content")
            .says("VCR_MODE=record")
            .never_says("went live");
    }
}

#[test]
fn a_leftover_fails_the_test() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "leaves_over") else {
            continue;
        };
        row.replay(&[FAULT]).expect(false).says("second");
    }
}

#[test]
fn a_forgotten_task_is_a_leftover_that_is_explained() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "forgets_a_task") else {
            continue;
        };
        row.replay(&[]).expect(true);
        row.replay(&[FAULT]).expect(false).says("second");
    }
}

#[test]
fn a_call_that_is_still_under_way_is_named() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "leaves_a_call_unfinished") else {
            continue;
        };
        row.replay(&[]).expect(true);
        let before = row.cassette();
        row.run("record", &[FAULT]).unwrap();
        assert!(
            row.cassette().contains("cancelled") || row.cassette() == before,
            "{}",
            row.cassette()
        );
    }
}

#[test]
fn a_late_call_is_refused_and_named() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "calls_late") else {
            continue;
        };
        row.replay(&[]).expect(true);
        row.replay(&[FAULT]).expect(true);
        // Runners hide the output of a test that passes; the binary by itself shows it.
        let shown = row
            .project
            .direct("verdict", "calls_late")
            .env("VCR_MODE", "replay");
        let shown = shown
            .fixtures(row.fixtures.path())
            .env(FAULT.0, FAULT.1)
            .outcome();
        shown
            .expect(true)
            .says("refused: a call came after its test `functional::verdict::calls_late` had ended")
            .says("1 call came after the test had ended");
    }
}

#[test]
fn an_expected_panic_still_counts_as_passed() {
    for runner in RUNNERS {
        let Some(row) = Row::recorded(runner, "expects_a_panic") else {
            continue;
        };
        row.replay(&[FAULT]).expect(true);
        // It asks for more than was recorded, and does not panic of itself.
        row.replay(&[]).expect(false).says("no recorded call");
    }
}

#[test]
fn a_failing_recording_goes_to_the_side_file() {
    for runner in RUNNERS {
        for test in ["panics", "returns_err"] {
            let Some(row) = Row::recorded(runner, test) else {
                continue;
            };
            let before = row.cassette();
            let outcome = row.run("record", &[FAULT]).unwrap();
            outcome.expect(false).says(".new.json");
            assert_eq!(row.cassette(), before, "the good cassette was touched");
            let side: Vec<String> = row
                .files()
                .into_iter()
                .filter(|name| name.ends_with(".new.json"))
                .collect();
            assert_eq!(side.len(), 1, "{:?}", row.files());
            let side = Cassette::read(&row.fixtures.path().join(&side[0]));
            assert_eq!(side.call().text(), "answer to first", "{}", side.text);
            row.replay(&[]).expect(true);
        }
    }
}

#[test]
fn a_failing_first_recording_makes_no_cassette() {
    for runner in RUNNERS {
        let row = Row::empty(runner, "panics");
        let Some(outcome) = row.run("record", &[FAULT]) else {
            continue;
        };
        outcome.expect(false).says(".new.json");
        let files = row.files();
        assert!(files.len() == 1 && files[0].ends_with(".new.json"), "{files:?}");
    }
}

#[test]
fn a_changed_request_fails_with_the_path_that_changed() {
    let changes = [
        ("prompt", "messages[0].content"),
        ("tool", "tools[1]"),
        ("temperature", "temperature"),
        ("system", "Be brief."),
    ];
    for runner in RUNNERS {
        for test in ["mutates", "mutates_over_http"] {
            let Some(row) = Row::recorded(runner, test) else {
                continue;
            };
            row.replay(&[]).expect(true).never_says("went live");
            for (change, path) in changes {
                let outcome = row.replay(&[("APP_CHANGE", change)]);
                outcome
                    .expect(false)
                    .says(path)
                    .never_says("went live")
                    .never_says("upstream calls: 1");
            }
        }
    }
}

#[test]
fn a_plain_function_has_the_same_verdict() {
    for runner in RUNNERS {
        let row = Row::empty(runner, "without_async");
        let Some(outcome) = row.run("record", &[]) else {
            continue;
        };
        outcome.expect(true);
        row.run("record", &[FAULT])
            .unwrap()
            .expect(false)
            .says("the assertion of the test");
    }
}

#[test]
fn without_a_cassette_the_command_that_makes_one_is_shown() {
    for runner in RUNNERS {
        let row = Row::empty(runner, "passes");
        let Some(outcome) = row.run("replay", &[]) else {
            continue;
        };
        outcome
            .expect(false)
            .says("VCR_MODE=record")
            .says("passes")
            .never_says("went live");
        assert_eq!(row.files(), Vec::<String>::new());
    }
}

#[test]
fn with_ci_set_nothing_records_by_itself() {
    for mode in ["auto", "new"] {
        let row = Row::empty(Runner::Test, "passes");
        row.run(mode, &[("CI", "true")])
            .unwrap()
            .expect(false)
            .never_says("went live");
        assert_eq!(row.files(), Vec::<String>::new());
        row.run(mode, &[]).unwrap().expect(true);
        assert_eq!(row.files().len(), 1);
    }
}
