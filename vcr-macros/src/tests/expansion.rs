//! Accepted input and the item that it becomes.

use super::{ALL, pretty, run};

#[track_caller]
fn expands(args: &str, item: &str, expected: &str) {
    let expansion = run(args, item, ALL);
    assert!(expansion.errors.is_empty(), "{:?}", expansion.errors);
    let found = pretty(expansion);
    assert!(found.trim() == expected.trim(), "expanded to:\n{found}");
}

#[test]
fn a_bare_async_function() {
    expands(
        "",
        "async fn bare() { later().await }",
        r##"
#[::core::prelude::v1::test]
fn bare() {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    async fn bare() {
        later().await
    }
    ::vcr_runtime::__private::run(
        const {
            &::vcr_runtime::__private::Spec {
                package: ::core::env!("CARGO_PKG_NAME"),
                manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
                module: ::core::module_path!(),
                function: "bare",
                file: ::core::file!(),
                line: ::core::line!(),
                asynchronous: true,
                ..::vcr_runtime::__private::Spec::DEFAULT
            }
        },
        ::vcr_runtime::__private::Body::Async(|_| ::std::boxed::Box::pin(bare())),
    )
}
"##,
    );
}

#[test]
fn an_owned_handle() {
    expands(
        "",
        r##"/// Doc.
pub(crate) async fn f(vcr: Vcr) -> anyhow::Result<()> { go(vcr).await }"##,
        r##"
/// Doc.
#[::core::prelude::v1::test]
pub(crate) fn f() -> anyhow::Result<()> {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    async fn f(vcr: Vcr) -> anyhow::Result<()> {
        go(vcr).await
    }
    ::vcr_runtime::__private::run(
        const {
            &::vcr_runtime::__private::Spec {
                package: ::core::env!("CARGO_PKG_NAME"),
                manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
                module: ::core::module_path!(),
                function: "f",
                file: ::core::file!(),
                line: ::core::line!(),
                asynchronous: true,
                ..::vcr_runtime::__private::Spec::DEFAULT
            }
        },
        ::vcr_runtime::__private::Body::Async(|__vcr| ::std::boxed::Box::pin(f(__vcr))),
    )
}
"##,
    );
}

#[test]
fn a_borrowed_handle_lives_as_long_as_the_future() {
    expands(
        "",
        "async fn f(vcr: &my::Vcr) { go(vcr).await }",
        r##"
#[::core::prelude::v1::test]
fn f() {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    async fn f(vcr: &my::Vcr) {
        go(vcr).await
    }
    ::vcr_runtime::__private::run(
        const {
            &::vcr_runtime::__private::Spec {
                package: ::core::env!("CARGO_PKG_NAME"),
                manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
                module: ::core::module_path!(),
                function: "f",
                file: ::core::file!(),
                line: ::core::line!(),
                asynchronous: true,
                ..::vcr_runtime::__private::Spec::DEFAULT
            }
        },
        ::vcr_runtime::__private::Body::Async(|__vcr| ::std::boxed::Box::pin(async move {
            f(&__vcr).await
        })),
    )
}
"##,
    );
}

#[test]
fn a_plain_function() {
    expands(
        "",
        r##"fn r#type(vcr: &Vcr) -> ExitCode { go(vcr) }"##,
        r##"
#[::core::prelude::v1::test]
fn r#type() -> ExitCode {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    fn r#type(vcr: &Vcr) -> ExitCode {
        go(vcr)
    }
    ::vcr_runtime::__private::run(
        const {
            &::vcr_runtime::__private::Spec {
                package: ::core::env!("CARGO_PKG_NAME"),
                manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
                module: ::core::module_path!(),
                function: "type",
                file: ::core::file!(),
                line: ::core::line!(),
                asynchronous: false,
                ..::vcr_runtime::__private::Spec::DEFAULT
            }
        },
        ::vcr_runtime::__private::Body::Sync(|__vcr| r#type(&__vcr)),
    )
}
"##,
    );
}

#[test]
fn every_key() {
    expands(
        r#"
        scenario = "s", invoker = "a::b", filename = "f.json", source = "session:a/b.jsonl?pace_ms=2", override_file = "o.json", child_files = ["c.jsonl", "d/e.jsonl"], fixture_dir = "../d", mode = replay, speed = 2.5,
        tick = 1_0, chaos = "5 .. 10", trace = "s:1, 2", include_raw = false, matching = order,
        ignore = ["/a/0", "/b~1c"], allow_unused, private = true, flavor = "multi_thread", worker_threads = 4,
        crate = a::b,"#,
        "async fn f() {}",
        r##"
#[::core::prelude::v1::test]
fn f() {
    #[allow(clippy::needless_pass_by_value, clippy::unused_async)]
    async fn f() {}
    a::b::__private::run(
        const {
            &a::b::__private::Spec {
                package: ::core::env!("CARGO_PKG_NAME"),
                manifest_dir: ::core::env!("CARGO_MANIFEST_DIR"),
                module: ::core::module_path!(),
                function: "f",
                file: ::core::file!(),
                line: ::core::line!(),
                asynchronous: true,
                scenario: ::core::option::Option::Some("s"),
                invoker: ::core::option::Option::Some("a::b"),
                filename: ::core::option::Option::Some("f.json"),
                source: ::core::option::Option::Some("session:a/b.jsonl?pace_ms=2"),
                override_file: ::core::option::Option::Some("o.json"),
                child_files: &["c.jsonl", "d/e.jsonl"],
                fixture_dir: ::core::option::Option::Some("../d"),
                mode: ::core::option::Option::Some("replay"),
                speed: ::core::option::Option::Some("2.5x"),
                tick: ::core::option::Option::Some("10"),
                chaos: ::core::option::Option::Some("5..10"),
                trace: ::core::option::Option::Some("s:1, 2"),
                include_raw: ::core::option::Option::Some("false"),
                matching: ::core::option::Option::Some("order"),
                ignore: &["/a/0", "/b~1c"],
                allow_unused: true,
                private: true,
                multi_thread: true,
                worker_threads: ::core::option::Option::Some(4usize),
                ..a::b::__private::Spec::DEFAULT
            }
        },
        a::b::__private::Body::Async(|_| ::std::boxed::Box::pin(f())),
    )
}
"##,
    );
}

/// The attributes of what `item` expands to, in order.
fn attributes(item: &str) -> Vec<String> {
    let expansion = run("", item, ALL);
    assert!(expansion.errors.is_empty(), "{:?}", expansion.errors);
    let function: syn::ItemFn = syn::parse2(expansion.item).unwrap();
    function
        .attrs
        .iter()
        .map(|attr| quote::quote!(#attr).to_string().replace(' ', ""))
        .collect()
}

const TEST: &str = "#[::core::prelude::v1::test]";

#[test]
fn other_attributes_pass_through_before_ours() {
    for attr in [
        r#"#[should_panic(expected="boom")]"#,
        r#"#[ignore="slow"]"#,
        "#[cfg_attr(miri,ignore)]",
        "#[serial]",
        "#[traced_test]",
        "#[gtest]",
        "#[allow(clippy::too_many_lines)]",
    ] {
        assert_eq!(attributes(&format!("{attr} async fn f() {{}}")), [attr, TEST]);
        assert_eq!(attributes(&format!("{attr} fn f() {{}}")), [attr, TEST]);
    }
}

#[test]
fn a_test_is_not_made_a_test_twice() {
    for attr in [
        "#[test]",
        "#[test_log::test]",
        "#[::core::prelude::v1::test]",
        "#[googletest::test]",
    ] {
        assert_eq!(attributes(&format!("{attr} async fn f() {{}}")), [attr]);
        assert_eq!(attributes(&format!("{attr} fn f() {{}}")), [attr]);
    }
}

#[test]
fn a_plain_case_of_test_case_is_a_test_already() {
    let mark = "#[allow(clippy::bool_assert_comparison)]";
    let body = "{ let _result = super::f(1); _result }";
    assert_eq!(attributes(&format!("{mark} fn f() {body}")), [mark]);
    // It leaves an `async fn` alone, and neither sign is enough.
    assert_eq!(attributes(&format!("{mark} async fn f() {body}")), [mark, TEST]);
    assert_eq!(attributes(&format!("{mark} fn f() {{}}")), [mark, TEST]);
    assert_eq!(attributes(&format!("fn f() {body}")), [TEST]);
}

/// The fields that `args` set in the literal.
fn fields(args: &str) -> String {
    fields_of(args, "")
}

/// The fields that `args` and the function's own attributes set in the literal.
fn fields_of(args: &str, attrs: &str) -> String {
    let expansion = run(args, &format!("{attrs} async fn f() {{}}"), ALL);
    assert!(expansion.errors.is_empty(), "{args}: {:?}", expansion.errors);
    let text = expansion.item.to_string().replace(' ', "");
    let (_, rest) = text.split_once("asynchronous:true,").unwrap();
    let (fields, _) = rest.split_once("..::vcr_runtime").unwrap();
    fields.replace("::core::option::Option::", "")
}

#[test]
fn a_test_that_is_to_panic_says_so() {
    for attrs in [
        "#[should_panic]",
        "#[should_panic = \"boom\"]",
        "#[should_panic(expected = \"boom\")]",
        "#[should_panic(\n    expected = \"boom\", )] #[ignore]",
        "#[ignore] #[should_panic]",
        "#[cfg_attr(miri, should_panic)] #[should_panic]",
    ] {
        assert_eq!(fields_of("", attrs), "should_panic:true,", "{attrs}");
    }
    assert_eq!(
        fields_of("tick = 1", "#[should_panic]"),
        "should_panic:true,tick:Some(\"1\"),"
    );
}

#[test]
fn a_condition_on_the_panic_is_left_to_the_compiler() {
    for (attrs, condition) in [
        ("#[cfg_attr(debug_assertions, should_panic)]", "debug_assertions"),
        (
            "#[cfg_attr(all(unix, not(miri)), ignore, should_panic(expected = \"a, b\"))]",
            "all(unix,not(miri))",
        ),
        (
            "#[cfg_attr(unix, cfg_attr(miri, should_panic = \"x\"), ignore)]",
            "all(unix,any(miri))",
        ),
        (
            "#[cfg_attr(unix, should_panic)] #[cfg_attr(windows, should_panic)]",
            "unix,windows",
        ),
    ] {
        assert_eq!(
            fields_of("", attrs),
            format!("should_panic:::core::cfg!(any({condition})),"),
            "{attrs}"
        );
    }
}

#[test]
fn what_only_looks_like_should_panic_is_left_alone() {
    for attrs in [
        "#[my::should_panic]",
        "#[cfg_attr(should_panic, ignore)]",
        "#[cfg_attr(unix, doc = \"should_panic\")]",
        "#[cfg_attr(unix)]",
        "#[doc = \"should_panic\"]",
    ] {
        assert_eq!(fields_of("", attrs), "", "{attrs}");
    }
}

#[test]
fn env_and_false_set_nothing() {
    for args in [
        "mode = env, speed = env, tick = env, chaos = env, trace = env, include_raw = env, matching = env, fixture_dir = env",
        "allow_unused = false, private = false, start_paused = false",
        "flavor = \"current_thread\"",
        "",
    ] {
        assert_eq!(fields(args), "", "{args}");
    }
}

#[test]
fn values_travel_as_text() {
    for (args, expected) in [
        ("mode = live", r#"mode:Some("live"),"#),
        ("mode = auto", r#"mode:Some("auto"),"#),
        ("mode = new", r#"mode:Some("new"),"#),
        ("speed = max", r#"speed:Some("max"),"#),
        ("speed = real", r#"speed:Some("real"),"#),
        ("speed = 4", r#"speed:Some("4x"),"#),
        ("speed = 4x", r#"speed:Some("4x"),"#),
        ("speed = \"0.5x\"", r#"speed:Some("0.5x"),"#),
        ("speed = \"0.5\"", r#"speed:Some("0.5x"),"#),
        ("tick = 0", r#"tick:Some("0"),"#),
        ("tick = 12.5", r#"tick:Some("12.5"),"#),
        ("chaos = 20", r#"chaos:Some("20"),"#),
        ("chaos = \"5..5\"", r#"chaos:Some("5..5"),"#),
        ("include_raw = auto", r#"include_raw:Some("auto"),"#),
        ("matching = keyed", r#"matching:Some("keyed"),"#),
        ("ignore = []", "ignore:&[],"),
        ("ignore = [\"/\", \"/a~0b\",]", r#"ignore:&["/","/a~0b"],"#),
        ("start_paused", "start_paused:true,"),
        (
            "start_paused = true, flavor = \"current_thread\"",
            "start_paused:true,",
        ),
        (
            "worker_threads = 2, flavor = \"multi_thread\"",
            "multi_thread:true,worker_threads:Some(2usize),",
        ),
        ("scenario = r\"raw\"", r#"scenario:Some("raw"),"#),
        ("scenario = \"ünï cöde 1.5\",", r#"scenario:Some("ünïcöde1.5"),"#),
    ] {
        assert_eq!(fields(args), expected, "{args}");
    }
}

#[test]
fn a_value_from_a_macro_fragment_is_unwrapped() {
    use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
    let wrapped = TokenTree::from(Group::new(Delimiter::None, "\"s\"".parse().unwrap()));
    let mut args: TokenStream = "scenario =".parse().unwrap();
    args.extend([wrapped]);
    let expansion = crate::expand::expand(args, "fn f() {}".parse().unwrap(), ALL);
    assert!(expansion.errors.is_empty(), "{:?}", expansion.errors);
    assert!(expansion.item.to_string().contains("Some (\"s\")"));
}

#[test]
fn the_crate_path_may_be_text() {
    for path in ["crate = ::my::vcr", "crate = \"::my::vcr\""] {
        let text = run(path, "fn f() {}", ALL).item.to_string();
        assert!(text.contains(":: my :: vcr :: __private :: run"), "{text}");
        assert!(!text.contains("vcr_runtime"), "{text}");
    }
}
