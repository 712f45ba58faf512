//! A crate with strict lints and hostile names uses the attribute; it has to compile without a warning.
//!
//! `mode = live` needs no cassette, so that these tests are about the expansion alone.

#![deny(
    warnings,
    missing_docs,
    unused_qualifications,
    unreachable_pub,
    unused_results,
    single_use_lifetimes
)]
#![deny(clippy::pedantic)]
#![forbid(unsafe_code)]

use std::process::ExitCode;
use vcr_runtime::{Vcr, vcr_test};

fn look(vcr: &Vcr) {
    assert!(std::ptr::eq(vcr, vcr));
}

mod strict {
    use super::{ExitCode, Vcr, look, vcr_test};

    #[vcr_test(mode = live)]
    async fn nothing() {}

    #[vcr_test(mode = live)]
    async fn owned(vcr: Vcr) {
        let moved = vcr;
        look(&moved);
    }

    #[vcr_test(mode = live)]
    async fn owned_and_only_looked_at(vcr: Vcr) {
        look(&vcr);
    }

    #[vcr_test(mode = live)]
    async fn borrowed(vcr: &Vcr) -> Result<(), std::fmt::Error> {
        std::future::ready(()).await;
        look(vcr);
        Ok(())
    }

    #[vcr_test(mode = live)]
    fn blocking() {}

    #[vcr_test(mode = live)]
    fn blocking_owned(vcr: Vcr) -> ExitCode {
        look(&vcr);
        ExitCode::SUCCESS
    }

    #[vcr_test(mode = live)]
    fn blocking_borrowed(vcr: &Vcr) {
        look(vcr);
    }

    #[should_panic(expected = "on purpose")]
    #[vcr_test(mode = live)]
    async fn panics() {
        panic!("on purpose");
    }

    #[vcr_test(mode = live)]
    #[cfg_attr(all(), ignore = "to see the attribute arrive")]
    async fn ignored() {
        unreachable!();
    }

    #[vcr_test(mode = live)]
    #[test]
    async fn a_test_already() {}

    /// Documented, raw, with a pattern.
    #[vcr_runtime::test(mode = live, allow_unused, private = false, ignore = ["/metadata/run_id", "/a~1b"])]
    async fn r#type(_: Vcr) {}

    #[vcr_test(
        scenario = "every key",
        invoker = "consumer::strict",
        filename = "every_key",
        source = "session:parent.jsonl?pace_ms=1",
        override_file = "retry.json",
        child_files = ["child.jsonl"],
        fixture_dir = "../fixtures",
        mode = live,
        speed = 4x,
        tick = 100,
        chaos = "5..10",
        trace = "a,b:c",
        include_raw = true,
        matching = keyed,
        ignore = ["/x"],
        allow_unused,
        private,
        flavor = "current_thread",
        crate = ::vcr_runtime,
    )]
    async fn every_key(mut vcr: Vcr) {
        look(&vcr);
        vcr = vcr.clone();
        look(&vcr);
    }
}

mod hostile {
    //! Names that generated code might trip over.

    #![allow(dead_code, non_camel_case_types)]

    use super::{Vcr, vcr_test};

    struct Result;
    struct Option;
    struct Box;
    struct Some;
    struct None;
    struct String;
    struct Spec;
    struct Body;
    struct vcr;
    mod std {}
    mod core {}

    trait Everything {
        fn pin(&self) {}
        fn map(&self) {}
        fn run(&self) {}
    }
    impl<T: ?Sized> Everything for T {}

    fn run() {}

    #[vcr_test(mode = live)]
    async fn none() {}

    #[vcr_test(mode = live, tick = 1)]
    async fn owned(_vcr: Vcr) {}

    #[vcr_test(mode = live, trace = "x")]
    async fn borrowed(_vcr: &Vcr) {}

    #[vcr_test(mode = live)]
    fn blocking(_vcr: &Vcr) {}
}

mod renamed {
    pub(super) use ::vcr_runtime as vcr;

    #[vcr::test(mode = live, crate = super::renamed::vcr)]
    async fn path() {}

    #[vcr::test(mode = live, crate = "self::vcr")]
    async fn text() {}
}

macro_rules! tests_of {
    ($($name:ident: $scenario:literal, $mode:ident, $ty:ty;)*) => {
        $(
            #[vcr_test(scenario = $scenario, mode = $mode, crate = $crate::renamed::vcr)]
            async fn $name(vcr: $ty) {
                let _: &Vcr = &vcr;
            }
        )*
    };
}

tests_of! {
    from_a_macro: "macro one", live, Vcr;
    from_a_macro_borrowed: "macro two", live, &Vcr;
}

#[vcr_test(mode = live)]
async fn recursion_of_the_name() {
    assert_eq!(module_path!(), "consumer");
    let _ = recursion_of_the_name;
}
