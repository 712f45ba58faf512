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

#[rstest]
#[vcr::test(scenario = "drinks")]
async fn drink(#[values("tea", "milk")] what: &str, #[values(1, 2)] cups: u8) {
    let session = vcr::Vcr::current().unwrap();
    let answer: String = session
        .intercept(&json!({"drink": what, "cups": cups}), || async {
            Ok::<_, std::io::Error>(format!("{cups} of {what}"))
        })
        .await
        .unwrap();
    assert_eq!(answer, format!("{cups} of {what}"));
}
