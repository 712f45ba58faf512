//! The harness with a cassette of this library.

use serde_json::json;
use vcr_runtime::harness::config::{CassetteFormat, MatchMode, Mode};
use vcr_runtime::harness::{HarnessConfig, HarnessError};
use vcr_tests::{Reply, Upstream};

use super::support::{CHAT, Place, ask, ask_stream, error, post, send, start};

fn own(config: HarnessConfig) -> HarnessConfig {
    HarnessConfig {
        format: CassetteFormat::Vcr,
        ..config
    }
}

#[tokio::test]
async fn a_readable_cassette_is_recorded_and_replayed() {
    let upstream = Upstream::start([
        Reply::text("hello"),
        Reply::text_stream(&["a", "b"]),
        Reply::text("more"),
    ]);
    let place = Place::new();
    assert!(matches!(
        place.refused(own(place.config())).await,
        HarnessError::CassetteNotFound { .. }
    ));
    let harness = start(own(HarnessConfig {
        byte_exact: true,
        ..place.recording(&upstream)
    }))
    .await;
    let path = harness.cassette_path.clone();
    let mut expected = Vec::new();
    for body in [ask("one"), ask_stream("two"), ask("three")] {
        expected.push(post(&harness, &body).await.text().await);
    }
    let report = harness.shutdown().await.unwrap();
    assert_eq!(report.recorded, 3);
    assert_eq!(path.file_name().unwrap(), "smoke_001.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"chunk\": \"hello\""), "{text}");

    let config = own(HarnessConfig {
        mode: Mode::Verify,
        match_mode: MatchMode::Keyed,
        ..place.config()
    });
    let harness = start(config).await;
    assert_eq!(post(&harness, &ask_stream("two")).await.text().await, expected[1]);
    assert_eq!(post(&harness, &ask("one")).await.text().await, expected[0]);
    let (status, miss) = error(post(&harness, &ask("four")).await).await;
    assert_eq!((status, &miss["code"]), (409, &json!("vcr_replay_miss")));
    assert_eq!(send(&harness, "GET", CHAT, "").await.status, 405);
    assert_eq!(send(&harness, "POST", "/v1/models", "{}").await.status, 404);
    let report = harness.shutdown().await.unwrap();
    assert_eq!((report.served, report.mismatches), (2, 1), "{report:?}");
    assert_eq!(report.leftovers.len(), 1, "{report:?}");
}
