//! Sessions at their edges: cassettes that nobody opens, answers that say nothing, reports that must not tell.

use std::path::Path;

use vcr_runtime::{
    CallError, ErrorKind, Failure, InterceptError, Matching, Mode, Reply, Request, Vcr, VcrBuilder,
};

async fn ask(_: Request) -> Result<Reply, Failure> {
    Ok(Reply::text("answer"))
}

fn builder(directory: &Path, scenario: &str, mode: Mode) -> VcrBuilder {
    Vcr::builder()
        .scenario(scenario)
        .fixture_dir(directory)
        .mode(mode)
}

async fn say(vcr: &Vcr, text: &str) -> Result<String, CallError> {
    let request = Request::new("m").user(text);
    Ok(vcr.client(ask).completion(request).await?.text)
}

async fn say_elsewhere(vcr: &Vcr, text: &str) {
    let request = Request::new("m").user(text).metadata("vcr_scenario", "elsewhere");
    let answer = vcr.client(ask).completion(request).await;
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test]
async fn calls_that_moved_to_another_cassette_are_left_over_in_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let open = |mode| builder(directory.path(), "own", mode).open().unwrap();
    let vcr = open(Mode::Record);
    say(&vcr, "hi").await.unwrap();
    say_elsewhere(&vcr, "hi").await;
    vcr.finish().await.unwrap();

    let vcr = open(Mode::Replay);
    say_elsewhere(&vcr, "hi").await;
    let error = vcr.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Verdict, "{error}");

    // Recording it so makes it right.
    let vcr = open(Mode::Record);
    say_elsewhere(&vcr, "hi").await;
    vcr.finish().await.unwrap();
    let vcr = open(Mode::Replay);
    say_elsewhere(&vcr, "hi").await;
    vcr.finish().await.unwrap();
}

#[tokio::test]
async fn a_recording_beside_leftovers_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = builder(directory.path(), "own", Mode::Record).open().unwrap();
    say(&vcr, "one").await.unwrap();
    say(&vcr, "two").await.unwrap();
    vcr.finish().await.unwrap();

    let vcr = builder(directory.path(), "own", Mode::Auto).open().unwrap();
    if vcr.mode() == Mode::Replay {
        // `CI` is set, so nothing is recorded.
        return;
    }
    say(&vcr, "one").await.unwrap();
    say_elsewhere(&vcr, "three").await;
    let error = vcr.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Verdict, "{error}");
    assert!(error.message().contains("elsewhere.new.json"), "{error}");
    let names: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        !names.iter().any(|name| name.ends_with("elsewhere.json")),
        "{names:?}"
    );
}

#[tokio::test]
async fn what_is_new_in_one_cassette_excuses_no_leftovers_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = builder(directory.path(), "own", Mode::Record).open().unwrap();
    say(&vcr, "one").await.unwrap();
    say(&vcr, "two").await.unwrap();
    vcr.finish().await.unwrap();

    let vcr = builder(directory.path(), "own", Mode::New).open().unwrap();
    if vcr.mode() == Mode::Replay {
        // `CI` is set, so nothing is recorded.
        return;
    }
    say(&vcr, "one").await.unwrap();
    say_elsewhere(&vcr, "three").await;
    let error = vcr.finish().await.unwrap_err();
    assert!(
        error.message().starts_with("1 recorded call was never asked for"),
        "{error}"
    );
}

#[tokio::test]
async fn a_private_miss_says_what_to_do_and_nothing_of_the_request() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = builder(directory.path(), "own", Mode::Record).open().unwrap();
    say(&vcr, "canary one").await.unwrap();
    say(&vcr, "canary two").await.unwrap();
    vcr.finish().await.unwrap();

    for (text, headline, advice) in [
        ("canary two", "came before its turn", "matching = keyed"),
        (
            "canary 3",
            "no recorded call answers",
            "VCR_MODE=record cargo test",
        ),
    ] {
        let vcr = builder(directory.path(), "own", Mode::Replay)
            .private(true)
            .open()
            .unwrap();
        let error = say(&vcr, text).await.unwrap_err().to_string();
        assert!(error.contains(headline) && error.contains(advice), "{error}");
        let verdict = vcr.finish().await.unwrap_err().to_string();
        for shown in [error, verdict] {
            assert!(!shown.contains("canary") && !shown.contains("sha256"), "{shown}");
        }
    }
}

#[tokio::test]
async fn an_abandoned_recording_is_named_in_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = builder(directory.path(), "own", Mode::Record).open().unwrap();
    say(&vcr, "hi").await.unwrap();
    let report = vcr.abandon().await.unwrap();
    assert_eq!(report.set_aside.len(), 1);
    assert!(report.to_string().contains("set aside"), "{report}");
}

#[tokio::test]
async fn an_intercepted_nothing_is_replayed_as_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for mode in [Mode::Record, Mode::Replay] {
        let vcr = builder(directory.path(), "own", mode).open().unwrap();
        let nothing: Option<String> = vcr
            .intercept("a", || async { Ok::<_, std::io::Error>(None) })
            .await
            .unwrap();
        assert_eq!(nothing, None);
        let () = vcr
            .intercept("b", || async { Ok::<_, std::io::Error>(()) })
            .await
            .unwrap();
        vcr.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_private_session_does_not_quote_an_answer_of_the_wrong_type() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = builder(directory.path(), "own", Mode::Record).open().unwrap();
    let answer = || async { Ok::<_, std::io::Error>("canary".to_owned()) };
    vcr.intercept("q", answer).await.unwrap();
    vcr.finish().await.unwrap();

    for (private, quoted) in [(false, true), (true, false)] {
        let vcr = builder(directory.path(), "own", Mode::Replay)
            .private(private)
            .open()
            .unwrap();
        let answer = || async { Ok::<u32, std::io::Error>(1) };
        let Err(InterceptError::Vcr(error)) = vcr.intercept("q", answer).await else {
            panic!("a text is no number");
        };
        assert_eq!(error.to_string().contains("canary"), quoted, "{error}");
        let error = vcr.finish().await.unwrap_err();
        assert_eq!(error.to_string().contains("canary"), quoted, "{error}");
    }
}

#[tokio::test]
async fn by_order_alone_a_call_too_many_is_called_that() {
    let directory = tempfile::tempdir().unwrap();
    let vcr = builder(directory.path(), "own", Mode::Record).open().unwrap();
    say(&vcr, "one").await.unwrap();
    vcr.finish().await.unwrap();
    let vcr = builder(directory.path(), "own", Mode::Replay)
        .matching(Matching::Order)
        .open()
        .unwrap();
    say(&vcr, "another").await.unwrap();
    let error = say(&vcr, "a third").await.unwrap_err().to_string();
    assert!(
        error.contains("every recorded call has been used (1 call)"),
        "{error}"
    );
    assert!(!error.contains("equal in every field"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_silence_before_an_error_takes_its_recorded_time() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("silence.json"),
        r#"{"latest_trace_id": "t", "traces": {"t": {
            "request_context": {"messages": [{"role": "user", "content": "hi"}]},
            "network_metrics": {"ttfb_ms": 100, "total_duration_ms": 30000},
            "response_timeline": [{"delta_ms": 100, "chunk": "par"}],
            "exception_boundary": {"occurred": true, "error_type": "Timeout", "message": "nothing came"}
        }}}"#,
    )
    .unwrap();
    let vcr = Vcr::builder()
        .filename("silence")
        .fixture_dir(directory.path())
        .mode(Mode::Replay)
        .speed(vcr_runtime::Speed::Real)
        .open()
        .unwrap();
    let start = tokio::time::Instant::now();
    let request = Request::new("m").user("hi");
    let mut stream = vcr.client(ask).completion_stream(request).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().chunk, "par");
    assert!(start.elapsed().as_millis() < 200);
    stream.next().await.unwrap().unwrap_err();
    assert!(start.elapsed().as_secs() >= 30);
    vcr.finish().await.unwrap();
}
