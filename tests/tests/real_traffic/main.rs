//! Real recordings of providers, served in odd pieces, recorded through the gateway and replayed: an SDK sees the same.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, which print what they measured"
)]

mod round_trip;
mod scripts;
mod sizes;
mod table;

use vcr_runtime::{Mode, Vcr};
use vcr_tests::rig::{Delivered, Rig, done};
use vcr_tests::traffic::{self, Exchange, FOLDERS};
use vcr_tests::{Split, Upstream, http};

/// Sends the recorded request through the gateway, below the base that its client was configured with.
async fn send(vcr: &Vcr, upstream: &str, exchange: &Exchange) -> Delivered {
    let base = vcr
        .base_url_for(&format!("{upstream}{}", exchange.prefix()))
        .unwrap();
    let path = &exchange.path[exchange.prefix().len()..];
    let query = if exchange.query.is_empty() {
        String::new()
    } else {
        format!("?{}", exchange.query)
    };
    let headers = [
        ("content-type", "application/json"),
        ("authorization", "Bearer not-a-real-key"),
    ];
    let response = http::request(
        &exchange.method,
        &format!("{base}{path}{query}"),
        &headers,
        &exchange.request,
    )
    .await;
    Delivered::of(response).await
}

macro_rules! folders {
    ($($name:ident $folder:literal)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                round_trip::folder($folder).await;
            }
        )*

        #[test]
        fn every_folder_has_a_test() {
            assert_eq!([$($folder),*], FOLDERS);
            let Some(root) = traffic::root() else { return };
            let mut there: Vec<String> = std::fs::read_dir(root)
                .unwrap()
                .map(|entry| entry.unwrap())
                .filter(|entry| entry.path().is_dir())
                .map(|entry| entry.file_name().into_string().unwrap())
                .collect();
            there.sort();
            assert_eq!(there, FOLDERS);
        }
    };
}

folders! {
    anthropic "anthropic"
    azure "azure"
    bedrock "bedrock"
    deepseek "deepseek"
    gemini "gemini"
    groq "groq"
    llamacpp "llamacpp"
    mistral "mistral"
    ollama "ollama"
    openai_chat "openai-chat"
    openai_responses "openai-responses"
    openrouter "openrouter"
    vllm "vllm"
}

#[tokio::test]
async fn a_whole_conversation_is_one_take() {
    let Some(exchanges) = traffic::load(&FOLDERS) else {
        return;
    };
    let conversations = exchanges.chunk_by(|a, b| (&a.folder, &a.file) == (&b.folder, &b.file));
    let mut seen = 0;
    for turns in conversations.filter(|turns| turns.len() > 1) {
        let upstream = Upstream::start(
            turns
                .iter()
                .map(|exchange| exchange.reply().split(Split::Random(3))),
        );
        let rig = Rig::new();
        let mut answers = Vec::new();
        for mode in [Mode::Record, Mode::Replay] {
            let vcr = rig.builder(mode).open().unwrap();
            for exchange in turns {
                let answer = send(&vcr, &upstream.url(), exchange).await;
                answers.push((answer.status, round_trip::read(exchange, &answer)));
            }
            done(vcr).await;
        }
        let replayed = answers.split_off(turns.len());
        assert_eq!(replayed, answers, "{}", turns[0].name());
        assert_eq!(rig.cassette().calls().len(), turns.len());
        assert_eq!(vcr_runtime::verify(rig.path()).unwrap(), []);
        seen += 1;
    }
    assert!(seen >= 8, "{seen} conversations");
}
