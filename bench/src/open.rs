//! Opening a cassette, beside parsing the same file once into a `serde_json::Value`.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vcr_runtime::{Delta, Failure, Mode, Reply, Request, Vcr};

use crate::table::{median, prose, row};

pub fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = runtime.block_on(record(directory.path(), calls(), "a"));
    measure(
        &runtime,
        directory.path(),
        &path,
        "a",
        "open a cassette, 4,000 calls",
    );
    for take in ["b", "c", "d", "e"] {
        runtime.block_on(record(directory.path(), calls(), take));
    }
    measure(
        &runtime,
        directory.path(),
        &path,
        "e",
        "open it with five takes, four not played",
    );
}

fn measure(runtime: &tokio::runtime::Runtime, directory: &Path, path: &Path, take: &str, what: &str) {
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    for _ in 0..9 {
        let start = Instant::now();
        let text = std::fs::read_to_string(path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        floor.push(start.elapsed());
        black_box(value);
        ours.push(runtime.block_on(open(directory, take)));
    }
    let size = std::fs::metadata(path).unwrap().len() / 1_000_000;
    row(
        &format!("{what} ({size} MB)"),
        median(&mut ours),
        median(&mut floor),
        "<= 1.0",
    );
}

/// The time of the first call, which opens the cassette.
async fn open(directory: &Path, take: &str) -> Duration {
    let vcr = Vcr::builder()
        .scenario("open")
        .fixture_dir(directory)
        .mode(Mode::Replay)
        .open()
        .unwrap();
    let client = vcr.client(|_: Request| async { Err::<Reply, _>(Failure::new("Live", "went live")) });
    let request = request(0, take);
    let start = Instant::now();
    black_box(client.completion(request).await.unwrap());
    let elapsed = start.elapsed();
    drop(vcr);
    elapsed
}

fn request(index: usize, take: &str) -> Request {
    Request::new("m")
        .system(prose(0, 600))
        .user(format!("Question {index} of {take}?"))
}

async fn record(directory: &Path, calls: usize, take: &str) -> PathBuf {
    let vcr = Vcr::builder()
        .scenario("open")
        .fixture_dir(directory)
        .mode(Mode::Record)
        .open()
        .unwrap();
    let path = vcr.cassette_path().unwrap();
    for index in 0..calls {
        let client = vcr.client(move |_: Request| async move {
            Ok::<_, Failure>(Reply::from(vec![
                Delta::text(prose(index, 1000)),
                Delta::finish("stop"),
            ]))
        });
        client.completion(request(index, take)).await.unwrap();
    }
    vcr.finish().await.unwrap();
    path
}

/// Fewer where the run is slowed down on purpose, as under a profiler.
fn calls() -> usize {
    std::env::var("BENCH_CALLS")
        .ok()
        .and_then(|calls| calls.parse().ok())
        .unwrap_or(4000)
}
