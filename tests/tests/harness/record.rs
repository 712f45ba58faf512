//! What a recording harness forwards and keeps, and that it replays.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vcr_runtime::harness::config::{Mode, Protocol, RedactionConfig, UpstreamConfig, UpstreamKind};
use vcr_runtime::harness::{HarnessConfig, HarnessError, verify_cassette};
use vcr_tests::upstream::{BeforeHead, Length};
use vcr_tests::{Gate, Reply, Step, Upstream, http};

use super::support::{CHAT, Place, ask, ask_stream, error, hash, post, send, start};

const STREAM: &str = ": OPENROUTER PROCESSING\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"caf\u{e9}\"}}]}\n\n\
                      data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn sse() -> Reply {
    Reply::stream(vec![Step::Bytes(STREAM.into())])
}

/// The replay of what was recorded.
fn replaying(place: &Place) -> HarnessConfig {
    place.config()
}

fn with(upstream: UpstreamConfig, place: &Place) -> HarnessConfig {
    HarnessConfig {
        mode: Mode::Record,
        upstream: Some(upstream),
        ..place.config()
    }
}

#[tokio::test]
async fn a_recording_has_every_member_verifies_and_replays() {
    let mut unary = Reply::json_text(200, "{\"id\": 1.50}");
    unary.headers.push(("x-request-id".to_owned(), "r1".to_owned()));
    unary
        .headers
        .push(("set-cookie".to_owned(), "a=canary".to_owned()));
    let upstream = Upstream::start([unary, sse()]);
    let place = Place::new();
    let harness = start(place.recording(&upstream)).await;
    let url = format!("http://{}{CHAT}?b=2&a=1", harness.addr);
    let headers = [
        ("Authorization", "Bearer mine"),
        ("x-tag", "1"),
        ("x-tag", "2"),
        ("accept-encoding", "gzip"),
    ];
    let first = http::request("POST", &url, &headers, ask("ping").to_string().as_bytes()).await;
    assert_eq!(first.header("x-request-id"), Some("r1"));
    assert_eq!(first.text().await, "{\"id\": 1.50}");
    assert_eq!(post(&harness, &ask_stream("ping")).await.text().await, STREAM);
    let report = harness.shutdown().await.unwrap();
    assert_eq!((report.recorded, report.not_recorded), (2, 0), "{report:?}");

    let received = upstream.received();
    assert_eq!(received[0].query, "b=2&a=1");
    // No variable is named, so the caller's own key passes; compression would hide the bytes.
    assert_eq!(received[0].header("authorization"), Some("Bearer mine"));
    assert_eq!(received[0].header("accept-encoding"), Some("identity"));

    let cassette = place.read();
    let (one, two) = (&cassette["interactions"][0], &cassette["interactions"][1]);
    assert_eq!(
        one["request"]["headers"],
        json!([["x-tag", "1"], ["x-tag", "2"]]),
        "{one}"
    );
    assert_eq!(one["request"]["canonical_request"]["canonical_query"], "a=1&b=2");
    assert_eq!(one["request"]["query"], "b=2&a=1");
    assert_eq!(one["request"]["parsed_json"], ask("ping"));
    let body: Vec<u8> = serde_json::from_value(one["response"]["body"].clone()).unwrap();
    assert_eq!(body, b"{\"id\": 1.50}");
    let names: Vec<&Value> = one["response"]["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| &pair[0])
        .collect();
    assert_eq!(names, ["content-type", "x-request-id"]);
    assert_eq!(two["request"]["stable_hash"], hash(&ask_stream("ping")));
    assert_eq!(two["response"]["kind"], "stream");
    assert_eq!(
        two["response"]["events"][0],
        json!({ "kind": "comment", "text": "OPENROUTER PROCESSING" })
    );
    assert_eq!(
        two["response"]["events"][3],
        json!({ "kind": "data", "raw": "[DONE]", "parsed_json": null })
    );
    let transcript: Vec<u8> = serde_json::from_value(two["response"]["raw_transcript"].clone()).unwrap();
    assert_eq!(transcript, STREAM.as_bytes());
    assert_eq!(
        two["response"]["timing"]["chunk_offsets_ms"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    assert_eq!(one["metadata"]["protocol_id"], "openai.chat_completions.v1");
    assert_eq!(one["metadata"]["upstream_id"], "openrouter");
    assert!(one["metadata"]["recorded_at"].as_str().unwrap().ends_with('Z'));

    assert_eq!(verify_cassette(&place.config()).unwrap().findings, []);
    let harness = start(replaying(&place)).await;
    let url = format!("http://{}{CHAT}?a=1&b=2", harness.addr);
    let first = http::post(&url, &ask("ping").to_string()).await;
    assert_eq!(first.header("x-request-id"), Some("r1"));
    assert_eq!(first.text().await, "{\"id\": 1.50}");
    assert_eq!(post(&harness, &ask_stream("ping")).await.text().await, STREAM);
    harness.shutdown().await.unwrap();
    assert_eq!(upstream.count(), 2, "replay asks nobody");
}

#[tokio::test]
async fn the_key_comes_from_its_variable_and_the_upstream_alone_sees_it() {
    // Every test run has this variable; it stands in for a key.
    let key = std::env::var("CARGO_PKG_NAME").unwrap();
    for (kind, header, value) in [
        (UpstreamKind::OpenRouter, "authorization", format!("Bearer {key}")),
        (UpstreamKind::Anthropic, "x-api-key", key.clone()),
        (UpstreamKind::Gemini, "x-goog-api-key", key.clone()),
    ] {
        let upstream = Upstream::start([Reply::text("hi")]);
        let place = Place::new();
        let extra = [("x-title", "t"), ("Authorization", "passed over")];
        let config = with(
            UpstreamConfig {
                kind,
                base_url: format!("{}?tenant=1", upstream.v1()),
                api_key_env: "CARGO_PKG_NAME".to_owned(),
                extra_headers: extra
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
            },
            &place,
        );
        let harness = start(config).await;
        let url = format!("http://{}{CHAT}?x=2", harness.addr);
        let mine = [
            ("authorization", "Bearer canary-of-the-caller"),
            ("x-api-key", "canary"),
        ];
        let response = http::request("POST", &url, &mine, ask("ping").to_string().as_bytes()).await;
        assert_eq!(response.status, 200);
        response.whole().await;
        harness.shutdown().await.unwrap();
        let received = &upstream.received()[0];
        assert_eq!(received.header(header), Some(value.as_str()), "{kind:?}");
        assert_eq!(received.header("x-title"), Some("t"));
        assert_eq!(
            (received.path.as_str(), received.query.as_str()),
            (CHAT, "tenant=1&x=2")
        );
        let all = format!("{:?}", received.headers);
        assert!(!all.contains("canary"), "{all}");
        let text = std::fs::read_to_string(place.cassette()).unwrap();
        assert!(!text.contains("canary") && !text.contains("x-title"), "{text}");
    }
}

#[tokio::test]
async fn a_missing_key_and_an_upstream_that_is_down_are_502_and_the_harness_goes_on() {
    let place = Place::new();
    let no_key = UpstreamConfig {
        api_key_env: "VCR_TESTS_NO_SUCH_VARIABLE".to_owned(),
        ..UpstreamConfig::default()
    };
    let down = UpstreamConfig {
        base_url: Upstream::nobody(),
        api_key_env: String::new(),
        ..UpstreamConfig::default()
    };
    for (upstream, kind) in [(no_key, "credentials"), (down, "upstream_error")] {
        let harness = start(with(upstream, &place)).await;
        for _ in 0..2 {
            let (status, error) = error(post(&harness, &ask("ping")).await).await;
            assert_eq!((status, &error["kind"]), (502, &json!(kind)), "{error}");
            assert!(!error.to_string().contains("NO_SUCH_VARIABLE"), "{error}");
        }
        let report = harness.shutdown().await.unwrap();
        assert_eq!(report.recorded, 0);
    }
    assert_eq!(place.read()["interactions"], json!([]));
}

#[tokio::test]
async fn what_broke_off_reaches_the_caller_and_no_cassette() {
    let broken = Reply::stream(vec![
        Step::Bytes(b"data: {\"n\":1}\n\n".to_vec()),
        Step::CloseWithoutEnd,
    ]);
    let odd = Reply::stream(vec![Step::Bytes(b"data: \xff\n\n".to_vec())]);
    let cut = Reply::stream(vec![Step::Bytes(b"data: 1\n\ndata: 2".to_vec())]);
    let mut none = Reply::text("never");
    none.before_head = BeforeHead::Reset;
    let upstream = Upstream::start([broken, odd, cut, none, Reply::text("good")]);
    let place = Place::new();
    let harness = start(place.recording(&upstream)).await;
    let whole = post(&harness, &ask_stream("a")).await.whole().await;
    assert_eq!(whole.bytes(), b"data: {\"n\":1}\n\n");
    assert!(whole.broken.is_some());
    assert_eq!(
        post(&harness, &ask_stream("b")).await.whole().await.bytes(),
        b"data: \xff\n\n"
    );
    assert_eq!(
        post(&harness, &ask_stream("c")).await.whole().await.bytes(),
        b"data: 1\n\ndata: 2"
    );
    assert_eq!(post(&harness, &ask("d")).await.status, 502);
    assert_eq!(post(&harness, &ask("e")).await.whole().await.broken, None);
    let report = harness.shutdown().await.unwrap();
    assert_eq!((report.recorded, report.not_recorded), (1, 4), "{report:?}");
    let failed = |fault: &HarnessError| matches!(fault, HarnessError::UpstreamRequestFailed { .. });
    assert!(
        report.faults.len() == 4 && report.faults.iter().all(failed),
        "{report:?}"
    );
    assert_eq!(place.read()["interactions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_end_marker_decides_and_not_the_socket() {
    let gate = Gate::new();
    let steps = vec![Step::Bytes(STREAM.into()), Step::Wait(gate.clone())];
    let upstream = Upstream::start([Reply::stream(steps)]);
    let place = Place::new();
    let harness = start(place.recording(&upstream)).await;
    let mut response = post(&harness, &ask_stream("a")).await;
    response.until("[DONE]").await;
    drop(response);
    let report = harness.shutdown().await.unwrap();
    gate.open();
    assert_eq!(report.recorded, 1, "{report:?}");
    let harness = start(replaying(&place)).await;
    assert_eq!(post(&harness, &ask_stream("a")).await.text().await, STREAM);
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn an_answer_reaches_the_caller_before_the_next_piece_is_there() {
    let gate = Gate::new();
    let steps = vec![
        Step::Bytes(b"data: 1\n\n".to_vec()),
        Step::Wait(gate.clone()),
        Step::Bytes(b"data: [DONE]\n\n".to_vec()),
    ];
    let upstream = Upstream::start([Reply::stream(steps)]);
    let place = Place::new();
    let harness = start(place.recording(&upstream)).await;
    let mut response = post(&harness, &ask_stream("a")).await;
    assert_eq!(response.until("data: 1").await, b"data: 1\n\n");
    gate.open();
    assert_eq!(response.text().await, "data: [DONE]\n\n");
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_cassette_grows_and_what_is_there_stays() {
    let place = Place::new();
    for round in 1..=3 {
        let upstream = Upstream::start([Reply::text(&format!("answer {round}"))]);
        let harness = start(place.recording(&upstream)).await;
        let second = place.recording(&upstream);
        assert!(
            matches!(place.refused(second).await, HarnessError::Io { .. }),
            "two recordings of one file"
        );
        post(&harness, &ask(&round.to_string())).await.whole().await;
        harness.shutdown().await.unwrap();
        let interactions = place.read()["interactions"].as_array().unwrap().len();
        assert_eq!(interactions, round);
    }
    let names: Vec<_> = std::fs::read_dir(place.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["smoke_001"], "nothing is left beside it");
    let harness = place.start().await;
    for round in 1..=3 {
        let text = post(&harness, &ask(&round.to_string())).await.text().await;
        assert!(text.contains(&format!("answer {round}")), "{text}");
    }
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn eight_at_a_time_are_all_kept() {
    let upstream = Upstream::with(|received| Reply::text(&received.prompt()));
    let place = Place::new();
    let harness = start(place.recording(&upstream)).await;
    let url = format!("http://{}{CHAT}", harness.addr);
    let mut calls = tokio::task::JoinSet::new();
    for index in 0..24 {
        let url = url.clone();
        calls.spawn(async move {
            http::post(&url, &ask(&index.to_string()).to_string())
                .await
                .status
        });
    }
    assert!(calls.join_all().await.iter().all(|status| *status == 200));
    assert_eq!(harness.shutdown().await.unwrap().recorded, 24);
    assert_eq!(place.read()["interactions"].as_array().unwrap().len(), 24);
    assert!(verify_cassette(&place.config()).unwrap().holds());
}

#[tokio::test]
async fn secrets_are_removed_and_the_request_still_matches() {
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    let asked = ask(&format!("my key is {secret}"));
    let answer = |secret: &str| format!("{{\"echo\": \"{secret}\"}}");
    for scrub_secrets in [true, false] {
        let upstream = Upstream::start([Reply::json_text(200, &answer(secret))]);
        let place = Place::new();
        let harness = start(HarnessConfig {
            scrub_secrets,
            redaction: RedactionConfig { drop_headers: vec![] },
            ..place.recording(&upstream)
        })
        .await;
        let url = format!("http://{}{CHAT}", harness.addr);
        let headers = [("authorization", "Bearer kept-on-purpose")];
        let response = http::request("POST", &url, &headers, asked.to_string().as_bytes()).await;
        assert_eq!(response.text().await, answer(secret));
        harness.shutdown().await.unwrap();
        let cassette = place.read();
        let kept = cassette["interactions"][0].to_string();
        assert_eq!(kept.contains(secret), !scrub_secrets, "{kept}");
        // An empty list keeps what it drops by default.
        assert!(kept.contains("kept-on-purpose"), "{kept}");
        let harness = start(HarnessConfig {
            scrub_secrets,
            ..place.config()
        })
        .await;
        let text = post(&harness, &asked).await.text().await;
        assert_eq!(text == answer(secret), !scrub_secrets, "{text}");
        harness.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn what_is_no_json_passes_and_is_counted() {
    let upstream = Upstream::start([Reply::text("hi")]);
    let place = Place::new();
    let harness = start(place.recording(&upstream)).await;
    assert_eq!(send(&harness, "POST", CHAT, "{").await.status, 200);
    let report = harness.shutdown().await.unwrap();
    assert_eq!((report.recorded, report.not_recorded), (0, 1));
}

#[tokio::test]
async fn an_error_in_json_to_a_stream_request_replays_as_what_it_was() {
    let limit = Reply::json_text(429, "{\"error\":{\"message\":\"slow down\"}}");
    let upstream = Upstream::start([limit, Reply::json_text(200, "{\"whole\":true}")]);
    let place = Place::new();
    let harness = start(place.recording(&upstream)).await;
    let mut expected = Vec::new();
    for text in ["a", "b"] {
        let response = post(&harness, &ask_stream(text)).await;
        expected.push((response.status, response.text().await));
    }
    harness.shutdown().await.unwrap();
    let harness = start(replaying(&place)).await;
    for (text, expected) in ["a", "b"].iter().zip(expected) {
        let response = post(&harness, &ask_stream(text)).await;
        assert_eq!((response.status, response.text().await), expected);
    }
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn every_protocol_passes_where_all_are_wanted() {
    let messages = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[]}}\n\n\
                    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let lines = "{\"message\":{\"role\":\"assistant\",\"content\":\"a\"},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true}\n";
    let mut ndjson = Reply::new(200, "application/x-ndjson", lines);
    ndjson.length = Length::Chunked;
    let place = Place::new();
    let asked = |stream: bool| json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "a" }], "stream": stream });
    let embed = json!({ "model": "e", "input": "a" });
    let generate = json!({ "contents": [{ "role": "user", "parts": [{ "text": "a" }] }] });
    let rows: Vec<(&str, &Value, String)> = vec![];
    let (anthropic, ollama) = (asked(true), asked(true));
    let rows = [
        rows,
        vec![
            ("/v1/messages", &anthropic, messages.to_owned()),
            ("/api/chat", &ollama, lines.to_owned()),
            ("/v1/embeddings", &embed, "{\"data\":[]}".to_owned()),
            (
                "/v1beta/models/g:generateContent",
                &generate,
                "{\"candidates\":[]}".to_owned(),
            ),
        ],
    ]
    .concat();
    let upstream = Upstream::start([
        Reply::stream(vec![Step::Bytes(messages.into())]),
        ndjson,
        Reply::json_text(200, "{\"data\":[]}"),
        Reply::json_text(200, "{\"candidates\":[]}"),
    ]);
    let config = HarnessConfig {
        protocol: Protocol::Any,
        upstream: Some(UpstreamConfig {
            base_url: upstream.url(),
            api_key_env: String::new(),
            extra_headers: BTreeMap::new(),
            kind: UpstreamKind::OpenAi,
        }),
        ..place.recording(&upstream)
    };
    for config in [
        config,
        HarnessConfig {
            protocol: Protocol::Any,
            ..place.config()
        },
    ] {
        let harness = start(config).await;
        for (path, body, text) in &rows {
            let response = send(&harness, "POST", path, &body.to_string()).await;
            assert_eq!((response.status, &response.text().await), (200, text), "{path}");
        }
        assert_eq!(send(&harness, "POST", "/v1/moderations", "{}").await.status, 404);
        harness.shutdown().await.unwrap();
    }
    let paths: Vec<String> = upstream
        .received()
        .into_iter()
        .map(|received| received.path)
        .collect();
    assert_eq!(
        paths,
        [
            "/v1/messages",
            "/api/chat",
            "/embeddings",
            "/v1beta/models/g:generateContent"
        ]
    );
    assert!(
        verify_cassette(&place.config()).unwrap().holds(),
        "{:?}",
        verify_cassette(&place.config())
    );
}
