//! The attributes of the standard harness, and the ways in which the function takes its session.

use vcr_runtime as vcr;
use vcr_runtime::{Vcr, vcr_test};

use crate::support::{ask, ask_blocking, ask_in, cassette};

#[vcr_test]
async fn alone() {
    assert_eq!(ask("alone").await.unwrap(), "you said alone");
    assert_eq!(cassette(), "fixture_vcr_composition_it_libtest_alone.json");
}

#[vcr::test(scenario = "another name")]
async fn by_its_second_name() {
    assert_eq!(ask("second name").await.unwrap(), "you said second name");
    assert_eq!(cassette(), "fixture_vcr_composition_it_libtest_another name.json");
}

#[should_panic(expected = "you said above")]
#[vcr_test]
async fn should_panic_above() {
    panic!("{}", ask("above").await.unwrap());
}

#[vcr_test]
#[should_panic(expected = "you said below")]
async fn should_panic_below() {
    panic!("{}", ask("below").await.unwrap());
}

#[vcr_test]
#[should_panic = "you said plain"]
fn should_panic_in_a_plain_function() {
    panic!("{}", ask_blocking("plain").unwrap());
}

#[vcr_test]
#[cfg_attr(all(), should_panic(expected = "you said maybe"))]
async fn should_panic_on_a_condition() {
    panic!("{}", ask("maybe").await.unwrap());
}

#[vcr_test]
#[cfg_attr(any(), should_panic)]
async fn should_panic_on_no_condition() {
    assert_eq!(ask("never").await.unwrap(), "you said never");
}

#[ignore = "it would fail"]
#[vcr_test]
async fn ignored_above() {
    unreachable!("it is ignored");
}

#[vcr_test]
#[ignore = "it would fail"]
async fn ignored_below() {
    unreachable!("it is ignored");
}

#[vcr_test]
#[cfg_attr(all(), ignore = "it would fail")]
async fn ignored_on_a_condition() {
    unreachable!("it is ignored");
}

#[vcr_test]
#[test]
async fn test_below() {
    assert_eq!(ask("test below").await.unwrap(), "you said test below");
}

#[vcr_test]
fn plain() {
    assert_eq!(ask_blocking("plain fn").unwrap(), "you said plain fn");
}

#[vcr_test]
async fn owned(vcr: Vcr) {
    assert_eq!(ask_in(&vcr, "owned").await.unwrap(), "you said owned");
}

#[vcr_test]
async fn borrowed(vcr: &Vcr) {
    assert_eq!(ask_in(vcr, "borrowed").await.unwrap(), "you said borrowed");
}

#[vcr_test]
async fn mutable(mut vcr: Vcr) {
    assert_eq!(ask_in(&vcr, "one").await.unwrap(), "you said one");
    vcr = Vcr::current().unwrap();
    assert_eq!(ask_in(&vcr, "two").await.unwrap(), "you said two");
}

#[vcr_test]
async fn bound_by_a_pattern(whole @ Vcr { .. }: &Vcr) {
    assert_eq!(ask_in(whole, "pattern").await.unwrap(), "you said pattern");
}

#[vcr_test]
async fn unnamed(_: vcr::Vcr) {
    assert_eq!(ask("unnamed").await.unwrap(), "you said unnamed");
}

#[vcr_test]
fn plain_and_borrowed(vcr: &vcr::Vcr) {
    let answer = vcr.sync_scope(|| ask_blocking("plain, borrowed"));
    assert_eq!(answer.unwrap(), "you said plain, borrowed");
}
