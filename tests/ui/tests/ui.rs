//! What the compiler shows, in `fail/`, and what it has to accept, in `pass/`.
//!
//! trybuild compiles without `--test`, so an item under `#[test]` is gone before its types are checked: `fail/` holds
//! errors of the attribute alone, and of the call that it expands to (`outcome.rs`); what needs type checking is in `consumer.rs`. The `.stderr` files belong to the
//! pinned toolchain; `TRYBUILD=overwrite cargo test` rewrites them.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/fail/*.rs");
    cases.pass("tests/pass/*.rs");
}
