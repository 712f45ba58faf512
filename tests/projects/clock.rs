//! A paused clock and the loopback gateway.

use vcr_runtime::{Protocol, Vcr, vcr_test};

#[vcr_test(mode = live, start_paused = true)]
async fn paused_gateway(vcr: Vcr) {
    let error = vcr.base_url(Protocol::OpenAi).unwrap_err();
    eprintln!("refused: {error}");
    assert_eq!(error.kind(), vcr_runtime::ErrorKind::PausedClock);
}

#[vcr_test(mode = live)]
async fn gateway(vcr: Vcr) {
    match vcr.base_url(Protocol::OpenAi) {
        Ok(url) => eprintln!("accepted: {url}"),
        Err(error) => eprintln!("refused: {error}"),
    }
}
