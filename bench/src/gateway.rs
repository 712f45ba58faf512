//! The gateway on loopback, beside a bare hyper server that answers the same bytes, and recording beside a bare proxy.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use vcr_runtime::{IncludeRaw, Matching, Mode, Vcr};

use crate::table::{median, prose, row};

const CALLS: usize = 300;
const EVENTS: usize = 200;

/// A body that gives its pieces one by one, so that each is a write of its own.
struct Pieces {
    pieces: Vec<Bytes>,
    next: usize,
    yielded: bool,
}

impl Pieces {
    fn new(pieces: Vec<Bytes>) -> Self {
        Self {
            pieces,
            next: 0,
            yielded: false,
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // Yielding once after each piece lets hyper write it out before it asks for the next.
        if self.next > 0 && !self.yielded && self.next < self.pieces.len() {
            self.yielded = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.yielded = false;
        let piece = self.pieces.get(self.next).cloned();
        self.next += 1;
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}

pub fn unary_body() -> Bytes {
    let text = serde_json::to_string(&prose(1, 1000)).unwrap();
    Bytes::from(format!(
        "{{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{text}}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}}}"
    ))
}

fn stream_pieces() -> Vec<Bytes> {
    let event = |delta: &str, finish: &str| {
        Bytes::from(format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        ))
    };
    let mut pieces: Vec<Bytes> = (0..EVENTS)
        .map(|index| event(&format!("{{\"content\":\"word {index} \"}}"), "null"))
        .collect();
    pieces.push(event("{}", "\"stop\""));
    pieces.push(Bytes::from_static(b"data: [DONE]\n\n"));
    pieces
}

fn request_body(index: usize, stream: bool) -> String {
    format!(
        "{{\"model\":\"m\",\"stream\":{stream},\"messages\":[{{\"role\":\"user\",\"content\":\"Question {index}?\"}}]}}"
    )
}

async fn answer(
    request: Request<Incoming>,
) -> Result<Response<http_body_util::combinators::BoxBody<Bytes, Infallible>>, Infallible> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let stream = body.windows(13).any(|window| window == b"\"stream\":true");
    Ok(if stream {
        Response::builder()
            .header("content-type", "text/event-stream")
            .body(Pieces::new(stream_pieces()).boxed())
            .unwrap()
    } else {
        Response::builder()
            .header("content-type", "application/json")
            .body(Full::new(unary_body()).boxed())
            .unwrap()
    })
}

/// A server on a thread of its own.
pub fn serve<F>(connection: fn(TcpStream) -> F) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(connection(stream));
            }
        });
    });
    addr
}

pub async fn bare(stream: TcpStream) {
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

pub async fn connect(addr: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(addr).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

pub async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    addr: SocketAddr,
    path: &str,
    body: String,
) -> Duration {
    sender.ready().await.unwrap();
    let request = Request::post(path)
        .header("host", addr.to_string())
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let start = Instant::now();
    let mut response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    while let Some(frame) = response.body_mut().frame().await {
        std::hint::black_box(frame.unwrap());
    }
    start.elapsed()
}

fn address(url: &str) -> (SocketAddr, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (addr, path) = rest.split_once('/').unwrap();
    (addr.parse().unwrap(), format!("/{path}/chat/completions"))
}

fn open(directory: &std::path::Path, mode: Mode, include: IncludeRaw) -> Vcr {
    Vcr::builder()
        .scenario("gateway")
        .fixture_dir(directory)
        .mode(mode)
        .matching(Matching::Keyed)
        .tick_ms(0.0)
        .include_raw(include)
        .open()
        .unwrap()
}

pub fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        for (stream, what) in [
            (false, "gateway replay, unary 1 KB"),
            (true, "gateway replay, 200 events, one write each"),
        ] {
            let upstream = serve(bare);
            let directory = tempfile::tempdir().unwrap();
            let vcr = open(directory.path(), Mode::Record, IncludeRaw::Always);
            let (addr, path) = address(&vcr.base_url_for(&format!("http://{upstream}/v1")).unwrap());
            let mut sender = connect(addr).await;
            for index in 0..CALLS {
                ask(&mut sender, addr, &path, request_body(index, stream)).await;
            }
            vcr.finish().await.unwrap();
            let vcr = open(directory.path(), Mode::Replay, IncludeRaw::Always);
            let (addr, path) = address(&vcr.base_url_for(&format!("http://{upstream}/v1")).unwrap());
            let (mut ours, mut floor) = (Vec::new(), Vec::new());
            let (mut sender, mut direct) = (connect(addr).await, connect(upstream).await);
            for index in 0..CALLS {
                ours.push(ask(&mut sender, addr, &path, request_body(index, stream)).await);
                floor.push(
                    ask(
                        &mut direct,
                        upstream,
                        "/v1/chat/completions",
                        request_body(index, stream),
                    )
                    .await,
                );
            }
            row(what, median(&mut ours[1..]), median(&mut floor[1..]), "<= 1.3");
            vcr.finish().await.unwrap();
        }
    });
}

/// Recording through the gateway, beside the same gateway passing everything through and keeping nothing.
pub fn record() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        for (stream, what) in [
            (false, "gateway record, unary 1 KB"),
            (true, "gateway record, 200 events"),
        ] {
            let upstream = serve(bare);
            let directory = tempfile::tempdir().unwrap();
            let vcr = open(directory.path(), Mode::Record, IncludeRaw::Auto);
            let proxy = open(directory.path(), Mode::Live, IncludeRaw::Auto);
            let base = format!("http://{upstream}/v1");
            let (addr, path) = address(&vcr.base_url_for(&base).unwrap());
            let (proxy_addr, _) = address(&proxy.base_url_for(&base).unwrap());
            let (mut ours, mut floor) = (Vec::new(), Vec::new());
            let (mut sender, mut direct) = (connect(addr).await, connect(proxy_addr).await);
            for index in 0..CALLS {
                ours.push(ask(&mut sender, addr, &path, request_body(index, stream)).await);
                floor.push(ask(&mut direct, proxy_addr, &path, request_body(index, stream)).await);
            }
            row(what, median(&mut ours[1..]), median(&mut floor[1..]), "<= 1.3");
            vcr.finish().await.unwrap();
            proxy.finish().await.unwrap();
        }
    });
}
