//! Serves every recording of real traffic to the official SDKs: as the provider sent it, from the raw layer and rendered
//! from frames. `tests/sdks/run.sh` starts it.
//!
//! `judge CASES COPIES` records all exchanges through the gateway, opens a replaying session for each layer and copy,
//! writes the addresses to the file `CASES`, prints `ready` and serves until its input is closed. It then asks every
//! session for its verdict: a recording that was not asked for, and a request that matched none, is a failure.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test support: a broken set-up has to fail the run"
)]

use std::io::Write;

use serde_json::{Value, json};
use vcr_runtime::{IncludeRaw, Matching, Mode, Vcr};
use vcr_tests::rig::{Delivered, Rig};
use vcr_tests::traffic::{self, Exchange, FOLDERS};
use vcr_tests::{Upstream, http};

/// What nobody has recorded under a free licence: errors, and embeddings.
const WRITTEN: &str = include_str!("../sdks/written.json");
/// What replaying answers with, and the setting that the recording is made with for that.
const LAYERS: [(&str, IncludeRaw); 2] = [("raw", IncludeRaw::Always), ("frames", IncludeRaw::Never)];

/// One exchange with everything that serves it.
struct Case {
    name: String,
    described: Value,
    /// Kept alive: the provider's own bytes come from here.
    _origin: Upstream,
    sessions: Vec<(String, Vcr)>,
    _rigs: Vec<Rig>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, copies] = arguments.as_slice() else {
        panic!("usage: judge CASES COPIES");
    };
    let copies: usize = copies.parse().expect("a number of copies");
    let recorded =
        traffic::load(&FOLDERS).unwrap_or_else(|| panic!("{} has to name the recordings", traffic::VARIABLE));
    let mut cases = Vec::new();
    for exchange in recorded.into_iter().chain(written()) {
        if let Some((sdk, base)) = sdk(&exchange.path) {
            cases.push(case(with_input(exchange.clone(), sdk), sdk, base, copies).await);
        }
    }
    let described: Vec<&Value> = cases.iter().map(|case| &case.described).collect();
    std::fs::write(file, serde_json::to_vec(&described).unwrap()).expect("the list of cases");
    let mut out = std::io::stdout();
    writeln!(out, "ready").unwrap();
    out.flush().unwrap();
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()))
        .await
        .unwrap()
        .expect("the end of the input");
    let mut complaints = 0;
    for case in cases {
        for (session, vcr) in case.sessions {
            if let Err(error) = vcr.finish().await {
                complaints += 1;
                writeln!(out, "{} {session}: {error}", case.name).unwrap();
            }
        }
    }
    std::process::exit(i32::from(complaints > 0));
}

fn written() -> Vec<Exchange> {
    let list: Vec<Value> = serde_json::from_str(WRITTEN).expect("a list");
    let word = |value: &Value| value.as_str().expect("a text").to_owned();
    list.iter()
        .map(|one| Exchange {
            folder: "written".to_owned(),
            file: word(&one["name"]),
            index: 0,
            method: "POST".to_owned(),
            path: word(&one["path"]),
            query: String::new(),
            request: one["request"].to_string().into_bytes(),
            status: one["status"].as_u64().unwrap().try_into().unwrap(),
            headers: vec![("content-type".to_owned(), word(&one["content_type"]))],
            body: word(&one["body"]).into_bytes(),
        })
        .collect()
}

/// The SDK that asks at this path, and the part of the path that is its base.
fn sdk(path: &str) -> Option<(&'static str, &str)> {
    let below = |sdk, suffix: &str| path.strip_suffix(suffix).map(|base| (sdk, base));
    below("chat", "/chat/completions")
        .or_else(|| below("responses", "/responses"))
        .or_else(|| below("embeddings", "/embeddings"))
        .or_else(|| below("anthropic", "/v1/messages"))
        .or_else(|| below("ollama", "/api/chat"))
        .or_else(|| path.find("/v1beta/models/").map(|at| ("gemini", &path[..at])))
}

/// A request that was not kept is made up for chat; an SDK for responses does not send one like that.
fn with_input(mut exchange: Exchange, sdk: &str) -> Exchange {
    let body: Value = serde_json::from_slice(&exchange.request).expect("a request in JSON");
    if sdk == "responses" && body["input"].is_null() {
        exchange.request = br#"{"model":"m","stream":true,"input":"hi"}"#.to_vec();
    }
    exchange
}

async fn case(exchange: Exchange, sdk: &str, base: &str, copies: usize) -> Case {
    let base = base.to_owned();
    let origin = Upstream::start((0..copies).map(|_| exchange.reply()));
    let mut described = json!({
        "name": exchange.name(),
        "sdk": sdk,
        "path": exchange.path,
        "query": exchange.query,
        "request": serde_json::from_slice::<Value>(&exchange.request).unwrap(),
        "status": exchange.status,
        "content_type": exchange.content_type(),
        "layers": ["origin", LAYERS[0].0, LAYERS[1].0],
        "origin": vec![format!("{}{base}", origin.url()); copies],
    });
    let (mut sessions, mut rigs) = (Vec::new(), Vec::new());
    for (layer, include) in LAYERS {
        let rig = record(&exchange, &base, include).await;
        let call = rig.cassette().call();
        described[format!("{layer}_kept")] = call.has_raw().into();
        described[format!("{layer}_note")] = call.0["note"].clone();
        let mut bases = Vec::new();
        for copy in 0..copies {
            let vcr = rig.builder(Mode::Replay).matching(matching(sdk)).open().unwrap();
            bases.push(vcr.base_url_for(&format!("http://127.0.0.1:1{base}")).unwrap());
            sessions.push((format!("{layer} {copy}"), vcr));
        }
        described[layer] = json!(bases);
        rigs.push(rig);
    }
    Case {
        name: exchange.name(),
        described,
        _origin: origin,
        sessions,
        _rigs: rigs,
    }
}

/// Two SDKs build the request from typed parts and spell it in their own way, so theirs is not the recorded one.
fn matching(sdk: &str) -> Matching {
    match sdk {
        "gemini" | "ollama" => Matching::Order,
        _ => Matching::Sequential,
    }
}

async fn record(exchange: &Exchange, base: &str, include: IncludeRaw) -> Rig {
    let upstream = Upstream::start([exchange.reply()]);
    let rig = Rig::new();
    let vcr = rig.builder(Mode::Record).include_raw(include).open().unwrap();
    let at = vcr.base_url_for(&format!("{}{base}", upstream.url())).unwrap();
    let query = if exchange.query.is_empty() { "" } else { "?" };
    let url = format!("{at}{}{query}{}", &exchange.path[base.len()..], exchange.query);
    let headers = [("content-type", "application/json")];
    let response = http::request(&exchange.method, &url, &headers, &exchange.request).await;
    let delivered = Delivered::of(response).await;
    assert_eq!(delivered.status, exchange.status, "{}", exchange.name());
    vcr.finish()
        .await
        .unwrap_or_else(|error| panic!("{}: {error}", exchange.name()));
    rig
}
