use std::path::PathBuf;

use super::layer::Entry;
use super::values::{Parse, Refusal, micros, parse_optional, word};
use super::{
    Chaos, Environment, IncludeRaw, Key, Layer, Matching, Mode, OverrideFile, ProjectFile, SourceName, Speed,
};
use crate::error::{Error, ErrorKind, Result};

/// The coalescing window in milliseconds where nothing else is said.
pub(super) const DEFAULT_TICK_MS: u64 = 100;

/// What holds for a session, or for one call of it.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// As it was asked for; see [`Settings::effective_mode`].
    pub(crate) mode: Mode,
    pub(crate) speed: Speed,
    pub(crate) chaos: Chaos,
    pub(crate) chaos_seed: Option<u64>,
    pub(crate) tick_us: u64,
    pub(crate) target_traces: Vec<TracePin>,
    pub(crate) include_raw: IncludeRaw,
    pub(crate) matching: Matching,
    /// JSON pointers: those of `vcr.toml`, then the test's own.
    pub(crate) ignore: Vec<String>,
    /// As it was written; relative to the manifest directory.
    pub(crate) fixture_dir: Option<PathBuf>,
    pub(crate) scenario: Option<String>,
    pub(crate) invoker: Option<String>,
    pub(crate) filename: Option<String>,
    /// What answers instead of the cassette.
    pub(crate) source: Option<SourceName>,
    /// What some of the answers are replaced by.
    pub(crate) override_file: Option<OverrideFile>,
    /// The live session that a call belongs to, where its source has scripts for several.
    pub(crate) session: Option<String>,
    pub(crate) allow_unused: bool,
    pub(crate) private: bool,
    /// Whether replay at top speed tells the caller to retry at once, whatever the recorded `retry-after` says.
    pub(crate) cut_retry_after: bool,
    /// Whether a recording keeps the refusals (429, 5xx) that a retry of the same request overcame.
    pub(crate) keep_transient: bool,
    /// Whether recordings of one protocol answer requests of another.
    pub(crate) cross: bool,
    /// Whether the last of equal calls answers again when all have been used.
    pub(crate) repeat: bool,
    /// Whether `CI` is set.
    pub(crate) ci: bool,
}

/// A take that replay must use instead of the latest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TracePin {
    /// Of which scenario; `None`: of the one that has the take.
    pub(crate) scenario: Option<String>,
    pub(crate) trace: String,
}

impl Settings {
    /// The one place where precedence is decided: `layers` (metadata, attribute, builder, in this order), then the
    /// environment, then `vcr.toml`, then the defaults.
    ///
    /// A text outside its set is an error even where another place overrides it, and all of them are told at once.
    pub(crate) fn resolve(
        layers: &[&Layer],
        environment: &Environment,
        project: &ProjectFile,
        default_mode: Mode,
    ) -> Result<Self> {
        let mut resolver = Resolver::new(layers, environment, project);
        let (source, override_file) = resolver.files();
        let settings = Self {
            mode: resolver.value(Key::Mode).unwrap_or(default_mode),
            speed: resolver.value(Key::Speed).unwrap_or_default(),
            chaos: resolver.value(Key::Chaos).unwrap_or_default(),
            chaos_seed: resolver.value(Key::ChaosSeed),
            tick_us: resolver
                .value(Key::Tick)
                .map_or(DEFAULT_TICK_MS * 1000, |Tick(micros)| micros),
            target_traces: resolver
                .value(Key::Targets)
                .map_or_else(Vec::new, |Pins(pins)| pins),
            include_raw: resolver.value(Key::IncludeRaw).unwrap_or_default(),
            matching: resolver.value(Key::Matching).unwrap_or_default(),
            ignore: resolver.list(Key::Ignore),
            fixture_dir: resolver.path(Key::FixtureDir),
            scenario: resolver.text(Key::Scenario),
            invoker: resolver.text(Key::Invoker),
            filename: resolver.text(Key::Filename),
            source,
            override_file,
            session: resolver.text(Key::Session),
            allow_unused: resolver.value(Key::AllowUnused).unwrap_or_default(),
            private: resolver.value(Key::Private).unwrap_or_default(),
            cut_retry_after: resolver
                .value(Key::RetryAfter)
                .is_some_and(|RetryAfter { cut }| cut),
            keep_transient: resolver.value(Key::KeepTransient).unwrap_or(true),
            cross: resolver.value(Key::Cross).unwrap_or_default(),
            repeat: resolver.value(Key::Repeat).unwrap_or_default(),
            ci: environment.ci(),
        };
        resolver.finish()?;
        Ok(settings)
    }

    /// The mode that counts: with `CI` set nothing is recorded that was not asked for by name.
    pub(crate) fn effective_mode(&self) -> Mode {
        match self.mode {
            Mode::Auto | Mode::New if self.ci => Mode::Replay,
            mode => mode,
        }
    }
}

struct Tick(u64);

impl Parse for Tick {
    fn parse(text: &str) -> Result<Self, Refusal> {
        micros(text).map(Self).map_err(|reason| Refusal {
            problem: reason.to_owned(),
            allowed: "milliseconds such as `100`, or `0` to keep every chunk".to_owned(),
        })
    }
}

struct RetryAfter {
    cut: bool,
}

impl Parse for RetryAfter {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let words = [("keep", false), ("cut", true)];
        word(text, "way with `retry-after`", &words).map(|cut| Self { cut })
    }
}

struct Pins(Vec<TracePin>);

impl Parse for Pins {
    fn parse(text: &str) -> Result<Self, Refusal> {
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(pin)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn pin(item: &str) -> Result<TracePin, Refusal> {
    let (scenario, trace) = match item.split_once(':') {
        Some((scenario, trace)) => (Some(scenario.trim()), trace.trim()),
        None => (None, item),
    };
    if trace.is_empty() || scenario == Some("") {
        return Err(Refusal {
            problem: format!("has the incomplete item `{}`", item.escape_debug()),
            allowed: "trace ids and `scenario:trace` pairs, separated by commas".to_owned(),
        });
    }
    Ok(TracePin {
        scenario: scenario.map(str::to_owned),
        trace: trace.to_owned(),
    })
}

/// Asks layers for values and collects what is wrong with them.
pub(super) struct Resolver<'a> {
    layers: Vec<&'a Layer>,
    problems: Vec<(String, Refusal)>,
}

impl<'a> Resolver<'a> {
    /// `layers`, then the environment, then `vcr.toml`.
    pub(super) fn new(layers: &[&'a Layer], environment: &'a Environment, project: &'a ProjectFile) -> Self {
        let mut layers = layers.to_vec();
        layers.push(environment.layer());
        layers.push(project.layer());
        Self {
            layers,
            problems: Vec::new(),
        }
    }

    pub(super) fn entries(&self, key: Key) -> impl Iterator<Item = (&'a Layer, &'a Entry)> + use<'a> {
        let layers = self.layers.clone();
        layers
            .into_iter()
            .flat_map(|layer| layer.entries.iter().map(move |entry| (layer, entry)))
            .filter(move |(_, entry)| entry.key == key)
    }

    /// Notes what is wrong with a value; `place` is the subject of the sentence.
    pub(super) fn refuse(&mut self, place: String, problem: impl Into<String>, allowed: impl Into<String>) {
        let refusal = Refusal {
            problem: problem.into(),
            allowed: allowed.into(),
        };
        self.problems.push((place, refusal));
    }

    /// The first value that any layer has. The others are read too, for their mistakes.
    pub(super) fn value<T: Parse>(&mut self, key: Key) -> Option<T> {
        let mut first = None;
        for (layer, entry) in self.entries(key) {
            match parse_optional(&entry.text) {
                Ok(value) => first = first.or(value),
                Err(refusal) => {
                    let text = entry.text.trim().escape_debug();
                    self.problems
                        .push((format!("{} holds `{text}`, which", layer.place(entry)), refusal));
                }
            }
        }
        first
    }

    pub(super) fn text(&mut self, key: Key) -> Option<String> {
        self.named(key).map(|entry| entry.text.trim().to_owned())
    }

    fn path(&mut self, key: Key) -> Option<PathBuf> {
        let entry = self.named(key)?;
        let as_text = || PathBuf::from(entry.text.trim());
        Some(entry.path.clone().unwrap_or_else(as_text))
    }

    /// The first entry that says something.
    fn named(&mut self, key: Key) -> Option<&'a Entry> {
        self.placed(key).map(|(_, entry)| entry)
    }

    /// The same with the place where it stands.
    pub(super) fn placed(&mut self, key: Key) -> Option<(&'a Layer, &'a Entry)> {
        let mut first = None;
        for (layer, entry) in self.entries(key) {
            if !entry.text.trim().is_empty() {
                first.get_or_insert((layer, entry));
            } else if layer.is_explicit() {
                // An empty variable is an unset one; an empty name in code is a mistake.
                let place = format!("{} holds ``, which", layer.place(entry));
                self.refuse(place, "is empty", "a name, or to leave it out");
            }
        }
        first
    }

    /// The values of all layers, the project's first, each once.
    fn list(&self, key: Key) -> Vec<String> {
        let mut list: Vec<String> = Vec::new();
        for layer in self.layers.iter().rev() {
            for entry in layer.entries.iter().filter(|entry| entry.key == key) {
                if !list.contains(&entry.text) {
                    list.push(entry.text.clone());
                }
            }
        }
        list
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if self.problems.len() > 1 {
            let lines: Vec<String> = self
                .problems
                .iter()
                .map(|(place, refusal)| format!("{place} {}; allowed: {}", refusal.problem, refusal.allowed))
                .collect();
            return Err(Error::new(ErrorKind::Config, lines.join("\n"), ""));
        }
        match self.problems.pop() {
            None => Ok(()),
            Some((place, refusal)) => Err(Error::new(
                ErrorKind::Config,
                format!("{place} {}", refusal.problem),
                format!("allowed: {}", refusal.allowed),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().copied())
    }

    fn resolve(layers: &[&Layer], pairs: &[(&str, &str)]) -> Result<Settings> {
        Settings::resolve(layers, &environment(pairs), &ProjectFile::default(), Mode::Replay)
    }

    #[test]
    fn defaults() {
        let settings = resolve(&[], &[("VCR_MODE", ""), ("VCR_TICK", " ")]).unwrap();
        assert_eq!(settings.mode, Mode::Replay);
        assert_eq!(settings.speed, Speed::Max);
        assert_eq!(settings.chaos, Chaos::None);
        assert_eq!(settings.tick_us, 100_000);
        assert_eq!(settings.include_raw, IncludeRaw::Auto);
        assert_eq!(settings.matching, Matching::Sequential);
        assert!(settings.target_traces.is_empty() && settings.ignore.is_empty());
        assert!(settings.keep_transient && !settings.cut_retry_after);
        let elsewhere = Settings::resolve(&[], &Environment::default(), &ProjectFile::default(), Mode::Live);
        assert_eq!(elsewhere.unwrap().mode, Mode::Live);
    }

    #[test]
    fn a_project_decides_about_refusals_that_pass() {
        let of = |text: &str| {
            let project = ProjectFile::parse(text, "vcr.toml".as_ref())?;
            Settings::resolve(&[], &Environment::default(), &project, Mode::Replay)
        };
        let settings = of("retry_after = \"cut\"\nkeep_transient = false").unwrap();
        assert!(settings.cut_retry_after && !settings.keep_transient);
        let error = of("retry_after = \"never\"").unwrap_err().to_string();
        assert!(error.contains("retry_after") && error.contains("keep"), "{error}");
    }

    #[test]
    fn the_project_and_the_builder_say_whether_protocols_cross() {
        let project = ProjectFile::parse("cross = true\n", std::path::Path::new("/p/vcr.toml")).unwrap();
        let cross = |layers: &[&Layer]| {
            let settings = Settings::resolve(layers, &Environment::default(), &project, Mode::Replay);
            settings.unwrap().cross
        };
        let mut builder = Layer::builder();
        builder.set(Key::Cross, false);
        assert!(cross(&[]) && !cross(&[&builder]));
        assert!(!resolve(&[], &[]).unwrap().cross);
        assert!(ProjectFile::parse("cross = 3\n", std::path::Path::new("/p/vcr.toml")).is_err());
    }

    #[test]
    fn precedence_is_metadata_attribute_builder_environment_project_default() {
        let project = ProjectFile::parse("tick = 1", "vcr.toml".as_ref()).unwrap();
        let mut builder = Layer::builder();
        let tick = |layers: &[&Layer], pairs: &[(&str, &str)]| {
            Settings::resolve(layers, &environment(pairs), &project, Mode::Replay)
                .unwrap()
                .tick_us
                / 1000
        };
        assert_eq!(tick(&[], &[]), 1);
        let pairs = [("VCR_TICK", "2")];
        assert_eq!(tick(&[], &pairs), 2);
        builder.set(Key::Tick, 9);
        builder.set(Key::Tick, 3);
        assert_eq!(tick(&[&builder], &pairs), 3);
        let attribute = Layer::attribute([("tick", "4")]);
        assert_eq!(tick(&[&attribute, &builder], &pairs), 4);
        let metadata = crate::json::parse(r#"{"vcr_tick": 5}"#).unwrap();
        let metadata = Layer::metadata(metadata.as_object().unwrap());
        assert_eq!(tick(&[&metadata, &attribute, &builder], &pairs), 5);
        let unset = Layer::attribute([("tick", "env")]);
        assert_eq!(tick(&[&unset, &builder], &pairs), 3);
    }

    #[test]
    fn words_of_the_variables_are_checked_before_any_call() {
        for (value, mode) in [
            ("REPLAY", Mode::Replay),
            ("Record", Mode::Record),
            (" replay ", Mode::Replay),
        ] {
            assert_eq!(resolve(&[], &[("VCR_MODE", value)]).unwrap().mode, mode);
        }
        for (name, value, message) in [
            (
                "VCR_MODE",
                "replya",
                "`VCR_MODE` holds `replya`, which is no mode, did you mean `replay`?",
            ),
            ("VCR_MODE", "true", "`VCR_MODE` holds `true`, which is no mode"),
            ("VCR_SPEED", "fast", "`VCR_SPEED` holds `fast`, which is no speed"),
            ("VCR_CHAOS", "-1", "`VCR_CHAOS` holds `-1`, which is negative"),
            ("VCR_TICK", "abc", "`VCR_TICK` holds `abc`, which is no number"),
            (
                "VCR_CHAOS_SEED",
                "-1",
                "`VCR_CHAOS_SEED` holds `-1`, which is no whole number of 64 bits",
            ),
            (
                "VCR_TARGETS",
                "a:",
                "`VCR_TARGETS` holds `a:`, which has the incomplete item `a:`",
            ),
        ] {
            let error = resolve(&[], &[(name, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert_eq!(error.message(), message);
            assert!(error.advice().starts_with("allowed: "), "{error}");
        }
    }

    #[test]
    fn every_mistake_is_told_even_an_overridden_one() {
        let attribute = Layer::attribute([("mode", "replay")]);
        let error = resolve(&[&attribute], &[("VCR_MODE", "rec"), ("VCR_TICK", "x")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`VCR_MODE` holds `rec`, which is no mode; allowed: `live`, `record`, `replay`, `auto`, `new`\n\
             `VCR_TICK` holds `x`, which is no number; allowed: milliseconds such as `100`, or `0` to keep every chunk"
        );
    }

    #[test]
    fn ci_turns_auto_and_new_into_replay() {
        for (mode, effective) in [
            ("auto", Mode::Replay),
            ("new", Mode::Replay),
            ("record", Mode::Record),
            ("live", Mode::Live),
        ] {
            let settings = resolve(&[], &[("VCR_MODE", mode), ("CI", "true")]).unwrap();
            assert_eq!(settings.effective_mode(), effective);
        }
        let settings = resolve(&[], &[("VCR_MODE", "auto"), ("CI", "false")]).unwrap();
        assert_eq!(settings.effective_mode(), Mode::Auto);
    }

    #[test]
    fn pins_are_split_at_the_first_colon() {
        let settings = resolve(&[], &[("VCR_TARGETS", "aa, s : b:c ,,")]).unwrap();
        let pin = |scenario: Option<&str>, trace: &str| TracePin {
            scenario: scenario.map(str::to_owned),
            trace: trace.to_owned(),
        };
        assert_eq!(settings.target_traces, [pin(None, "aa"), pin(Some("s"), "b:c")]);
    }

    #[test]
    fn ignore_paths_add_up() {
        let project = ProjectFile::parse("ignore = [\"/a\", \"/b\"]", "vcr.toml".as_ref()).unwrap();
        let attribute = Layer::attribute([("ignore", "/b"), ("ignore", "/c")]);
        let settings =
            Settings::resolve(&[&attribute], &Environment::default(), &project, Mode::Replay).unwrap();
        assert_eq!(settings.ignore, ["/a", "/b", "/c"]);
    }
}
