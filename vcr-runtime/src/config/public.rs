use super::settings::DEFAULT_TICK_MS;
use super::{Chaos, Environment, IncludeRaw, Key, Layer, Matching, Mode, ProjectFile, Settings, Speed};
use crate::error::Result;

/// Settings of a cassette that is opened without the attribute, for [`use_cassette`](crate::use_cassette).
///
/// [`mode`](Self::mode) holds as it stands here. Every other field that is left at its default gives way to the
/// environment and to `vcr.toml`.
///
/// ```
/// use vcr_runtime::{Config, Matching, Mode};
///
/// let config = Config::new(Mode::Replay)
///     .with_scenario("greeting")
///     .with_matching(Matching::Keyed);
/// assert_eq!(config.scenario.as_deref(), Some("greeting"));
/// # let _: fn() -> vcr_runtime::Result<Config> = Config::from_env;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// What to do with a call; by default pass it through.
    pub mode: Mode,
    /// How fast to replay.
    pub speed: Speed,
    /// Latency that replay adds.
    pub chaos_latency_ms: Chaos,
    /// The seed of a [`Chaos::Jitter`].
    pub chaos_seed: Option<u64>,
    /// Coalescing window of recorded streams in milliseconds; 0 keeps every chunk.
    pub record_tick_ms: f64,
    /// Takes to replay instead of the latest: `trace` or `scenario:trace`.
    pub target_traces: Vec<String>,
    /// Whether to keep the provider's own bytes.
    pub include_raw_payload: IncludeRaw,
    /// Which recorded call answers a request.
    pub matching: Matching,
    /// The scenario, which names the cassette.
    pub scenario: Option<String>,
    /// Who runs it; by default the package.
    pub invoker: Option<String>,
    /// The cassette's file name, instead of the one made from invoker and scenario.
    pub filename: Option<String>,
    /// What answers instead of the cassette; see [`VcrBuilder::source`](crate::VcrBuilder::source).
    pub source: Option<String>,
    /// A document by which some calls are answered differently than recorded; see
    /// [`VcrBuilder::override_file`](crate::VcrBuilder::override_file).
    pub override_file: Option<String>,
    /// The logs of the sessions that a session script's agent started.
    pub child_files: Vec<String>,
    /// JSON pointers into the request that matching leaves out.
    pub ignore: Vec<String>,
    /// Whether recorded calls may stay unused.
    pub allow_unused: bool,
    /// Whether reports leave out hashes, differences and payloads.
    pub private: bool,
    /// Whether replay at top speed answers a recorded `retry-after` with 0, so that a client's own retry takes no time.
    pub cut_retry_after: bool,
    /// Whether a recording keeps a refusal (429, 5xx) that is followed by a success of the same request.
    pub keep_transient: bool,
    /// Whether a recording of one protocol answers requests of another; see [`VcrBuilder::cross`](crate::VcrBuilder::cross).
    pub cross: bool,
    /// Whether calls that were answered may be asked for again; see [`VcrBuilder::repeat`](crate::VcrBuilder::repeat).
    pub repeat: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Live,
            speed: Speed::default(),
            chaos_latency_ms: Chaos::default(),
            chaos_seed: None,
            record_tick_ms: DEFAULT_TICK_MS as f64,
            target_traces: Vec::new(),
            include_raw_payload: IncludeRaw::default(),
            matching: Matching::default(),
            scenario: None,
            invoker: None,
            filename: None,
            source: None,
            override_file: None,
            child_files: Vec::new(),
            ignore: Vec::new(),
            allow_unused: false,
            private: false,
            cut_retry_after: false,
            keep_transient: true,
            cross: false,
            repeat: false,
        }
    }
}

/// One setter a field, so that settings may come without breaking anybody.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($field:ident: $kind:ty) = $value:expr;)*) => {
        impl Config {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $field: $kind) -> Self {
                self.$field = $value;
                self
            })*
        }
    };
}

setters! {
    /// How fast to replay.
    with_speed(speed: Speed) = speed;
    /// Latency that replay adds.
    with_chaos(chaos_latency_ms: Chaos) = chaos_latency_ms;
    /// The seed of a [`Chaos::Jitter`].
    with_chaos_seed(chaos_seed: u64) = Some(chaos_seed);
    /// Coalescing window of recorded streams in milliseconds; 0 keeps every chunk.
    with_tick_ms(record_tick_ms: f64) = record_tick_ms;
    /// Whether to keep the provider's own bytes.
    with_include_raw(include_raw_payload: IncludeRaw) = include_raw_payload;
    /// Which recorded call answers a request.
    with_matching(matching: Matching) = matching;
    /// The scenario, which names the cassette.
    with_scenario(scenario: impl Into<String>) = Some(scenario.into());
    /// Who runs it; by default the package.
    with_invoker(invoker: impl Into<String>) = Some(invoker.into());
    /// The cassette's file name, instead of the one made from invoker and scenario.
    with_filename(filename: impl Into<String>) = Some(filename.into());
    /// What answers instead of the cassette, such as `frozen:answers.jsonl`.
    with_source(source: impl Into<String>) = Some(source.into());
    /// A document by which some calls are answered differently than recorded.
    with_override_file(override_file: impl Into<String>) = Some(override_file.into());
    /// The logs of the sessions that a session script's agent started.
    with_child_files(child_files: impl IntoIterator<Item = impl Into<String>>) =
        child_files.into_iter().map(Into::into).collect();
    /// Takes to replay instead of the latest: `trace` or `scenario:trace`.
    with_target_traces(target_traces: impl IntoIterator<Item = impl Into<String>>) =
        target_traces.into_iter().map(Into::into).collect();
    /// JSON pointers into the request that matching leaves out.
    with_ignore(ignore: impl IntoIterator<Item = impl Into<String>>) =
        ignore.into_iter().map(Into::into).collect();
    /// Whether recorded calls may stay unused.
    with_allow_unused(allow_unused: bool) = allow_unused;
    /// Whether reports leave out hashes, differences and payloads.
    with_private(private: bool) = private;
    /// Whether replay at top speed answers a recorded `retry-after` with 0.
    with_cut_retry_after(cut_retry_after: bool) = cut_retry_after;
    /// Whether a recording keeps a refusal that is followed by a success of the same request.
    with_keep_transient(keep_transient: bool) = keep_transient;
    /// Whether a recording of one protocol answers requests of another.
    with_cross(cross: bool) = cross;
    /// Whether calls that were answered may be asked for again.
    with_repeat(repeat: bool) = repeat;
}

impl Config {
    /// The defaults in a mode.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// The `VCR_*` variables as they were when the process started, for a test: without `VCR_MODE`, replay.
    ///
    /// # Errors
    /// A variable holds a value outside its set.
    pub fn from_env() -> Result<Self> {
        Self::from_environment(Environment::process())
    }

    pub(crate) fn from_environment(environment: &Environment) -> Result<Self> {
        let settings = Settings::resolve(&[], environment, &ProjectFile::default(), Mode::Replay)?;
        let pins = settings.target_traces.into_iter();
        Ok(Self {
            mode: settings.mode,
            speed: settings.speed,
            chaos_latency_ms: settings.chaos,
            chaos_seed: settings.chaos_seed,
            record_tick_ms: settings.tick_us as f64 / 1000.0,
            target_traces: pins
                .map(|pin| match pin.scenario {
                    Some(scenario) => format!("{scenario}:{}", pin.trace),
                    None => pin.trace,
                })
                .collect(),
            include_raw_payload: settings.include_raw,
            matching: settings.matching,
            repeat: settings.repeat,
            ..Self::default()
        })
    }

    /// The fields that say more than the defaults, as the builder's layer.
    pub(crate) fn layer(&self) -> Layer {
        let default = Self::default();
        let mut layer = Layer::builder();
        layer.set(Key::Mode, self.mode);
        if self.speed != default.speed {
            layer.set(Key::Speed, self.speed);
        }
        if self.chaos_latency_ms != default.chaos_latency_ms {
            layer.set(Key::Chaos, self.chaos_latency_ms);
        }
        // Compared by text, so that a NaN is refused and not lost.
        if self.record_tick_ms.to_string() != default.record_tick_ms.to_string() {
            layer.set(Key::Tick, self.record_tick_ms);
        }
        if self.include_raw_payload != default.include_raw_payload {
            layer.set(Key::IncludeRaw, self.include_raw_payload);
        }
        if self.matching != default.matching {
            layer.set(Key::Matching, self.matching);
        }
        if !self.target_traces.is_empty() {
            layer.set(Key::Targets, self.target_traces.join(","));
        }
        for path in &self.ignore {
            layer.set(Key::Ignore, path);
        }
        for path in &self.child_files {
            layer.set(Key::ChildFiles, path);
        }
        for (key, text) in [
            (Key::Scenario, &self.scenario),
            (Key::Invoker, &self.invoker),
            (Key::Filename, &self.filename),
            (Key::Source, &self.source),
            (Key::OverrideFile, &self.override_file),
        ] {
            if let Some(text) = text {
                layer.set(key, text);
            }
        }
        if let Some(seed) = self.chaos_seed {
            layer.set(Key::ChaosSeed, seed);
        }
        if self.cut_retry_after != default.cut_retry_after {
            layer.set(Key::RetryAfter, "cut");
        }
        if self.keep_transient != default.keep_transient {
            layer.set(Key::KeepTransient, self.keep_transient);
        }
        if self.cross != default.cross {
            layer.set(Key::Cross, self.cross);
        }
        if self.repeat != default.repeat {
            layer.set(Key::Repeat, self.repeat);
        }
        layer.set(Key::AllowUnused, self.allow_unused);
        layer.set(Key::Private, self.private);
        layer
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_environment_gives_the_fields() {
        let environment = Environment::from_pairs([
            ("VCR_MODE", "Record"),
            ("VCR_SPEED", "4x"),
            ("VCR_CHAOS", "500.0"),
            ("VCR_TICK", "0.0"),
            ("VCR_TARGETS", "s:t,u"),
            ("VCR_INCLUDE_RAW", "true"),
            ("VCR_MATCHING", "order"),
        ]);
        let config = Config::from_environment(&environment).unwrap();
        assert_eq!(
            config,
            Config {
                mode: Mode::Record,
                speed: Speed::Factor(4.0),
                chaos_latency_ms: Chaos::Fixed(Duration::from_millis(500)),
                record_tick_ms: 0.0,
                target_traces: vec!["s:t".to_owned(), "u".to_owned()],
                include_raw_payload: IncludeRaw::Always,
                matching: Matching::Order,
                ..Config::default()
            }
        );
        // What went out comes in again.
        let settings = Settings::resolve(
            &[&config.layer()],
            &Environment::default(),
            &ProjectFile::default(),
            Mode::Live,
        );
        let settings = settings.unwrap();
        assert_eq!(settings.mode, Mode::Record);
        assert_eq!((settings.tick_us, settings.target_traces.len()), (0, 2));
        assert_eq!(
            Config::from_environment(&Environment::default()).unwrap().mode,
            Mode::Replay
        );
    }

    /// Every key of `vcr.toml` and of the builder can be said here: the table is the one that the others read.
    #[test]
    fn each_setter_reaches_the_settings() {
        let config = Config::new(Mode::Record)
            .with_speed(Speed::Real)
            .with_chaos(Chaos::Fixed(Duration::from_millis(5)))
            .with_chaos_seed(7)
            .with_tick_ms(20.0)
            .with_include_raw(IncludeRaw::Never)
            .with_matching(Matching::Keyed)
            .with_scenario("s")
            .with_invoker("i")
            .with_filename("f")
            .with_source("session:a.jsonl")
            .with_override_file("o.json")
            .with_child_files(["c.jsonl"])
            .with_target_traces(["a:b"])
            .with_ignore(["/x"])
            .with_allow_unused(true)
            .with_private(true)
            .with_cut_retry_after(true)
            .with_keep_transient(false)
            .with_cross(true)
            .with_repeat(true);
        let layer = config.layer();
        // Which agent makes a call is for the call to say.
        let not_here = [Key::FixtureDir, Key::Session];
        for key in Key::of_sessions().filter(|key| !not_here.contains(key)) {
            assert!(
                layer.entries.iter().any(|entry| entry.key == key),
                "{key:?} cannot be set"
            );
        }
        let project = ProjectFile::default();
        let settings = Settings::resolve(&[&layer], &Environment::default(), &project, Mode::Live).unwrap();
        assert!(settings.cut_retry_after && !settings.keep_transient && settings.cross);
        assert_eq!((settings.chaos_seed, settings.tick_us), (Some(7), 20_000));
    }

    #[test]
    fn a_field_at_its_default_gives_way() {
        let environment = Environment::from_pairs([("VCR_SPEED", "real"), ("VCR_MODE", "record")]);
        let layer = Config::default().layer();
        let settings =
            Settings::resolve(&[&layer], &environment, &ProjectFile::default(), Mode::Replay).unwrap();
        assert_eq!((settings.speed, settings.mode), (Speed::Real, Mode::Live));
    }

    #[test]
    fn a_value_out_of_range_is_refused() {
        for config in [
            Config {
                record_tick_ms: f64::NAN,
                ..Config::default()
            },
            Config {
                record_tick_ms: -1.0,
                ..Config::default()
            },
            Config {
                speed: Speed::Factor(0.0),
                ..Config::default()
            },
            Config {
                chaos_latency_ms: Chaos::Fixed(Duration::MAX),
                ..Config::default()
            },
        ] {
            let layer = config.layer();
            let settings = Settings::resolve(
                &[&layer],
                &Environment::default(),
                &ProjectFile::default(),
                Mode::Replay,
            );
            assert!(
                settings.unwrap_err().message().starts_with("the builder's `"),
                "{config:?}"
            );
        }
    }
}
