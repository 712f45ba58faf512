use serde_json::json;
use vcr_tests::{Reply, Upstream, http};

use crate::support::{Project, chat};

const CHAT: &str = "/v1/chat/completions";
const SECRET: &str = "sk-canary-0123456789abcdefghij";

#[cfg(unix)]
#[tokio::test]
async fn logs_and_metrics_tell_outcomes_and_nothing_of_what_was_said() {
    let upstream = Upstream::with(|request| {
        let prompt = request.prompt();
        if request.json()["stream"] == true {
            Reply::text_stream(&["canary answer", &prompt])
        } else {
            Reply::text("canary answer")
        }
    });
    let project = Project::new("");
    let daemon = project
        .serve(&["--upstream", &upstream.v1(), "--metrics", "--log", "debug"])
        .await;
    let ask = async |prompt: &str, stream: bool, mode: &str| {
        let body = chat(prompt, stream, &json!({"vcr": mode, "vcr_scenario": "seen"})).to_string();
        let bearer = format!("Bearer {SECRET}");
        let headers = [("authorization", bearer.as_str())];
        let url = format!("{}?api_key={SECRET}&q=canary-query", daemon.at(CHAT));
        http::request("POST", &url, &headers, body.as_bytes())
            .await
            .whole()
            .await
    };
    ask("canary prompt", true, "live").await;
    ask("canary prompt", false, "record").await;
    ask("canary prompt", true, "record").await;
    ask("canary prompt", false, "replay").await;
    ask("canary prompt", true, "replay").await;
    ask("canary other", false, "replay").await;
    ask("canary prompt", false, "replay").await;
    ask("canary", false, "sometimes").await;
    let answer = daemon.get("/metrics").await;
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    let metrics = answer.text().await;
    let labels = "protocol=\"openai-chat\",route=\"/chat/completions\"";
    for line in [
        format!("vcr_live_requests_total{{{labels}}} 1"),
        format!("vcr_record_requests_total{{{labels}}} 2"),
        format!("vcr_replay_requests_total{{{labels},outcome=\"matched\"}} 2"),
        format!("vcr_replay_requests_total{{{labels},outcome=\"mismatch\"}} 2"),
        format!("vcr_replay_mismatches_total{{{labels},reason=\"no_matching_interaction\"}} 1"),
        format!("vcr_replay_mismatches_total{{{labels},reason=\"interaction_already_consumed\"}} 1"),
        format!("vcr_replay_rejections_total{{{labels},code=\"vcr_bad_setting\"}} 1"),
        format!("vcr_replay_stream_responses_total{{{labels}}} 1"),
        format!("vcr_replay_stream_delivery_total{{{labels},delivery=\"eager\"}} 1"),
        format!("vcr_replay_stream_events_count{{{labels}}} 1"),
    ] {
        assert!(metrics.contains(&line), "{line} is missing in\n{metrics}");
    }
    let (_, log) = daemon.stop().await;
    for event in [
        "passed through",
        "recording",
        "replayed",
        "no recorded call answers",
        "refused",
        "ended",
    ] {
        assert!(log.contains(event), "{event} is missing in\n{log}");
    }
    // The report of the verdict on stderr shows the miss to people; the log before it does not.
    let log: String = log.lines().filter(|line| line.contains(" vcr: ")).collect();
    for text in [&metrics, &log] {
        assert!(!text.contains("canary") && !text.contains("api_key"), "{text}");
    }
}

#[tokio::test]
async fn without_the_flag_there_are_no_metrics() {
    let project = Project::new("");
    let daemon = project.serve(&[]).await;
    assert_eq!(daemon.get("/metrics").await.status, 404);
}
