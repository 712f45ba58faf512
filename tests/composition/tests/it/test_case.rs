//! `test_case` above: each case is a test of its own, with a cassette that is named by its name and not by its place.

use test_case::{test_case, test_matrix};
use vcr_runtime::vcr_test;

use crate::support::{ask, ask_blocking, cassette};

#[test_case("Oslo" ; "oslo")]
#[test_case("Rome" ; "rome")]
#[vcr_test]
async fn named(city: &str) {
    assert_eq!(ask(city).await.unwrap(), format!("you said {city}"));
    assert_eq!(
        cassette(),
        format!(
            "fixture_vcr_composition_it_test_case_named_{}.json",
            city.to_lowercase()
        )
    );
}

/// The cases of [`named`] in the other order, and one more before them.
#[test_case("Cairo" ; "cairo")]
#[test_case("Rome" ; "rome")]
#[test_case("Oslo" ; "oslo")]
#[vcr_test(scenario = "reordered")]
async fn an_explicit_scenario_gets_the_name(city: &str) {
    assert_eq!(ask(city).await.unwrap(), format!("you said {city}"));
    assert_eq!(
        cassette(),
        format!(
            "fixture_vcr_composition_it_test_case_reordered_{}.json",
            city.to_lowercase()
        )
    );
}

#[test_case(1)]
#[test_case(2)]
#[vcr_test]
async fn unnamed(number: u32) {
    let text = number.to_string();
    assert_eq!(ask(&text).await.unwrap(), format!("you said {number}"));
    assert_eq!(
        cassette(),
        format!("fixture_vcr_composition_it_test_case_unnamed_{number}_expects.json")
    );
}

#[test_matrix(["warm", "cold"], ["tea", "milk"])]
#[vcr_test(scenario = "drinks")]
async fn multiplied(how: &str, what: &str) {
    let text = format!("{how} {what}");
    assert_eq!(ask(&text).await.unwrap(), format!("you said {text}"));
}

#[test_case("question" => "you said question".to_owned() ; "returns")]
#[vcr_test]
async fn compared(text: &str) -> String {
    ask(text).await.unwrap()
}

#[test_case("loud" => panics "you said loud" ; "loud")]
#[vcr_test]
async fn panics(text: &str) {
    panic!("{}", ask(text).await.unwrap());
}

#[test_case("one" ; "one")]
#[test_case("two" ; "two")]
#[vcr_test]
fn plain(text: &str) {
    assert_eq!(ask_blocking(text).unwrap(), format!("you said {text}"));
}
