use super::settings::DEFAULT_TICK_MS;
use super::{Chaos, Environment, IncludeRaw, Key, Layer, Matching, Mode, ProjectFile, Settings, Speed};
use crate::error::Result;

/// Settings of a cassette that is opened without the attribute, for [`use_cassette`](crate::use_cassette).
///
/// [`mode`](Self::mode) holds as it stands here. Every other field that is left at its default gives way to the
/// environment and to `vcr.toml`. New fields may come: end a literal with `..Config::default()`.
#[derive(Clone, Debug, PartialEq)]
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
    /// JSON pointers into the request that matching leaves out.
    pub ignore: Vec<String>,
    /// Whether recorded calls may stay unused.
    pub allow_unused: bool,
    /// Whether reports leave out hashes, differences and payloads.
    pub private: bool,
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
            ignore: Vec::new(),
            allow_unused: false,
            private: false,
        }
    }
}

impl Config {
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
        for (key, text) in [
            (Key::Scenario, &self.scenario),
            (Key::Invoker, &self.invoker),
            (Key::Filename, &self.filename),
        ] {
            if let Some(text) = text {
                layer.set(key, text);
            }
        }
        if let Some(seed) = self.chaos_seed {
            layer.set(Key::ChaosSeed, seed);
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
