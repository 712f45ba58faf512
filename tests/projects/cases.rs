//! One test with several cases and one scenario.

use rstest::rstest;
use serde_json::json;
use vcr_runtime::{Vcr, vcr_test};

#[rstest]
#[case::oslo("Oslo")]
#[case::rome("Rome")]
#[case::lima("Lima")]
#[vcr_test(scenario = "cities")]
async fn city(#[case] name: &str) {
    let vcr = Vcr::current().unwrap();
    let answer: String = vcr
        .intercept(&json!({"city": name}), || async { Ok::<_, std::io::Error>(format!("about {name}")) })
        .await
        .unwrap();
    assert_eq!(answer, format!("about {name}"));
}
