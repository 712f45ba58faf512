//! What a harness tells logs and metrics, and what it does not. One test, because both are the whole process's.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use vcr_runtime::harness::config::{CassetteFormat, ListenAddr, MatchMode, Mode, UpstreamConfig};
use vcr_runtime::harness::{HarnessConfig, HarnessError, RunningHarness, start_harness};
use vcr_tests::{Reply, Upstream, http};

const CHAT: &str = "/v1/chat/completions";
const SECRET: &str = "sk-canary-0123456789abcdefghij";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn config(directory: &Path, name: &str, mode: Mode, upstream: &str) -> HarnessConfig {
    HarnessConfig {
        listen: ListenAddr::from(SocketAddr::from(([127, 0, 0, 1], 0))),
        mode,
        cassette_dir: directory.to_owned(),
        cassette_name: name.to_owned(),
        max_body_bytes: 4000,
        upstream: Some(UpstreamConfig {
            base_url: upstream.to_owned(),
            api_key_env: String::new(),
            ..UpstreamConfig::default()
        }),
        ..HarnessConfig::default()
    }
}

fn chat(prompt: &str, stream: bool) -> String {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": prompt}]});
    if stream {
        body["stream"] = json!(true);
    }
    body.to_string()
}

/// Sends a request that is full of what must not be told; the status of its answer.
async fn send(harness: &RunningHarness, method: &str, path: &str, body: &str) -> u16 {
    let bearer = format!("Bearer {SECRET}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let url = format!("http://{}{path}?api_key={SECRET}&q=canary-query", harness.addr);
    let answer = http::request(method, &url, &headers, body.as_bytes()).await;
    let status = answer.status;
    answer.whole().await;
    status
}

async fn recorded(directory: &Path, name: &str, format: CassetteFormat, upstream: &Upstream) {
    let harness = start_harness(HarnessConfig {
        format,
        ..config(directory, name, Mode::Record, &upstream.v1())
    });
    let harness = harness.await.unwrap();
    for (prompt, stream) in [("canary prompt", false), ("canary prompt", true)] {
        assert_eq!(send(&harness, "POST", CHAT, &chat(prompt, stream)).await, 200);
    }
    harness.shutdown().await.unwrap();
}

async fn refuses(directory: &Path) {
    let nobody = Upstream::nobody();
    let down = start_harness(config(directory, "canary-down", Mode::Record, &nobody));
    let down = down.await.unwrap();
    assert_eq!(send(&down, "POST", CHAT, &chat("canary", false)).await, 502);
    assert_eq!(send(&down, "POST", CHAT, "canary is no JSON").await, 502);
    assert_eq!(send(&down, "GET", CHAT, "").await, 405);
    assert_eq!(send(&down, "POST", "/v1/canary", "{}").await, 404);
    let large = chat(&"canary ".repeat(1000), false);
    assert_eq!(send(&down, "POST", CHAT, &large).await, 413);
    down.shutdown().await.unwrap();
}

/// A recording that cannot be saved: its caller is answered all the same, and whoever stops the harness is told.
async fn does_not_save(directory: &Path, upstream: &Upstream) {
    let gone = directory.join("gone");
    let harness = start_harness(config(&gone, "canary-gone", Mode::Record, &upstream.v1()));
    let harness = harness.await.unwrap();
    // A directory in the place of the file cannot be replaced by one.
    std::fs::remove_file(&harness.cassette_path).unwrap();
    std::fs::create_dir(&harness.cassette_path).unwrap();
    assert_eq!(send(&harness, "POST", CHAT, &chat("canary", false)).await, 200);
    let error = harness.shutdown().await.unwrap_err();
    assert!(matches!(error, HarnessError::Io { .. }), "{error:?}");
}

/// Puts the unary answer of the cassette behind a request that asks for a stream, and one whose status is none.
fn mend(cassette: &Path) {
    let mut document: Value = serde_json::from_slice(&std::fs::read(cassette).unwrap()).unwrap();
    let all = document["interactions"].as_array_mut().unwrap();
    let unary = all[0]["response"].clone();
    let mut odd = all[1].clone();
    odd["response"] = unary;
    all.insert(1, odd);
    all.push(all[0].clone());
    all[3]["response"]["status"] = json!(999);
    std::fs::write(cassette, document.to_string()).unwrap();
}

async fn replays(directory: &Path) {
    let strict = start_harness(config(directory, "strict", Mode::Replay, ""));
    let strict = strict.await.unwrap();
    assert_eq!(send(&strict, "POST", CHAT, "canary {").await, 400);
    assert_eq!(
        send(&strict, "POST", CHAT, &chat("canary other", false)).await,
        409
    );
    assert_eq!(
        send(&strict, "POST", CHAT, &chat("canary prompt", false)).await,
        200
    );
    assert_eq!(
        send(&strict, "POST", CHAT, &chat("canary prompt", true)).await,
        200
    );
    assert_eq!(
        send(&strict, "POST", CHAT, &chat("canary prompt", true)).await,
        409
    );
    strict.shutdown().await.unwrap();
    mend(&directory.join("strict"));
    let odd = start_harness(config(directory, "strict", Mode::Replay, ""))
        .await
        .unwrap();
    assert_eq!(send(&odd, "POST", CHAT, &chat("canary prompt", false)).await, 200);
    assert_eq!(send(&odd, "POST", CHAT, &chat("canary prompt", true)).await, 501);
    odd.shutdown().await.unwrap();
    let keyed = HarnessConfig {
        match_mode: MatchMode::Keyed,
        format: CassetteFormat::Vcr,
        ..config(directory, "own", Mode::Replay, "")
    };
    let keyed = start_harness(keyed).await.unwrap();
    for (prompt, status) in [
        ("canary prompt", 200),
        ("canary prompt", 409),
        ("canary other", 409),
    ] {
        assert_eq!(send(&keyed, "POST", CHAT, &chat(prompt, false)).await, status);
    }
    keyed.shutdown().await.unwrap();
}

#[tokio::test]
async fn outcomes_are_told_and_nothing_of_what_was_said() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let metrics = PrometheusBuilder::new().install_recorder().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let upstream = Upstream::with(|request| {
        if request.json()["stream"] == true {
            Reply::text_stream(&["canary answer", &request.prompt()])
        } else {
            Reply::text("canary answer")
        }
    });
    recorded(directory.path(), "strict", CassetteFormat::Spycatcher, &upstream).await;
    recorded(directory.path(), "own", CassetteFormat::Vcr, &upstream).await;
    refuses(directory.path()).await;
    does_not_save(directory.path(), &upstream).await;
    replays(directory.path()).await;

    let told = metrics.render();
    let chat = "protocol=\"openai-chat\",route=\"/chat/completions\"";
    let plain = "protocol=\"http\",route=\"other\"";
    for line in [
        format!("vcr_record_requests_total{{{chat}}} 6"),
        format!("vcr_live_requests_total{{{chat}}} 1"),
        format!("vcr_replay_requests_total{{{chat},outcome=\"matched\"}} 4"),
        format!("vcr_replay_requests_total{{{chat},outcome=\"mismatch\"}} 4"),
        format!("vcr_replay_requests_total{{{chat},outcome=\"malformed_json\"}} 1"),
        format!("vcr_replay_requests_total{{{chat},outcome=\"stream_cassette_required\"}} 1"),
        format!("vcr_replay_mismatches_total{{{chat},reason=\"request_hash_mismatch\"}} 1"),
        format!("vcr_replay_mismatches_total{{{chat},reason=\"cassette_exhausted\"}} 1"),
        format!("vcr_replay_mismatches_total{{{chat},reason=\"interaction_already_consumed\"}} 1"),
        format!("vcr_replay_mismatches_total{{{chat},reason=\"no_matching_interaction\"}} 1"),
        format!("vcr_replay_rejections_total{{{chat},code=\"vcr_not_post\"}} 1"),
        format!("vcr_replay_rejections_total{{{plain},code=\"vcr_unknown_path\"}} 1"),
        format!("vcr_replay_rejections_total{{{chat},code=\"vcr_body_too_large\"}} 1"),
        format!("vcr_replay_stream_responses_total{{{chat}}} 1"),
        format!("vcr_replay_stream_delivery_total{{{chat},delivery=\"eager\"}} 1"),
        format!("vcr_replay_stream_events_count{{{chat}}} 1"),
        "vcr_record_commit_failures_total 1".to_owned(),
        "vcr_upstream_failures_total{fault=\"connect\"} 2".to_owned(),
    ] {
        assert!(told.contains(&line), "{line} is missing in\n{told}");
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let log: Vec<&str> = log.lines().filter(|line| line.contains(" vcr: ")).collect();
    let log = log.join("\n");
    for event in [
        "passed through",
        "recording",
        "replayed",
        "no recorded call answers",
        "the request is no JSON",
        "refused",
        "the upstream failed",
        "not saved",
        "ended",
    ] {
        assert!(log.contains(event), "{event} is missing in\n{log}");
    }
    // The names of cassettes may be told, and some have the word in them.
    let log = log.replace("canary-down", "").replace("canary-gone", "");
    for text in [told, log] {
        assert!(!text.contains("canary") && !text.contains("api_key"), "{text}");
    }
}
