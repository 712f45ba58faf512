//! One real test for every way in which `#[vcr_test]` is combined with other attributes.
//!
//! All of them replay cassettes of `fixtures/`, which `VCR_MODE=record cargo test` made and makes again. They hold under
//! `cargo test`, `--test-threads=1` and nextest alike; each leaves no doubt about whether its body ran in a session,
//! because a session whose recorded calls nobody asks for fails its test.

mod gtest;
mod libtest;
mod logging;
mod returns;
mod rstest;
mod runtimes;
mod serial;
mod support;
mod test_case;
