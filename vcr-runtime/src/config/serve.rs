//! Settings of a daemon, which no single call has.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::settings::Resolver;
use super::values::{Parse, Refusal, micros};
use super::{Environment, Key, Layer, ProjectFile};
use crate::error::Result;

/// Where a daemon listens unless told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8356);
const IDLE: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(30);
const BODY_LIMIT: usize = 64 << 20;

/// What holds for a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServeSettings {
    /// A loopback address.
    pub(crate) listen: SocketAddr,
    /// Where paths without a prefix go.
    pub(crate) upstream: Option<String>,
    /// After how long without a call a scenario ends.
    pub(crate) idle: Duration,
    /// How long open answers may take when the daemon is told to stop.
    pub(crate) grace: Duration,
    /// The largest request body, in bytes.
    pub(crate) body_limit: usize,
}

impl ServeSettings {
    /// `flags`, then the environment, then `[serve]` of `vcr.toml`, then the defaults.
    ///
    /// # Errors
    /// `Config` for a value outside its set, wherever it stands.
    pub(crate) fn resolve(flags: &Layer, environment: &Environment, project: &ProjectFile) -> Result<Self> {
        let mut resolver = Resolver::new(&[flags], environment, project);
        let seconds = |value: Option<Seconds>, default| value.map_or(default, |Seconds(duration)| duration);
        let settings = Self {
            listen: resolver
                .value(Key::Listen)
                .map_or(LISTEN, |Loopback(address)| address),
            upstream: resolver.text(Key::Upstream),
            idle: seconds(resolver.value(Key::Idle), IDLE),
            grace: seconds(resolver.value(Key::Grace), GRACE),
            body_limit: resolver
                .value(Key::BodyLimit)
                .map_or(BODY_LIMIT, |Bytes(bytes)| bytes),
        };
        resolver.finish()?;
        Ok(settings)
    }
}

struct Loopback(SocketAddr);

impl Parse for Loopback {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        let allowed =
            "a loopback address with a port such as `127.0.0.1:8356`; port 0 is any free one".to_owned();
        let refuse = |problem: &str| Refusal {
            problem: problem.to_owned(),
            allowed: allowed.clone(),
        };
        match text.replace("localhost", "127.0.0.1").parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self(address)),
            Ok(_) => Err(refuse("is not on this machine alone")),
            Err(_) => Err(refuse("is no address with a port")),
        }
    }
}

struct Seconds(Duration);

impl Parse for Seconds {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        // The same rules as for milliseconds: finite, not negative, less than a day.
        let scaled = text
            .parse::<f64>()
            .map_or_else(|_| text.to_owned(), |seconds| (seconds * 1000.0).to_string());
        micros(&scaled)
            .map(|micros| Self(Duration::from_micros(micros)))
            .map_err(|reason| Refusal {
                problem: reason.to_owned(),
                allowed: "seconds such as `10` or `0.5`".to_owned(),
            })
    }
}

struct Bytes(usize);

impl Parse for Bytes {
    fn parse(text: &str) -> std::result::Result<Self, Refusal> {
        text.replace('_', "").parse().map(Self).map_err(|_| Refusal {
            problem: "is no number of bytes".to_owned(),
            allowed: "a whole number such as `67108864`".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn flags_count_more_than_the_environment_and_that_more_than_the_file() {
        let file = "[serve]\nlisten = \"127.0.0.1:1\"\nidle = 1\ngrace = 2.5\nupstream = \"http://f/v1\"\n";
        let project = ProjectFile::parse(file, Path::new("/p/vcr.toml")).unwrap();
        let environment = Environment::from_pairs([("VCR_LISTEN", "localhost:2"), ("VCR_IDLE", "0.25")]);
        let mut flags = Layer::builder();
        flags.set(Key::Listen, "[::1]:3");
        let settings = ServeSettings::resolve(&flags, &environment, &project).unwrap();
        assert_eq!(
            settings,
            ServeSettings {
                listen: "[::1]:3".parse().unwrap(),
                upstream: Some("http://f/v1".to_owned()),
                idle: Duration::from_millis(250),
                grace: Duration::from_millis(2500),
                body_limit: 64 << 20,
            }
        );
        let none = ServeSettings::resolve(
            &Layer::builder(),
            &Environment::default(),
            &ProjectFile::default(),
        );
        let none = none.unwrap();
        assert_eq!((none.listen, none.idle), (LISTEN, Duration::from_secs(10)));
    }

    #[test]
    fn what_is_no_value_is_named() {
        for (variable, value, problem) in [
            ("VCR_LISTEN", "0.0.0.0:8356", "is not on this machine alone"),
            ("VCR_LISTEN", "8356", "is no address"),
            ("VCR_IDLE", "-1", "is negative"),
            ("VCR_IDLE", "soon", "is no number"),
            ("VCR_GRACE", "90000", "more than a day"),
            ("VCR_BODY_LIMIT", "1MiB", "is no number of bytes"),
        ] {
            let environment = Environment::from_pairs([(variable, value)]);
            let error =
                ServeSettings::resolve(&Layer::builder(), &environment, &ProjectFile::default()).unwrap_err();
            assert!(
                error.message().contains(variable) && error.message().contains(problem),
                "{error}"
            );
        }
        let error = ProjectFile::parse("[serve]\nlissen = 1\n", Path::new("/p/vcr.toml")).unwrap_err();
        assert!(error.message().contains("did you mean `listen`"), "{error}");
        assert_eq!(error.line(), Some(2));
        let error = ProjectFile::parse("[serve]\nidle = \"soon\"\n", Path::new("/p/vcr.toml")).unwrap_err();
        assert!(error.message().contains("`serve.idle`"), "{error}");
    }
}
