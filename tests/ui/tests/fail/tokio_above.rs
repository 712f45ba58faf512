//! `#[tokio::test]` above ours has run by the time ours does, and left a plain function that starts a runtime.

use vcr_runtime::vcr_test;

#[tokio::test]
#[vcr_test]
async fn bare() {}

#[tokio::test(start_paused = false)]
#[vcr_test(scenario = "s")]
async fn with_arguments() -> Result<(), std::fmt::Error> {
    Ok(())
}

fn main() {}
