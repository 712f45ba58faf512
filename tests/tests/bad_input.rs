//! Bad input is a typed error with one sentence of advice, and its text names what is at fault.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use serde_json::json;
use vcr_runtime::{Error, ErrorKind, Mode, Vcr};
use vcr_tests::Reply;
use vcr_tests::project::Project;
use vcr_tests::rig::{Rig, question, refused};

/// The error is of that kind, has advice, and says all of this.
fn says(error: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(!error.advice().is_empty(), "no advice: {error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
    }
}

async fn good() -> Rig {
    Rig::recorded([(question("hi"), Reply::text("ok"))]).await
}

#[test]
fn an_unknown_mode_speed_or_number_in_the_environment() {
    let project = Project::shared();
    let fixtures = tempfile::tempdir().unwrap();
    for (name, value, words) in [
        (
            "VCR_MODE",
            "replya",
            &["VCR_MODE", "replya", "replay", "record"][..],
        ),
        ("VCR_SPEED", "fast", &["VCR_SPEED", "fast", "max", "real"]),
        ("VCR_TICK", "abc", &["VCR_TICK", "abc"]),
        ("VCR_CHAOS", "-1", &["VCR_CHAOS", "-1", "negative"]),
    ] {
        let outcome = project
            .direct("verdict", "passes")
            .fixtures(fixtures.path())
            .env(name, value)
            .outcome();
        outcome.expect(false);
        for word in words {
            outcome.says(word);
        }
    }
}

#[test]
fn an_unknown_key_in_vcr_toml() {
    let source =
        "#[vcr_runtime::vcr_test(mode = live)]\nasync fn opens(vcr: vcr_runtime::Vcr) {\n    drop(vcr);\n}\n";
    for (text, words) in [
        ("matchin = \"keyed\"\n", &["vcr.toml", "matchin", "matching"][..]),
        (
            "matching = \"fuzzy\"\n",
            &["vcr.toml", "matching", "fuzzy", "keyed"],
        ),
        ("matching = \n", &["vcr.toml", "1"]),
    ] {
        let project = Project::new("settings", &[("tests/it.rs", source), ("vcr.toml", text)]);
        let outcome = project.direct("it", "opens").outcome();
        for word in words {
            outcome.says(word);
        }
    }
    let project = Project::new(
        "settings",
        &[("tests/it.rs", source), ("vcr.toml", "matching = \"keyed\"\n")],
    );
    project
        .direct("it", "opens")
        .outcome()
        .expect(true)
        .never_says("vcr.toml");
}

#[tokio::test]
async fn a_missing_cassette() {
    let error = Rig::new().replay_error().await;
    says(
        &error,
        ErrorKind::CassetteMissing,
        &["fixture_rig_case.json", "VCR_MODE=record"],
    );
}

#[tokio::test]
async fn broken_json() {
    let rig = good().await;
    let text = rig.cassette().text;
    let at = text.find("\"chunk\": ").unwrap() + "\"chunk\": ".len();
    let line = text[..at].matches('\n').count() + 1;
    std::fs::write(rig.path(), format!("{}oops{}", &text[..at], &text[at..])).unwrap();
    let error = rig.replay_error().await;
    says(
        &error,
        ErrorKind::CassetteBroken,
        &["fixture_rig_case.json", &line.to_string()],
    );
    assert_eq!(
        (error.path(), error.line()),
        (Some(rig.path().as_path()), Some(line))
    );
    assert!(error.column().is_some());
    assert!(
        error.to_string().contains("response_timeline"),
        "the path in the document is missing: {error}"
    );
}

#[tokio::test]
async fn another_format_version() {
    let rig = good().await;
    let text = rig
        .cassette()
        .text
        .replacen("\"format_version\": 1", "\"format_version\": 99", 1);
    let text = if text.contains("99") {
        text
    } else {
        text.replacen('{', "{\"format_version\": 99,", 1)
    };
    std::fs::write(rig.path(), &text).unwrap();
    says(
        &rig.replay_error().await,
        ErrorKind::CassetteVersion,
        &["99", "1", "fixture_rig_case.json"],
    );
    says(
        &refused(rig.builder(Mode::Record)).await,
        ErrorKind::CassetteVersion,
        &["99"],
    );
    assert_eq!(
        rig.cassette().text,
        text,
        "a file of a newer version was overwritten"
    );
}

#[tokio::test]
async fn a_pinned_take_that_is_not_there() {
    let rig = good().await;
    let id = "ffffffffffffffffffffffffffffffff";
    let error = refused(rig.builder(Mode::Replay).target_traces(id)).await;
    says(&error, ErrorKind::TakeMissing, &[id, "fixture_rig_case.json"]);
    let have = rig.cassette().value["latest_trace_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        error.to_string().contains(&have),
        "the takes that are there are not listed: {error}"
    );
    let vcr = rig
        .builder(Mode::Replay)
        .target_traces(format!("case:{have}"))
        .open()
        .unwrap();
    assert_eq!(vcr_tests::rig::chat(&vcr, &question("hi")).await.text(), "ok");
    vcr_tests::rig::done(vcr).await;
}

#[tokio::test]
async fn a_name_that_would_leave_the_directory() {
    let rig = Rig::new();
    let error = refused(rig.builder(Mode::Record).scenario("../../etc/x")).await;
    says(&error, ErrorKind::Identity, &["../../etc/x"]);
}

#[test]
fn two_tests_on_one_file() {
    let project = Project::shared();
    let fixtures = tempfile::tempdir().unwrap();
    let run = project.run_all("shared_file", &["--test-threads", "1"]);
    let outcome = run.fixtures(fixtures.path()).env("VCR_MODE", "record").outcome();
    outcome
        .expect(false)
        .says("shared_file::one")
        .says("shared_file::two")
        .says("same.json");
}

#[test]
fn a_proxy_variable_that_captures_loopback() {
    let project = Project::shared();
    let run = || project.direct("clock", "gateway");
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let outcome = run().env(name, "http://127.0.0.1:9").outcome();
        outcome
            .expect(true)
            .says("refused:")
            .says(name)
            .says("NO_PROXY=127.0.0.1");
        let outcome = run()
            .env(name, "http://127.0.0.1:9")
            .env("NO_PROXY", "localhost,127.0.0.1")
            .outcome();
        outcome.expect(true).says("accepted:");
    }
    run().outcome().expect(true).says("accepted:");
}

#[test]
fn a_paused_clock_with_the_gateway() {
    let outcome = Project::shared().direct("clock", "paused_gateway").outcome();
    outcome
        .expect(true)
        .says("refused:")
        .says("start_paused")
        .says("in-process");
}

#[tokio::test]
async fn a_call_with_no_session() {
    // Where no test uses sessions, a call outside of one simply runs; here one does.
    drop(Rig::new().record());
    says(
        &Vcr::current().unwrap_err(),
        ErrorKind::NoSession,
        &["vcr_test", "in_cassette"],
    );
    let call = vcr_runtime::intercept(&json!({"q": 1}), || async { Ok::<_, std::io::Error>(1) }).await;
    assert!(call.unwrap_err().to_string().contains("vcr_test"));
}

#[tokio::test]
async fn a_call_after_the_end() {
    let rig = good().await;
    let vcr = rig.builder(Mode::Replay).allow_unused(true).open().unwrap();
    let late = vcr.clone();
    vcr_tests::rig::done(vcr).await;
    let call = late
        .intercept(&json!({"q": 1}), || async { Ok::<_, std::io::Error>(1) })
        .await;
    let text = call.unwrap_err().to_string();
    assert!(text.contains("ended"), "{text}");
    let notes = late.finish().await.unwrap().notes.join("\n");
    assert!(notes.contains("after the test had ended"), "{notes}");
}

#[tokio::test]
async fn a_request_that_is_no_request() {
    let rig = good().await;
    let vcr = rig.builder(Mode::Replay).allow_unused(true).open().unwrap();
    let url = format!(
        "{}/chat/completions",
        vcr.base_url(vcr_runtime::Protocol::OpenAi).unwrap()
    );
    for body in ["", "{", "[]", "null", "{\"model\": 7}"] {
        let answer = vcr_tests::http::post(&url, body).await;
        assert!(
            (400..500).contains(&answer.status),
            "{body:?} was answered with {}",
            answer.status
        );
    }
    let root = &url[..url.find("/openai").unwrap()];
    for path in [
        "/",
        "/nobody/knows",
        "/up/99/chat/completions",
        "/openai/v1/../../x",
    ] {
        let answer = vcr_tests::http::post(&format!("{root}{path}"), "{}").await;
        assert!(
            (400..500).contains(&answer.status),
            "{path} was answered with {}",
            answer.status
        );
    }
    let _ = vcr.finish().await;
}

#[tokio::test]
async fn an_upstream_that_is_no_url() {
    let vcr = Rig::new().record();
    for base in [
        "",
        "openrouter.ai/api/v1",
        "ftp://host/v1",
        "http://",
        "http://host/v1?x=1",
    ] {
        let error = vcr.base_url_for(base).unwrap_err();
        assert!(!error.advice().is_empty(), "{base:?}: {error}");
    }
    vcr_tests::rig::done(vcr).await;
}
