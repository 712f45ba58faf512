//! D21 and D36: concurrent calls keep their own answers, and parallel recordings keep each other's files whole.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};
use vcr_runtime::{Matching, Mode, Vcr};
use vcr_tests::project::{Outcome, Project};
use vcr_tests::rig::{Cassette, Rig, ask, chat, complaint, done, question};
use vcr_tests::{Gate, Reply, Upstream};

const WORDS: [&str; 5] = ["dog", "cat", "turtle", "elephant", "flower"];

fn embedding(word: &str) -> Value {
    json!({"model": "e", "messages": [{"role": "user", "content": word}]})
}

/// Records the five words at once; the upstream answers in the given order.
async fn recorded(order: [usize; 5]) -> Rig {
    let gates: [Gate; 5] = std::array::from_fn(|_| Gate::new());
    let upstream = Upstream::with({
        let gates = gates.clone();
        move |request| {
            let at = WORDS.iter().position(|word| *word == request.prompt()).unwrap();
            Reply::text(&format!("about {}", WORDS[at])).after(&gates[at])
        }
    });
    let rig = Rig::new();
    let vcr = rig.record();
    let mut tasks = tokio::task::JoinSet::new();
    for (at, word) in WORDS.iter().enumerate() {
        let (vcr, base) = (vcr.clone(), upstream.v1());
        tasks.spawn(async move {
            assert_eq!(
                ask(&vcr, &base, &embedding(word)).await.text(),
                format!("about {word}")
            );
        });
        upstream.arrived(at + 1).await;
    }
    for at in order {
        gates[at].open();
        tasks.join_next().await.unwrap().unwrap();
    }
    done(vcr).await;
    let prompts: Vec<String> = upstream
        .received()
        .iter()
        .map(vcr_tests::Received::prompt)
        .collect();
    assert_eq!(prompts, WORDS, "each request reaches the upstream once");
    rig
}

#[tokio::test]
async fn each_call_gets_its_own_answer_in_every_order() {
    for recorded_order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]] {
        let rig = recorded(recorded_order).await;
        for order in [[4, 3, 2, 1, 0], [1, 3, 0, 2, 4], [0, 1, 2, 3, 4]] {
            for matching in [Matching::Sequential, Matching::Keyed] {
                let vcr = rig.builder(Mode::Replay).matching(matching).open().unwrap();
                for at in order {
                    let answer = chat(&vcr, &embedding(WORDS[at])).await;
                    let (text, body) = (answer.text(), answer.whole.text());
                    assert_eq!(
                        text,
                        format!("about {}", WORDS[at]),
                        "{matching:?}: {body}\n{}",
                        rig.cassette().text
                    );
                }
                done(vcr).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn taking_is_atomic() {
    let rig = Rig::recorded((0..32).map(|_| (question("hi"), Reply::text("ok")))).await;
    let vcr = rig
        .builder(Mode::Replay)
        .matching(Matching::Keyed)
        .open()
        .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let vcr = vcr.clone();
        tasks.spawn(async move { chat(&vcr, &question("hi")).await.status });
    }
    let statuses = tasks.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 32);
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 8);
    complaint(vcr).await;
}

#[tokio::test]
async fn the_files_order_does_not_depend_on_who_was_done_first() {
    let prompts = |rig: &Rig| -> Vec<String> {
        rig.cassette()
            .calls()
            .iter()
            .map(|call| call.prompt().to_owned())
            .collect()
    };
    let (one, two) = (recorded([0, 1, 2, 3, 4]).await, recorded([4, 3, 2, 1, 0]).await);
    assert_eq!(prompts(&one), WORDS);
    assert_eq!(prompts(&two), WORDS);
}

#[tokio::test]
async fn what_was_sequential_stays_strict_and_what_was_concurrent_is_free() {
    // `first` ends before the five begin; they run at once.
    let gate = Gate::new();
    let upstream = Upstream::with({
        let gate = gate.clone();
        move |request| {
            let reply = Reply::text(&request.prompt());
            if request.prompt() == "first" {
                reply
            } else {
                reply.after(&gate)
            }
        }
    });
    let rig = Rig::new();
    let vcr = rig.record();
    ask(&vcr, &upstream.v1(), &question("first")).await;
    let mut tasks = tokio::task::JoinSet::new();
    for word in ["left", "right"] {
        let (vcr, base) = (vcr.clone(), upstream.v1());
        tasks.spawn(async move { ask(&vcr, &base, &question(word)).await.text() });
    }
    upstream.arrived(3).await;
    gate.open();
    tasks.join_all().await;
    done(vcr).await;

    let vcr = rig.replay();
    let miss = chat(&vcr, &question("right")).await.miss();
    assert!(miss.contains("first"), "{miss}");
    for word in ["first", "right", "left"] {
        assert_eq!(chat(&vcr, &question(word)).await.text(), word);
    }
    complaint(vcr).await;
}

fn calls_of(directory: &Path) -> Vec<usize> {
    let mut counts = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        assert!(
            path.extension().is_some_and(|extension| extension == "json"),
            "{} was left over",
            path.display()
        );
        counts.push(Cassette::read(&path).calls().len());
    }
    counts
}

#[test]
fn sixteen_threads_record_into_one_directory() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::thread::scope(|scope| {
        for number in 0..16 {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let scenario = format!("s{number}");
                    let vcr = Vcr::builder()
                        .scenario(scenario)
                        .invoker("many")
                        .fixture_dir(root)
                        .mode(Mode::Record);
                    let vcr = vcr.open().unwrap();
                    for step in 0..3 {
                        let request = json!({"number": number, "step": step});
                        let call = vcr.intercept(&request, || async { Ok::<_, std::io::Error>(step) });
                        assert_eq!(call.await.unwrap(), step);
                    }
                    done(vcr).await;
                });
            });
        }
    });
    assert_eq!(calls_of(root), [3; 16]);
}

#[test]
fn sixteen_tests_in_one_process_and_in_sixteen() {
    let project = Project::shared();
    let directory = tempfile::tempdir().unwrap();
    let skip = ["--skip", "holds_its_cassette"];
    let run = project.run_all("many", &[&skip[..], &["--test-threads", "16"]].concat());
    run.fixtures(directory.path())
        .env("VCR_MODE", "record")
        .outcome()
        .expect(true);
    assert_eq!(calls_of(directory.path()), [3; 16]);
    let run = project.run_all("many", &skip);
    run.fixtures(directory.path())
        .env("VCR_MODE", "replay")
        .outcome()
        .expect(true);

    let directory = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..16)
        .map(|number| {
            let run = project.direct("many", &format!("t{number:02}"));
            run.fixtures(directory.path()).env("VCR_MODE", "record").spawn()
        })
        .collect();
    for child in children {
        Outcome::of(child.wait_with_output().unwrap()).expect(true);
    }
    assert_eq!(calls_of(directory.path()), [3; 16]);
}

#[test]
fn one_cassette_and_two_processes_is_one_clean_error() {
    let project = Project::shared();
    let directory = tempfile::tempdir().unwrap();
    let run = || {
        project
            .direct("many", "holds_its_cassette")
            .fixtures(directory.path())
            .env("VCR_MODE", "record")
    };
    let mut first = run().with_input().spawn();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().contains("holding")),
        "the first never got its cassette"
    );
    let second = run().outcome();
    drop(first.stdin.take());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let first = first.wait().unwrap();
    assert!(first.success(), "{rest:?}");
    // Whoever saves second either is refused or adds a take; the file is never mixed.
    if !second.success {
        second.says("holds_its_cassette");
    }
    let cassettes: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(cassettes.len(), 1, "{cassettes:?}");
    assert_eq!(Cassette::read(&cassettes[0]).calls().len(), 1);
}

#[test]
fn a_killed_recording_leaves_the_old_cassette_whole() {
    let project = Project::shared();
    let directory = tempfile::tempdir().unwrap();
    let run = || {
        project
            .direct("many", "holds_its_cassette")
            .fixtures(directory.path())
            .env("VCR_MODE", "record")
    };
    run().outcome().expect(true);
    let path = std::fs::read_dir(directory.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let before = std::fs::read_to_string(&path).unwrap();
    let mut child = run().with_input().spawn();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("holding")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    // The next run is not locked out.
    run().outcome().expect(true);
}

#[tokio::test]
async fn one_scenario_twice_at_once_is_one_clean_error_and_never_a_mixed_file() {
    let rig = Rig::new();
    let (first, second) = (rig.record(), rig.record());
    let call = |vcr: Vcr, prompt: &'static str| async move {
        let call = vcr
            .intercept(&question(prompt), || async { Ok::<_, std::io::Error>(1) })
            .await;
        call.map_err(|error| error.to_string())?;
        vcr.finish().await.map_err(|error| error.to_string())
    };
    let (left, right) = tokio::join!(call(first, "left"), call(second, "right"));
    let failures: Vec<&String> = [&left, &right]
        .into_iter()
        .filter_map(|outcome| outcome.as_ref().err())
        .collect();
    assert!(failures.len() <= 1, "both were refused: {failures:?}");
    if let Some(failure) = failures.first() {
        assert!(failure.contains("fixture_rig_case.json"), "{failure}");
    }
    assert_eq!(rig.cassette().calls().len(), 1);
    assert_eq!(rig.cassette().takes() + failures.len(), 2);
}
