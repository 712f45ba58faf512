use serde_json::json;
use vcr_tests::rig::{chat as ask, done};
use vcr_tests::{Reply, Upstream};

use crate::support::{Project, chat};

async fn run(project: &Project, arguments: &[&str]) -> (Option<i32>, String) {
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_cargo-vcr"))
        .args(["vcr", "--locale", "en", "export"])
        .args(arguments)
        .current_dir(project.path())
        .output()
        .await
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[tokio::test]
async fn a_cassette_becomes_a_session_script_that_answers_the_same() {
    let upstream = Upstream::with(|request| {
        let prompt = request.prompt();
        if request.json()["stream"] == true {
            Reply::text_stream(&["you said ", &prompt])
        } else {
            Reply::text(&prompt)
        }
    });
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let control = json!({"vcr": "record", "vcr_filename": "a"});
    for (prompt, stream) in [("one", true), ("two", false)] {
        daemon
            .post("/v1/chat/completions", &chat(prompt, stream, &control))
            .await
            .text()
            .await;
    }
    daemon.finish().await;
    let (code, said) = run(&project, &["--session", "fixtures/a.json", "fixtures/log.jsonl"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        said.trim_end(),
        "2 calls are in fixtures/log.jsonl; they are replayed by source = \"session:log.jsonl\""
    );

    let vcr = vcr_runtime::Vcr::builder()
        .scenario("s")
        .fixture_dir(project.fixture(""))
        .mode(vcr_runtime::Mode::Replay)
        .source("session:log.jsonl")
        .open()
        .unwrap();
    let nothing = json!({});
    assert_eq!(
        ask(&vcr, &chat("one", true, &nothing)).await.text(),
        "you said one"
    );
    assert_eq!(ask(&vcr, &chat("two", false, &nothing)).await.text(), "two");
    done(vcr).await;
    assert_eq!(upstream.count(), 2);
}

#[tokio::test]
async fn what_cannot_be_exported_is_told() {
    let project = Project::new("");
    let arguments = ["--session", "fixtures/none.json", "fixtures/log.jsonl"];
    let (code, said) = run(&project, &arguments).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.starts_with("cargo vcr export: ") && said.contains("none.json"),
        "{said}"
    );
    assert!(!project.fixture("log.jsonl").exists());
    // There may be other forms one day, so that the form has to be named.
    let (code, said) = run(&project, &arguments[1..]).await;
    assert!(code == Some(2) && said.contains("--session"), "{said}");
}
