//! Settings of the runtime that contradict each other, or the features that this crate was built with.

use vcr_runtime::vcr_test;

#[vcr_test(flavor = "multi_thread", worker_threads = 2)]
async fn feature() {}

#[vcr_test(start_paused = true)]
async fn paused() {}

#[vcr_test(worker_threads = 2)]
async fn threads_of_what() {}

#[vcr_test(flavor = "multi-thread")]
async fn flavor() {}

#[vcr_test(flavor = "current_thread")]
fn plain() {}

fn main() {}
