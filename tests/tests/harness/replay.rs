//! The answers of a replaying harness, as a table.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vcr_runtime::Speed;
use vcr_runtime::harness::config::{MatchMode, ReplayConfig};
use vcr_runtime::harness::{HarnessConfig, HarnessError};

use super::support::{
    CHAT, Place, ask, ask_stream, data, error, hash, interaction, post, send, start, stream, whole,
};

const NONE: &str = "";

/// What a row expects of the body.
enum Body {
    Exactly(&'static str),
    /// The members of `error`, as far as they are named.
    Error(Value),
}

struct Row {
    request: (&'static str, &'static str, String),
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: Body,
}

fn row(
    request: (&'static str, &'static str, &Value),
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: Body,
) -> Row {
    let (method, path, body_sent) = request;
    let text = body_sent
        .as_str()
        .map_or_else(|| body_sent.to_string(), str::to_owned);
    Row {
        request: (method, path, text),
        status,
        headers,
        body,
    }
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

fn recorded() -> Vec<Value> {
    vec![
        interaction(
            &ask("ping"),
            whole(
                200,
                &json!([
                    ["content-type", "application/json"],
                    ["x-a", "1"],
                    ["bad name", "1"],
                    ["x-a", "2"]
                ]),
                "{ \"n\": 1.50 }\n",
            ),
        ),
        interaction(
            &ask_stream("ping"),
            stream(
                &json!([]),
                &[
                    json!({ "kind": "comment", "text": "OPENROUTER PROCESSING" }),
                    data("{\"n\":1}"),
                    data("two\nlines"),
                    data("[DONE]"),
                ],
                "",
            ),
        ),
        interaction(&ask_stream("whole"), whole(200, &json!([]), "{}")),
    ]
}

fn table() -> Vec<Row> {
    let mismatch = |position: Value, expected: &str, asked: &Value, summary: &str| {
        Body::Error(json!({
            "kind": "request_mismatch", "position": position, "expected_hash": expected,
            "observed_hash": hash(asked), "diff_summary": summary,
        }))
    };
    let next = |index: usize| json!({ "kind": "expected", "index": index });
    let kind = |kind: &str| Body::Error(json!({ "kind": kind }));
    let ping = "79f1cbf038273398bb97915487d67d28d842a8d798af828d7c515f7e8eb0b2ca";
    let broken = json!("{\"model\":");
    let (unary, streamed) = (ask("ping"), ask_stream("ping"));
    vec![
        row(
            ("GET", CHAT, &json!(NONE)),
            405,
            &[("allow", "POST")],
            Body::Exactly(NONE),
        ),
        row(("POST", "/v1/models", &unary), 404, &[], Body::Exactly(NONE)),
        row(("POST", "/", &unary), 404, &[], Body::Exactly(NONE)),
        row(("POST", CHAT, &broken), 400, JSON, kind("malformed_json")),
        row(("POST", CHAT, &json!(NONE)), 400, JSON, kind("malformed_json")),
        row(
            ("POST", CHAT, &ask("pong")),
            409,
            JSON,
            mismatch(
                next(0),
                ping,
                &ask("pong"),
                "changed: canonical_body.messages[0].content: \"ping\" -> \"pong\"",
            ),
        ),
        row(
            ("POST", CHAT, &streamed),
            409,
            JSON,
            mismatch(next(0), ping, &streamed, "added: canonical_body.stream: true"),
        ),
        row(
            ("POST", CHAT, &unary),
            200,
            &[("content-type", "application/json"), ("x-a", "1"), ("x-a", "2")],
            Body::Exactly("{ \"n\": 1.50 }\n"),
        ),
        row(
            ("POST", CHAT, &unary),
            409,
            JSON,
            mismatch(
                next(1),
                &hash(&streamed),
                &unary,
                "removed: canonical_body.stream",
            ),
        ),
        row(
            ("POST", CHAT, &streamed),
            200,
            &[("content-type", "text/event-stream")],
            Body::Exactly(
                ": OPENROUTER PROCESSING\n\ndata: {\"n\":1}\n\ndata: two\ndata: lines\n\ndata: [DONE]\n\n",
            ),
        ),
        // What is refused is not used up.
        row(
            ("POST", CHAT, &ask_stream("whole")),
            501,
            JSON,
            kind("stream_cassette_required"),
        ),
        row(
            ("POST", CHAT, &ask_stream("whole")),
            501,
            JSON,
            kind("stream_cassette_required"),
        ),
    ]
}

async fn check(place: &Place, config: HarnessConfig, rows: Vec<Row>) {
    place.write(&recorded());
    let harness = start(config).await;
    for (index, row) in rows.into_iter().enumerate() {
        let (method, path, body) = row.request;
        let response = send(&harness, method, path, &body).await;
        assert_eq!(response.status, row.status, "row {index}: {method} {path} {body}");
        let ours = |name: &str| {
            matches!(
                name,
                "date" | "connection" | "content-length" | "transfer-encoding"
            )
        };
        let headers: Vec<(&str, &str)> = response
            .headers
            .iter()
            .filter(|(name, _)| !ours(name))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(headers, row.headers, "row {index}");
        match row.body {
            Body::Exactly(text) => assert_eq!(response.text().await, text, "row {index}"),
            Body::Error(members) => {
                let (_, error) = error(response).await;
                for (name, expected) in members.as_object().unwrap() {
                    assert_eq!(&error[name], expected, "row {index}: {name} of {error}");
                }
                // What the SDKs of providers show.
                assert_eq!(error["code"], error["kind"]);
                assert!(
                    error["message"]
                        .as_str()
                        .is_some_and(|message| message.len() > 10),
                    "{error}"
                );
            }
        }
    }
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn strict_order() {
    let place = Place::new();
    check(&place, place.config(), table()).await;
}

#[tokio::test]
async fn the_end_of_the_cassette_is_said() {
    let place = Place::new();
    place.write(&recorded()[..1]);
    let harness = place.start().await;
    assert_eq!(post(&harness, &ask("ping")).await.status, 200);
    let (status, error) = error(post(&harness, &ask("ping")).await).await;
    assert_eq!(
        (status, &error["position"]),
        (409, &json!({ "kind": "exhausted", "count": 1 }))
    );
    assert_eq!(error["expected_hash"], "");
    assert!(
        error["diff_summary"]
            .as_str()
            .unwrap()
            .starts_with("cassette-exhausted: "),
        "{error}"
    );
    let report = harness.shutdown().await.unwrap();
    assert_eq!((report.served, report.mismatches), (1, 1));
    assert!(report.leftovers.is_empty());
    assert!(
        matches!(
            &report.faults[..],
            [HarnessError::RequestMismatch {
                interaction_id: 1,
                ..
            }]
        ),
        "{report:?}"
    );
}

#[tokio::test]
async fn keyed_order_takes_requests_as_they_come() {
    let place = Place::new();
    let answer = |text: &str| whole(200, &json!([]), text);
    place.write(&[
        interaction(&ask("a"), answer("1")),
        interaction(&ask("b"), answer("2")),
        interaction(&ask("a"), answer("3")),
        interaction(&ask("never"), answer("4")),
    ]);
    let harness = start(HarnessConfig {
        match_mode: MatchMode::Keyed,
        ..place.config()
    })
    .await;
    for (asked, text) in [("b", "2"), ("a", "1"), ("a", "3")] {
        assert_eq!(post(&harness, &ask(asked)).await.text().await, text);
    }
    for (asked, token) in [
        ("a", "interaction-already-consumed: all 2 "),
        ("c", "no-matching-interaction: "),
    ] {
        let (status, error) = error(post(&harness, &ask(asked)).await).await;
        assert_eq!(
            (status, &error["position"]),
            (409, &json!({ "kind": "keyed_miss", "count": 4 }))
        );
        assert!(
            error["diff_summary"].as_str().unwrap().starts_with(token),
            "{error}"
        );
    }
    let report = harness.shutdown().await.unwrap();
    assert_eq!(report.leftovers.len(), 1);
    assert_eq!(report.leftovers[0].name, "interaction 3");
    assert!(
        report.leftovers[0]
            .summary
            .starts_with("POST /v1/chat/completions "),
        "{report:?}"
    );
}

#[tokio::test]
async fn each_interaction_is_served_once_whoever_asks() {
    let place = Place::new();
    let interactions: Vec<Value> = (0..40)
        .map(|index| interaction(&ask("same"), whole(200, &json!([]), &index.to_string())))
        .collect();
    place.write(&interactions);
    let harness = start(HarnessConfig {
        match_mode: MatchMode::Keyed,
        ..place.config()
    })
    .await;
    let url = format!("http://{}{CHAT}", harness.addr);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let url = url.clone();
        calls.spawn(async move {
            let response = vcr_tests::http::post(&url, &ask("same").to_string()).await;
            (response.status, response.text().await)
        });
    }
    let answers = calls.join_all().await;
    let served: BTreeSet<&str> = answers
        .iter()
        .filter(|(status, _)| *status == 200)
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(served.len(), 40);
    assert_eq!(answers.iter().filter(|(status, _)| *status == 409).count(), 10);
    let report = harness.shutdown().await.unwrap();
    assert_eq!((report.served, report.mismatches), (40, 10));
}

#[tokio::test]
async fn errors_and_oddities_of_a_cassette_are_served_as_far_as_they_can_be() {
    let place = Place::new();
    let json_type = json!([["content-type", "application/json"]]);
    let mut answered_whole = interaction(&ask_stream("ignored"), whole(200, &json_type, "{}"));
    answered_whole["metadata"]["stream_answered_whole"] = json!(true);
    let text_for_word = json!({ "model": "m", "messages": [], "stream": "true" });
    place.write(&[
        interaction(&ask_stream("limit"), whole(429, &json_type, "{\"error\":{}}")),
        answered_whole,
        interaction(&ask("odd"), whole(700, &json!([]), "")),
        interaction(&ask("unary"), stream(&json!([]), &[data("x")], "")),
        interaction(&text_for_word, whole(200, &json!([]), "no stream")),
    ]);
    let harness = start(HarnessConfig {
        match_mode: MatchMode::Keyed,
        ..place.config()
    })
    .await;
    // An HTTP error is a whole body whatever was asked for.
    let limit = post(&harness, &ask_stream("limit")).await;
    assert_eq!(
        (limit.status, limit.text().await.as_str()),
        (429, "{\"error\":{}}")
    );
    assert_eq!(post(&harness, &ask_stream("ignored")).await.text().await, "{}");
    let (status, error) = error(post(&harness, &ask("odd")).await).await;
    assert_eq!((status, &error["kind"]), (502, &json!("internal")));
    // A text is not the word.
    assert_eq!(post(&harness, &text_for_word).await.text().await, "no stream");
    assert_eq!(post(&harness, &ask("unary")).await.text().await, "data: x\n\n");
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn ignored_paths_take_no_part_on_either_side() {
    let place = Place::new();
    let asked = |run: &str| json!({ "model": "m", "metadata": { "run_id": run }, "messages": [] });
    place.write(&[
        interaction(&asked("1"), whole(200, &json!([]), "one")),
        interaction(&asked("2"), whole(200, &json!([]), "two")),
    ]);
    let ignoring = HarnessConfig {
        ignored_body_paths: vec!["/metadata/run_id".to_owned()],
        ..place.config()
    };
    let harness = start(ignoring).await;
    assert_eq!(post(&harness, &asked("x")).await.text().await, "one");
    let mut other = asked("y");
    other["model"] = json!("n");
    let (_, error) = error(post(&harness, &other).await).await;
    assert_eq!(
        error["diff_summary"],
        "changed: canonical_body.model: \"m\" -> \"n\""
    );
    assert_eq!(post(&harness, &asked("z")).await.text().await, "two");
    harness.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_transcript_is_served_to_the_byte_where_that_is_wanted() {
    let place = Place::new();
    let transcript = ": w\r\n\r\nevent: delta\r\ndata:{\"n\":1}\r\n\r\ndata: [DONE]\n\n";
    let events = [
        json!({ "kind": "comment", "text": "w" }),
        data("{\"n\":1}"),
        data("[DONE]"),
    ];
    place.write(&[interaction(
        &ask_stream("a"),
        stream(&json!([]), &events, transcript),
    )]);
    for (byte_exact, expected) in [
        (true, transcript),
        (false, ": w\n\ndata: {\"n\":1}\n\ndata: [DONE]\n\n"),
    ] {
        let harness = start(HarnessConfig {
            byte_exact,
            ..place.config()
        })
        .await;
        assert_eq!(post(&harness, &ask_stream("a")).await.text().await, expected);
        harness.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn recorded_and_simulated_times_are_kept() {
    let place = Place::new();
    let mut timed = stream(&json!([]), &[data("1"), data("2")], "");
    timed["timing"] = json!({ "ttft_ms": 30, "chunk_offsets_ms": [30, 90] });
    place.write(&[interaction(&ask_stream("a"), timed)]);
    let simulated = HarnessConfig {
        replay: ReplayConfig {
            simulate_timing: true,
            ttft_ms: 40,
            tps: 20,
        },
        ..place.config()
    };
    let recorded = HarnessConfig {
        speed: Speed::Real,
        ..place.config()
    };
    for config in [simulated, recorded] {
        let harness = start(config).await;
        let began = Instant::now();
        assert_eq!(
            post(&harness, &ask_stream("a")).await.text().await,
            "data: 1\n\ndata: 2\n\n"
        );
        assert!(
            began.elapsed() >= Duration::from_millis(90),
            "{:?}",
            began.elapsed()
        );
        harness.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn repeats_serve_a_cassette_for_ever() {
    let place = Place::new();
    place.write(&[
        interaction(&ask("a"), whole(200, &json!([]), "1")),
        interaction(&ask("b"), whole(200, &json!([]), "2")),
    ]);
    let harness = start(HarnessConfig {
        allow_repeats: true,
        ..place.config()
    })
    .await;
    for _ in 0..3 {
        assert_eq!(post(&harness, &ask("a")).await.text().await, "1");
        assert_eq!(post(&harness, &ask("b")).await.text().await, "2");
    }
    harness.shutdown().await.unwrap();
}
