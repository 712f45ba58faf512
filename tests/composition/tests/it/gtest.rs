//! googletest.

use googletest::prelude::*;
use vcr_runtime as vcr;
use vcr_runtime::{Vcr, vcr_test};

use crate::support::{ask, ask_in};

#[vcr_test]
#[gtest]
async fn below() -> googletest::Result<()> {
    let answer = ask("below").await.or_fail()?;
    verify_that!(answer, eq("you said below"))
}

#[vcr_test]
#[gtest]
async fn below_without_a_result(vcr: Vcr) {
    let answer = ask_in(&vcr, "expected").await.unwrap();
    expect_that!(answer, starts_with("you said"));
    assert_that!(answer, ends_with("expected"));
}

#[gtest]
#[vcr::test]
async fn above() -> googletest::Result<()> {
    let answer = ask("above").await.or_fail()?;
    verify_that!(answer, eq("you said above"))
}

#[gtest]
#[vcr_test]
async fn above_the_long_name() -> googletest::Result<()> {
    let answer = ask("long name").await.or_fail()?;
    verify_that!(answer, eq("you said long name"))
}
