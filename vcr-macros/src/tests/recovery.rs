//! What is left of the item where something is wrong.

use super::{ALL, run};

/// The item that is left where something is wrong, as text.
fn left(args: &str, item: &str) -> String {
    let expansion = run(args, item, ALL);
    assert!(!expansion.errors.is_empty(), "{args} | {item}");
    expansion.item.to_string()
}

#[test]
fn wrong_arguments_leave_a_test_with_the_default_settings() {
    let found = left(
        "scenario = \"s\", tick = 5, mode = 1, crate = a",
        "async fn f(vcr: Vcr) { body }",
    );
    assert_eq!(
        found,
        run("crate = a", "async fn f(vcr: Vcr) { body }", ALL)
            .item
            .to_string()
    );
}

#[test]
fn a_foreign_test_attribute_does_not_fail_a_second_time() {
    for attr in ["#[tokio::test]", "#[vcr_test(mode = env)]"] {
        let found = left("", &format!("{attr} #[ignore] async fn f() {{ body }}"));
        assert_eq!(
            found,
            run("", "#[ignore] async fn f() { body }", ALL).item.to_string()
        );
    }
}

#[test]
fn a_function_that_no_test_can_call_stays_as_it_is() {
    assert_eq!(
        left("", "#[doc = \"x\"] #[test] pub async fn f(n: u32) -> T { body }"),
        "# [doc = \"x\"] # [allow (dead_code)] pub async fn f (n : u32) -> T { body }"
    );
    assert_eq!(
        left(
            "",
            "#[rstest] #[case::a(1)] #[case(2)] async fn f(#[case] n: u32) { body }"
        ),
        "# [allow (dead_code)] async fn f (n : u32) { body }"
    );
}

#[test]
fn what_is_no_function_stays_as_it_is() {
    for item in ["struct S ;", "fn f () ;", "async"] {
        assert_eq!(left("", item), item);
    }
}

#[test]
fn errors_reach_the_compiler() {
    let text = run("tick", "struct S ;", ALL).into_tokens().to_string();
    assert_eq!(text.matches(":: core :: compile_error !").count(), 2, "{text}");
    assert!(text.starts_with("struct S ;"), "{text}");
}
