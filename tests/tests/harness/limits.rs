//! How long a recording harness waits for its upstream.

use std::time::Duration;

use serde_json::json;
use vcr_runtime::harness::config::CassetteFormat;
use vcr_tests::upstream::BeforeHead;
use vcr_tests::{Gate, Reply, Step, Upstream};

use super::support::{CHAT, Place, ask, ask_stream, error, post, send, start};

/// An upstream that says nothing, or no more, is given up; what it takes is the configuration's.
#[tokio::test]
async fn an_upstream_that_is_silent_for_too_long_is_given_up() {
    let short = Duration::from_millis(250);
    let gate = Gate::new();
    let silent = Reply::stream(vec![
        Step::Bytes(b"data: {\"n\":1}\n\n".to_vec()),
        Step::Wait(gate.clone()),
    ]);
    let slow_body = Reply::stream(vec![Step::Bytes(b"{".to_vec()), Step::Wait(gate.clone())]);
    let mut no_head = Reply::text("never");
    no_head.before_head = BeforeHead::Wait(gate.clone());
    for format in [CassetteFormat::Spycatcher, CassetteFormat::Vcr] {
        let upstream = Upstream::start([silent.clone(), slow_body.clone(), no_head.clone()]);
        let place = Place::new();
        let mut config = place.recording(&upstream);
        config.format = format;
        config.upstream_timeouts.idle = short;
        config.upstream_timeouts.total = short;
        let harness = start(config).await;
        let whole = post(&harness, &ask_stream("a")).await.whole().await;
        assert_eq!(whole.bytes(), b"data: {\"n\":1}\n\n");
        assert!(whole.broken.is_some(), "{format:?}");
        // Not a stream, so all of it has one limit.
        assert!(post(&harness, &ask("b")).await.whole().await.broken.is_some());
        let (status, error) = error(post(&harness, &ask("c")).await).await;
        assert_eq!(status, 502, "{error}");
        assert!(
            error["message"].as_str().unwrap().contains("(timeout)"),
            "{error}"
        );
        assert_eq!(send(&harness, "GET", CHAT, "").await.status, 405);
        let report = harness.shutdown().await.unwrap();
        if format == CassetteFormat::Spycatcher {
            assert_eq!((report.recorded, report.not_recorded), (0, 3), "{report:?}");
            assert_eq!(place.read()["interactions"], json!([]));
            assert!(
                report
                    .faults
                    .iter()
                    .all(|fault| fault.to_string().contains("timeout")),
                "{report:?}"
            );
        }
    }
    gate.open();
}

#[tokio::test]
async fn a_limit_of_nothing_is_refused() {
    let upstream = Upstream::start([]);
    let place = Place::new();
    for field in ["total", "connect", "idle"] {
        let mut config = place.recording(&upstream);
        let limits = &mut config.upstream_timeouts;
        match field {
            "total" => limits.total = Duration::ZERO,
            "connect" => limits.connect = Duration::ZERO,
            _ => limits.idle = Duration::ZERO,
        }
        let error = place.refused(config).await.to_string();
        assert!(error.contains(&format!("`upstream_timeouts.{field}`")), "{error}");
    }
}
