//! The runtime that the attribute starts.

use std::collections::HashSet;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;
use vcr_runtime::{Vcr, vcr_test};

use crate::support::{ask, question, upstream};

#[vcr_test]
async fn one_thread_by_default() {
    assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::CurrentThread);
    assert_eq!(ask("one thread").await.unwrap(), "you said one thread");
}

#[vcr_test(flavor = "current_thread")]
async fn one_thread_by_name() {
    assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::CurrentThread);
    assert_eq!(ask("one thread").await.unwrap(), "you said one thread");
}

#[vcr_test(flavor = "multi_thread", worker_threads = 3, matching = keyed)]
async fn several_threads() {
    assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::MultiThread);
    assert_eq!(Handle::current().metrics().num_workers(), 3);
    let own = std::thread::current().id();
    let tasks: Vec<_> = (0..8)
        .map(|index| {
            tokio::spawn(async move {
                let answer = ask(&format!("task {index}")).await.unwrap();
                assert_eq!(answer, format!("you said task {index}"));
                std::thread::current().id()
            })
        })
        .collect();
    let mut threads = HashSet::new();
    for task in tasks {
        threads.insert(task.await.unwrap());
    }
    assert!(
        !threads.contains(&own),
        "the workers are not the test's own thread"
    );
}

/// 50 frames 733 milliseconds apart: 36.65 seconds that take none.
#[vcr_test(mode = replay, speed = real, start_paused)]
async fn recorded_time_under_a_paused_clock(vcr: Vcr) {
    let start = Instant::now();
    let client = vcr.client(upstream);
    let mut stream = client.completion_stream(question("slowly")).await.unwrap();
    let mut text = String::new();
    let mut at = Vec::new();
    while let Some(frame) = stream.next().await {
        text.push_str(&frame.unwrap().chunk);
        at.push(start.elapsed());
    }
    let due: Vec<Duration> = (1..=50).map(|index| Duration::from_millis(733 * index)).collect();
    assert_eq!(at, due);
    assert_eq!(text.split_whitespace().count(), 50);
    assert_eq!(start.elapsed(), Duration::from_millis(36_650));
}

/// A timeout of the program fires in recorded time as well.
#[vcr_test(mode = replay, speed = real, start_paused)]
async fn a_timeout_in_recorded_time(vcr: Vcr) {
    let start = Instant::now();
    let client = vcr.client(upstream);
    let answer = client.completion(question("late"));
    let limit = Duration::from_secs(30);
    assert!(tokio::time::timeout(limit, answer).await.is_err());
    assert_eq!(start.elapsed(), limit);
}
