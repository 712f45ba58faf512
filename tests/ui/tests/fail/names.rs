//! Names that cannot become part of a file name.

use vcr_runtime::vcr_test;

#[vcr_test(scenario = "../up")]
async fn leaves() {}

#[vcr_test(scenario = "CON", invoker = "a/b", filename = "ends. ")]
async fn others() {}

#[vcr_test(scenario = "")]
async fn empty() {}

fn main() {}
