//! A harness with a cassette of this library: a session behind the harness's doors.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use http::request::Parts;

use super::answers;
use super::config::{HarnessConfig, MatchMode, Mode, Protocol};
use super::doors;
use super::report::{HarnessReport, Leftover};
use super::target::Target;
use crate::config::{Environment, IncludeRaw, Key, Layer, Matching, Mode as SessionMode};
use crate::error::Result;
use crate::front::gateway::{Answer, Backend, Decision, Fault, as_pairs, refused};
use crate::identity::Place;
use crate::protocol::HttpRequest;
use crate::session::{Exchange, HttpTurn, Opening, Session, Upstream};

/// The backend.
pub(super) struct Own {
    protocol: Protocol,
    body_limit: usize,
    session: Weak<Session>,
    target: Option<Target>,
}

impl Own {
    pub(super) fn new(config: &HarnessConfig, session: &Arc<Session>, target: Option<Target>) -> Self {
        Self {
            protocol: config.protocol,
            body_limit: config.max_body_bytes,
            session: Arc::downgrade(session),
            target,
        }
    }

    async fn turn(&self, head: &Parts, body: Bytes) -> Result<Decision, Fault> {
        let nowhere = Upstream {
            provider: String::new(),
            base: String::new(),
        };
        let upstream = self.target.as_ref().map_or(&nowhere, |target| &*target.upstream);
        let request = HttpRequest {
            method: head.method.as_str(),
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
            body: &body,
        };
        let pairs = as_pairs(&head.headers);
        let recording = match self.session.begin(upstream, request, &pairs, None).await {
            HttpTurn::Replay(playback) => return Ok(Decision::Play(playback)),
            HttpTurn::Refused(error) => return Err(Fault::of(&error)),
            HttpTurn::Live => None,
            HttpTurn::Record(recording) => Some(recording),
        };
        match &self.target {
            Some(target) => Ok(Decision::Forward(
                Box::new(target.outgoing(head, body)?),
                recording,
            )),
            None => Err(Fault::unreachable("the harness has no upstream")),
        }
    }
}

impl Backend for Own {
    fn body_limit(&self) -> usize {
        self.body_limit
    }

    fn admit(&self, head: &Parts) -> Result<(), Fault> {
        doors::admit(self.protocol, head)
    }

    fn decide<'a>(
        &'a self,
        head: &'a Parts,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        Box::pin(async move { self.turn(head, body).await.unwrap_or_else(Decision::Refuse) })
    }

    fn answer(&self, path: &str, fault: &Fault) -> Answer {
        match fault.code {
            answers::UNKNOWN_PATH | answers::NOT_POST => answers::answer(fault),
            _ => refused(path, fault),
        }
    }
}

/// The session of a harness; its leftovers are reported and fail nothing.
pub(super) fn open(config: &HarnessConfig, directory: &Path) -> Result<Arc<Session>> {
    let mut layer = Layer::builder();
    layer.set(Key::Filename, &config.cassette_name);
    layer.set(Key::FixtureDir, directory.display());
    layer.set(
        Key::Mode,
        match config.mode {
            Mode::Record => SessionMode::Record,
            Mode::Replay | Mode::Verify => SessionMode::Replay,
        },
    );
    layer.set(
        Key::Matching,
        match config.match_mode {
            MatchMode::SequentialStrict => Matching::Sequential,
            MatchMode::Keyed => Matching::Keyed,
        },
    );
    layer.set(Key::Speed, config.speed);
    layer.set(Key::AllowUnused, true);
    if config.byte_exact {
        layer.set(Key::IncludeRaw, IncludeRaw::Always);
    }
    for pointer in &config.ignored_body_paths {
        layer.set(Key::Ignore, pointer);
    }
    let session = Session::open_for_one_call(Opening {
        place: Place::at_run_time(Environment::process()),
        layers: vec![layer],
        default_mode: SessionMode::Replay,
        start_paused: false,
        breaker: None,
    })?;
    Ok(Arc::new(session))
}

/// Ends the session and saves what it recorded.
pub(super) fn conclude(session: &Session, aborted: usize) -> (HarnessReport, Option<crate::Error>) {
    session.end();
    let mismatches = session.ledger().misses as u64;
    let mut leftovers = Vec::new();
    let verdict = session.conclude_after(true, aborted, |tapes| {
        let sources = tapes
            .iter()
            .filter_map(|tape| tape.with_source(|source| source.leftovers().left));
        leftovers.extend(sources.flatten().map(|left| Leftover {
            name: left.name,
            summary: left.about,
        }));
    });
    let report = HarnessReport {
        served: verdict.report.replayed as u64,
        recorded: verdict.report.recorded as u64,
        mismatches,
        not_recorded: 0,
        aborted,
        leftovers,
        faults: Vec::new(),
    };
    // A miss was told to its caller, and is counted.
    let failure = verdict
        .failure
        .filter(|error| error.kind() != crate::ErrorKind::Miss);
    (report, failure)
}
