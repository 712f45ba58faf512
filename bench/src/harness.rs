//! The harness: loading its cassette, and answering many connections beside a bare hyper server with the same bytes.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use vcr_runtime::harness::cassette::{IgnorePathConfig, RecordedRequest, canonicalize, stable_hash};
use vcr_runtime::harness::config::{ListenAddr, MatchMode};
use vcr_runtime::harness::{HarnessConfig, RunningHarness, start_harness};

use crate::bare::{bare, serve, unary_body};
use crate::daemon::{MILLION, resident_kib};
use crate::gateway::{ask, connect};
use crate::table::{median, prose, row};

const CHAT: &str = "/v1/chat/completions";
const CONNECTIONS: usize = 32;
const ROUNDS: usize = 7;

pub fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        load(directory.path()).await;
        answers(directory.path()).await;
    });
}

/// Starting on a cassette with 2,000 interactions of 5 KB, in the layout of the program that made the format: a byte a
/// line. Beside reading the file into a `serde_json::Value`.
async fn load(directory: &Path) {
    let interactions: Vec<String> = (0..2000)
        .map(|index| {
            interaction(
                &request(index, false),
                prose(index, 5000).as_bytes(),
                ",\n          ",
            )
        })
        .collect();
    let size = write(directory, &interactions);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let harness = start(directory).await;
        ours.push(began.elapsed());
        harness.shutdown().await.unwrap();
        let began = Instant::now();
        let text = std::fs::read(directory.join("default")).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        floor.push(began.elapsed());
        std::hint::black_box(value);
    }
    let ours = median(&mut ours);
    let speed = size as f64 / 1e6 / ours.as_secs_f64();
    let size = size / 1_000_000;
    let what = format!("harness load, {size} MB ({speed:.0} MB/s)");
    row(&what, ours, median(&mut floor), "<= 1.0");
}

/// The time a call, with 32 connections that are kept alive.
async fn answers(directory: &Path) {
    write(directory, &[interaction(&request(0, false), &unary_body(), ",")]);
    let harness = start(directory).await;
    let floor_addr = serve(bare);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(round(harness.addr, calls()).await);
        floor.push(round(floor_addr, calls()).await);
    }
    row(
        "harness replay, unary 1 KB, 32 connections",
        median(&mut ours),
        median(&mut floor),
        "<= 1.67",
    );
    harness.shutdown().await.unwrap();
}

/// Not part of a run without arguments: it takes a minute or so.
pub fn memory() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        write(
            directory.path(),
            &[interaction(&request(0, false), &unary_body(), ",")],
        );
        let harness = start(directory.path()).await;
        round(harness.addr, MILLION / 10 / CONNECTIONS).await;
        let before = resident_kib();
        round(harness.addr, MILLION / CONNECTIONS).await;
        let after = resident_kib();
        println!("harness, {MILLION} requests: {before} KiB before, {after} KiB after   budget: + 1024 KiB");
        harness.shutdown().await.unwrap();
    });
}

/// Every connection makes so many calls one after the other; the time of all by their number.
async fn round(addr: SocketAddr, calls: usize) -> Duration {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(connect(addr).await);
    }
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for mut connection in connections {
        tasks.spawn(async move {
            for _ in 0..calls {
                ask(&mut connection, addr, CHAT, request(0, false)).await;
            }
        });
    }
    tasks.join_all().await;
    began.elapsed() / u32::try_from(calls * CONNECTIONS).unwrap()
}

fn calls() -> usize {
    let calls = std::env::var("BENCH_CALLS")
        .ok()
        .and_then(|calls| calls.parse().ok());
    calls.unwrap_or(500)
}

async fn start(directory: &Path) -> RunningHarness {
    start_harness(HarnessConfig {
        listen: ListenAddr::from(SocketAddr::from(([127, 0, 0, 1], 0))),
        cassette_dir: directory.to_owned(),
        match_mode: MatchMode::Keyed,
        allow_repeats: true,
        ..HarnessConfig::default()
    })
    .await
    .unwrap()
}

fn request(index: usize, stream: bool) -> String {
    format!(
        "{{\"model\":\"m\",\"stream\":{stream},\"messages\":[{{\"role\":\"user\",\"content\":\"Question {index}?\"}}]}}"
    )
}

fn interaction(asked: &str, answer: &[u8], joint: &str) -> String {
    let body: serde_json::Value = serde_json::from_str(asked).unwrap();
    let recorded = RecordedRequest {
        method: "POST".to_owned(),
        path: CHAT.to_owned(),
        parsed_json: Some(body.clone()),
        ..RecordedRequest::default()
    };
    let hash = stable_hash(&canonicalize(&recorded, &IgnorePathConfig::default()).unwrap());
    let bytes = |bytes: &[u8]| {
        let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
        format!("[{}]", bytes.join(joint))
    };
    format!(
        "{{\"request\":{{\"method\":\"POST\",\"path\":\"{CHAT}\",\"query\":\"\",\"headers\":[],\"body\":{},\"parsed_json\":{body},\
         \"canonical_request\":{{\"method\":\"POST\",\"path\":\"{CHAT}\",\"canonical_query\":\"\",\"canonical_body\":{body}}},\
         \"stable_hash\":\"{hash}\"}},\"response\":{{\"kind\":\"non_stream\",\"status\":200,\
         \"headers\":[[\"content-type\",\"application/json\"]],\"body\":{},\"parsed_json\":null}},\"metadata\":null}}",
        bytes(asked.as_bytes()),
        bytes(answer)
    )
}

/// The cassette's size.
fn write(directory: &Path, interactions: &[String]) -> usize {
    let mut text = String::from("{\"format_version\":1,\"interactions\":[");
    write!(text, "{}]}}", interactions.join(",\n")).unwrap();
    std::fs::write(directory.join("default"), &text).unwrap();
    text.len()
}
