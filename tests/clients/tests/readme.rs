//! The README's example with async-openai, as it stands there.

use async_openai::config::Config as _;
use vcr_runtime::{Protocol, Vcr, vcr_test};

include!(concat!(env!("OUT_DIR"), "/readme.rs"));

#[vcr_test]
async fn its_client_talks_to_the_gateway(vcr: Vcr) {
    let client = client(&vcr).unwrap();
    assert_eq!(
        client.config().api_base(),
        vcr.base_url(Protocol::OpenAi).unwrap()
    );
}
