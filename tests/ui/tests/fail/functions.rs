//! Functions that cannot be a test, and what is no function.

use vcr_runtime::{Vcr, vcr_test};

#[vcr_test]
async fn argument(_n: u32) {}

#[vcr_test]
async fn two(_first: Vcr, _second: &Vcr) {}

#[vcr_test]
async fn exclusive(_vcr: &mut Vcr) {}

#[vcr_test]
async fn generic<T>(_vcr: Vcr)
where
    T: Copy,
{
}

#[vcr_test]
const unsafe extern "C" fn modifiers() {}

#[vcr_test]
struct NoFunction;

struct Owner;

impl Owner {
    #[vcr_test]
    async fn method(&self) {}
}

fn main() {
    let _: (NoFunction, Vcr);
}
