//! `serial_test` above and below: whichever wraps the other, no two of these tests run at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use serial_test::serial;
use vcr_runtime::{Vcr, vcr_test};

use crate::support::{ask, ask_blocking, ask_in};

static INSIDE: AtomicUsize = AtomicUsize::new(0);

struct Inside;

impl Inside {
    fn enter() -> Self {
        assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "not alone");
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[serial]
#[vcr_test]
async fn above() {
    let _inside = Inside::enter();
    assert_eq!(ask("above").await.unwrap(), "you said above");
}

#[vcr_test]
#[serial]
async fn below() {
    let _inside = Inside::enter();
    assert_eq!(ask("below").await.unwrap(), "you said below");
}

#[vcr_test]
#[serial]
async fn below_with_a_session(vcr: &Vcr) {
    let _inside = Inside::enter();
    assert_eq!(ask_in(vcr, "session").await.unwrap(), "you said session");
}

#[serial]
#[vcr_test]
fn plain_above() {
    let _inside = Inside::enter();
    assert_eq!(ask_blocking("plain above").unwrap(), "you said plain above");
}

#[vcr_test]
#[serial]
fn plain_below() {
    let _inside = Inside::enter();
    assert_eq!(ask_blocking("plain below").unwrap(), "you said plain below");
}
