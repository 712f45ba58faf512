//! The seam between a session and an HTTP front: what a front asks, and what it must do with the answer.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::ledger::Ledger;
use crate::error::{Error, Result};
use crate::model::{End, HttpHead};
use crate::protocol::HttpRequest;
use crate::source::Hang;

/// Where a request would go if it went live.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    /// For people: `openai`, `openrouter`; stored as the request's provider.
    pub(crate) provider: String,
    /// The base without a trailing slash, such as `https://api.openai.com/v1`.
    pub(crate) base: String,
}

/// What a session decides about one HTTP request.
#[derive(Debug)]
pub(crate) enum HttpTurn {
    /// Forward it and keep nothing.
    Live,
    /// Forward it and tee the answer into the recording.
    Record(Box<dyn Recording>),
    /// Answer from the cassette.
    Replay(Playback),
    /// Nothing answers it: a miss, or a fault of the session. The front renders it as HTTP.
    Refused(Error),
}

/// Takes the answer of a forwarded call while it passes. Dropping it unfinished counts as `End::Cancelled`.
pub(crate) trait Recording: Send + std::fmt::Debug {
    /// The status and all headers of the upstream's answer (content-encoding already undone).
    fn head(&mut self, status: u16, headers: &[(String, String)]);

    /// Bytes of the body as they arrived. `Break` when the session's stream breaker cuts here: the front passes on the
    /// leading `usize` bytes of this piece, then breaks the connection, then calls `end(End::CutOff)`.
    fn bytes(&mut self, piece: &[u8]) -> ControlFlow<usize>;

    /// The end of the exchange.
    fn end(self: Box<Self>, end: End);
}

/// A recorded answer, ready to be sent.
#[derive(Debug)]
pub(crate) struct Playback {
    pub(crate) head: HttpHead,
    pub(crate) body: PlaybackBody,
    /// After the body, break the connection instead of ending it.
    pub(crate) abort: bool,
    /// After the body nothing comes at all until the caller leaves; with a whole body, instead of it.
    pub(crate) hang: Option<Hanging>,
    /// When the body ends, from the call's start: the silence behind the last piece was there live, too.
    pub(crate) end: Duration,
    pub(crate) pace: Pace,
}

/// An answer that does not end, and the memory of the session that it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Hanging {
    pub(super) hang: Hang,
    pub(super) ledger: Arc<Mutex<Ledger>>,
}

impl Hanging {
    /// See [`Hang::begin`]. Whoever waits for the file would wait for ever, so a failure is the test's.
    pub(crate) fn begin(&self) -> Result<()> {
        self.hang.begin().map_err(|error| {
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.fault(error)
        })
    }
}

#[derive(Debug)]
pub(crate) enum PlaybackBody {
    /// One body, sent with its length, due at that offset from the call's start.
    Whole(Duration, Whole),
    /// One write a piece.
    Pieces(Pieces),
    /// No answer at all: break the connection before a head is sent (the caller had left when it was recorded).
    Nothing(Duration),
    /// The upstream could not be asked: the front answers as it did live, with its own 502 and this message.
    Unreachable(Duration, String),
}

/// A whole body, either made for one answer or shared with the recording that it comes from.
#[derive(Clone, Debug)]
pub(crate) enum Whole {
    Made(Vec<u8>),
    Kept(Arc<str>),
}

impl From<Vec<u8>> for Whole {
    fn from(body: Vec<u8>) -> Self {
        Self::Made(body)
    }
}

impl From<Arc<str>> for Whole {
    fn from(body: Arc<str>) -> Self {
        Self::Kept(body)
    }
}

impl AsRef<[u8]> for Whole {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Made(body) => body,
            Self::Kept(body) => body.as_bytes(),
        }
    }
}

/// Pieces of a body, each with the time from the call's start at which it is due. They stand in one buffer, so that
/// many small ones cost no more than a large one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    pub(crate) bytes: Vec<u8>,
    /// When each piece is due, and its length.
    pub(crate) cuts: Vec<(Duration, usize)>,
}

impl Pieces {
    pub(crate) fn push(&mut self, due: Duration, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.cuts.push((due, piece.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.cuts.len()
    }
}

impl<P: AsRef<[u8]>> FromIterator<(Duration, P)> for Pieces {
    fn from_iter<I: IntoIterator<Item = (Duration, P)>>(pieces: I) -> Self {
        let mut all = Self::default();
        for (due, piece) in pieces {
            all.push(due, piece.as_ref());
        }
        all
    }
}

/// Pieces that are texts, as they are written.
#[derive(Debug)]
pub(crate) struct Written {
    text: String,
    cuts: Vec<(Duration, usize)>,
}

impl Written {
    /// Room for that many pieces with so many bytes in all.
    pub(crate) fn with_capacity(pieces: usize, bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            cuts: Vec::with_capacity(pieces),
        }
    }

    /// The next piece, which `write` appends to what it is given.
    pub(crate) fn push(&mut self, due: Duration, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        self.cuts.push((due, self.text.len() - start));
    }
}

impl From<Written> for Pieces {
    fn from(written: Written) -> Self {
        Self {
            bytes: written.text.into_bytes(),
            cuts: written.cuts,
        }
    }
}

/// When the steps of a replayed answer are due. Made when the call starts.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    start: tokio::time::Instant,
    factor: f64,
    extra: Vec<Duration>,
}

impl Pace {
    /// `factor` multiplies recorded offsets (0 = at once); `extra` is the chaos latency before each step, already drawn;
    /// the last one repeats not: steps beyond the list get none.
    pub(crate) fn new(factor: f64, extra: Vec<Duration>) -> Self {
        Self {
            start: tokio::time::Instant::now(),
            factor,
            extra,
        }
    }

    /// Whether nothing ever has to be waited for.
    pub(crate) fn is_immediate(&self) -> bool {
        self.factor == 0.0 && self.extra.is_empty()
    }

    /// All latency that chaos adds.
    pub(crate) fn injected(&self) -> Duration {
        self.extra.iter().sum()
    }

    /// When step `index`, recorded at `offset`, is due.
    pub(crate) fn deadline(&self, index: usize, offset: Duration) -> tokio::time::Instant {
        let late: Duration = self.extra.iter().take(index + 1).sum();
        self.start + offset.mul_f64(self.factor) + late
    }

    /// Waits until step `index`, recorded at `offset`, is due.
    pub(crate) async fn until(&self, index: usize, offset: Duration) {
        if self.is_immediate() {
            return;
        }
        tokio::time::sleep_until(self.deadline(index, offset)).await;
    }
}

/// What an HTTP front needs of a session.
pub(crate) trait Exchange: Send + Sync {
    /// Decides about one request. `control` are the caller's `x-vcr-…` headers, names in lower case; `key` is that of the
    /// agent whose base URL the caller has.
    fn begin<'a>(
        &'a self,
        upstream: &'a Upstream,
        request: HttpRequest<'a>,
        control: &'a [(String, String)],
        key: Option<Arc<str>>,
    ) -> Pin<Box<dyn Future<Output = HttpTurn> + Send + 'a>>;
}
