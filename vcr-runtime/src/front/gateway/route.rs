//! Where a request goes: the path's prefix names the upstream.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::provider_of;
use crate::session::Upstream;

/// The upstreams of one gateway.
#[derive(Debug)]
pub(super) struct Routes {
    /// Prefixes without slashes at their ends, longest first.
    fixed: Vec<(String, Arc<Upstream>)>,
    /// Those of `/up/<n>`, by `n`.
    added: RwLock<Vec<Arc<Upstream>>>,
    /// The keys of agents by the `n` of `/session/<n>`, which stands in front of all else.
    keys: RwLock<Vec<Arc<str>>>,
}

/// Where the path of a request leads.
#[derive(Debug)]
pub(super) struct Resolved<'p> {
    pub(super) upstream: Arc<Upstream>,
    /// What of the path lies below the upstream's base: empty, or beginning with `/`.
    pub(super) rest: &'p str,
    pub(super) key: Option<Arc<str>>,
}

impl Routes {
    pub(super) fn new(table: Vec<(String, Upstream)>) -> Self {
        let mut fixed: Vec<_> = table
            .into_iter()
            .map(|(prefix, upstream)| (prefix.trim_matches('/').to_owned(), Arc::new(upstream)))
            .collect();
        fixed.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Self {
            fixed,
            added: RwLock::default(),
            keys: RwLock::default(),
        }
    }

    /// Registers an agent's key below `/session/<n>` and returns `n`; the same key keeps its number.
    pub(super) fn add_key(&self, key: &str) -> usize {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = keys.iter().position(|other| **other == *key) {
            return known;
        }
        keys.push(key.into());
        keys.len() - 1
    }

    /// Registers `base` below `/up/<n>` and returns `n`; the same base keeps its number.
    pub(super) fn add(&self, base: &str) -> Result<usize> {
        let upstream = parse_base(base)?;
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = added.iter().position(|other| other.base == upstream.base) {
            return Ok(known);
        }
        added.push(Arc::new(upstream));
        Ok(added.len() - 1)
    }

    /// The upstream of a path, and what of the path lies below its base.
    pub(super) fn resolve<'p>(&self, path: &'p str) -> Option<Resolved<'p>> {
        let (key, path) = match numbered(path, "/session/") {
            Some((number, rest)) => {
                let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
                (Some(Arc::clone(keys.get(number)?)), rest)
            }
            None => (None, path),
        };
        let (upstream, rest) = self.below_any(path)?;
        Some(Resolved { upstream, rest, key })
    }

    fn below_any<'p>(&self, path: &'p str) -> Option<(Arc<Upstream>, &'p str)> {
        for (prefix, upstream) in &self.fixed {
            if let Some(rest) = below(path, prefix) {
                return Some((Arc::clone(upstream), rest));
            }
        }
        let (number, rest) = numbered(path, "/up/")?;
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        Some((Arc::clone(added.get(number)?), rest))
    }

    /// The prefixes there are, for people.
    pub(super) fn known(&self) -> String {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        let mut fixed: Vec<_> = self
            .fixed
            .iter()
            .map(|(prefix, _)| format!("/{prefix}"))
            .collect();
        fixed.sort_unstable();
        let numbered = added
            .iter()
            .enumerate()
            .map(|(number, upstream)| format!("/up/{number} ({})", upstream.base));
        let all: Vec<_> = fixed.into_iter().chain(numbered).collect();
        if all.is_empty() {
            "none".to_owned()
        } else {
            all.join(", ")
        }
    }
}

/// The number behind a prefix, and what of the path follows it.
fn numbered<'p>(path: &'p str, prefix: &str) -> Option<(usize, &'p str)> {
    let numbered = path.strip_prefix(prefix)?;
    let (number, rest) = numbered.split_at(numbered.find('/').unwrap_or(numbered.len()));
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| plain)?, rest))
}

/// The part of `path` after `/prefix`, when it ends there or goes on with a slash.
fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let rest = path.strip_prefix('/')?.strip_prefix(prefix)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Whether a `Host` header names this server. Anything else is a page that points a name of its own at loopback.
pub(super) fn is_ours(host: &str, port: u16) -> bool {
    let Some((name, given)) = host.rsplit_once(':') else {
        return false;
    };
    let loopback = name == "127.0.0.1" || name == "[::1]" || name.eq_ignore_ascii_case("localhost");
    // `+80` and `080` are no ports.
    let is_plain = given.starts_with(|first: char| matches!(first, '1'..='9'));
    loopback && is_plain && given.parse() == Ok(port)
}

/// Whether the host of a URL is this machine, so that no proxy may stand in between.
pub(in crate::front) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

/// The base URL in the form that paths can be appended to.
pub(in crate::front) fn check_base(base: &str) -> Result<String> {
    parse_base(base).map(|upstream| upstream.base)
}

/// The same, with the query that every request is to carry.
#[cfg(feature = "harness")]
pub(in crate::front) fn split_base(base: &str) -> Result<(String, Option<String>)> {
    match base.split_once('?') {
        Some((base, query)) => Ok((check_base(base)?, (!query.is_empty()).then(|| query.to_owned()))),
        None => Ok((check_base(base)?, None)),
    }
}

fn parse_base(base: &str) -> Result<Upstream> {
    let refuse = |problem: &str, shown: &str| {
        Error::new(
            ErrorKind::Config,
            format!("the upstream {shown} {problem}"),
            "name the provider's base URL, such as https://openrouter.ai/api/v1",
        )
    };
    let quoted = format!("`{base}`");
    let url = reqwest::Url::parse(base).map_err(|error| refuse(&format!("is no URL: {error}"), "given"))?;
    if !url.username().is_empty() || url.password().is_some() {
        // Not quoted: it would carry the password into logs.
        return Err(refuse("has credentials in it", "URL"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("has a query or a fragment", "URL"));
    }
    if url.host_str().is_none() {
        return Err(refuse("has no host", &quoted));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("is neither http nor https", &quoted));
    }
    Ok(Upstream {
        // Where the host says nothing, the protocol's own name stands.
        provider: provider_of(url.as_str()).unwrap_or_default(),
        base: url.as_str().trim_end_matches('/').to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Routes {
        let upstream = |name: &str| Upstream {
            provider: name.to_owned(),
            base: format!("https://{name}.example"),
        };
        Routes::new(vec![
            ("openai".to_owned(), upstream("short")),
            ("/openai/v1/".to_owned(), upstream("long")),
        ])
    }

    fn found<'p>(routes: &Routes, path: &'p str) -> Option<(String, &'p str)> {
        routes
            .resolve(path)
            .map(|found| (found.upstream.base.clone(), found.rest))
    }

    #[test]
    fn the_longest_prefix_wins_and_ends_at_a_slash() {
        let routes = routes();
        let long = "https://long.example".to_owned();
        let short = "https://short.example".to_owned();
        assert_eq!(found(&routes, "/openai/v1/chat"), Some((long.clone(), "/chat")));
        assert_eq!(found(&routes, "/openai/v1"), Some((long, "")));
        assert_eq!(found(&routes, "/openai/v1x"), Some((short, "/v1x")));
        assert_eq!(found(&routes, "/openaix"), None);
        assert_eq!(found(&routes, "/"), None);
    }

    #[test]
    fn registered_upstreams_are_numbered_once() {
        let routes = routes();
        assert_eq!(routes.add("https://openrouter.ai/api/v1/").unwrap(), 0);
        assert_eq!(routes.add("http://127.0.0.1:11434").unwrap(), 1);
        assert_eq!(routes.add("https://openrouter.ai/api/v1").unwrap(), 0);
        let base = "https://openrouter.ai/api/v1".to_owned();
        assert_eq!(found(&routes, "/up/0/chat?x"), Some((base, "/chat?x")));
        assert_eq!(
            found(&routes, "/up/1"),
            Some(("http://127.0.0.1:11434".to_owned(), ""))
        );
        for path in ["/up/2/x", "/up//x", "/up/+1/x", "/up/0x", "/up"] {
            assert_eq!(found(&routes, path), None, "{path}");
        }
        assert_eq!(
            routes.known(),
            "/openai, /openai/v1, /up/0 (https://openrouter.ai/api/v1), /up/1 (http://127.0.0.1:11434)"
        );
    }

    #[test]
    fn an_agents_key_stands_in_front_of_the_rest() {
        let routes = routes();
        routes.add("http://127.0.0.1:11434").unwrap();
        assert_eq!(
            (routes.add_key("a"), routes.add_key("b/../c"), routes.add_key("a")),
            (0, 1, 0)
        );
        let found = |path| {
            let found = routes.resolve(path)?;
            Some((found.upstream.base.clone(), found.rest, found.key?.to_string()))
        };
        let long = "https://long.example".to_owned();
        assert_eq!(
            found("/session/1/openai/v1/chat"),
            Some((long, "/chat", "b/../c".to_owned()))
        );
        let added = "http://127.0.0.1:11434".to_owned();
        assert_eq!(found("/session/0/up/0/x"), Some((added, "/x", "a".to_owned())));
        for path in [
            "/session/2/openai/v1",
            "/session/a/openai/v1",
            "/session/0/session/0/openai/v1",
            "/session/0",
            "/openai/v1",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_no_base_is_refused_without_showing_secrets() {
        let routes = routes();
        for (base, problem) in [
            ("openrouter.ai/api", "is no URL"),
            ("ftp://x.example/", "neither http nor https"),
            ("https://x.example/?key=canary", "has a query"),
            ("https://x.example/#canary", "fragment"),
            ("https://u:canary@x.example/", "has credentials"),
        ] {
            let error = routes.add(base).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(problem), "{error}");
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn only_loopback_with_the_port_is_ours() {
        for host in ["127.0.0.1:80", "localhost:80", "LocalHost:80", "[::1]:80"] {
            assert!(is_ours(host, 80), "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.0.0.1:81",
            "evil.example:80",
            "127.0.0.1.evil.example:80",
            "",
            "::1:80",
            "127.0.0.1:+80",
        ] {
            assert!(!is_ours(host, 80), "{host}");
        }
        assert!(is_loopback("[::1]") && is_loopback("127.3.2.1") && is_loopback("a.localhost"));
        assert!(!is_loopback("localhost.example") && !is_loopback("10.0.0.1"));
    }
}
