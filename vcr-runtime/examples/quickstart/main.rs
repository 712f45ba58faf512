//! Records a conversation with a model over real HTTP, replays it with the model gone, and shows what a changed prompt does.
//!
//! `cargo run --example quickstart`: no key, no network; the model is a small server of our own (`upstream.rs`).
//! In a test, `#[vcr_test]` does what the builder does here, and `VCR_MODE=record` takes the place of `Mode::Record`.

#![allow(clippy::print_stdout, reason = "a program that shows something")]

mod agent;
mod upstream;

use std::path::Path;
use std::time::{Duration, Instant};

use vcr_runtime::{Mode, Vcr, summary};

const QUESTION: &str = "What is the weather in Oslo today?";
const CHANGED: &str = "What is the weather in Rome today?";

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let cassettes = std::env::current_exe()?.with_file_name("quickstart-cassettes");
    let _ = std::fs::remove_dir_all(&cassettes);
    let model = upstream::start().await?;
    let http = reqwest::Client::new();

    println!("1. Record: the agent talks to {} through the gateway", model.url);
    let vcr = session(&cassettes, Mode::Record)?;
    let (live, took_live) = timed(agent::ask(&http, &vcr.base_url_for(&model.url)?, QUESTION)).await;
    let live = live?;
    let report = vcr.finish().await?;
    println!("   answer    {live}");
    println!("   took      {took_live:.1?}");
    for path in &report.written {
        println!("   cassette  {}", path.display());
        println!("{}\n", indented(&summary(path)?));
    }

    let url = model.url.clone();
    model.stop().await;
    println!("2. Replay: the same agent, and nobody listens at {url} any more");
    let vcr = session(&cassettes, Mode::Replay)?;
    let (again, took) = timed(agent::ask(&http, &vcr.base_url_for(&url)?, QUESTION)).await;
    let same = again? == live;
    println!("   verdict   {}", vcr.finish().await?);
    println!("   answer    {}", if same { "the same" } else { "another" });
    let ratio = took_live.as_secs_f64() / took.as_secs_f64();
    println!("   took      {took:.1?}, {ratio:.0} times as fast\n");

    println!("3. Change one word of the prompt: {CHANGED}");
    let vcr = session(&cassettes, Mode::Replay)?;
    let Err(refusal) = agent::ask(&http, &vcr.base_url_for(&url)?, CHANGED).await else {
        return Err("a request that was never recorded got an answer".into());
    };
    println!("   The client sees an HTTP error:");
    println!("{}\n", indented(&refusal));
    let Err(verdict) = vcr.finish().await else {
        return Err("the session did not notice".into());
    };
    println!("   The test fails with the same report, even if the program swallows that error, and adds:");
    println!("{}", indented(&lines_not_in(&refusal, &verdict)));
    Ok(())
}

/// What `#[vcr_test(scenario = "weather")]` opens around a test.
fn session(cassettes: &Path, mode: Mode) -> vcr_runtime::Result<Vcr> {
    let builder = Vcr::builder().invoker("quickstart").scenario("weather");
    builder.fixture_dir(cassettes).mode(mode).open()
}

async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    (future.await, start.elapsed())
}

fn indented(text: &impl ToString) -> String {
    let lines = text.to_string();
    let lines: Vec<String> = lines.lines().map(|line| format!("     {line}")).collect();
    lines.join("\n")
}

fn lines_not_in(known: &impl ToString, text: &impl ToString) -> String {
    let (known, text) = (known.to_string(), text.to_string());
    let new = text
        .lines()
        .filter(|line| !known.lines().any(|other| other == *line));
    new.collect::<Vec<_>>().join("\n")
}
