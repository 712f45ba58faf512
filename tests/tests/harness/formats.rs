//! The harness with a cassette of this library, and with settings of a project.

use serde_json::json;
use vcr_runtime::harness::config::{CassetteFormat, MatchMode, Mode};
use vcr_runtime::harness::{HarnessConfig, HarnessError};
use vcr_tests::{Reply, Upstream};

use super::support::{CHAT, Place, ask, ask_stream, error, interaction, post, send, start, whole};

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

#[tokio::test]
async fn a_project_says_in_vcr_toml_how_its_harness_works() {
    let place = Place::new();
    let answer = |text: &str| whole(200, &json!([]), text);
    place.write(&[
        interaction(&ask("a"), answer("first")),
        interaction(&ask("b"), answer("second")),
    ]);
    let settings = "[harness]\nlisten = \"127.0.0.1:8787\"\nmatch_mode = \"keyed\"\ncassette_dir = \".\"\ncassette_name = \"smoke_001\"\n";
    std::fs::write(place.0.path().join("vcr.toml"), settings).unwrap();
    let config = HarnessConfig::layered(place.0.path(), &[("listen", "127.0.0.1:0")]).unwrap();
    let harness = start(config).await;
    // Not in the order in which they were recorded.
    for (asked, answered) in [("b", "second"), ("a", "first")] {
        assert_eq!(post(&harness, &ask(asked)).await.text().await, answered);
    }
    harness.shutdown().await.unwrap();
    let error = HarnessConfig::layered(place.0.path(), &[("matchmode", "keyed")]).unwrap_err();
    assert!(
        error.to_string().contains("did you mean `match_mode`?"),
        "{error}"
    );
}
