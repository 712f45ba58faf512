//! The leftover check never hides the real failure and never aborts. The cases that need a process are in `verdict`:
//! `a_panic_stays_the_first_cause`, `an_err_is_returned_untouched`, `a_timeout_of_the_test_is_its_own_failure` and
//! `an_expected_panic_still_counts_as_passed`.

use vcr_tests::Reply;
use vcr_tests::rig::{Rig, question};

#[tokio::test]
async fn a_session_that_is_dropped_while_panicking_says_nothing_and_aborts_nothing() {
    let rig = Rig::recorded([
        (question("one"), Reply::text("1")),
        (question("two"), Reply::text("2")),
    ])
    .await;
    let vcr = rig.replay();
    let task = tokio::spawn(async move {
        assert_eq!(vcr_tests::rig::chat(&vcr, &question("one")).await.text(), "1");
        panic!("the first cause");
    });
    let panic = task.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the first cause"));
}

#[tokio::test]
async fn a_dropped_session_neither_panics_nor_writes() {
    let rig = Rig::recorded([(question("one"), Reply::text("1"))]).await;
    let before = rig.cassette().text;
    drop(rig.replay());
    drop(rig.record());
    assert_eq!(rig.cassette().text, before);
}
