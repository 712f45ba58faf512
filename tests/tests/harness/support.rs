//! A harness with its directory, and cassettes written by hand.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use vcr_runtime::harness::cassette::{IgnorePathConfig, RecordedRequest, canonicalize, stable_hash};
use vcr_runtime::harness::config::{ListenAddr, Mode, UpstreamConfig};
use vcr_runtime::harness::{HarnessConfig, HarnessError, RunningHarness, start_harness};
use vcr_tests::Upstream;
use vcr_tests::http::{self, Response};

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// A directory for one test.
pub(crate) struct Place(pub(crate) tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn cassette(&self) -> PathBuf {
        self.0.path().join("smoke_001")
    }

    /// The defaults, on a free port and with this directory.
    pub(crate) fn config(&self) -> HarnessConfig {
        HarnessConfig {
            listen: ListenAddr::from(SocketAddr::from(([127, 0, 0, 1], 0))),
            cassette_dir: self.0.path().to_owned(),
            cassette_name: "smoke_001".to_owned(),
            shutdown_grace: Duration::from_secs(5),
            ..HarnessConfig::default()
        }
    }

    /// Recording from that upstream, whose key is in no variable.
    pub(crate) fn recording(&self, upstream: &Upstream) -> HarnessConfig {
        HarnessConfig {
            mode: Mode::Record,
            upstream: Some(UpstreamConfig {
                base_url: upstream.v1(),
                api_key_env: String::new(),
                ..UpstreamConfig::default()
            }),
            ..self.config()
        }
    }

    pub(crate) fn write(&self, interactions: &[Value]) {
        self.write_text(&json!({ "format_version": 1, "interactions": interactions }).to_string());
    }

    pub(crate) fn write_text(&self, text: &str) {
        std::fs::write(self.cassette(), text).unwrap();
    }

    pub(crate) fn read(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.cassette()).unwrap()).unwrap()
    }

    pub(crate) async fn start(&self) -> RunningHarness {
        start(self.config()).await
    }

    /// Why the harness does not start.
    pub(crate) async fn refused(&self, config: HarnessConfig) -> HarnessError {
        start_harness(config).await.map(drop).unwrap_err()
    }
}

pub(crate) async fn start(config: HarnessConfig) -> RunningHarness {
    start_harness(config).await.unwrap()
}

/// A request that asks `text`.
pub(crate) fn ask(text: &str) -> Value {
    json!({ "model": "made-up-1", "messages": [{ "role": "user", "content": text }] })
}

/// The same as a stream.
pub(crate) fn ask_stream(text: &str) -> Value {
    json!({ "model": "made-up-1", "messages": [{ "role": "user", "content": text }], "stream": true })
}

/// The hash of a chat request, by the public helpers.
pub(crate) fn hash(body: &Value) -> String {
    let request = RecordedRequest {
        method: "POST".to_owned(),
        path: CHAT.to_owned(),
        parsed_json: Some(body.clone()),
        ..RecordedRequest::default()
    };
    stable_hash(&canonicalize(&request, &IgnorePathConfig::default()).unwrap())
}

/// An interaction of the chat request `body`.
pub(crate) fn interaction(body: &Value, response: Value) -> Value {
    json!({
        "request": {
            "method": "POST", "path": CHAT, "query": "", "headers": [], "body": body.to_string().into_bytes(),
            "parsed_json": body,
            "canonical_request": { "method": "POST", "path": CHAT, "canonical_query": "", "canonical_body": body },
            "stable_hash": hash(body),
        },
        "response": response,
        "metadata": {
            "protocol_id": "openai.chat_completions.v1", "upstream_id": "openrouter",
            "recorded_at": "2026-01-01T00:00:00Z", "relative_offset_ms": 0,
        },
    })
}

pub(crate) fn whole(status: u16, headers: &Value, body: &str) -> Value {
    json!({
        "kind": "non_stream", "status": status, "headers": headers, "body": body.as_bytes(),
        "parsed_json": serde_json::from_str::<Value>(body).ok(),
    })
}

pub(crate) fn data(raw: &str) -> Value {
    json!({ "kind": "data", "raw": raw, "parsed_json": serde_json::from_str::<Value>(raw).ok() })
}

pub(crate) fn stream(headers: &Value, events: &[Value], transcript: &str) -> Value {
    json!({
        "kind": "stream", "status": 200, "headers": headers, "events": events, "raw_transcript": transcript.as_bytes(),
        "timing": null,
    })
}

pub(crate) async fn post(harness: &RunningHarness, body: &Value) -> Response {
    http::post(&format!("http://{}{CHAT}", harness.addr), &body.to_string()).await
}

pub(crate) async fn send(harness: &RunningHarness, method: &str, path: &str, body: &str) -> Response {
    let headers = [("content-type", "application/json")];
    let url = format!("http://{}{path}", harness.addr);
    http::request(method, &url, &headers, body.as_bytes()).await
}

/// The error that an answer says, its status first.
pub(crate) async fn error(response: Response) -> (u16, Value) {
    assert_eq!(response.header("content-type"), Some("application/json"));
    let status = response.status;
    (status, response.json().await["error"].clone())
}
