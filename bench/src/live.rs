//! What an intercepted call costs when no session is open and the mode is live.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::table::{median, row};

const CALLS: u32 = 200_000;

/// Must run first: once a session was opened in this process, calls outside of one are refused.
pub fn run() {
    let request = serde_json::json!({"model": "m", "messages": []});
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    for _ in 0..15 {
        floor.push(time(|| ready(answer()).unwrap()));
        ours.push(time(|| ready(vcr_runtime::intercept(&request, answer)).unwrap()));
    }
    let (ours, floor) = (median(&mut ours), median(&mut floor));
    row(
        "live call, no session (added: the difference)",
        ours,
        floor,
        "ours - floor < 50 ns",
    );
}

async fn answer() -> Result<u64, std::fmt::Error> {
    Ok(black_box(7))
}

fn time(mut call: impl FnMut() -> u64) -> Duration {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    start.elapsed() / CALLS
}

/// The output of a future that never waits.
fn ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nothing is awaited here"),
    }
}
