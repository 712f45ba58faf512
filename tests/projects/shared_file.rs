//! Two tests that name the same cassette.

use vcr_runtime::{Vcr, vcr_test};

#[vcr_test(filename = "same")]
async fn one(vcr: Vcr) {
    drop(vcr);
}

#[vcr_test(filename = "same")]
async fn two(vcr: Vcr) {
    drop(vcr);
}
