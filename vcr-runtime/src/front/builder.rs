use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::vcr::Vcr;
use crate::config::{Chaos, Config, Environment, IncludeRaw, Key, Layer, Matching, Mode, Speed};
use crate::error::Result;
use crate::identity::Place;
use crate::session::{Opening, Session, StreamBreaker};

/// Describes a session without the attribute. What is not said here comes from the environment, then `vcr.toml`.
///
/// ```no_run
/// # async fn run() -> vcr_runtime::Result<()> {
/// let vcr = vcr_runtime::Vcr::builder().scenario("greeting").open()?;
/// // … make calls in `vcr.scope(..)` or through `vcr.client(..)` …
/// vcr.finish().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until `open`"]
pub struct VcrBuilder {
    layer: Layer,
    breaker: Option<Arc<dyn StreamBreaker>>,
}

impl VcrBuilder {
    pub(super) fn new() -> Self {
        Self {
            layer: Layer::builder(),
            breaker: None,
        }
    }

    fn with(mut self, key: Key, value: impl fmt::Display) -> Self {
        self.layer.set(key, value);
        self
    }

    /// Names the scenario, and with it the cassette.
    pub fn scenario(self, scenario: impl Into<String>) -> Self {
        self.with(Key::Scenario, scenario.into())
    }

    /// Names who runs it; by default the package.
    pub fn invoker(self, invoker: impl Into<String>) -> Self {
        self.with(Key::Invoker, invoker.into())
    }

    /// Names the cassette file instead of the scenario; `.json` is added when absent.
    pub fn filename(self, filename: impl Into<String>) -> Self {
        self.with(Key::Filename, filename.into())
    }

    /// What answers instead of the cassette, in the fixture directory. `frozen:answers.jsonl` are answers by the hash of their
    /// requests, with ceilings to lower behind it, as in `frozen:answers.jsonl?max_calls=40`. `session:parent.jsonl` is the
    /// log of a recorded agent session, an entry a call; behind it may stand the milliseconds before each chunk, as in
    /// `session:parent.jsonl?pace_ms=20`. Calls say by `vcr_session` in their metadata (over HTTP by
    /// the header `x-vcr-session`) which agent makes them. Replay reads it, and `Mode::New` takes from it what matches; a recording
    /// still goes to the cassette.
    pub fn source(self, source: impl Into<String>) -> Self {
        self.with(Key::Source, source.into())
    }

    /// A document of the fixture directory by which some calls are answered differently than recorded, without a change to
    /// the recording: the way to test retries, timeouts and cancellation. It works on cassettes and on session scripts.
    ///
    /// ```json
    /// {"patches": [{"before": 0, "entry": {"kind": "throw", "message": "slow down", "code": "rate_limit", "status": 429}}]}
    /// ```
    ///
    /// Calls are counted from 0. `before` answers once in front of a call, which is still to be asked for; `at` answers in its
    /// place, or behind the last one where it is their number. A list of entries instead of the object replaces all calls. An entry is
    ///
    /// - `throw`: fails with `message` and `code`, with `status` and `retryAfterMs` where they are given; behind `frames` (so many
    ///   recorded ones) or `chunks` within the answer, and so with `"accepted": true`;
    /// - `cut`: breaks the connection off behind so many `frames`;
    /// - `hang`: says a little, or `frames`, makes `readyFile`, and does not end until the caller leaves;
    /// - `chunks`: another answer, in the vocabulary of session scripts.
    ///
    /// What of it was never applied fails the test at its end, as a recorded call that nobody asked for. Frozen answers have
    /// failures of their own, so a document beside them is refused. A recording pays no heed to it.
    pub fn override_file(self, file: impl Into<String>) -> Self {
        self.with(Key::OverrideFile, file.into())
    }

    /// The logs of the sessions that the agent of a session script started, in the fixture directory.
    pub fn child_files<P: Into<String>>(mut self, files: impl IntoIterator<Item = P>) -> Self {
        for file in files {
            self.layer.set(Key::ChildFiles, file.into());
        }
        self
    }

    /// The directory of the cassettes; relative to the package's.
    pub fn fixture_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.layer.set_path(Key::FixtureDir, &directory.into());
        self
    }

    /// Fixes the mode instead of leaving it to `VCR_MODE`.
    pub fn mode(self, mode: Mode) -> Self {
        self.with(Key::Mode, mode)
    }

    /// How fast to replay.
    pub fn speed(self, speed: Speed) -> Self {
        self.with(Key::Speed, speed)
    }

    /// Latency that replay adds.
    pub fn chaos(self, chaos: Chaos) -> Self {
        self.with(Key::Chaos, chaos)
    }

    /// The seed of a [`Chaos::Jitter`].
    pub fn chaos_seed(self, seed: u64) -> Self {
        self.with(Key::ChaosSeed, seed)
    }

    /// The coalescing window of recorded streams in milliseconds; 0 keeps every chunk.
    pub fn tick_ms(self, tick: f64) -> Self {
        self.with(Key::Tick, tick)
    }

    /// Takes to replay instead of the latest: `trace` or `scenario:trace`, separated by commas.
    pub fn target_traces(self, pins: impl Into<String>) -> Self {
        self.with(Key::Targets, pins.into())
    }

    /// Whether to keep the provider's own bytes.
    pub fn include_raw(self, include: IncludeRaw) -> Self {
        self.with(Key::IncludeRaw, include)
    }

    /// Which recorded call answers a request.
    pub fn matching(self, matching: Matching) -> Self {
        self.with(Key::Matching, matching)
    }

    /// JSON pointers into the request that matching leaves out.
    pub fn ignore<P: Into<String>>(mut self, pointers: impl IntoIterator<Item = P>) -> Self {
        for pointer in pointers {
            self.layer.set(Key::Ignore, pointer.into());
        }
        self
    }

    /// Whether recorded calls may stay unused.
    pub fn allow_unused(self, allow: bool) -> Self {
        self.with(Key::AllowUnused, allow)
    }

    /// Whether reports leave out hashes, differences and payloads.
    pub fn private(self, private: bool) -> Self {
        self.with(Key::Private, private)
    }

    /// Whether replay at top speed answers a recorded `retry-after` with 0, so that a client's own retry takes no time.
    pub fn cut_retry_after(self, cut: bool) -> Self {
        self.with(Key::RetryAfter, if cut { "cut" } else { "keep" })
    }

    /// Whether a recording keeps a refusal (429, 5xx) that is followed by a success of the same request; it does unless
    /// told otherwise.
    pub fn keep_transient(self, keep: bool) -> Self {
        self.with(Key::KeepTransient, keep)
    }

    /// Whether a recording of one protocol answers requests of another, such as one made by an Anthropic client those of an
    /// `OpenAI` client. Requests of the same protocol match as ever. Across protocols they match when they ask for the same:
    /// model, conversation, tools, and every parameter, under whatever name (a token limit only where both state it).
    /// Blocks that only one provider understands match nothing. The answer is rendered from what was recorded of text,
    /// reasoning, tool calls, finish reason, usage and failure. Off by default; `cross = true` in `vcr.toml` does the same.
    pub fn cross(self, cross: bool) -> Self {
        self.with(Key::Cross, cross)
    }

    /// Whether the last of equal recorded calls answers again when all of them have been used. Off by default: a call
    /// that is made more often than it was recorded is a miss. Also `VCR_REPEAT`, `vcr_repeat`, and `repeat` in `vcr.toml`.
    pub fn repeat(self, repeat: bool) -> Self {
        self.with(Key::Repeat, repeat)
    }

    /// A policy that may cut answers while they are recorded.
    pub fn breaker(mut self, breaker: impl StreamBreaker) -> Self {
        self.breaker = Some(Arc::new(breaker));
        self
    }

    /// Opens the session; in replay unless `VCR_MODE` or [`mode`](Self::mode) say otherwise. Cassettes are opened at the
    /// first call.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for a value outside its set, wherever it stands.
    pub fn open(self) -> Result<Vcr> {
        open(vec![self.layer], Mode::Replay, self.breaker)
    }
}

impl fmt::Debug for VcrBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("VcrBuilder")
            .field("layer", &self.layer)
            .finish_non_exhaustive()
    }
}

fn open(layers: Vec<Layer>, default_mode: Mode, breaker: Option<Arc<dyn StreamBreaker>>) -> Result<Vcr> {
    let place = Place::at_run_time(Environment::process());
    let opening = Opening {
        place,
        layers,
        default_mode,
        start_paused: false,
        breaker,
    };
    Ok(Vcr::of(Arc::new(Session::open(opening)?)))
}

/// Runs `future` inside a session with cassettes in `directory`, and ends the session after it.
///
/// # Errors
/// As [`Vcr::finish`] and [`VcrBuilder::open`].
pub async fn use_cassette<F: Future>(
    config: Config,
    directory: impl AsRef<Path>,
    future: F,
) -> Result<F::Output> {
    let mut layer = config.layer();
    layer.set_path(Key::FixtureDir, directory.as_ref());
    let vcr = open(vec![layer], Mode::Live, None)?;
    let output = vcr.scope(future).await;
    vcr.finish().await?;
    Ok(output)
}
