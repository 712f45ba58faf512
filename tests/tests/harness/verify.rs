//! Verify mode: a cassette that holds is served, one that does not is not.

use serde_json::json;
use vcr_runtime::harness::config::Mode;
use vcr_runtime::harness::{HarnessConfig, HarnessError, verify_cassette};

use super::support::{Place, ask, data, interaction, post, start, stream, whole};

#[tokio::test]
async fn what_holds_is_served_and_what_does_not_is_named() {
    let place = Place::new();
    let config = HarnessConfig {
        mode: Mode::Verify,
        ..place.config()
    };
    let good = interaction(&ask("ping"), whole(200, &json!([]), "{}"));
    place.write(std::slice::from_ref(&good));
    assert!(verify_cassette(&config).unwrap().holds());
    let harness = start(config.clone()).await;
    assert_eq!(post(&harness, &ask("ping")).await.text().await, "{}");
    harness.shutdown().await.unwrap();

    let mut changed = good.clone();
    changed["request"]["body"] = json!(ask("pong").to_string());
    changed["request"]["headers"] = json!([["Authorization", "Bearer x"]]);
    let events = [data("1"), data("2")];
    place.write(&[
        good,
        changed,
        interaction(&ask("s"), stream(&json!([]), &events, "data: 1\n\n")),
    ]);
    let report = verify_cassette(&config).unwrap();
    let found: Vec<(usize, &str)> = report
        .findings
        .iter()
        .map(|finding| (finding.interaction, finding.member.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (1, "request.parsed_json"),
            (1, "request.headers"),
            (1, "request.canonical_request"),
            (2, "response.events"),
        ]
    );
    match place.refused(config).await {
        HarnessError::InvalidCassette { message } => {
            assert!(
                message.starts_with("interaction 1, request.parsed_json: "),
                "{message}"
            );
        }
        other => panic!("{other:?}"),
    }
}
