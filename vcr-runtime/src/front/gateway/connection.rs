//! One connection of a caller: its requests, checked and answered.

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

use super::backend::{Decision, Fault, interface};
use super::flushed::{Flushed, FlushedIo};
use super::forward::forward;
use super::respond::{Broken, Reply, play, send};
use super::route::is_ours;
use super::server::{Shared, Stop, stopped};
use crate::observe;

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
        let is_known = waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()));
        let waits = is_known && matches!(stop.has_changed(), Ok(false));
        if !told && !waits {
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
    let backend = &*shared.backend;
    let path = head.uri.path();
    let refused = |fault: &Fault| send(backend.answer(path, fault));
    // A caller that waits for leave to send its body gets the refusal instead.
    let unread = |fault: &Fault| {
        Ok(if head.headers.contains_key(http::header::EXPECT) {
            Turn::Answered(refused(fault))
        } else {
            Turn::Unwanted(refused(fault))
        })
    };
    if let Err(fault) = proper(&head, shared.port) {
        observe::rejected(interface(path), fault.code);
        return unread(&fault);
    }
    if let Err(fault) = backend.admit(&head) {
        return unread(&fault);
    }
    let limit = backend.body_limit();
    let Some(body) = read(body, limit).await? else {
        let fault = too_large(limit);
        observe::rejected(interface(path), fault.code);
        return unread(&fault);
    };
    Ok(Turn::Answered(match backend.decide(&head, body).await {
        Decision::Play(playback) => play(playback, flushed, refused).await?,
        Decision::Answer(answer) => send(answer),
        Decision::Refuse(fault) => refused(&fault),
        Decision::Forward(outgoing, recording) => forward(*outgoing, recording, flushed, refused).await,
    }))
}

/// Refuses a request that is not for this server, or not in its language.
fn proper(head: &Parts, port: u16) -> Result<(), Fault> {
    if head.version != Version::HTTP_11 {
        let message = "the gateway speaks HTTP/1.1 only";
        return Err(Fault::new(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "vcr_http_version",
            message,
        ));
    }
    if head.uri.authority().is_some() || !head.uri.path().starts_with('/') {
        let message = "the gateway is no proxy: ask it for a path, with its address as the client's base URL \
                       instead of as its proxy";
        return Err(Fault::new(StatusCode::BAD_REQUEST, "vcr_not_a_proxy", message));
    }
    let mut hosts = head.headers.get_all(http::header::HOST).iter();
    let ours = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(|host| is_ours(host, port)),
        _ => false,
    };
    if ours {
        return Ok(());
    }
    let message = format!("the Host header must be 127.0.0.1:{port}, localhost:{port} or [::1]:{port}");
    Err(Fault::new(StatusCode::FORBIDDEN, "vcr_forbidden_host", message))
}

fn too_large(limit: usize) -> Fault {
    let message = if limit >= 1 << 20 {
        format!("the request's body is larger than {} MiB", limit >> 20)
    } else {
        format!("the request's body is larger than {limit} bytes")
    };
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "vcr_body_too_large", message)
}

/// The whole body, or `None` when it is too large.
async fn read(body: &mut Incoming, limit: usize) -> Result<Option<Bytes>, Broken> {
    if body.size_hint().lower() > limit as u64 {
        return Ok(None);
    }
    let Some(first) = next(body).await? else {
        return Ok(Some(Bytes::new()));
    };
    if first.len() > limit {
        return Ok(None);
    }
    let Some(second) = next(body).await? else {
        return Ok(Some(first));
    };
    let mut whole = BytesMut::from(first);
    let mut piece = Some(second);
    while let Some(more) = piece {
        if whole.len() + more.len() > limit {
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
