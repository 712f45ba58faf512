//! Every test framework that `#[vcr_test]` composes with, in use: see `tests/`.
