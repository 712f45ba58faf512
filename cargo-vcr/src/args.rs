//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use vcr_runtime::daemon::DaemonConfig;
use vcr_runtime::{Chaos, IncludeRaw, Matching, Mode, Speed};

use crate::files::FIXTURES;

/// What cargo passes on.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo", version, about)]
pub(crate) enum Cargo {
    /// Recordings of language models
    #[command(version)]
    Vcr(Vcr),
}

#[derive(Args, Debug)]
pub(crate) struct Vcr {
    /// Language of messages, such as de or en-US [default: VCR_LOCALE, then the system's]
    #[arg(long, global = true, value_name = "LOCALE")]
    pub(crate) locale: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record and replay for programs in any language, on a loopback port
    ///
    /// Prints its address as one line, stays until it is told to stop (Ctrl-C, SIGTERM), lets open answers end, and saves.
    ///
    /// A request says itself what to do: by members of its JSON body ("vcr": "record", "vcr_scenario": "greeting",
    /// vcr_invoker, vcr_filename, vcr_fixture_dir, vcr_speed, vcr_chaos, vcr_tick, vcr_target_trace, vcr_include_raw,
    /// vcr_matching, vcr_repeat), or by headers of the same names (x-vcr-scenario: greeting). What a request leaves open the
    /// flags decide, then the variables VCR_*, then vcr.toml.
    Serve(Box<Serve>),
    /// Put what interrupted recordings left into files beside their cassettes
    Recover {
        /// A cassette, its journal, or a directory
        #[arg(default_value = FIXTURES)]
        path: PathBuf,
    },
    /// Prove cassettes: format, hashes, and that all layers say the same. Exits with 1 where something is wrong
    Verify {
        /// A cassette or a directory
        #[arg(default_value = FIXTURES)]
        path: PathBuf,
    },
    /// Write the latest take of a cassette as a file of frozen answers
    Freeze {
        /// The cassette
        cassette: PathBuf,
        /// The file to write, such as fixtures/answers.jsonl; replaced where it exists
        frozen: PathBuf,
    },
    /// Take edited frozen answers back into the cassette that they were frozen from, as a new take
    Thaw {
        /// The file of frozen answers
        frozen: PathBuf,
        /// The cassette, which has the requests
        cassette: PathBuf,
    },
    /// Write the latest take of a cassette in a form of another program
    Export {
        /// As the log of an agent session, which `source = "session:FILE"` replays
        #[arg(long, required = true)]
        session: bool,
        /// The cassette
        cassette: PathBuf,
        /// The file to write, such as fixtures/session.jsonl; replaced where it exists
        file: PathBuf,
    },
    /// Check a file of frozen answers without replaying it, and print what may be told of it
    Probe {
        /// The file, with ceilings to lower behind it: fixtures/answers.jsonl?max_entries=100
        frozen: String,
    },
}

/// The settings of a daemon.
// A later flag counts more, so that wrappers can set defaults.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct Serve {
    /// Loopback address; port 0 is any free one [default: 127.0.0.1:8356]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Directory with vcr.toml, to which other paths are relative
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    root: PathBuf,
    /// Base URL, or name in vcr.toml, of where paths without a prefix go [default: the protocol's own home]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Seconds without a call after which a scenario ends and is saved [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    idle: Option<Duration>,
    /// Seconds that open answers may take once told to stop [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    grace: Option<Duration>,
    /// Largest request body in bytes [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    body_limit: Option<usize>,
    /// Serve what happened as Prometheus metrics at /metrics
    #[arg(long)]
    pub(crate) metrics: bool,
    /// Least level of what is logged to stderr
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["off", "error", "warn", "info", "debug"])]
    pub(crate) log: String,

    /// Frozen answers in the fixture directory, with ceilings to lower behind them: answers.jsonl?max_calls=40. Calls that do
    /// not say what to do are then replayed
    #[arg(long, value_name = "FILE")]
    frozen: Option<String>,
    /// What to do with calls that do not say: live, record, replay, auto, new [default: live]
    #[arg(long = "vcr", value_name = "MODE")]
    mode: Option<Mode>,
    /// How fast to replay: max, real, or a factor such as 4x [default: max]
    #[arg(long = "vcr-speed", value_name = "SPEED")]
    speed: Option<Speed>,
    /// Milliseconds of latency that replay adds, or a range such as 20..200
    #[arg(long = "vcr-chaos", value_name = "MS")]
    chaos: Option<Chaos>,
    /// Seed of a range of latencies
    #[arg(long = "vcr-chaos-seed", value_name = "SEED")]
    chaos_seed: Option<u64>,
    /// Coalescing window of recorded streams in milliseconds; 0 keeps every chunk [default: 100]
    #[arg(long = "vcr-tick", value_name = "MS")]
    tick: Option<f64>,
    /// Takes to replay instead of the latest: TRACE or SCENARIO:TRACE, separated by commas
    #[arg(long = "vcr-targets", alias = "vcr-traces", value_name = "TRACES")]
    targets: Option<String>,
    /// Whether to keep the provider's own bytes: auto, true, false [default: auto]
    #[arg(long = "vcr-include-raw", value_name = "CHOICE")]
    include_raw: Option<IncludeRaw>,
    /// Which recorded call answers: sequential, keyed, order [default: sequential]
    #[arg(long = "vcr-matching", value_name = "MATCHING")]
    matching: Option<Matching>,
    /// Directory of the cassettes; no request gets out of it [default: fixtures]
    #[arg(long = "vcr-fixture-dir", value_name = "DIRECTORY")]
    fixture_dir: Option<PathBuf>,
    /// Let the last of equal recorded calls answer again when all have been used
    #[arg(long = "vcr-repeat", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    repeat: Option<bool>,
    /// JSON pointer into the request that matching leaves out; may be given several times
    #[arg(long = "vcr-ignore", value_name = "POINTER")]
    ignore: Vec<String>,
    /// Let recorded calls stay unused when a scenario is finished
    #[arg(long = "vcr-allow-unused", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_unused: Option<bool>,
}

impl Serve {
    /// The daemon's configuration, without metrics.
    pub(crate) fn config(self) -> DaemonConfig {
        DaemonConfig {
            listen: self.listen,
            root: self.root,
            fixture_dir: self.fixture_dir,
            upstream: self.upstream,
            source: self.frozen.map(|file| format!("frozen:{file}")),
            mode: self.mode,
            speed: self.speed,
            chaos_latency: self.chaos,
            chaos_seed: self.chaos_seed,
            record_tick_ms: self.tick,
            target_traces: self.targets,
            include_raw_payload: self.include_raw,
            matching: self.matching,
            repeat: self.repeat,
            ignore: self.ignore,
            allow_unused: self.allow_unused,
            idle: self.idle,
            grace: self.grace,
            body_limit: self.body_limit,
            ..DaemonConfig::default()
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "it is no number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
