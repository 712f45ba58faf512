//! A return type that says neither success nor failure.
//!
//! trybuild compiles without `--test`, which takes an item under `#[test]` away before its types are checked. So this is
//! the call into the runtime that the attribute expands to.

use vcr_runtime::__private::{Body, Spec, run};

async fn asynchronous() -> u32 {
    7
}

fn plain() -> Option<()> {
    None
}

fn main() {
    run(const { &Spec { ..Spec::DEFAULT } }, Body::Async(|_| Box::pin(asynchronous())));
    run(const { &Spec { ..Spec::DEFAULT } }, Body::Sync(|_| plain()));
}
