//! Other test attributes below ours. They are not even dependencies: ours reports them and takes them away.

use vcr_runtime::vcr_test;

#[vcr_test]
#[tokio::test]
async fn tokio_below() {}

#[vcr_test]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokio_with_arguments() {}

#[vcr_test]
#[rstest]
async fn rstest_below(#[case] _n: u32) {}

#[vcr_test(scenario = "a")]
#[vcr_test]
async fn twice() {}

fn main() {}
