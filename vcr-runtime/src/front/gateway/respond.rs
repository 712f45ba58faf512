//! Answers of our own: a recorded answer as HTTP, and faults.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use super::backend::{Answer, Fault};
use super::flushed::Flushed;
use super::headers;
use super::pieces::PieceByPiece;
use super::server::Open;
use super::tee::Forwarded;
use crate::session::{Pieces, Playback, PlaybackBody, Whole};

/// Why a connection is broken on purpose. hyper drops it when a service or a body fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The recorded answer ended so.
    Recorded,
    /// An answer that was to hang could not make its ready file; the session knows.
    Unready,
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
            Self::Unready => "the ready file of the answer cannot be made",
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
            Kind::Pieces(_) => SizeHint::default(),
            Kind::Forwarded(body) => body.size_hint(),
        }
    }
}

/// A body as hyper takes it; one that a recording shares is not copied.
fn bytes(body: Whole) -> Bytes {
    match body {
        Whole::Made(body) => body.into(),
        Whole::Kept(_) => Bytes::from_owner(body),
    }
}

/// Sends a recorded answer. `refused` renders a fault for the caller.
pub(super) async fn play(
    playback: Playback,
    flushed: Arc<Flushed>,
    refused: impl Fn(&Fault) -> Response<Reply>,
) -> Result<Response<Reply>, Broken> {
    let Playback {
        head,
        body,
        abort,
        hang,
        end,
        pace,
    } = playback;
    let pieces = match body {
        PlaybackBody::Nothing(offset) => {
            pace.until(0, offset).await;
            return Err(Broken::Recorded);
        }
        PlaybackBody::Unreachable(offset, message) => {
            pace.until(0, offset).await;
            return Ok(refused(&Fault::unreachable(message)));
        }
        PlaybackBody::Whole(offset, body) if abort && hang.is_none() => Pieces::from_iter([(offset, body)]),
        PlaybackBody::Whole(offset, body) => {
            pace.until(0, offset).await;
            if let Some(hang) = hang {
                if let Err(error) = hang.begin() {
                    return Ok(refused(&Fault::of(&error)));
                }
                // The connection goes when the caller does, or the gateway.
                return std::future::pending().await;
            }
            return Ok(with_head(
                head.status,
                &head.headers,
                Reply::whole(bytes(body)),
                refused,
            ));
        }
        PlaybackBody::Pieces(pieces) => pieces,
    };
    if let Some((offset, _)) = pieces.cuts.first() {
        // Providers send the head when they have something to say, and a caller's time to the head counts.
        pace.until(0, *offset).await;
    }
    let body = PieceByPiece::new(pieces, end, pace, abort, flushed).hanging(hang);
    Ok(with_head(
        head.status,
        &head.headers,
        Reply::pieces(body),
        refused,
    ))
}

fn with_head(
    status: u16,
    recorded: &[(String, String)],
    reply: Reply,
    refused: impl Fn(&Fault) -> Response<Reply>,
) -> Response<Reply> {
    // hyper cannot send a 1xx as an answer, and nobody records one.
    match StatusCode::from_u16(status) {
        Ok(status) if !status.is_informational() => {
            assemble(status, headers::from_recording(recorded), reply)
        }
        _ => refused(&Fault::new(
            StatusCode::CONFLICT,
            "vcr_error",
            format!(
                "the cassette says that the answer had status {status}, which is no final HTTP status; correct it there"
            ),
        )),
    }
}

/// An answer of the backend's own as HTTP.
pub(super) fn send(answer: Answer) -> Response<Reply> {
    let headers = headers::from_recording(&answer.headers);
    assemble(answer.status, headers, Reply::whole(answer.body))
}

/// `Response::builder` without its ways to fail.
pub(super) fn assemble(status: StatusCode, headers: HeaderMap, reply: Reply) -> Response<Reply> {
    let mut response = Response::new(reply);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
