//! Answers of our own: a recorded answer as HTTP, and faults.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::flushed::Flushed;
use super::headers;
use super::pieces::PieceByPiece;
use super::server::Open;
use super::tee::Forwarded;
use crate::error::{Error, ErrorKind};
use crate::json::{Json, Object, compact};
use crate::session::{Pieces, Playback, PlaybackBody};

/// Why a connection is broken on purpose. hyper drops it when a service or a body fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The recorded answer ended so.
    Recorded,
    /// The upstream's answer ended so.
    Upstream,
    /// The session's stream breaker cut the answer.
    Cut,
    /// The caller did not finish its request.
    Caller,
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Recorded => "the recorded answer breaks off here",
            Self::Upstream => "the upstream broke off its answer",
            Self::Cut => "the stream breaker cut the answer",
            Self::Caller => "the request was not finished",
        })
    }
}

impl std::error::Error for Broken {}

/// The body of an answer. It keeps its exchange open until hyper lets go of it.
pub(super) struct Reply {
    kind: Kind,
    open: Option<Open>,
}

enum Kind {
    Whole(Bytes),
    Pieces(PieceByPiece),
    Forwarded(Forwarded),
}

impl Reply {
    pub(super) fn whole(body: impl Into<Bytes>) -> Self {
        Self::of(Kind::Whole(body.into()))
    }

    pub(super) fn pieces(body: PieceByPiece) -> Self {
        Self::of(Kind::Pieces(body))
    }

    pub(super) fn forwarded(body: Forwarded) -> Self {
        Self::of(Kind::Forwarded(body))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, open: None }
    }

    /// Counts the exchange as open for as long as this body lives.
    pub(super) fn keeping(mut self, open: Open) -> Self {
        self.open = Some(open);
        self
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let piece = match &mut self.get_mut().kind {
            Kind::Whole(body) if body.is_empty() => Poll::Ready(None),
            Kind::Whole(body) => Poll::Ready(Some(Ok(std::mem::take(body)))),
            Kind::Pieces(body) => body.poll_piece(context),
            Kind::Forwarded(body) => body.poll_piece(context),
        };
        piece.map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(body) => body.is_empty(),
            Kind::Pieces(body) => body.is_over(),
            Kind::Forwarded(body) => body.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(body) => SizeHint::with_exact(body.len() as u64),
            Kind::Pieces(_) | Kind::Forwarded(_) => SizeHint::default(),
        }
    }
}

/// Sends a recorded answer.
pub(super) async fn play(playback: Playback, flushed: Arc<Flushed>) -> Result<Response<Reply>, Broken> {
    let Playback {
        head,
        body,
        abort,
        pace,
    } = playback;
    let pieces = match body {
        PlaybackBody::Nothing(offset) => {
            pace.until(0, offset).await;
            return Err(Broken::Recorded);
        }
        PlaybackBody::Unreachable(offset, message) => {
            pace.until(0, offset).await;
            return Ok(unreachable(&message));
        }
        PlaybackBody::Whole(offset, body) if abort => Pieces::from_iter([(offset, body)]),
        PlaybackBody::Whole(offset, body) => {
            pace.until(0, offset).await;
            return Ok(with_head(head.status, &head.headers, Reply::whole(body)));
        }
        PlaybackBody::Pieces(pieces) => pieces,
    };
    if let Some((offset, _)) = pieces.cuts.first() {
        // Providers send the head when they have something to say, and a caller's time to the head counts.
        pace.until(0, *offset).await;
    }
    let body = PieceByPiece::new(pieces, pace, abort, flushed);
    Ok(with_head(head.status, &head.headers, Reply::pieces(body)))
}

fn with_head(status: u16, recorded: &[(String, String)], reply: Reply) -> Response<Reply> {
    // hyper cannot send a 1xx as an answer, and nobody records one.
    match StatusCode::from_u16(status) {
        Ok(status) if !status.is_informational() => {
            assemble(status, headers::from_recording(recorded), reply)
        }
        _ => fault(
            StatusCode::CONFLICT,
            "vcr_error",
            &format!(
                "the cassette says that the answer had status {status}, which is no final HTTP status; correct it there"
            ),
        ),
    }
}

/// What a session refuses. 409 because no client retries it: a miss stays a miss.
pub(super) fn refusal(error: &Error) -> Response<Reply> {
    let code = match error.kind() {
        ErrorKind::Miss => "vcr_replay_miss",
        ErrorKind::CassetteMissing => "vcr_cassette_missing",
        _ => "vcr_error",
    };
    fault(StatusCode::CONFLICT, code, &error.to_string())
}

/// The upstream gave no answer, now or when it was recorded.
pub(super) fn unreachable(message: &str) -> Response<Reply> {
    fault(StatusCode::BAD_GATEWAY, "vcr_upstream_error", message)
}

/// An error in the shape that the providers' SDKs read a message from.
pub(super) fn fault(status: StatusCode, code: &str, message: &str) -> Response<Reply> {
    let mut error = Object::new();
    error.push("type", code);
    error.push("message", message);
    error.push("param", Json::Null);
    error.push("code", code);
    let mut document = Object::new();
    document.push("type", "error");
    document.push("error", Json::Object(error));
    let mut headers = HeaderMap::new();
    headers.insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    assemble(status, headers, Reply::whole(compact(&Json::Object(document))))
}

/// `Response::builder` without its ways to fail.
pub(super) fn assemble(status: StatusCode, headers: HeaderMap, reply: Reply) -> Response<Reply> {
    let mut response = Response::new(reply);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
