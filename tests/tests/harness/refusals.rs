//! What a harness refuses: configurations, files, callers.

use serde_json::json;
use vcr_runtime::harness::config::{ListenAddr, Mode, UpstreamConfig};
use vcr_runtime::harness::{HarnessConfig, HarnessError};
use vcr_tests::http;

use super::support::{CHAT, Place, ask, error, interaction, post, start, whole};

fn good(place: &Place) {
    place.write(&[interaction(&ask("ping"), whole(200, &json!([]), "ok"))]);
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_names_its_field() {
    let place = Place::new();
    good(&place);
    let named = |name: &str| HarnessConfig {
        cassette_name: name.to_owned(),
        ..place.config()
    };
    let upstream = |base_url: &str, header: &str| HarnessConfig {
        mode: Mode::Record,
        upstream: Some(UpstreamConfig {
            base_url: base_url.to_owned(),
            extra_headers: [(header.to_owned(), "1".to_owned())].into(),
            ..UpstreamConfig::default()
        }),
        ..place.config()
    };
    let url = "https://openrouter.ai/api/v1";
    let mut cases: Vec<(HarnessConfig, &str)> =
        ["", "/etc/passwd", "../up", "a/../b", "a\\b", "a..b", "a\nb"]
            .map(|name| (named(name), "cassette_name"))
            .into();
    cases.extend([
        (
            HarnessConfig {
                mode: Mode::Record,
                ..place.config()
            },
            "upstream",
        ),
        (upstream("openrouter.ai", "x-a"), "upstream.base_url"),
        (upstream("ftp://x.example", "x-a"), "upstream.base_url"),
        (upstream(url, "Transfer-Encoding"), "upstream.extra_headers"),
        (upstream(url, "host"), "upstream.extra_headers"),
        (upstream(url, "bad name"), "upstream.extra_headers"),
        (
            HarnessConfig {
                listen: ListenAddr::from(std::net::SocketAddr::from(([0, 0, 0, 0], 0))),
                ..place.config()
            },
            "listen",
        ),
        (
            HarnessConfig {
                ignored_body_paths: vec!["metadata".to_owned()],
                ..place.config()
            },
            "ignored_body_paths",
        ),
        (
            HarnessConfig {
                speed: vcr_runtime::Speed::Factor(0.0),
                ..place.config()
            },
            "speed",
        ),
    ]);
    for (config, field) in cases {
        let shown = format!("{config:?}");
        match place.refused(config).await {
            HarnessError::InvalidConfig { message } => assert!(message.contains(field), "{field}: {message}"),
            other => panic!("{field}: {other:?} for {shown}"),
        }
    }
}

#[tokio::test]
async fn a_file_that_is_no_cassette_is_told_by_kind() {
    let place = Place::new();
    assert!(matches!(
        place.refused(place.config()).await,
        HarnessError::CassetteNotFound { cassette_name } if cassette_name == "smoke_001"
    ));
    let without_hash = {
        let mut one = interaction(&ask("a"), whole(200, &json!([]), ""));
        one["request"]["stable_hash"] = json!(null);
        json!({ "format_version": 1, "interactions": [one] }).to_string()
    };
    for (text, message) in [
        ("", "empty"),
        ("{\"format_version\":1,\"interactions\":[", "line 1"),
        ("{\"interactions\":[]}", "format_version"),
        (&without_hash, "interaction 0 has no `stable_hash`"),
    ] {
        place.write_text(text);
        match place.refused(place.config()).await {
            HarnessError::InvalidCassette { message: said } => assert!(said.contains(message), "{said}"),
            other => panic!("{text}: {other:?}"),
        }
        let recording = HarnessConfig {
            mode: Mode::Record,
            upstream: Some(UpstreamConfig::default()),
            ..place.config()
        };
        if text != without_hash {
            assert!(
                matches!(
                    place.refused(recording).await,
                    HarnessError::InvalidCassette { .. }
                ),
                "{text}"
            );
            assert_eq!(
                std::fs::read_to_string(place.cassette()).unwrap(),
                text,
                "it stays as it is"
            );
        }
    }
    let beside = std::fs::read_dir(place.0.path()).unwrap().count();
    assert_eq!(beside, 1, "nothing is left beside it");
    place.write_text("{\"format_version\":2,\"interactions\":[]}");
    assert!(matches!(
        place.refused(place.config()).await,
        HarnessError::UnsupportedCassetteFormatVersion {
            found: 2,
            supported: 1
        }
    ));
    std::fs::write(place.cassette(), b"\xff").unwrap();
    assert!(matches!(
        place.refused(place.config()).await,
        HarnessError::InvalidCassette { .. }
    ));
    std::fs::remove_file(place.cassette()).unwrap();
    std::fs::create_dir(place.cassette()).unwrap();
    assert!(matches!(
        place.refused(place.config()).await,
        HarnessError::Io { .. }
    ));
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_does_not_lead_out_of_the_directory() {
    let (place, elsewhere) = (Place::new(), Place::new());
    good(&elsewhere);
    std::os::unix::fs::symlink(elsewhere.cassette(), place.cassette()).unwrap();
    let recording = HarnessConfig {
        mode: Mode::Record,
        upstream: Some(UpstreamConfig::default()),
        ..place.config()
    };
    for config in [place.config(), recording] {
        assert!(matches!(
            place.refused(config).await,
            HarnessError::InvalidConfig { .. }
        ));
    }
}

#[tokio::test]
async fn an_address_in_use_is_an_io_error() {
    let place = Place::new();
    good(&place);
    let harness = place.start().await;
    let taken = HarnessConfig {
        listen: ListenAddr::from(harness.addr),
        ..place.config()
    };
    match place.refused(taken).await {
        HarnessError::Io { source } => assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse),
        other => panic!("{other:?}"),
    }
    assert_eq!(post(&harness, &ask("ping")).await.text().await, "ok");
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn callers_that_are_refused_do_not_stop_it() {
    let place = Place::new();
    good(&place);
    let harness = start(HarnessConfig {
        max_body_bytes: 1000,
        ..place.config()
    })
    .await;
    let url = format!("http://{}{CHAT}", harness.addr);
    let large = ask(&"x".repeat(1000)).to_string();
    let (status, too_large) = error(http::post(&url, &large).await).await;
    assert_eq!((status, &too_large["kind"]), (413, &json!("body_too_large")));
    let deep = "[".repeat(600);
    let (status, malformed) = error(http::post(&url, &deep).await).await;
    assert_eq!((status, &malformed["kind"]), (400, &json!("malformed_json")));

    let mut raw = tokio::net::TcpStream::connect(harness.addr).await.unwrap();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
    tokio::io::AsyncWriteExt::write_all(&mut raw, head.as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut raw, &mut answer)
        .await
        .unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.contains("\"kind\":\"forbidden_host\""),
        "{answer}"
    );

    assert_eq!(post(&harness, &ask("ping")).await.text().await, "ok");
    let report = harness.shutdown().await.unwrap();
    assert_eq!((report.served, report.mismatches), (1, 0));
}
