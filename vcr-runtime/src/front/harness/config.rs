//! The settings of a harness.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::config::Speed;

/// Everything that a harness is started with. Each field has a default:
///
/// ```
/// use std::net::SocketAddr;
/// use vcr_runtime::harness::HarnessConfig;
/// use vcr_runtime::harness::config::{ListenAddr, MatchMode};
///
/// let config = HarnessConfig {
///     listen: ListenAddr::from(SocketAddr::from(([127, 0, 0, 1], 0))),
///     match_mode: MatchMode::Keyed,
///     ..HarnessConfig::default()
/// };
/// assert_eq!(config.cassette_name, "default");
/// ```
#[derive(Clone, Debug)]
pub struct HarnessConfig {
    /// Where to listen, on loopback; port 0 is any free one. By default 127.0.0.1:8787.
    pub listen: ListenAddr,
    /// What to do with calls; replay by default.
    pub mode: Mode,
    /// The language of messages, for programs that show them.
    pub localization: LocalizationConfig,
    /// Which calls are taken; chat completions by default.
    pub protocol: Protocol,
    /// Which interaction answers a request; strictly the next one by default.
    pub match_mode: MatchMode,
    /// The directory of the cassettes; `fixtures/llm` by default.
    pub cassette_dir: PathBuf,
    /// The name of the file in it, as it is; `default` by default.
    pub cassette_name: String,
    /// Where recorded calls go; required for recording, unused otherwise.
    pub upstream: Option<UpstreamConfig>,
    /// How long the upstream is waited for.
    pub upstream_timeouts: UpstreamTimeouts,
    /// Which headers are never stored.
    pub redaction: RedactionConfig,
    /// Invented timing of replayed answers.
    pub replay: ReplayConfig,
    /// In which format the cassette is; that of the spycatcher harness by default.
    pub format: CassetteFormat,
    /// JSON pointers into the request's body that matching leaves out, such as `/metadata/run_id`.
    pub ignored_body_paths: Vec<String>,
    /// Whether credentials are removed from bodies, queries and headers before they are stored; true by default.
    pub scrub_secrets: bool,
    /// Whether streams are replayed as the bytes that were recorded, instead of as their events in the usual spelling. With
    /// [`CassetteFormat::Vcr`] the recording decides: with it, the provider's own bytes are kept.
    pub byte_exact: bool,
    /// How fast streams are replayed; at once by default. [`ReplayConfig::simulate_timing`] comes first.
    pub speed: Speed,
    /// Whether a cassette begins again when all of it was given out, for measurements; false by default.
    pub allow_repeats: bool,
    /// The largest request body, in bytes; 2 MiB by default.
    pub max_body_bytes: usize,
    /// How long [`RunningHarness::shutdown`](super::RunningHarness::shutdown) waits for answers that are under way; 10 s by
    /// default.
    pub shutdown_grace: Duration,
}

impl Default for HarnessConfig {
    fn default() -> Self {
        Self {
            listen: ListenAddr::default(),
            mode: Mode::default(),
            localization: LocalizationConfig::default(),
            protocol: Protocol::default(),
            match_mode: MatchMode::default(),
            cassette_dir: PathBuf::from("fixtures/llm"),
            cassette_name: "default".to_owned(),
            upstream: None,
            upstream_timeouts: UpstreamTimeouts::default(),
            redaction: RedactionConfig::default(),
            replay: ReplayConfig::default(),
            format: CassetteFormat::default(),
            ignored_body_paths: Vec::new(),
            scrub_secrets: true,
            byte_exact: false,
            speed: Speed::Max,
            allow_repeats: false,
            max_body_bytes: 2 << 20,
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddr(SocketAddr);

impl ListenAddr {
    /// The address.
    #[must_use]
    pub const fn as_socket_addr(self) -> SocketAddr {
        self.0
    }
}

impl Default for ListenAddr {
    fn default() -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)))
    }
}

impl From<SocketAddr> for ListenAddr {
    fn from(addr: SocketAddr) -> Self {
        Self(addr)
    }
}

/// What a harness does with calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Forward them and keep the answers.
    Record,
    /// Answer them from the cassette.
    #[default]
    Replay,
    /// Prove the cassette against itself; then as [`Replay`](Self::Replay). One that does not hold is not served.
    Verify,
}

/// Which calls a harness takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// `POST /v1/chat/completions`, and nothing else.
    #[default]
    OpenAiChatCompletions,
    /// Everything that this library can read: chat completions, responses, embeddings, messages, `generateContent` …
    Any,
}

/// Which interaction answers a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchMode {
    /// The next one, if the request is its.
    #[default]
    SequentialStrict,
    /// The first unused one of the same request.
    Keyed,
}

/// The format of a cassette.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CassetteFormat {
    /// That of the spycatcher harness, so that either program replays what the other recorded.
    #[default]
    Spycatcher,
    /// The readable one of this library, as `cargo test` uses it. `.json` is added to its name when absent, misses are
    /// answered with `vcr_replay_miss`, and what is recorded stands in the file after the shutdown.
    Vcr,
}

/// Where recorded calls go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// Who it is, which decides how the key is sent.
    pub kind: UpstreamKind,
    /// The URL that the paths of calls are appended to, such as `https://openrouter.ai/api/v1`.
    pub base_url: String,
    /// The variable that holds the key; read at each call. Empty passes on the caller's own.
    pub api_key_env: String,
    /// Headers for the upstream alone; they are never stored. `authorization` is passed over.
    pub extra_headers: BTreeMap<String, String>,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            kind: UpstreamKind::OpenRouter,
            base_url: "https://openrouter.ai/api/v1".to_owned(),
            api_key_env: "OPENROUTER_API_KEY".to_owned(),
            extra_headers: BTreeMap::new(),
        }
    }
}

/// How long the upstream is waited for. Beyond a limit the caller is told 502, or, where the answer has begun, its
/// connection breaks; neither is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamTimeouts {
    /// For all of an answer that is no stream; 30 s by default.
    pub total: Duration,
    /// For connecting; 10 s by default.
    pub connect: Duration,
    /// For the silence of a stream, before its first byte and between pieces; 30 s by default.
    pub idle: Duration,
}

impl Default for UpstreamTimeouts {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
        }
    }
}

/// Who the upstream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamKind {
    /// OpenRouter.
    #[default]
    OpenRouter,
    /// OpenAI, and everything that takes its key as a bearer token.
    OpenAi,
    /// Anthropic: the key is `x-api-key`.
    Anthropic,
    /// Google's Gemini API: the key is `x-goog-api-key`.
    Gemini,
    /// Ollama; usually without a key.
    Ollama,
}

impl UpstreamKind {
    /// The name that cassettes store.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::OpenRouter => "openrouter",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

/// The language of messages. The library reads neither the environment nor the system for it; see
/// [`locale_from`](super::locale_from).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalizationConfig {
    /// The wanted locale, such as `de-DE`.
    pub locale: Option<String>,
    /// The locale where the wanted one is missing; `en-US` by default.
    pub fallback_locale: String,
}

impl Default for LocalizationConfig {
    fn default() -> Self {
        Self {
            locale: None,
            fallback_locale: "en-US".to_owned(),
        }
    }
}

/// Which headers are never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactionConfig {
    /// Their names, in any case; `authorization` by default. An empty list keeps `authorization` too.
    pub drop_headers: Vec<String>,
}

impl Default for RedactionConfig {
    fn default() -> Self {
        Self {
            drop_headers: vec!["authorization".to_owned()],
        }
    }
}

/// Invented timing of replayed answers, whatever was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayConfig {
    /// Whether it is used; false by default.
    pub simulate_timing: bool,
    /// Milliseconds to the first event, or to a whole answer; 200 by default.
    pub ttft_ms: u64,
    /// Events with data per second after the first; 50 by default. Zero sends them at once.
    pub tps: u64,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        Self {
            simulate_timing: false,
            ttft_ms: 200,
            tps: 50,
        }
    }
}
