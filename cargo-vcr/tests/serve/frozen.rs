use std::process::Output;

use serde_json::{Value, json};
use vcr_tests::{Reply, Upstream};

use crate::support::{Project, chat, refused};

const CHAT: &str = "/v1/chat/completions";

/// Runs a command that is no daemon.
async fn run(project: &Project, arguments: &[&str]) -> Output {
    tokio::process::Command::new(env!("CARGO_BIN_EXE_cargo-vcr"))
        .args(["vcr", "--locale", "en"])
        .args(arguments)
        .current_dir(project.path())
        .output()
        .await
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_cassette_is_frozen_served_edited_and_thawed() {
    let upstream = Upstream::with(|request| Reply::text(&format!("to {}", request.prompt())));
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let record = json!({"vcr": "record", "vcr_scenario": "s"});
    daemon.post(CHAT, &chat("Hi", false, &record)).await.text().await;
    daemon.post(CHAT, &chat("Ho", false, &record)).await.text().await;
    daemon.finish().await;
    drop((daemon, upstream));

    let cassette = "fixtures/fixture_unknown_invoker_s.json";
    let frozen = run(&project, &["freeze", cassette, "fixtures/a.jsonl"]).await;
    assert!(frozen.status.success(), "{}", text(&frozen.stderr));
    assert!(
        text(&frozen.stdout).contains("entries 2"),
        "{}",
        text(&frozen.stdout)
    );
    let probed = run(&project, &["probe", "fixtures/a.jsonl?max_entries=2"]).await;
    assert!(
        text(&probed.stdout).contains("entries 2 (at most 2)"),
        "{}",
        text(&probed.stdout)
    );
    let refused = run(&project, &["probe", "fixtures/a.jsonl?max_entries=1"]).await;
    assert!(text(&refused.stderr).contains("line 2 is refused by the rule `entry_limit_exceeded`"));

    let lines = std::fs::read_to_string(project.fixture("a.jsonl")).unwrap();
    std::fs::write(project.fixture("a.jsonl"), lines.replace("to Hi", "edited")).unwrap();
    serves(&project).await;

    let thawed = run(&project, &["thaw", "fixtures/a.jsonl", cassette]).await;
    assert!(
        text(&thawed.stdout).ends_with("has a new take with 1 changed answer\n"),
        "{}",
        text(&thawed.stderr)
    );
    let thawed = run(&project, &["thaw", "fixtures/a.jsonl", cassette]).await;
    assert!(
        text(&thawed.stdout).ends_with("says the same already\n"),
        "{}",
        text(&thawed.stderr)
    );
}

/// Without a word about the mode, for whichever client and however streamed; each scenario is a run of its own.
async fn serves(project: &Project) {
    let daemon = project.serve(&["--frozen", "a.jsonl"]).await;
    for scenario in ["one", "two"] {
        let body = chat("Hi", false, &json!({"vcr_scenario": scenario}));
        let answer: Value = daemon.post(CHAT, &body).await.json().await;
        assert_eq!(answer["choices"][0]["message"]["content"], "edited");
        let (status, code, message) = refused(daemon.post(CHAT, &body).await).await;
        assert_eq!((status, code.as_str()), (409, "vcr_replay_miss"));
        assert!(
            message.starts_with("replay sequence for this request is exhausted"),
            "{message}"
        );
    }
    let streamed = daemon
        .post(CHAT, &chat("Ho", true, &json!({})))
        .await
        .text()
        .await;
    assert!(
        streamed.contains("to Ho") && streamed.contains("[DONE]"),
        "{streamed}"
    );
}
