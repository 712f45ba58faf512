use serde_json::json;
use vcr_tests::{Reply, Upstream};

use crate::support::{Daemon, Project, chat};

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn flags_count_more_than_variables_and_those_more_than_the_file() {
    let upstream = Upstream::with(|request| Reply::text(&request.prompt()));
    let nobody = Upstream::nobody();
    let project = Project::new(&format!(
        "fixture_dir = \"from_file\"\ntick = 7\n[serve]\nlisten = \"127.0.0.1:0\"\nupstream = \"{nobody}\"\nidle = 3600\n"
    ));
    let record = chat("Hi", false, &json!({"vcr": "record", "vcr_scenario": "s"}));
    let status = async |daemon: &Daemon| {
        let told = daemon.get("/__vcr/status").await.json().await;
        let fixtures = told["fixtures"].as_str().unwrap().to_owned();
        (fixtures, told["upstream"].as_str().unwrap().to_owned())
    };

    let daemon = Daemon::start(project.command(&[])).await;
    let (fixtures, base) = status(&daemon).await;
    assert!(fixtures.ends_with("from_file"), "{fixtures}");
    assert_eq!(base, nobody);
    assert_eq!(daemon.post(CHAT, &record).await.status, 502);

    let mut command = project.command(&[]);
    command
        .env("VCR_FIXTURE_DIR", "from_env")
        .env("VCR_UPSTREAM", upstream.v1())
        .env("VCR_MODE", "record");
    let daemon = Daemon::start(command).await;
    let (fixtures, base) = status(&daemon).await;
    assert!(fixtures.ends_with("from_env"), "{fixtures}");
    assert_eq!(base, upstream.v1());
    // The mode came from the environment; a request may still say otherwise.
    let plain = chat("Hi", false, &json!({"vcr_scenario": "s"}));
    assert_eq!(daemon.post(CHAT, &plain).await.status, 200);
    let live = chat("Hi", false, &json!({"vcr_scenario": "t", "vcr": "live"}));
    assert_eq!(daemon.post(CHAT, &live).await.status, 200);
    daemon.finish().await;
    assert!(
        project
            .path()
            .join("from_env/fixture_unknown_invoker_s.json")
            .is_file()
    );
    assert!(
        !project
            .path()
            .join("from_env/fixture_unknown_invoker_t.json")
            .exists()
    );

    let mut command = project.command(&["--vcr", "replay", "--vcr-fixture-dir", "from_env", "--vcr-repeat"]);
    command
        .env("VCR_FIXTURE_DIR", "elsewhere")
        .env("VCR_MODE", "record");
    let daemon = Daemon::start(command).await;
    for _ in 0..2 {
        assert_eq!(daemon.post(CHAT, &plain).await.status, 200);
    }
    assert_eq!(upstream.count(), 2);
}

#[tokio::test]
async fn a_call_without_a_name_has_an_automatic_file() {
    let upstream = Upstream::with(|request| Reply::text(&request.prompt()));
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let ask = async |mode: &str, prompt: &str| {
        let body = chat(prompt, false, &json!({"vcr": mode}));
        daemon.post(CHAT, &body).await.text().await
    };
    let live = ask("record", "Hi").await;
    ask("record", "Ho").await;
    assert_eq!(ask("replay", "Hi").await, live);
    ask("replay", "Ho").await;
    daemon.finish().await;
    // The name that the seed's own rule gives to this conversation.
    assert!(
        project
            .fixture("fixture_unknown_invoker_auto_ab6ed091.json")
            .is_file()
    );
    assert_eq!(
        std::fs::read_dir(project.path().join("fixtures"))
            .unwrap()
            .count(),
        2
    );
}

#[tokio::test]
async fn new_records_what_misses_beside_what_matches() {
    let upstream = Upstream::with(|request| Reply::text(&request.prompt()));
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let ask = async |mode: &str, prompt: &str| {
        let body = chat(prompt, false, &json!({"vcr": mode, "vcr_scenario": "n"}));
        daemon.post(CHAT, &body).await.text().await
    };
    ask("auto", "one").await;
    ask("new", "one").await;
    ask("new", "two").await;
    ask("auto", "one").await;
    ask("auto", "two").await;
    assert_eq!(upstream.count(), 2);
    assert_eq!(daemon.finish().await["finished"][0]["replayed"], 2);
}

#[tokio::test]
async fn a_take_may_be_pinned_and_a_directory_named() {
    let upstream = Upstream::start([Reply::text("first"), Reply::text("second")]);
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let control = json!({"vcr": "record", "vcr_filename": "pinned", "vcr_fixture_dir": "sub/dir"});
    for _ in 0..2 {
        daemon.post(CHAT, &chat("Hi", false, &control)).await.text().await;
        daemon.finish().await;
    }
    let takes = vcr_runtime::summary(project.fixture("sub/dir/pinned.json"))
        .unwrap()
        .takes;
    for (take, text) in takes.iter().zip(["first", "second"]) {
        let control = json!({"vcr": "replay", "vcr_filename": "pinned", "vcr_fixture_dir": "sub/dir", "vcr_target_trace": take});
        let answer = daemon.post(CHAT, &chat("Hi", false, &control)).await.text().await;
        assert!(answer.contains(text), "{answer}");
    }
}

#[tokio::test]
async fn the_models_are_those_of_the_recordings() {
    let upstream = Upstream::with(|request| {
        if request.path.ends_with("/models") {
            Reply::json(&json!({"object": "list", "data": [{"id": "live"}]}))
        } else {
            Reply::text("Hi")
        }
    });
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    for (model, scenario) in [("m-1", "a"), ("vendor/m-2", "b")] {
        let mut body = chat("Hi", false, &json!({"vcr": "record", "vcr_scenario": scenario}));
        body["model"] = json!(model);
        daemon.post(CHAT, &body).await.text().await;
    }
    daemon.finish().await;
    let ids = |list: serde_json::Value| -> Vec<String> {
        let data = list["data"].as_array().unwrap().iter();
        data.map(|model| model["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        ids(daemon.get("/v1/models").await.json().await),
        ["m-1", "vendor/m-2"]
    );
    assert_eq!(
        daemon.get("/v1/models/vendor/m-2").await.json().await["object"],
        "model"
    );
    let missing = daemon.get("/v1/models/m-3").await;
    assert_eq!(missing.status, 404);
    assert_eq!(missing.json().await["error"]["code"], "model_not_found");
    let get = async |headers: &[(&str, &str)]| {
        vcr_tests::http::request("GET", &daemon.at("/v1/models"), headers, b"")
            .await
            .json()
            .await
    };
    let one = get(&[("x-vcr-scenario", "b"), ("x-vcr-mode", "replay")]).await;
    assert_eq!(ids(one), ["vendor/m-2"]);
    assert_eq!(ids(get(&[("x-vcr-mode", "live")]).await), ["live"]);
}
