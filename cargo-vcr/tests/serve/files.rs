use std::path::Path;
use std::process::Output;

use serde_json::json;
use tokio::process::Command;
use vcr_tests::{Reply, Upstream};

use crate::support::{Project, chat};

async fn run(command: &str, path: &Path) -> (Option<i32>, String) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_cargo-vcr"));
    let Output {
        status,
        stdout,
        stderr,
    } = run
        .args(["vcr", "--locale", "en", command])
        .arg(path)
        .output()
        .await
        .unwrap();
    (
        status.code(),
        String::from_utf8([stdout, stderr].concat()).unwrap(),
    )
}

#[tokio::test]
async fn a_sound_cassette_passes_and_a_changed_one_fails_by_name() {
    let upstream = Upstream::start([Reply::text("Hi")]);
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let body = chat(
        "Hi",
        false,
        &json!({"vcr": "record", "vcr_filename": "v", "vcr_include_raw": true}),
    );
    daemon.post("/v1/chat/completions", &body).await.text().await;
    daemon.finish().await;
    let fixtures = project.fixture("");
    let (code, said) = run("verify", &fixtures).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("nothing is wrong"), "{said}");
    let file = project.fixture("v.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("gpt-4o-mini", "gpt-4o", 1)).unwrap();
    let (code, said) = run("verify", &file).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("v.json: request-hash: "), "{said}");
    assert_eq!(run("verify", &project.fixture("none.json")).await.0, Some(1));
}

#[cfg(unix)]
#[tokio::test]
async fn a_killed_recording_is_recovered_without_another_one() {
    let upstream = Upstream::with(|request| Reply::text(&request.prompt()));
    let project = Project::new("");
    let fixtures = project.fixture("");
    let control = json!({"vcr": "record", "vcr_scenario": "killed"});
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    for prompt in ["one", "two"] {
        daemon
            .post("/v1/chat/completions", &chat(prompt, false, &control))
            .await
            .text()
            .await;
    }
    // While it is being recorded there is nothing to recover.
    let (code, said) = run("recover", &fixtures).await;
    assert!(
        code == Some(0) && said.contains("no recording was interrupted"),
        "{said}"
    );
    let journal = project.fixture("fixture_unknown_invoker_killed.journal.jsonl");
    let (code, said) = run("recover", &journal).await;
    assert!(code == Some(1) && said.contains("is recording"), "{said}");
    daemon.signal("KILL").await;
    daemon.ended().await;
    let (code, said) = run("recover", &fixtures).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("2 finished calls of "), "{said}");
    assert!(!journal.exists());
    let side = project.fixture("fixture_unknown_invoker_killed.interrupted.json");
    let texts = vcr_runtime::summary(&side).unwrap().calls;
    assert_eq!(
        texts.iter().map(|call| call.text.as_str()).collect::<Vec<_>>(),
        ["one", "two"]
    );
    let (code, said) = run("recover", &journal).await;
    assert!(code == Some(1) && said.contains("there is no journal"), "{said}");
}
