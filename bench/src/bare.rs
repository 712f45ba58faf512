//! What the gateway is measured against: a bare hyper server that answers from memory, and a bare proxy before it.
//!
//! Each has a thread and a runtime of its own, as the gateway has, so that waking up another thread costs both sides the
//! same. The proxy calls the upstream with the client that the gateway uses, set up in the same way.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::table::prose;

const EVENTS: usize = 200;

/// A server that reads a request and answers with 1 KB, or with 200 events when the request asks for a stream. Nothing
/// of the answer is made while a call waits for it.
pub fn server() -> SocketAddr {
    serve(bare)
}

/// One connection of such a server.
pub async fn bare(socket: TcpStream) {
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(socket), service_fn(answer))
        .await;
}

/// A proxy that passes requests on to `upstream` and the answers back as they come, and looks at neither.
pub fn proxy(upstream: SocketAddr) -> SocketAddr {
    serve(move |socket| async move {
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(
                TokioIo::new(socket),
                service_fn(|request| forward(upstream, request)),
            )
            .await;
    })
}

/// A body that gives its pieces one by one, so that each is a write of its own.
struct Pieces {
    pieces: &'static [Bytes],
    next: usize,
    yielded: bool,
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

    fn is_end_stream(&self) -> bool {
        self.next >= self.pieces.len()
    }
}

pub fn unary_body() -> Bytes {
    static BODY: OnceLock<Bytes> = OnceLock::new();
    BODY.get_or_init(|| {
        let text = serde_json::to_string(&prose(1, 1000)).unwrap();
        Bytes::from(format!(
            "{{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{text}}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}}}"
        ))
    })
    .clone()
}

fn stream_pieces() -> &'static [Bytes] {
    static PIECES: OnceLock<Vec<Bytes>> = OnceLock::new();
    PIECES.get_or_init(|| {
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
    })
}

async fn answer(request: Request<Incoming>) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let stream = body.windows(13).any(|window| window == b"\"stream\":true");
    Ok(if stream {
        let pieces = Pieces {
            pieces: stream_pieces(),
            next: 0,
            yielded: false,
        };
        Response::builder()
            .header("content-type", "text/event-stream")
            .body(pieces.boxed())
            .unwrap()
    } else {
        Response::builder()
            .header("content-type", "application/json")
            .body(Full::new(unary_body()).boxed())
            .unwrap()
    })
}

async fn forward(
    upstream: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<reqwest::Body>, reqwest::Error> {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    let client = CLIENT.get_or_init(|| {
        // As the gateway has it for upstreams on this machine: a connection a call.
        reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .http1_only()
            .tcp_nodelay(true)
            .pool_max_idle_per_host(0)
            .build()
            .unwrap()
    });
    let (mut head, body) = request.into_parts();
    for name in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
        head.headers.remove(name);
    }
    let body = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let answer = client
        .request(head.method, format!("http://{upstream}{}", head.uri))
        .headers(head.headers)
        .body(body)
        .send()
        .await?;
    let mut answer: Response<reqwest::Body> = answer.into();
    for name in [header::TRANSFER_ENCODING, header::CONNECTION] {
        answer.headers_mut().remove(name);
    }
    Ok(answer)
}

/// A server on a thread of its own.
pub fn serve<F>(connection: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
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
