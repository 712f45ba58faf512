use serde_json::json;
use vcr_tests::{Gate, Reply, Step, Upstream};

use crate::support::{Project, chat};

const CHAT: &str = "/v1/chat/completions";

fn chunk(text: &str) -> Step {
    let payload = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
    Step::Bytes(format!("data: {payload}\n\n").into_bytes())
}

/// An upstream whose second answer waits in the middle, once.
fn halting() -> (Upstream, Gate) {
    let gate = Gate::new();
    let upstream = Upstream::start([
        Reply::text("first"),
        Reply::stream(vec![
            chunk("one"),
            Step::Wait(gate.clone()),
            chunk("two"),
            Step::Bytes(b"data: [DONE]\n\n".to_vec()),
        ]),
    ]);
    (upstream, gate)
}

#[tokio::test]
async fn told_to_stop_it_lets_streams_end_and_saves() {
    let (upstream, gate) = halting();
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let control = json!({"vcr": "record", "vcr_scenario": "term"});
    daemon.post(CHAT, &chat("a", false, &control)).await.text().await;
    let mut stream = daemon.post(CHAT, &chat("b", true, &control)).await;
    stream.until("one").await;
    daemon.signal("TERM").await;
    // It no longer accepts, and waits for what it has.
    let address = daemon.url.strip_prefix("http://").unwrap().to_owned();
    while tokio::net::TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    gate.open();
    let rest = stream.whole().await;
    assert_eq!(rest.broken, None);
    assert!(rest.text().ends_with("data: [DONE]\n\n"));
    let (status, said) = daemon.ended().await;
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("2 calls recorded"), "{said}");
    let summary = vcr_runtime::summary(project.fixture("fixture_unknown_invoker_term.json")).unwrap();
    let texts: Vec<_> = summary.calls.iter().map(|call| call.text.as_str()).collect();
    assert_eq!(texts, ["first", "onetwo"]);
}

#[tokio::test]
async fn a_stream_beyond_the_grace_is_given_up_and_the_finished_calls_are_saved() {
    let (upstream, _gate) = halting();
    let project = Project::new("");
    let daemon = project
        .serve(&["--upstream", &upstream.v1(), "--grace", "0"])
        .await;
    let control = json!({"vcr": "record", "vcr_scenario": "grace"});
    daemon.post(CHAT, &chat("a", false, &control)).await.text().await;
    let mut stream = daemon.post(CHAT, &chat("b", true, &control)).await;
    stream.until("one").await;
    let (status, said) = daemon.stop().await;
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(stream.whole().await.broken.is_some());
    let summary = vcr_runtime::summary(project.fixture("fixture_unknown_invoker_grace.json")).unwrap();
    assert_eq!(summary.calls[0].text, "first");
    // The caller lost the second one, and the recording says so.
    assert!(summary.calls[1].failure.is_some(), "{summary}");
}

#[tokio::test]
async fn killed_it_leaves_the_old_file_whole_and_the_finished_calls_in_a_journal() {
    let (upstream, _gate) = halting();
    let project = Project::new("");
    let file = project.fixture("kill.json");
    let control = json!({"vcr": "record", "vcr_filename": "kill"});
    let old = {
        let upstream = Upstream::start([Reply::text("old")]);
        let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
        daemon.post(CHAT, &chat("a", false, &control)).await.text().await;
        assert_eq!(daemon.stop().await.0.code(), Some(0));
        std::fs::read(&file).unwrap()
    };
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    daemon.post(CHAT, &chat("a", false, &control)).await.text().await;
    let mut stream = daemon.post(CHAT, &chat("b", true, &control)).await;
    stream.until("one").await;
    daemon.signal("KILL").await;
    assert!(daemon.ended().await.0.code().is_none());
    assert_eq!(std::fs::read(&file).unwrap(), old);
    assert!(project.fixture("kill.journal.jsonl").is_file());

    // The next recording keeps what the killed one had finished in a file of its own.
    let upstream = Upstream::start([Reply::text("new")]);
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    daemon.post(CHAT, &chat("a", false, &control)).await.text().await;
    let told = daemon.finish().await;
    assert!(
        told["finished"][0]["notes"]
            .to_string()
            .contains("interrupted recording left 1 finished call"),
        "{told}"
    );
    let kept = vcr_runtime::summary(project.fixture("kill.interrupted.json")).unwrap();
    assert_eq!(kept.calls[0].text, "first");
}

#[tokio::test]
async fn a_second_signal_leaves_at_once() {
    let (upstream, _gate) = halting();
    let project = Project::new("");
    let daemon = project.serve(&["--upstream", &upstream.v1()]).await;
    let control = json!({"vcr": "record", "vcr_filename": "twice"});
    daemon.post(CHAT, &chat("a", false, &control)).await.text().await;
    let mut stream = daemon.post(CHAT, &chat("b", true, &control)).await;
    stream.until("one").await;
    daemon.signal("INT").await;
    let address = daemon.url.strip_prefix("http://").unwrap().to_owned();
    while tokio::net::TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    daemon.signal("INT").await;
    let (status, said) = daemon.ended().await;
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(project.fixture("twice.journal.jsonl").is_file());
}
