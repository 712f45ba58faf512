//! What is fixed about each provider.

use crate::config::ProjectFile;
use crate::protocol::{Providers, Wire, find};
use crate::session::Failure;

/// How a provider wants its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyHeader {
    /// `authorization: Bearer …`.
    Bearer,
    /// A header of the provider's own.
    Named(&'static str),
}

/// A row of the table.
#[derive(Debug)]
struct Known {
    name: &'static str,
    /// As cassettes call it.
    wire: &'static str,
    base: &'static str,
    /// The first that is set counts.
    keys: &'static [&'static str],
    key_header: KeyHeader,
    /// Whether there is no answer without a key.
    key_needed: bool,
    /// Headers that the API wants besides.
    headers: &'static [(&'static str, &'static str)],
    /// The name that `[upstreams]` of `vcr.toml` has for its address.
    upstream: &'static str,
}

const fn chat(name: &'static str, base: &'static str, keys: &'static [&'static str]) -> Known {
    Known {
        name,
        wire: "openai-chat",
        base,
        keys,
        key_header: KeyHeader::Bearer,
        key_needed: true,
        headers: &[],
        upstream: name,
    }
}

const OPENAI: Known = chat("openai", "https://api.openai.com/v1", &["OPENAI_API_KEY"]);

const KNOWN: [Known; 10] = [
    OPENAI,
    Known {
        name: "openai-responses",
        wire: "openai-responses",
        ..OPENAI
    },
    Known {
        name: "anthropic",
        wire: "anthropic-messages",
        base: "https://api.anthropic.com",
        keys: &["ANTHROPIC_API_KEY"],
        key_header: KeyHeader::Named("x-api-key"),
        key_needed: true,
        headers: &[("anthropic-version", "2023-06-01")],
        upstream: "anthropic",
    },
    Known {
        name: "gemini",
        wire: "gemini",
        base: "https://generativelanguage.googleapis.com",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        key_header: KeyHeader::Named("x-goog-api-key"),
        key_needed: true,
        headers: &[],
        upstream: "gemini",
    },
    Known {
        name: "ollama",
        wire: "ollama-chat",
        base: "http://127.0.0.1:11434",
        keys: &["OLLAMA_API_KEY"],
        key_header: KeyHeader::Bearer,
        key_needed: false,
        headers: &[],
        upstream: "ollama",
    },
    chat("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    chat("deepseek", "https://api.deepseek.com", &["DEEPSEEK_API_KEY"]),
    chat("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"]),
    chat(
        "openrouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    ),
    chat("xai", "https://api.x.ai/v1", &["XAI_API_KEY"]),
];

/// The providers there are without `vcr.toml`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name)
}

/// The address of a known provider that speaks that protocol.
#[cfg(feature = "daemon")]
pub(in crate::front) fn known_base(provider: &str, wire: &str) -> Option<&'static str> {
    let known = KNOWN.iter().find(|known| known.name == provider);
    known.filter(|known| known.wire == wire).map(|known| known.base)
}

/// Where a call goes and how.
pub(super) struct Route {
    pub(super) wire: &'static dyn Wire,
    /// Without a trailing slash.
    pub(super) base: String,
    pub(super) keys: Vec<String>,
    pub(super) key_header: KeyHeader,
    pub(super) key_needed: bool,
    pub(super) headers: &'static [(&'static str, &'static str)],
}

/// The route to a provider: one that `vcr.toml` defines, or a known one at the address that it has there.
pub(super) fn route(provider: &str, project: &ProjectFile) -> Result<Route, Failure> {
    if let Some(own) = project.providers.get(provider) {
        let wires = Providers::of(project).map_err(|error| Failure::new("ConfigError", error.to_string()))?;
        let wire = wires.find(provider).ok_or_else(|| unknown(provider, project))?;
        return Ok(Route {
            wire,
            base: own.base_url.clone(),
            keys: vec![variable(provider)],
            key_header: KeyHeader::Bearer,
            // Servers of one's own often want none.
            key_needed: false,
            headers: &[],
        });
    }
    let known = KNOWN.iter().find(|known| known.name == provider);
    let known = known.ok_or_else(|| unknown(provider, project))?;
    let named = project
        .upstreams
        .get(known.name)
        .or_else(|| project.upstreams.get(known.upstream));
    Ok(Route {
        wire: find(known.wire).ok_or_else(|| unknown(provider, project))?,
        base: named.map_or_else(|| known.base.to_owned(), Clone::clone),
        keys: known.keys.iter().map(|key| (*key).to_owned()).collect(),
        key_header: known.key_header,
        key_needed: known.key_needed,
        headers: known.headers,
    })
}

/// `ACME_2_API_KEY` of `acme-2`.
fn variable(provider: &str) -> String {
    format!("{}_API_KEY", provider.to_ascii_uppercase().replace('-', "_"))
}

fn unknown(provider: &str, project: &ProjectFile) -> Failure {
    let mut all: Vec<&str> = names().collect();
    all.extend(project.providers.keys().map(String::as_str));
    let message = format!(
        "the model names the provider `{}`, which is not known; known: {}; define others below [providers] in vcr.toml, \
         or write `openrouter/{}/…` for its models there",
        provider.escape_debug(),
        all.join(", "),
        provider.escape_debug()
    );
    Failure::new("UnknownProvider", message)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_provider_has_a_wire_an_address_and_a_variable() {
        for name in names() {
            let route = route(name, &ProjectFile::default()).unwrap();
            assert!(
                !route.base.ends_with('/') && route.base.starts_with("http"),
                "{name}"
            );
            assert!(route.keys.iter().all(|key| key.ends_with("_API_KEY")), "{name}");
        }
    }

    #[test]
    fn the_project_may_move_and_add_providers() {
        let text = "[upstreams]\nopenai = \"http://127.0.0.1:1/v1\"\n[providers.acme-2]\nbase_url = \"http://127.0.0.1:2/x\"\n";
        let project = ProjectFile::parse(text, Path::new("/p/vcr.toml")).unwrap();
        for name in ["openai", "openai-responses"] {
            assert_eq!(route(name, &project).unwrap().base, "http://127.0.0.1:1/v1");
        }
        let own = route("acme-2", &project).unwrap();
        assert_eq!(
            (own.base.as_str(), own.wire.name()),
            ("http://127.0.0.1:2/x", "acme-2")
        );
        assert_eq!(own.keys, ["ACME_2_API_KEY"]);
        let failure = route("acme", &project).err().unwrap();
        assert!(
            failure.message.contains("openrouter") && failure.message.contains("acme-2"),
            "{failure}"
        );
    }
}
