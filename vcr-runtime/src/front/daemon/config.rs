use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Chaos, IncludeRaw, Key, Layer, Matching, Mode, Speed};

/// Renders what a metrics recorder has seen, for `GET /metrics`.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// What a daemon is started with.
///
/// Every field may stay `None`: then the environment decides, then `vcr.toml` in [`root`](Self::root), then the default.
/// A call's own `vcr…` members and `x-vcr-…` headers count more than all of them. New fields may come: end a literal with
/// `..DaemonConfig::default()`.
#[derive(Clone, Default)]
pub struct DaemonConfig {
    /// A loopback address, 127.0.0.1:8356 by default; port 0 is any free one. `VCR_LISTEN`, `[serve] listen`.
    pub listen: Option<SocketAddr>,
    /// The directory with `vcr.toml`, to which other paths are relative; by default the working directory.
    pub root: PathBuf,
    /// Where cassettes are, `fixtures` by default. No request gets out of it.
    pub fixture_dir: Option<PathBuf>,
    /// Where requests go whose path names no upstream: a base URL such as `https://openrouter.ai/api/v1`, or a name from
    /// `vcr.toml`. By default the provider that the model names (`groq/llama-3`), else the home of the path's protocol.
    /// `VCR_UPSTREAM`, `[serve] upstream`.
    pub upstream: Option<String>,
    /// What answers instead of cassettes, such as `frozen:answers.jsonl` in the fixture directory. Each scenario is a run of its
    /// own over it. With it a call that does not say what to do is replayed.
    pub source: Option<String>,
    /// What to do with a call that does not say: by default pass it through.
    pub mode: Option<Mode>,
    /// How fast to replay.
    pub speed: Option<Speed>,
    /// Latency that replay adds.
    pub chaos_latency: Option<Chaos>,
    /// The seed of a [`Chaos::Jitter`].
    pub chaos_seed: Option<u64>,
    /// Coalescing window of recorded streams in milliseconds; 0 keeps every chunk.
    pub record_tick_ms: Option<f64>,
    /// Takes to replay instead of the latest: `trace` or `scenario:trace`, separated by commas.
    pub target_traces: Option<String>,
    /// Whether to keep the provider's own bytes.
    pub include_raw_payload: Option<IncludeRaw>,
    /// Which recorded call answers a request.
    pub matching: Option<Matching>,
    /// Whether the last of equal recorded calls answers again when all have been used.
    pub repeat: Option<bool>,
    /// JSON pointers into the request that matching leaves out.
    pub ignore: Vec<String>,
    /// Whether recorded calls may stay unused when a scenario is finished.
    pub allow_unused: Option<bool>,
    /// After how long without a call a scenario ends, 10 seconds by default. `VCR_IDLE`, `[serve] idle`, in seconds.
    pub idle: Option<Duration>,
    /// How long open answers may take once the daemon is told to stop, 30 seconds by default. `VCR_GRACE`, `[serve] grace`,
    /// in seconds.
    pub grace: Option<Duration>,
    /// The largest request body in bytes, 64 MiB by default. `VCR_BODY_LIMIT`, `[serve] body_limit`.
    pub body_limit: Option<usize>,
    /// What `GET /metrics` answers with; without it there is no such path.
    pub metrics: Option<RenderMetrics>,
}

impl DaemonConfig {
    /// The fields that say something.
    pub(super) fn layer(&self) -> Layer {
        let mut layer = Layer::builder();
        let mut set = |key: Key, text: Option<String>| {
            if let Some(text) = text {
                layer.set(key, text);
            }
        };
        let seconds = |duration: Duration| duration.as_secs_f64().to_string();
        set(Key::Listen, self.listen.map(|address| address.to_string()));
        set(
            Key::FixtureDir,
            self.fixture_dir.as_ref().map(|path| path.display().to_string()),
        );
        set(Key::Upstream, self.upstream.clone());
        set(Key::Source, self.source.clone());
        set(Key::Mode, self.mode.map(|mode| mode.to_string()));
        set(Key::Speed, self.speed.map(|speed| speed.to_string()));
        set(Key::Chaos, self.chaos_latency.map(|chaos| chaos.to_string()));
        set(Key::ChaosSeed, self.chaos_seed.map(|seed| seed.to_string()));
        set(Key::Tick, self.record_tick_ms.map(|tick| tick.to_string()));
        set(Key::Targets, self.target_traces.clone());
        set(
            Key::IncludeRaw,
            self.include_raw_payload.map(|include| include.to_string()),
        );
        set(Key::Matching, self.matching.map(|matching| matching.to_string()));
        set(Key::Repeat, self.repeat.map(|repeat| repeat.to_string()));
        set(Key::AllowUnused, self.allow_unused.map(|allow| allow.to_string()));
        set(Key::Idle, self.idle.map(seconds));
        set(Key::Grace, self.grace.map(seconds));
        set(Key::BodyLimit, self.body_limit.map(|limit| limit.to_string()));
        for pointer in &self.ignore {
            layer.set(Key::Ignore, pointer);
        }
        layer
    }
}

impl std::fmt::Debug for DaemonConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("DaemonConfig")
            .field("root", &self.root)
            .field("layer", &self.layer())
            .field("metrics", &self.metrics.is_some())
            .finish_non_exhaustive()
    }
}
