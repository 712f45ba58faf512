//! test-log and tracing-test.

use tracing_test::traced_test;
use vcr_runtime::{Vcr, vcr_test};

use crate::support::{ask, ask_in, cassette};

#[test_log::test(vcr_test(scenario = "wrapped by test_log"))]
async fn wrapped() {
    assert_eq!(ask("wrapped").await.unwrap(), "you said wrapped");
    assert_eq!(
        cassette(),
        "fixture_vcr_composition_it_logging_wrapped by test_log.json"
    );
}

#[test_log::test(vcr_test)]
async fn wrapped_with_a_session(vcr: Vcr) {
    assert_eq!(ask_in(&vcr, "wrapped").await.unwrap(), "you said wrapped");
}

#[vcr_test]
#[test_log::test]
async fn test_log_below() {
    assert_eq!(ask("below").await.unwrap(), "you said below");
}

#[vcr_test]
#[traced_test]
async fn traced_below() {
    let answer = ask("below").await.unwrap();
    tracing::info!(answer, "answered");
    assert!(logs_contain("you said below"));
    assert!(!logs_contain("you said something else"));
}

#[traced_test]
#[vcr_test]
async fn traced_above() {
    let answer = ask("above").await.unwrap();
    tracing::info!(answer, "answered");
    assert!(logs_contain("you said above"));
}
