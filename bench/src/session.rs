//! Loading the log of a session, beside parsing each line of the same file into a `serde_json::Value`; and the memory it takes.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use vcr_runtime::{Failure, Mode, Reply, Request, Vcr};

use crate::frozen::peak;
use crate::table::{median, prose, row};

const SIZE: usize = 20_000_000;

pub fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    for (what, packed) in [("a line a chunk", false), ("packed rows", true)] {
        std::fs::write(&path, log(packed)).unwrap();
        let load = || runtime.block_on(first_answer(directory.path()));
        if !packed {
            // What the first look leaves behind would hide the memory of what comes after it.
            peak(&format!("memory for it, {what}"), &path, || {
                black_box(load());
            });
        }
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..9 {
            floor.push(parsed(&path));
            ours.push(load());
        }
        let what = format!("load 20 MB session log, {what}");
        row(&what, median(&mut ours), median(&mut floor), "<= 300 ms");
    }
}

/// Calls of a hundred chunks of some words each, full lines, until the size is reached.
fn log(packed: bool) -> String {
    let mut text = String::with_capacity(SIZE + 100_000);
    text.push_str("{\"type\":\"session\",\"version\":0,\"id\":\"bench\",\"createdAt\":1}\n");
    let (mut call, mut seq) = (0_usize, 0_usize);
    while text.len() < SIZE {
        let texts: Vec<String> = (0..100).map(|chunk| prose(call * 100 + chunk, 24)).collect();
        let time = call * 1_000;
        if packed {
            let gaps = vec!["10"; texts.len() - 1].join(",");
            let texts = serde_json::to_string(&texts).unwrap();
            let _ = writeln!(
                text,
                "{{\"type\":\"text-chunks\",\"seq0\":{seq},\"time0\":{time},\"data\":{{\"turn\":1,\"step\":{call},\"index\":0,\"dt\":[{gaps}],\"texts\":{texts}}}}}"
            );
        } else {
            for (place, said) in texts.iter().enumerate() {
                let (seq, time) = (seq + place, time + place * 10);
                let said = serde_json::Value::from(said.as_str());
                let _ = writeln!(
                    text,
                    "{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":{time},\"data\":{{\"turn\":1,\"step\":{call},\"chunk\":{{\"type\":\"text-delta\",\"index\":0,\"text\":{said}}}}}}}"
                );
            }
        }
        seq += 100;
        let time = time + 1_000;
        let _ = writeln!(
            text,
            "{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":{time},\"data\":{{\"turn\":1,\"step\":{call},\"chunk\":{{\"type\":\"finish\",\"reason\":{{\"kind\":\"stop\"}}}}}}}}"
        );
        seq += 1;
        call += 1;
    }
    text
}

fn parsed(path: &Path) -> Duration {
    let start = Instant::now();
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines() {
        black_box(serde_json::from_str::<serde_json::Value>(line).unwrap());
    }
    start.elapsed()
}

async fn went_live(_: Request) -> Result<Reply, Failure> {
    Err(Failure::new("Live", "the call went live"))
}

/// How long it is to the first answer, which needs the whole log.
async fn first_answer(directory: &Path) -> Duration {
    let start = Instant::now();
    let vcr = Vcr::builder()
        .scenario("bench")
        .fixture_dir(directory)
        .mode(Mode::Replay)
        .source("session:log.jsonl")
        .allow_unused(true)
        .open()
        .unwrap();
    let client = vcr.client(went_live);
    let answer = client.completion(Request::new("any/model").user("Hi"));
    let answer = answer.await.unwrap();
    let long = start.elapsed();
    assert!(answer.text.len() > 1_000);
    long
}
