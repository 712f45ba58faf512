//! `crate = path`: there is no `::vcr_runtime` here.

use cassettes::{Client, Failure, Reply, Request, Vcr, vcr_test};
use vcr_renamed::testing::vcr;

async fn upstream(_: Request) -> Result<Reply, Failure> {
    if std::env::var("VCR_MODE").as_deref() != Ok("record") {
        return Err(Failure::new("Live", "a replay has called its upstream"));
    }
    Ok(Reply::text("hello"))
}

async fn hello() -> String {
    let request = Request::new("test/echo").user("hi");
    Client::new(upstream).completion(request).await.unwrap().text
}

#[vcr_test(crate = cassettes)]
async fn renamed_in_the_manifest(_: Vcr) {
    assert_eq!(hello().await, "hello");
}

#[vcr_test(crate = ::cassettes)]
async fn by_its_full_path() {
    assert_eq!(hello().await, "hello");
}

#[vcr_test(crate = "::cassettes")]
async fn by_a_text() {
    assert_eq!(hello().await, "hello");
}

#[vcr::test(crate = vcr)]
async fn passed_on_by_a_framework(_: &vcr::Vcr) {
    assert_eq!(hello().await, "hello");
}

#[vcr::test(crate = ::vcr_renamed::testing::vcr)]
fn of_a_plain_function() {
    let runtime = cassettes::Vcr::current();
    assert!(runtime.is_ok());
}
