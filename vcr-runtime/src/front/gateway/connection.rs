//! One connection of a caller: its requests, checked, routed and answered.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::TcpStream;

use super::flushed::{Flushed, FlushedIo};
use super::forward::{Outgoing, forward};
use super::headers;
use super::respond::{Broken, Reply, fault, play, refusal};
use super::route::is_ours;
use super::server::{Shared, Stop, stopped};
use crate::protocol::HttpRequest;
use crate::session::HttpTurn;

/// The largest request body; a request beyond it is no conversation with a model.
const BODY_LIMIT: usize = 64 << 20;
/// How much of a body nobody wants is still read, because a client that is cut off while it writes never reads the
/// answer that explains why.
const DRAIN_LIMIT: usize = 256 << 20;

/// Serves a connection until it ends, or until the gateway stops and the exchange in flight is over.
pub(super) async fn serve(socket: TcpStream, shared: Arc<Shared>, stop: Stop) {
    // Small writes must not wait for the acknowledgement of the ones before. Where the option is refused they do.
    let _ = socket.set_nodelay(true);
    let flushed = Arc::new(Flushed::default());
    let service = service_fn(|request| answer(Arc::clone(&shared), Arc::clone(&flushed), request));
    let io = FlushedIo::new(socket, Arc::clone(&flushed));
    let mut connection = pin!(http1::Builder::new().serve_connection(io, service));
    let mut stopping = pin!(stopped(stop.clone()));
    let mut told = false;
    let mut waker: Option<Waker> = None;
    let outcome = poll_fn(|context| {
        // Asked again only when it may answer something else: a connection is polled twice an event.
        let waits = waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()));
        if !told && !(waits && matches!(stop.has_changed(), Ok(false))) {
            waker = Some(context.waker().clone());
            if stopping.as_mut().poll(context).is_ready() {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
        }
        connection.as_mut().poll(context)
    });
    // Callers hang up and answers break off: neither is a fault of the server.
    let _: Result<(), hyper::Error> = outcome.await;
}

async fn answer(
    shared: Arc<Shared>,
    flushed: Arc<Flushed>,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Broken> {
    let open = shared.open.enter();
    let (head, mut body) = request.into_parts();
    let response = match exchange(&shared, flushed, head, &mut body).await? {
        Turn::Answered(response) => response,
        Turn::Unwanted(response) => {
            drain(&mut body).await;
            response
        }
    };
    Ok(response.map(|reply| reply.keeping(open)))
}

enum Turn {
    Answered(Response<Reply>),
    /// Answered without having read the request's body.
    Unwanted(Response<Reply>),
}

async fn exchange(
    shared: &Shared,
    flushed: Arc<Flushed>,
    head: Parts,
    body: &mut Incoming,
) -> Result<Turn, Broken> {
    // A caller that waits for leave to send its body gets the refusal instead.
    let refused = |response, body_follows: bool| {
        Ok(if body_follows {
            Turn::Unwanted(response)
        } else {
            Turn::Answered(response)
        })
    };
    let follows = !head.headers.contains_key(http::header::EXPECT);
    if let Some(response) = improper(&head, shared.port) {
        return refused(response, follows);
    }
    let Some((upstream, rest)) = shared.routes.resolve(head.uri.path()) else {
        return refused(unknown_path(shared, head.uri.path()), follows);
    };
    let body = match read(body).await? {
        Some(body) => body,
        None => return refused(too_large(), follows),
    };

    let query = head.uri.query();
    let request = HttpRequest {
        method: head.method.as_str(),
        path: if rest.is_empty() { "/" } else { rest },
        query: query.unwrap_or_default(),
        body: &body,
    };
    let control = headers::control(&head.headers);
    let turn = shared.exchange.begin(&upstream, request, &control).await;
    let recording = match turn {
        HttpTurn::Replay(playback) => return play(playback, flushed).await.map(Turn::Answered),
        HttpTurn::Refused(error) => return Ok(Turn::Answered(refusal(&error))),
        HttpTurn::Live => None,
        HttpTurn::Record(recording) => Some(recording),
    };
    let tail = query.map_or_else(|| rest.to_owned(), |query| format!("{rest}?{query}"));
    let outgoing = Outgoing {
        upstream,
        tail,
        headers: headers::for_upstream(&head.headers),
        method: head.method,
        body,
    };
    Ok(Turn::Answered(forward(outgoing, recording, flushed).await))
}

/// The refusal of a request that is not for this server, or not in its language.
fn improper(head: &Parts, port: u16) -> Option<Response<Reply>> {
    if head.version != Version::HTTP_11 {
        let message = "the gateway speaks HTTP/1.1 only";
        return Some(fault(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "vcr_http_version",
            message,
        ));
    }
    if head.uri.authority().is_some() || !head.uri.path().starts_with('/') {
        let message = "the gateway is no proxy: ask it for a path, with its address as the client's base URL \
                       instead of as its proxy";
        return Some(fault(StatusCode::BAD_REQUEST, "vcr_not_a_proxy", message));
    }
    let mut hosts = head.headers.get_all(http::header::HOST).iter();
    let ours = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(|host| is_ours(host, port)),
        _ => false,
    };
    if ours {
        return None;
    }
    let message = format!("the Host header must be 127.0.0.1:{port}, localhost:{port} or [::1]:{port}");
    Some(fault(StatusCode::FORBIDDEN, "vcr_forbidden_host", &message))
}

fn unknown_path(shared: &Shared, path: &str) -> Response<Reply> {
    let message = format!(
        "no upstream belongs to the path {path}; known prefixes: {}; others are registered with base_url_for",
        shared.routes.known()
    );
    fault(StatusCode::NOT_FOUND, "vcr_unknown_path", &message)
}

fn too_large() -> Response<Reply> {
    let message = format!("the request's body is larger than {} MiB", BODY_LIMIT >> 20);
    fault(StatusCode::PAYLOAD_TOO_LARGE, "vcr_body_too_large", &message)
}

/// The whole body, or `None` when it is too large.
async fn read(body: &mut Incoming) -> Result<Option<Bytes>, Broken> {
    if body.size_hint().lower() > BODY_LIMIT as u64 {
        return Ok(None);
    }
    let Some(first) = next(body).await? else {
        return Ok(Some(Bytes::new()));
    };
    let Some(second) = next(body).await? else {
        return Ok(Some(first));
    };
    let mut whole = BytesMut::from(first);
    let mut piece = Some(second);
    while let Some(more) = piece {
        if whole.len() + more.len() > BODY_LIMIT {
            return Ok(None);
        }
        whole.extend_from_slice(&more);
        piece = next(body).await?;
    }
    Ok(Some(whole.freeze()))
}

async fn drain(body: &mut Incoming) {
    let mut left = DRAIN_LIMIT;
    while let Ok(Some(piece)) = next(body).await {
        match left.checked_sub(piece.len()) {
            Some(less) => left = less,
            None => return,
        }
    }
}

/// The next piece of a request's body.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Broken> {
    // Frames that are no data are trailers, the last of a body.
    match body.frame().await {
        None => Ok(None),
        Some(Ok(frame)) => Ok(frame.into_data().ok()),
        Some(Err(_)) => Err(Broken::Caller),
    }
}
