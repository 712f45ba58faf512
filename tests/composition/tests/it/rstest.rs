//! rstest above: each case is a test of its own, with a cassette that is named by the case's key.

use rstest::{fixture, rstest};
use vcr_runtime as vcr;
use vcr_runtime::{Vcr, vcr_test};

use crate::support::{ask, ask_blocking, ask_in, cassette};

/// The session as a fixture: rstest takes every argument that is no case for one.
#[fixture]
fn session() -> Vcr {
    Vcr::current().unwrap()
}

#[rstest]
#[case::oslo("Oslo")]
#[case::rome("Rome")]
#[vcr::test]
async fn found_by_its_name(#[case] city: &str) {
    assert_eq!(ask(city).await.unwrap(), format!("you said {city}"));
    assert_eq!(
        cassette(),
        format!(
            "fixture_vcr_composition_it_rstest_found_by_its_name_{}.json",
            city.to_lowercase()
        )
    );
}

/// The cases of [`found_by_its_name`] in the other order, and one more before them: the cassettes are named by the key
/// alone, so none of them moves to another case.
#[rstest]
#[case::cairo("Cairo")]
#[case::rome("Rome")]
#[case::oslo("Oslo")]
#[vcr::test(scenario = "reordered")]
async fn an_explicit_scenario_gets_the_key(#[case] city: &str) {
    assert_eq!(ask(city).await.unwrap(), format!("you said {city}"));
    assert_eq!(
        cassette(),
        format!(
            "fixture_vcr_composition_it_rstest_reordered_{}.json",
            city.to_lowercase()
        )
    );
}

#[rstest]
#[case::oslo("Oslo")]
#[case::rome("Rome")]
#[test_attr(vcr_test(scenario = "by attribute"))]
async fn told_by_test_attr(#[case] city: &str) {
    assert_eq!(ask(city).await.unwrap(), format!("you said {city}"));
    assert_eq!(
        cassette(),
        format!(
            "fixture_vcr_composition_it_rstest_by attribute_{}.json",
            city.to_lowercase()
        )
    );
}

#[rstest]
#[case("first")]
#[case("second")]
#[vcr::test]
async fn without_keys_the_number_stays(#[case] which: &str) {
    assert_eq!(ask(which).await.unwrap(), format!("you said {which}"));
    let number = if which == "first" { 1 } else { 2 };
    assert_eq!(
        cassette(),
        format!("fixture_vcr_composition_it_rstest_without_keys_the_number_stays_case_{number}.json")
    );
}

#[rstest]
#[case::warm("warm")]
#[case::cold("cold")]
#[vcr::test]
async fn cases_times_values(#[case] how: &str, #[values("tea", "milk")] what: &str) {
    let text = format!("{how} {what}");
    assert_eq!(ask(&text).await.unwrap(), format!("you said {text}"));
}

#[rstest]
#[vcr::test]
async fn values_alone(#[values("tea", "milk")] what: &str) {
    assert_eq!(ask(what).await.unwrap(), format!("you said {what}"));
}

#[rstest]
#[vcr::test]
async fn the_session_is_a_fixture(session: Vcr) {
    assert_eq!(ask_in(&session, "fixture").await.unwrap(), "you said fixture");
}

#[rstest]
#[case::one("one")]
#[should_panic(expected = "you said one")]
#[vcr::test]
async fn panics(#[case] text: &str) {
    panic!("{}", ask(text).await.unwrap());
}

#[rstest]
#[case::one("one")]
#[case::two("two")]
#[test_attr(vcr_test)]
fn plain(#[case] text: &str) {
    assert_eq!(ask_blocking(text).unwrap(), format!("you said {text}"));
}
