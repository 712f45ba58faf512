//! A harness's settings from flags, the environment and `vcr.toml`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::config::{
    CassetteFormat, HarnessConfig, ListenAddr, MatchMode, Mode, Protocol, UpstreamConfig, UpstreamKind,
};
use super::error::{HarnessError, HarnessResult};
use crate::config::{Environment, HARNESS, ProjectFile, Speed, Written, hint};

/// How a setting takes its text. What is wrong is told as a predicate of it.
enum Take {
    One(fn(&mut HarnessConfig, &str) -> Result<(), String>),
    Many(fn(&mut HarnessConfig, Vec<String>)),
}

use Take::{Many, One};

/// Every setting by its name in `[harness]`; upper case behind `VCR_HARNESS_` it is the variable's.
const SETTINGS: [(&str, Take); 23] = [
    ("listen", One(|c, t| set(&mut c.listen, address(t)))),
    ("mode", One(|c, t| set(&mut c.mode, word(t, &MODES)))),
    ("protocol", One(|c, t| set(&mut c.protocol, word(t, &PROTOCOLS)))),
    (
        "match_mode",
        One(|c, t| set(&mut c.match_mode, word(t, &MATCH_MODES))),
    ),
    (
        "cassette_dir",
        One(|c, t| set(&mut c.cassette_dir, Ok(PathBuf::from(t)))),
    ),
    (
        "cassette_name",
        One(|c, t| set(&mut c.cassette_name, Ok(t.to_owned()))),
    ),
    ("format", One(|c, t| set(&mut c.format, word(t, &FORMATS)))),
    (
        "upstream",
        One(|c, t| set(&mut upstream(c).kind, word(t, &KINDS))),
    ),
    (
        "base_url",
        One(|c, t| set(&mut upstream(c).base_url, Ok(t.to_owned()))),
    ),
    (
        "api_key_env",
        One(|c, t| set(&mut upstream(c).api_key_env, Ok(t.to_owned()))),
    ),
    (
        "total_timeout",
        One(|c, t| set(&mut c.upstream_timeouts.total, seconds(t))),
    ),
    (
        "connect_timeout",
        One(|c, t| set(&mut c.upstream_timeouts.connect, seconds(t))),
    ),
    (
        "idle_timeout",
        One(|c, t| set(&mut c.upstream_timeouts.idle, seconds(t))),
    ),
    ("drop_headers", Many(|c, t| c.redaction.drop_headers = t)),
    ("scrub_secrets", One(|c, t| set(&mut c.scrub_secrets, truth(t)))),
    ("ignored_body_paths", Many(|c, t| c.ignored_body_paths = t)),
    ("byte_exact", One(|c, t| set(&mut c.byte_exact, truth(t)))),
    ("speed", One(|c, t| set(&mut c.speed, speed(t)))),
    (
        "simulate_timing",
        One(|c, t| set(&mut c.replay.simulate_timing, truth(t))),
    ),
    ("ttft_ms", One(|c, t| set(&mut c.replay.ttft_ms, number(t)))),
    ("tps", One(|c, t| set(&mut c.replay.tps, number(t)))),
    (
        "max_body_bytes",
        One(|c, t| set(&mut c.max_body_bytes, number(t))),
    ),
    (
        "shutdown_grace",
        One(|c, t| set(&mut c.shutdown_grace, seconds(t))),
    ),
];

const MODES: [(&str, Mode); 3] = [
    ("record", Mode::Record),
    ("replay", Mode::Replay),
    ("verify", Mode::Verify),
];
const PROTOCOLS: [(&str, Protocol); 2] = [
    ("openai-chat", Protocol::OpenAiChatCompletions),
    ("any", Protocol::Any),
];
const MATCH_MODES: [(&str, MatchMode); 2] = [
    ("sequential_strict", MatchMode::SequentialStrict),
    ("keyed", MatchMode::Keyed),
];
const FORMATS: [(&str, CassetteFormat); 2] = [
    ("spycatcher", CassetteFormat::Spycatcher),
    ("vcr", CassetteFormat::Vcr),
];
const KINDS: [(&str, UpstreamKind); 5] = [
    ("openrouter", UpstreamKind::OpenRouter),
    ("openai", UpstreamKind::OpenAi),
    ("anthropic", UpstreamKind::Anthropic),
    ("gemini", UpstreamKind::Gemini),
    ("ollama", UpstreamKind::Ollama),
];

fn upstream(config: &mut HarnessConfig) -> &mut UpstreamConfig {
    config.upstream.get_or_insert_default()
}

fn set<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("is none of {}", words.join(", "))
    })
}

fn address(text: &str) -> Result<ListenAddr, String> {
    let address: Result<SocketAddr, _> = text.replace("localhost", "127.0.0.1").parse();
    address
        .map(ListenAddr::from)
        .map_err(|_| "is no address with a port, such as 127.0.0.1:8787".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "is no number of seconds, such as 30 or 0.5".to_owned())
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    let number = text.replace('_', "").parse().ok();
    number.ok_or_else(|| "is no whole number".to_owned())
}

fn truth(text: &str) -> Result<bool, String> {
    word(text, &[("true", true), ("false", false)])
}

fn speed(text: &str) -> Result<Speed, String> {
    text.parse()
        .map_err(|_| "is no speed: max, real, or a factor such as 4x".to_owned())
}

impl HarnessConfig {
    /// The settings of `flags`, then of the variables `VCR_HARNESS_…`, then of `[harness]` in the `vcr.toml` of `root`, then the
    /// defaults. A flag is the name of a setting and its text, as in `("match_mode", "keyed")`; its variable is
    /// `VCR_HARNESS_MATCH_MODE`. Lists are separated by commas outside of `vcr.toml`. `cassette_dir` is relative to `root`.
    ///
    /// The names are those of the fields; of the upstream `upstream` (its kind), `base_url` and `api_key_env`, of its timeouts
    /// `total_timeout`, `connect_timeout` and `idle_timeout` in seconds, of the invented timing `simulate_timing`, `ttft_ms` and
    /// `tps`, and `drop_headers`. The environment is that before `main`.
    ///
    /// # Errors
    /// [`HarnessError::InvalidConfig`] for a name that is no setting's and a text that is no value, with its place, wherever it
    /// stands, and for a `vcr.toml` that cannot be read.
    ///
    /// ```
    /// use vcr_runtime::harness::HarnessConfig;
    /// use vcr_runtime::harness::config::MatchMode;
    ///
    /// let config = HarnessConfig::layered(".", &[("match_mode", "keyed"), ("listen", "127.0.0.1:0")])?;
    /// assert_eq!(config.match_mode, MatchMode::Keyed);
    /// # Ok::<(), vcr_runtime::harness::HarnessError>(())
    /// ```
    pub fn layered(root: impl AsRef<Path>, flags: &[(&str, &str)]) -> HarnessResult<Self> {
        let root = root.as_ref();
        let broken = |error: crate::Error| HarnessError::config(error.to_string());
        let root = std::path::absolute(root)?;
        let project = ProjectFile::load(&root).map_err(broken)?;
        let mut config = resolve(flags, Environment::process(), &project.harness, &root)?;
        config.cassette_dir = root.join(&config.cassette_dir);
        Ok(config)
    }
}

fn resolve(
    flags: &[(&str, &str)],
    environment: &Environment,
    file: &[Written],
    root: &Path,
) -> HarnessResult<HarnessConfig> {
    let mut config = HarnessConfig::default();
    // From the weakest to the strongest, so that each is read, and a mistake is told whatever overrides it.
    for Written { name, texts, line } in file {
        let place = format!("`{name}` in {} line {line}", root.join("vcr.toml").display());
        take(&mut config, name, texts.clone(), &place)?;
    }
    let variables: BTreeMap<&str, &str> = environment.iter().collect();
    for (variable, text) in variables {
        if let Some(name) = variable.strip_prefix(HARNESS) {
            let (name, place) = (name.to_ascii_lowercase(), format!("`{variable}`"));
            take(&mut config, &name, listed(&name, text), &place)?;
        }
    }
    for (name, text) in flags {
        take(
            &mut config,
            name,
            listed(name, text),
            &format!("the flag `{name}`"),
        )?;
    }
    Ok(config)
}

/// The texts of a setting that is written in one.
fn listed(name: &str, text: &str) -> Vec<String> {
    let is_list = SETTINGS
        .iter()
        .any(|(known, take)| *known == name && matches!(take, Many(_)));
    if !is_list {
        return vec![text.trim().to_owned()];
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}

fn take(config: &mut HarnessConfig, name: &str, texts: Vec<String>, place: &str) -> HarnessResult<()> {
    let Some((_, setting)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
        let hint = hint(name, SETTINGS.iter().map(|(known, _)| *known));
        return Err(HarnessError::config(format!(
            "{place} is no setting of a harness{hint}"
        )));
    };
    let refuse = |texts: &[String], why: &str| {
        let shown = texts.join(", ");
        HarnessError::config(format!("{place} holds `{}`, which {why}", shown.escape_debug()))
    };
    match setting {
        Many(all) => {
            all(config, texts);
            Ok(())
        }
        One(one) => match texts.as_slice() {
            [text] => one(config, text).map_err(|why| refuse(&texts, &why)),
            _ => Err(refuse(&texts, "is a list where one value belongs")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(text: &str) -> Vec<Written> {
        ProjectFile::parse(text, Path::new("/p/vcr.toml"))
            .unwrap()
            .harness
    }

    fn resolved(
        flags: &[(&str, &str)],
        variables: &[(&str, &str)],
        file: &str,
    ) -> Result<HarnessConfig, String> {
        let environment = Environment::from_pairs(variables.iter().copied());
        resolve(flags, &environment, &project(file), Path::new("/p")).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_count_more_than_variables_and_those_more_than_the_file() {
        let file = "[harness]\nlisten = \"127.0.0.1:1\"\nmatch_mode = \"keyed\"\nttft_ms = 7\ntps = 9\n\
                    ignored_body_paths = [\"/metadata/run,id\", \"/user\"]\nmode = \"record\"\nbase_url = \"https://f.example/v1\"\n";
        let variables = [
            ("VCR_HARNESS_LISTEN", "localhost:2"),
            ("VCR_HARNESS_TTFT_MS", "8"),
            ("VCR_HARNESS_UPSTREAM", "anthropic"),
            ("VCR_HARNESS_DROP_HEADERS", "authorization, x-secret"),
            ("VCR_HARNESS_IDLE_TIMEOUT", "0.5"),
            // One that is empty says nothing.
            ("VCR_HARNESS_TPS", ""),
        ];
        let flags = [("listen", "[::1]:3"), ("speed", "real"), ("byte_exact", "true")];
        let config = resolved(&flags, &variables, file).unwrap();
        assert_eq!(config.listen.as_socket_addr().to_string(), "[::1]:3");
        assert_eq!((config.replay.ttft_ms, config.replay.tps), (8, 9));
        assert_eq!(
            (config.mode, config.match_mode, config.speed, config.byte_exact),
            (Mode::Record, MatchMode::Keyed, Speed::Real, true)
        );
        assert_eq!(config.ignored_body_paths, ["/metadata/run,id", "/user"]);
        assert_eq!(config.redaction.drop_headers, ["authorization", "x-secret"]);
        assert_eq!(config.upstream_timeouts.idle, Duration::from_millis(500));
        let upstream = config.upstream.unwrap();
        assert_eq!(
            (upstream.kind, upstream.base_url.as_str()),
            (UpstreamKind::Anthropic, "https://f.example/v1")
        );
        // The rest is as it was.
        assert_eq!(config.cassette_dir, Path::new("fixtures/llm"));
        assert_eq!(config.shutdown_grace, HarnessConfig::default().shutdown_grace);
        assert!(resolved(&[], &[], "").unwrap().upstream.is_none());
    }

    #[test]
    fn every_setting_takes_what_it_may_and_refuses_the_rest() {
        for (name, setting) in &SETTINGS {
            if let One(one) = setting {
                let free = matches!(
                    *name,
                    "cassette_dir" | "cassette_name" | "base_url" | "api_key_env"
                );
                let refused = one(&mut HarnessConfig::default(), "no such value").is_err();
                assert_eq!(refused, !free, "{name}");
            }
        }
    }

    #[test]
    fn what_is_no_value_is_named_wherever_it_stands() {
        for (flags, variables, file, said) in [
            (
                &[("listen", "8787")][..],
                &[][..],
                "",
                "the flag `listen` holds `8787`, which is no address",
            ),
            (
                &[("listen", "127.0.0.1:1")],
                &[("VCR_HARNESS_LISTEN", "everywhere")],
                "",
                "`VCR_HARNESS_LISTEN` holds `everywhere`",
            ),
            (
                &[],
                &[("VCR_HARNESS_MODE", "record")],
                "[harness]\nmode = \"live\"\n",
                "`mode` in /p/vcr.toml line 2 holds `live`, which is none of record, replay, verify",
            ),
            (
                &[],
                &[],
                "[harness]\ntps = [\"1\", \"2\"]\n",
                "is a list where one value belongs",
            ),
            (
                &[],
                &[],
                "[harness]\nmatchmode = \"keyed\"\n",
                "is no setting of a harness, did you mean `match_mode`?",
            ),
            (&[("total_timeout", "-1")], &[], "", "is no number of seconds"),
        ] {
            let error = resolved(flags, variables, file).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
