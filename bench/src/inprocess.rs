//! Replay in process, beside a keyed look-up on canonical JSON and SHA-256 with a clone of the answer.

use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use vcr_runtime::{Client, Delta, Failure, Matching, Mode, Reply, Request, Vcr};

use crate::table::{median, prose, row};

const SIZES: [usize; 3] = [1, 100, 10_000];

pub fn unary() {
    for (name, prompt, budget) in [
        ("1 KB prompt", 600, "<= 5 us"),
        ("20 KB prompt", 20_000, "<= 30 us"),
    ] {
        for calls in SIZES {
            let calls = if prompt > 1000 { calls.min(1000) } else { calls };
            let (ours, floor) = compare(calls, prompt, None);
            row(
                &format!("unary 1 KB answer, {name}, {calls} calls"),
                ours,
                floor,
                budget,
            );
        }
    }
}

pub fn stream() {
    for calls in [1, 100, 1000] {
        let (ours, floor) = compare(calls, 600, Some(200));
        row(
            &format!("stream of 200 frames, {calls} calls"),
            ours,
            floor,
            "<= 15 us",
        );
    }
}

fn request(index: usize, prompt: usize) -> Request {
    Request::new("gpt-4o-mini")
        .system(prose(0, prompt))
        .user(format!("Question {index}?"))
        .parameter("temperature", 0.2)
}

/// The median time of a replayed call, ours and the floor's, in shuffled order.
fn compare(calls: usize, prompt: usize, frames: Option<usize>) -> (Duration, Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    runtime.block_on(record(directory.path(), calls, prompt, frames));
    let rounds = if calls < 100 { 400 } else { 20_000 / calls.max(1) }.max(3);
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    for round in 0..rounds {
        runtime.block_on(play(
            directory.path(),
            calls,
            prompt,
            frames.is_some(),
            round,
            &mut ours,
        ));
        keyed(calls, prompt, frames, round, &mut floor);
    }
    (median(&mut ours), median(&mut floor))
}

fn steps(index: usize, frames: Option<usize>) -> Vec<Delta> {
    let mut steps: Vec<Delta> = match frames {
        Some(frames) => (0..frames)
            .map(|frame| Delta::text(format!("word {frame} ")))
            .collect(),
        None => vec![Delta::text(prose(index, 1000))],
    };
    steps.push(Delta::finish("stop"));
    steps
}

fn open(directory: &Path, mode: Mode) -> Vcr {
    Vcr::builder()
        .scenario("bench")
        .fixture_dir(directory)
        .mode(mode)
        .matching(Matching::Keyed)
        .tick_ms(0.0)
        .open()
        .unwrap()
}

async fn record(directory: &Path, calls: usize, prompt: usize, frames: Option<usize>) {
    let vcr = open(directory, Mode::Record);
    for index in 0..calls {
        let client: Client =
            vcr.client(move |_: Request| async move { Ok::<_, Failure>(Reply::from(steps(index, frames))) });
        if frames.is_some() {
            let stream = client.completion_stream(request(index, prompt)).await.unwrap();
            stream.collect().await.unwrap();
        } else {
            client.completion(request(index, prompt)).await.unwrap();
        }
    }
    vcr.finish().await.unwrap();
}

async fn play(
    directory: &Path,
    calls: usize,
    prompt: usize,
    stream: bool,
    round: usize,
    samples: &mut Vec<Duration>,
) {
    let vcr = open(directory, Mode::Replay);
    let client = vcr.client(|_: Request| async { Err::<Reply, _>(Failure::new("Live", "went live")) });
    // The first call opens the cassette; that is the row `open`.
    for (position, index) in shuffled(calls, round).enumerate() {
        let request = request(index, prompt);
        let start = Instant::now();
        if stream {
            let mut stream = client.completion_stream(request).await.unwrap();
            while let Some(frame) = stream.next().await {
                black_box(frame.unwrap());
            }
        } else {
            black_box(client.completion(request).await.unwrap());
        }
        if position > 0 {
            samples.push(start.elapsed());
        }
    }
    if calls == 1 {
        single(directory, prompt, stream, samples).await;
    }
    let _ = vcr.finish().await;
}

/// A cassette of one call: the cassette is opened by a miss first, so that the measured call only looks up.
async fn single(directory: &Path, prompt: usize, stream: bool, samples: &mut Vec<Duration>) {
    let vcr = open(directory, Mode::Replay);
    let client = vcr.client(|_: Request| async { Err::<Reply, _>(Failure::new("Live", "went live")) });
    client.completion(Request::new("other")).await.unwrap_err();
    let request = request(0, prompt);
    let start = Instant::now();
    if stream {
        let mut stream = client.completion_stream(request).await.unwrap();
        while let Some(frame) = stream.next().await {
            black_box(frame.unwrap());
        }
    } else {
        black_box(client.completion(request).await.unwrap());
    }
    samples.push(start.elapsed());
}

fn shuffled(calls: usize, round: usize) -> impl Iterator<Item = usize> {
    // A step that shares no factor with the number of calls visits each once.
    let step = (1..)
        .map(|n| 7919 + 2 * (round + n))
        .find(|step| gcd(*step, calls) == 1)
        .unwrap();
    (0..calls).map(move |position| position * step % calls)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The floor: serde_json's text of the sorted request, its SHA-256, a map of queues, a clone of the answer.
fn keyed(calls: usize, prompt: usize, frames: Option<usize>, round: usize, samples: &mut Vec<Duration>) {
    let key = |request: &Value| Sha256::digest(serde_json::to_vec(request).unwrap());
    let body = |index| {
        json!({"model": "gpt-4o-mini", "stream": frames.is_some(), "temperature": 0.2, "messages": [
            {"role": "system", "content": prose(0, prompt)}, {"role": "user", "content": format!("Question {index}?")}]})
    };
    let answer = |index| -> Vec<String> {
        match frames {
            Some(frames) => (0..frames).map(|frame| format!("word {frame} ")).collect(),
            None => vec![prose(index, 1000)],
        }
    };
    let mut map: HashMap<_, VecDeque<Vec<String>>> = (0..calls)
        .map(|index| (key(&body(index)), VecDeque::from([answer(index)])))
        .collect();
    for index in shuffled(calls, round) {
        let request = body(index);
        let start = Instant::now();
        let found = map.get_mut(&key(&request)).and_then(VecDeque::pop_front).unwrap();
        for piece in &found {
            black_box(piece.clone());
        }
        black_box(found);
        samples.push(start.elapsed());
    }
}
