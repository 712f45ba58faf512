use std::sync::Arc;
use std::time::{Duration, Instant};

use super::stream::CompletionStream;
use super::upstream::{DynUpstream, Steps};
use super::{CallError, Completion, Reply, Request, Upstream};
use crate::front::access::{Access, OneCall, access};
use crate::protocol::Timeline;
use crate::scope::Home;
use crate::session::{CallRecorder, Ending, Failure, Played, Turn, Wired};

/// The in-process front: your code asks it for completions, and the session decides where they come from.
///
/// Outside tests it passes calls through to its upstream. In a test it records or replays them; nothing in the code
/// that uses it changes.
#[derive(Clone)]
pub struct Client {
    upstream: Arc<dyn DynUpstream>,
    home: Option<Home>,
}

impl Client {
    /// A client that belongs to whichever session its calls are made in.
    #[must_use]
    pub fn new(upstream: impl Upstream) -> Self {
        Self {
            upstream: Arc::new(upstream),
            home: None,
        }
    }

    pub(crate) fn at_home(upstream: impl Upstream, home: Home) -> Self {
        Self {
            upstream: Arc::new(upstream),
            home: Some(home),
        }
    }

    /// Asks for a whole answer.
    ///
    /// # Errors
    /// [`CallError::Failed`] when the upstream failed or was recorded failing; [`CallError::Vcr`] for a miss, a call
    /// outside every session, or a cassette that cannot be read.
    pub async fn completion(&self, request: Request) -> Result<Completion, CallError> {
        let mut request = request.with_stream(false);
        let (turn, own) = self.turn(&mut request)?;
        let answer = match turn {
            Turn::Live => self.ask(request, None).await,
            Turn::Record(call) => self.ask(request, Some(call)).await,
            Turn::Replay(played) => replay(played).await,
        };
        if let Some(own) = own {
            own.finish()?;
        }
        answer
    }

    /// Asks for an answer step by step. A failure of the upstream before the first step is an error here, a later one
    /// comes out of the stream.
    ///
    /// # Errors
    /// As [`completion`](Self::completion).
    pub async fn completion_stream(&self, request: Request) -> Result<CompletionStream, CallError> {
        let mut request = request.with_stream(true);
        let (turn, own) = self.turn(&mut request)?;
        let recorder = match turn {
            Turn::Replay(played) => {
                if let Some(own) = own {
                    own.finish()?;
                }
                return Ok(CompletionStream::replayed(played));
            }
            Turn::Record(call) => Some(call),
            Turn::Live => None,
        };
        match self.upstream.call(request).await {
            Ok(Reply { steps }) => Ok(CompletionStream::live(steps, recorder, own)),
            Err(failure) => {
                if let Some(call) = recorder {
                    call.finish(Ending::Failed(failure.to_wire()), streamed());
                }
                if let Some(own) = own {
                    own.finish()?;
                }
                Err(failure.into())
            }
        }
    }

    fn turn(&self, request: &mut Request) -> Result<(Turn, Option<OneCall>), CallError> {
        let control = request.control();
        match access(self.home.as_ref(), &control)? {
            Access::Live => Ok((Turn::Live, None)),
            Access::Session(Home { session, key }) => {
                // In replay nothing goes to the upstream, so the request is not needed twice.
                let canonical = match control.is_empty() && session.only_replays() {
                    true => std::mem::take(request).into_canonical(),
                    false => request.clone().into_canonical(),
                };
                Ok((session.begin(canonical, None, &control, key.as_deref())?, None))
            }
            Access::OneCall(own) => {
                let turn = own
                    .0
                    .begin(request.clone().into_canonical(), None, &control, None)?;
                Ok((turn, Some(own)))
            }
        }
    }

    /// Asks the upstream and gathers its answer, recording it on the way.
    async fn ask(
        &self,
        request: Request,
        mut recorder: Option<CallRecorder>,
    ) -> Result<Completion, CallError> {
        let start = Instant::now();
        let end = |recorder: Option<CallRecorder>, ending: Ending| {
            if let Some(call) = recorder {
                call.finish(ending, Wired::default());
            }
        };
        let events = match self.upstream.call(request).await {
            Ok(reply) => gather(reply).await,
            Err(failure) => Err(failure),
        };
        let events = match events {
            Ok(events) => events,
            Err(failure) => {
                end(recorder, Ending::Failed(failure.to_wire()));
                return Err(failure.into());
            }
        };
        if let Some(call) = &mut recorder {
            if let Err(cut) = call.check(&events) {
                let failure = Failure::new(&cut.error_type, &cut.message);
                end(recorder, Ending::CutOff(cut));
                return Err(failure.into());
            }
            call.unary(events.clone());
        }
        end(recorder, Ending::Clean { complete: true });
        let mut timeline = Timeline::unary();
        timeline.push(0, events);
        Ok(Completion::told(timeline.finish(), start.elapsed()))
    }
}

/// What a streamed call says about itself when it ends.
pub(super) fn streamed() -> Wired {
    Wired {
        streamed: true,
        ..Wired::default()
    }
}

async fn gather(reply: Reply) -> Result<Vec<crate::protocol::Event>, Failure> {
    let mut stream = match reply.steps {
        Steps::Whole(steps) => return Ok(steps.into_iter().map(|delta| delta.0).collect()),
        Steps::Stream(stream) => stream,
    };
    let mut events = Vec::new();
    while let Some(step) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
        events.push(step?.0);
    }
    Ok(events)
}

async fn replay(played: Played) -> Result<Completion, CallError> {
    let total = Duration::from_micros(played.call.metrics.map_or(0, |metrics| metrics.total_us));
    let pace = played.pace(1);
    pace.until(0, total).await;
    if let Some(hang) = &played.hang {
        hang.begin()?;
        std::future::pending::<()>().await;
    }
    if let Some(boundary) = &played.call.boundary {
        return Err(Failure::from_boundary(boundary).into());
    }
    Ok(Completion::recorded(played.call, total + pace.injected()))
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").finish_non_exhaustive()
    }
}
