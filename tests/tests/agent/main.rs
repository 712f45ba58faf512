//! An agent with two helpers that work at the same time: tools, a retry after a refusal, and a call that somebody outside
//! cancels. Its model is the log of a recorded session with those of its helpers. In process, and through the gateway by
//! HTTP clients of two providers.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod door;
mod flow;
mod models;

use vcr_runtime::{Mode, Vcr, vcr_test};

use door::{Door, http};
use flow::{Told, run};

/// What all of them say, by their names instead of the keys that they have in this run.
const TRANSCRIPT: &str = include_str!("../../fixtures/agent/transcript.txt");

#[vcr_test(
    source = "session:parent.jsonl",
    child_files = ["child-2.jsonl", "child-1.jsonl"],
    override_file = "faults.json",
    fixture_dir = "fixtures/agent",
    mode = replay
)]
async fn in_process(vcr: Vcr) -> vcr_runtime::Result<()> {
    assert_eq!(
        run(&vcr, Door::InProcess, &http(), 0).await.transcript,
        TRANSCRIPT
    );
    vcr.assert_consumed()
}

#[vcr_test(
    source = "session:parent.jsonl",
    child_files = ["child-2.jsonl", "child-1.jsonl"],
    override_file = "faults.json",
    fixture_dir = "fixtures/agent",
    mode = replay
)]
async fn by_a_client_of_openai(vcr: Vcr) -> vcr_runtime::Result<()> {
    assert_eq!(run(&vcr, Door::OpenAi, &http(), 0).await.transcript, TRANSCRIPT);
    vcr.assert_consumed()
}

#[vcr_test(
    source = "session:parent.jsonl",
    child_files = ["child-2.jsonl", "child-1.jsonl"],
    override_file = "faults.json",
    fixture_dir = "fixtures/agent",
    mode = replay
)]
async fn by_a_client_of_anthropic(vcr: Vcr) -> vcr_runtime::Result<()> {
    assert_eq!(
        run(&vcr, Door::Anthropic, &http(), 0).await.transcript,
        TRANSCRIPT
    );
    vcr.assert_consumed()
}

/// A hundred runs, each with other keys, and with the helpers started in the one order and in the other.
async fn hundred(door: Door) {
    let (http, mut first) = (http(), None::<Told>);
    for number in 1..=100 {
        let builder = Vcr::builder().scenario("agent").fixture_dir("fixtures/agent");
        let builder = builder.mode(Mode::Replay).source("session:parent.jsonl");
        let builder = builder.child_files(["child-2.jsonl", "child-1.jsonl"]);
        let vcr = builder.override_file("faults.json").open().unwrap();
        let told = run(&vcr, door, &http, number).await;
        vcr.finish().await.unwrap();
        assert_eq!(told.transcript, TRANSCRIPT, "run {number}");
        let first = first.get_or_insert_with(|| told.clone());
        assert_eq!(&told, first, "run {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_runs_in_process_are_one() {
    hundred(Door::InProcess).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_runs_by_a_client_of_openai_are_one() {
    hundred(Door::OpenAi).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_runs_by_a_client_of_anthropic_are_one() {
    hundred(Door::Anthropic).await;
}
