use serde_json::json;
use vcr_tests::{Reply, Upstream, http};

use crate::support::{Project, chat, refused};

const RECORD: &str = r#"{
    "model": "llama_server/gemma-3-1b-it-Q4_K_M.gguf",
    "messages": [{"role": "user", "content": "Give me a 3-word motto."}],
    "vcr": "record",
    "vcr_scenario": "gateway_smoke_test"
  }"#;
const REPLAY: &str = r#"{
    "model": "llama_server/gemma-3-1b-it-Q4_K_M.gguf",
    "messages": [{"role": "user", "content": "Give me a 3-word motto."}],
    "vcr": "replay",
    "vcr_scenario": "gateway_smoke_test",
    "vcr_speed": "max"
  }"#;

#[tokio::test]
async fn one_call_records_and_the_next_one_replays_without_the_upstream() {
    let upstream = Upstream::start([Reply::text("Test, replay, trust.")]);
    let project = Project::new(&format!("[upstreams]\nllama_server = \"{}\"\n", upstream.v1()));
    let daemon = project.serve(&[]).await;
    let url = daemon.at("/v1/chat/completions");
    let live = http::post(&url, RECORD).await.text().await;
    assert!(live.contains("Test, replay, trust."), "{live}");
    // Nothing of ours reached the provider, and the model's prefix led there.
    let asked = upstream.received();
    assert_eq!(asked[0].path, "/v1/chat/completions");
    assert_eq!(
        asked[0].json(),
        json!({"model": "gemma-3-1b-it-Q4_K_M.gguf", "messages": [{"role": "user", "content": "Give me a 3-word motto."}]})
    );
    drop(upstream);
    let replayed = http::post(&url, REPLAY).await.text().await;
    assert_eq!(replayed, live);
    assert!(
        project
            .fixture("fixture_unknown_invoker_gateway_smoke_test.json")
            .is_file()
    );
    // A call was recorded once, so it answers once, unless it may repeat.
    let (status, code, message) = refused(http::post(&url, REPLAY).await).await;
    assert_eq!((status, code.as_str()), (409, "vcr_replay_miss"));
    assert!(message.contains("vcr_repeat"), "{message}");
    let mut again: serde_json::Value = serde_json::from_str(REPLAY).unwrap();
    daemon.post("/__vcr/finish", &json!({})).await.text().await;
    again["vcr_repeat"] = json!(true);
    for _ in 0..3 {
        assert_eq!(
            daemon.post("/v1/chat/completions", &again).await.text().await,
            live
        );
    }
    daemon.finish().await;
}

#[tokio::test]
async fn headers_say_the_same_as_members() {
    let upstream = Upstream::start([Reply::text("by header")]);
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let body = chat("Hi", false, &json!({})).to_string();
    let ask = |mode: &'static str| {
        let headers = [
            ("x-vcr-mode", mode),
            ("x-vcr-scenario", "by_header"),
            ("x-vcr-invoker", "e2e.router"),
            ("authorization", "Bearer sk-canary-0123456789abcdef"),
        ];
        let (url, body) = (daemon.at("/v1/chat/completions"), body.clone());
        async move {
            http::request("POST", &url, &headers, body.as_bytes())
                .await
                .text()
                .await
        }
    };
    let live = ask("record").await;
    assert_eq!(ask("replay").await, live);
    daemon.finish().await;
    let asked = &upstream.received()[0];
    assert!(
        asked
            .headers
            .iter()
            .all(|(name, _)| !name.to_lowercase().starts_with("x-vcr")),
        "{asked:?}"
    );
    assert_eq!(
        asked.header("authorization"),
        Some("Bearer sk-canary-0123456789abcdef")
    );
    assert_eq!(asked.body, body.as_bytes());
    let file = std::fs::read_to_string(project.fixture("fixture_e2e_router_by_header.json")).unwrap();
    assert!(!file.contains("canary"));
}

#[tokio::test]
async fn eight_at_a_time_land_in_one_take_and_are_played_in_any_order() {
    let upstream = Upstream::with(|request| {
        let text = format!("answer to {}", request.prompt());
        if request.json()["stream"] == true {
            Reply::text_stream(&[&text, "."])
        } else {
            Reply::text(&text)
        }
    });
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let ask = |index: usize, mode: &'static str| {
        let body = chat(
            &format!("question {index}"),
            index.is_multiple_of(2),
            &json!({"vcr": mode, "vcr_scenario": "eight", "vcr_include_raw": true}),
        );
        let url = daemon.at("/v1/chat/completions");
        tokio::spawn(async move { http::post(&url, &body.to_string()).await.text().await })
    };
    let all = async |mode: &'static str, order: Vec<usize>| {
        let asked: Vec<_> = order.iter().map(|index| (*index, ask(*index, mode))).collect();
        let mut answers = vec![String::new(); 8];
        for (index, answer) in asked {
            answers[index] = answer.await.unwrap();
        }
        answers
    };
    let live = all("record", (0..8).collect()).await;
    for (index, answer) in live.iter().enumerate() {
        assert!(
            answer.contains(&format!("answer to question {index}")),
            "{answer}"
        );
        assert_eq!(answer.ends_with("data: [DONE]\n\n"), index.is_multiple_of(2));
    }
    let told = daemon.finish().await;
    assert_eq!(told["finished"][0]["recorded"], 8);
    let summary = vcr_runtime::summary(project.fixture("fixture_unknown_invoker_eight.json")).unwrap();
    assert_eq!((summary.takes.len(), summary.calls.len()), (1, 8));
    let replayed = all("replay", (0..8).rev().collect()).await;
    assert_eq!(replayed, live);
    assert_eq!(upstream.count(), 8);
    let told = daemon.finish().await;
    assert_eq!(
        (&told["finished"][0]["replayed"], &told["finished"][0]["mode"]),
        (&json!(8), &json!("replay"))
    );
}

#[tokio::test]
async fn the_end_of_a_scenario_is_a_verdict() {
    let upstream = Upstream::with(|request| Reply::text(&request.prompt()));
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let control = |mode: &str| json!({"vcr": mode, "vcr_scenario": "verdict"});
    let path = "/v1/chat/completions";
    for prompt in ["one", "two"] {
        daemon
            .post(path, &chat(prompt, false, &control("record")))
            .await
            .text()
            .await;
    }
    daemon.finish().await;
    daemon
        .post(path, &chat("one", false, &control("replay")))
        .await
        .text()
        .await;
    let (status, code, message) = refused(
        daemon
            .post("/__vcr/finish", &json!({"vcr_scenario": "verdict"}))
            .await,
    )
    .await;
    assert_eq!((status, code.as_str()), (409, "vcr_verdict"));
    assert!(
        message.contains("1 recorded call was never asked for"),
        "{message}"
    );
    assert!(
        message.contains("\"vcr\": \"record\"") && !message.contains("cargo test"),
        "{message}"
    );
    // What has ended has nothing more to say, and another run begins at the start.
    assert_eq!(daemon.finish().await["finished"], json!([]));
    for prompt in ["one", "two"] {
        daemon
            .post(path, &chat(prompt, false, &control("replay")))
            .await
            .text()
            .await;
    }
    assert_eq!(daemon.finish().await["finished"][0]["replayed"], 2);
}

#[tokio::test]
async fn the_idle_time_ends_a_take() {
    let upstream = Upstream::start([Reply::text("kept")]);
    let project = Project::new("");
    let daemon = project
        .serve(&["--upstream", &upstream.v1(), "--idle", "0.05", "--log", "info"])
        .await;
    let body = chat("Hi", false, &json!({"vcr": "record", "vcr_scenario": "idle"}));
    daemon.post("/v1/chat/completions", &body).await.text().await;
    // It tells when it has ended it, and by then the file is there.
    while daemon.get("/__vcr/status").await.json().await["scenarios"] != json!([]) {
        tokio::task::yield_now().await;
    }
    assert!(project.fixture("fixture_unknown_invoker_idle.json").is_file());
}
