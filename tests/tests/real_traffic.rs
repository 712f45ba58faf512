//! Real recordings of providers, served in odd pieces, recorded through the gateway and replayed: an SDK sees the same.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use vcr_runtime::{Mode, Vcr};
use vcr_tests::rig::{Delivered, Rig, done};
use vcr_tests::traffic::{self, Exchange};
use vcr_tests::{Split, Upstream, http};

const FOLDERS: [&str; 8] = [
    "azure",
    "deepseek",
    "groq",
    "llamacpp",
    "mistral",
    "openai-chat",
    "openrouter",
    "vllm",
];
const SPLITS: [Split; 4] = [Split::Bytes(1), Split::Random(1), Split::Random(2), Split::Whole];

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

async fn round_trip(exchange: &Exchange, split: Split, raw: &str) {
    let name = format!("{} {split:?} raw={raw}", exchange.name());
    let upstream = Upstream::start([exchange.reply().split(split)]);
    let rig = Rig::new();
    let vcr = rig
        .builder(Mode::Record)
        .include_raw(raw.parse().unwrap())
        .open()
        .unwrap();
    let live = send(&vcr, &upstream.url(), exchange).await;
    done(vcr).await;
    assert_eq!(
        (live.status, live.whole.bytes()),
        (exchange.status, exchange.body.clone()),
        "{name} live"
    );
    let kept = rig.cassette().call().has_raw();

    let vcr = rig.replay();
    let again = send(&vcr, &upstream.url(), exchange).await;
    done(vcr).await;
    assert_eq!(upstream.count(), 1, "{name} went live");
    assert_eq!(
        (again.status, again.whole.broken.clone()),
        (exchange.status, None),
        "{name}"
    );
    let essence = |content_type: &str| content_type.split(';').next().unwrap().trim().to_owned();
    let content_type = again.header("content-type").unwrap_or_default();
    assert_eq!(essence(content_type), essence(exchange.content_type()), "{name}");
    if exchange.is_chat() {
        let (again, live) = (again.answer(), live.answer());
        assert_eq!(again.choices, live.choices, "{name}");
        assert_eq!(again.usage, live.usage, "{name}");
        assert_eq!(again.error, live.error, "{name}");
        // An end marker after an error is no part of the canonical form.
        if raw != "false" || live.error.is_none() {
            assert_eq!(again.done, live.done, "{name}");
        }
    }
    if !exchange.is_chat() || (kept && raw == "true") {
        assert_eq!(
            String::from_utf8_lossy(&again.whole.bytes()),
            // An account id is redacted before anything is stored.
            String::from_utf8_lossy(&exchange.body).replace("user_PLACEHOLDER1", "[REDACTED]"),
            "{name}: the raw layer was kept, the bytes were not"
        );
    }
    if raw == "true" {
        assert!(kept, "{name}: no raw layer");
    }
}

async fn folder(folder: &str) {
    let Some(exchanges) = traffic::load(&[folder]) else {
        return;
    };
    assert!(!exchanges.is_empty());
    for exchange in &exchanges {
        for raw in ["true", "auto", "false"] {
            for split in SPLITS {
                round_trip(exchange, split, raw).await;
            }
        }
    }
}

macro_rules! folders {
    ($($name:ident $folder:literal)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                folder($folder).await;
            }
        )*

        #[test]
        fn every_folder_has_a_test() {
            assert_eq!([$($folder),*], FOLDERS);
        }
    };
}

folders! {
    azure "azure"
    deepseek "deepseek"
    groq "groq"
    llamacpp "llamacpp"
    mistral "mistral"
    openai_chat "openai-chat"
    openrouter "openrouter"
    vllm "vllm"
}

#[tokio::test]
async fn a_whole_conversation_is_one_take() {
    let Some(exchanges) = traffic::load(&["openai-chat", "openrouter", "groq"]) else {
        return;
    };
    for file in [
        "unary-multi-turn-tools",
        "unary-429-retries",
        "unary-error-400-tool-use-failed",
        "stream-tools-odd-shape",
    ] {
        let turns: Vec<&Exchange> = exchanges
            .iter()
            .filter(|exchange| exchange.file == file)
            .collect();
        assert!(turns.len() > 1, "{file}");
        let upstream = Upstream::start(
            turns
                .iter()
                .map(|exchange| exchange.reply().split(Split::Random(3))),
        );
        let rig = Rig::new();
        let mut answers = Vec::new();
        for mode in [Mode::Record, Mode::Replay] {
            let vcr = rig.builder(mode).open().unwrap();
            for exchange in &turns {
                let answer = send(&vcr, &upstream.url(), exchange).await;
                answers.push((answer.status, answer.answer()));
            }
            done(vcr).await;
        }
        let replayed = answers.split_off(turns.len());
        assert_eq!(replayed, answers, "{file}");
        assert_eq!(rig.cassette().calls().len(), turns.len());
    }
}
