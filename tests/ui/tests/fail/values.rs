//! Wrong values, all reported at once.

use vcr_runtime::vcr_test;

#[vcr_test(mode = record)]
async fn record() {}

#[vcr_test(mode = "ENV", speed = fats, tick = -1, chaos = "200..50", matching = sequental, include_raw = maybe)]
async fn values() {}

#[vcr_test(trace = "", fixture_dir = "", crate = 1, private = 1, allow_unused = "true")]
async fn more_values() {}

#[vcr_test(ignore = ["metadata.run_id", "/a~b", 3])]
async fn pointers() {}

#[vcr_test(source = "session:a?child=b", override_file = "../b")]
async fn files() {}

#[vcr_test(child_files = ["b", "/c", 3])]
async fn children() {}

fn main() {}
