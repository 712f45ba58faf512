//! What `cargo vcr serve` does when it replays, beside a bare hyper server that answers the same bytes: requests a second
//! over 32 connections, and memory over a million requests.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::SendRequest;
use vcr_runtime::daemon::{DaemonConfig, RunningDaemon, start_daemon};

use crate::bare::{bare, serve};
use crate::gateway::connect;
use crate::table::{median, row};

const CONNECTIONS: usize = 32;
/// Requests of one round, and rounds of each side in turn.
const ROUND: usize = 20_000;
const ROUNDS: usize = 5;
pub const MILLION: usize = 1_000_000;
const PATH: &str = "/v1/chat/completions";

fn body(control: &str) -> Bytes {
    let question = "What is it that is asked for here, again and again? ".repeat(4);
    Bytes::from(format!(
        "{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":\"{question}\"}}]{control}}}"
    ))
}

fn control(mode: &str) -> String {
    format!(",\"vcr\":\"{mode}\",\"vcr_scenario\":\"bench\",\"vcr_repeat\":true,\"vcr_include_raw\":true")
}

async fn ask(sender: &mut SendRequest<Full<Bytes>>, addr: SocketAddr, body: &Bytes) -> usize {
    sender.ready().await.unwrap();
    let request = Request::post(PATH)
        .header("host", addr.to_string())
        .header("content-type", "application/json")
        .body(Full::new(body.clone()))
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    response.into_body().collect().await.unwrap().to_bytes().len()
}

/// Sends so many requests over all connections, and says how long one took on the whole.
async fn load(addr: SocketAddr, body: &Bytes, requests: usize) -> Duration {
    let mut senders = Vec::new();
    for _ in 0..CONNECTIONS {
        senders.push(connect(addr).await);
    }
    let start = Instant::now();
    let callers: Vec<_> = senders
        .into_iter()
        .map(|mut sender| {
            let body = body.clone();
            tokio::spawn(async move {
                for _ in 0..requests / CONNECTIONS {
                    assert!(ask(&mut sender, addr, &body).await > 1000);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    start.elapsed() / u32::try_from(requests).unwrap()
}

pub fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0)
}

async fn recorded(upstream: SocketAddr, directory: &std::path::Path) -> RunningDaemon {
    let daemon = start_daemon(DaemonConfig {
        listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        root: directory.to_owned(),
        upstream: Some(format!("http://{upstream}/v1")),
        idle: Some(Duration::from_secs(3600)),
        ..DaemonConfig::default()
    })
    .unwrap();
    let mut sender = connect(daemon.addr()).await;
    ask(&mut sender, daemon.addr(), &body(&control("record"))).await;
    daemon
}

pub fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let upstream = serve(bare);
        let directory = tempfile::tempdir().unwrap();
        let daemon = recorded(upstream, directory.path()).await;
        let (replay, plain) = (body(&control("replay")), body(""));
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(load(daemon.addr(), &replay, ROUND).await);
            floor.push(load(upstream, &plain, ROUND).await);
        }
        let (ours, floor) = (median(&mut ours), median(&mut floor));
        // At least 60 % of the floor's requests a second.
        row(
            "daemon replay, unary 1 KB, 32 connections",
            ours,
            floor,
            "<= 1.67",
        );
        let rate = |each: Duration| 1.0 / each.as_secs_f64();
        println!(
            "  {:.0} requests/s, bare hyper {:.0}: {:.0} %",
            rate(ours),
            rate(floor),
            100.0 * rate(ours) / rate(floor)
        );
        daemon.shutdown().await;
    });
}

/// Not part of a run without arguments: it takes a minute or so.
pub fn memory() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let upstream = serve(bare);
        let directory = tempfile::tempdir().unwrap();
        let daemon = recorded(upstream, directory.path()).await;
        let replay = body(&control("replay"));
        load(daemon.addr(), &replay, MILLION / 10).await;
        let before = resident_kib();
        load(daemon.addr(), &replay, MILLION).await;
        let after = resident_kib();
        println!("daemon, {MILLION} requests: {before} KiB before, {after} KiB after   budget: + 1024 KiB");
        daemon.shutdown().await;
    });
}
