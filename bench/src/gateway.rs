//! The gateway on loopback, beside a bare hyper server that answers the same bytes, and recording beside a bare proxy.
//!
//! The same client asks both over one kept connection each, from a thread of its own. Calls are made in blocks, back to
//! back: what one leaves to be done after its answer is paid by the next of its own side, and not by the floor.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use vcr_runtime::{IncludeRaw, Matching, Mode, Vcr};

use crate::bare;
use crate::table::{median, row};

/// Calls of one side before it is the other's turn.
const BLOCK: usize = 10;
const ROUNDS: usize = 40;

/// One side of a comparison.
struct Side {
    addr: SocketAddr,
    path: String,
    sender: SendRequest<Full<Bytes>>,
    stream: bool,
    asked: usize,
    samples: Vec<Duration>,
}

impl Side {
    async fn new(url: &str, stream: bool) -> Self {
        let rest = url.strip_prefix("http://").unwrap();
        let (addr, path) = rest.split_once('/').unwrap();
        let addr = addr.parse().unwrap();
        Self {
            addr,
            path: format!("/{path}/chat/completions"),
            sender: connect(addr).await,
            stream,
            asked: 0,
            samples: Vec::new(),
        }
    }

    async fn block(&mut self) {
        for _ in 0..BLOCK {
            let took = self.ask().await;
            self.samples.push(took);
        }
    }

    async fn ask(&mut self) -> Duration {
        let body = format!(
            "{{\"model\":\"m\",\"stream\":{},\"messages\":[{{\"role\":\"user\",\"content\":\"Question {}?\"}}]}}",
            self.stream, self.asked
        );
        self.asked += 1;
        ask(&mut self.sender, self.addr, &self.path, body).await
    }
}

pub async fn connect(addr: SocketAddr) -> SendRequest<Full<Bytes>> {
    let socket = TcpStream::connect(addr).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

/// How long a call takes from its first byte to the last one of its answer.
pub async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    addr: SocketAddr,
    path: &str,
    body: String,
) -> Duration {
    let request = Request::post(path)
        .header("host", addr.to_string())
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let start = Instant::now();
    sender.ready().await.unwrap();
    let mut response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    while let Some(frame) = response.body_mut().frame().await {
        std::hint::black_box(frame.unwrap());
    }
    start.elapsed()
}

/// Alternates the sides and prints their medians; the first block of each warms up.
async fn compare(what: &str, ours: &mut Side, floor: &mut Side) {
    for _ in 0..ROUNDS {
        ours.block().await;
        floor.block().await;
    }
    let ours = median(&mut ours.samples[BLOCK..]);
    row(what, ours, median(&mut floor.samples[BLOCK..]), "<= 1.3");
}

/// A tick of zero makes each chunk of a stream a frame of its own, and so a write of its own when it is replayed.
fn open(directory: &Path, mode: Mode, include: IncludeRaw, tick_ms: f64) -> Vcr {
    Vcr::builder()
        .scenario("gateway")
        .fixture_dir(directory)
        .mode(mode)
        .matching(Matching::Keyed)
        .tick_ms(tick_ms)
        .include_raw(include)
        .open()
        .unwrap()
}

pub fn replay() {
    run(async {
        for (stream, include, what) in [
            (false, IncludeRaw::Auto, "gateway replay, unary 1 KB"),
            (
                true,
                IncludeRaw::Auto,
                "gateway replay, 200 events, one write each",
            ),
            (true, IncludeRaw::Always, "the same from the raw layer"),
        ] {
            let server = format!("http://{}/v1", bare::server());
            let directory = tempfile::tempdir().unwrap();
            let vcr = open(directory.path(), Mode::Record, include, 0.0);
            let mut recorded = Side::new(&vcr.base_url_for(&server).unwrap(), stream).await;
            for _ in 0..ROUNDS {
                recorded.block().await;
            }
            vcr.finish().await.unwrap();
            let vcr = open(directory.path(), Mode::Replay, include, 0.0);
            let mut ours = Side::new(&vcr.base_url_for(&server).unwrap(), stream).await;
            compare(what, &mut ours, &mut Side::new(&server, stream).await).await;
            vcr.finish().await.unwrap();
        }
    });
}

pub fn record() {
    run(async {
        for (stream, tick_ms, what) in [
            (false, 100.0, "gateway record, unary 1 KB"),
            (true, 100.0, "gateway record, 200 events"),
            (true, 0.0, "the same, each event a frame of its own"),
        ] {
            let upstream = bare::server();
            let proxy = format!("http://{}/v1", bare::proxy(upstream));
            let directory = tempfile::tempdir().unwrap();
            let vcr = open(directory.path(), Mode::Record, IncludeRaw::Auto, tick_ms);
            let base = vcr.base_url_for(&format!("http://{upstream}/v1")).unwrap();
            let mut ours = Side::new(&base, stream).await;
            compare(what, &mut ours, &mut Side::new(&proxy, stream).await).await;
            vcr.finish().await.unwrap();
        }
    });
}

fn run(rows: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(rows);
}
