//! Outside of `cargo test` the tests are gone, and nothing that they leave behind is an error or a warning.

#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

#[vcr_runtime::vcr_test]
async fn bare() {}

#[vcr_runtime::test(scenario = "s", mode = replay, crate = ::vcr_runtime)]
fn plain(_vcr: &vcr_runtime::Vcr) {}

fn main() {}
