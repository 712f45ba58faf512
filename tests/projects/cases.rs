//! One test with several cases and one scenario.

use rstest::rstest;
use serde_json::json;
use vcr_runtime as vcr;

#[rstest]
#[case::oslo("Oslo")]
#[case::rome("Rome")]
#[case::lima("Lima")]
#[vcr::test(scenario = "cities")]
async fn city(#[case] name: &str) {
    let session = vcr::Vcr::current().unwrap();
    let answer: String = session
        .intercept(&json!({"city": name}), || async {
            Ok::<_, std::io::Error>(format!("about {name}"))
        })
        .await
        .unwrap();
    assert_eq!(answer, format!("about {name}"));
}
