use super::anthropic::Messages;
use super::bedrock::Converse;
use super::gemini::Gemini;
use super::ollama;
use super::openai_chat::OpenAiChat;
use super::openai_embeddings::OpenAiEmbeddings;
use super::openai_responses::OpenAiResponses;
use super::{HttpRequest, Wire};
use crate::model::CanonicalRequest;

/// The protocols that the gateway has a base URL for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// `OpenAI` chat completions, and everything that speaks like it.
    OpenAi,
    /// Anthropic Messages; clients add `/v1/messages` to its base.
    Anthropic,
    /// Google's `generateContent`, on the Gemini API; for Vertex AI name its base with `base_url_for`.
    Gemini,
    /// Ollama's own API.
    Ollama,
}

/// What is fixed about a protocol.
struct Entry {
    protocol: Protocol,
    /// Under the gateway's origin, without slashes at its ends.
    prefix: &'static str,
    upstream: &'static str,
    provider: &'static str,
}

/// A new protocol is a variant, a row here, and a wire below.
const PROTOCOLS: &[Entry] = &[
    Entry {
        protocol: Protocol::OpenAi,
        prefix: "openai/v1",
        upstream: "https://api.openai.com/v1",
        provider: "openai",
    },
    Entry {
        protocol: Protocol::Anthropic,
        prefix: "anthropic",
        upstream: "https://api.anthropic.com",
        provider: "anthropic",
    },
    Entry {
        protocol: Protocol::Gemini,
        prefix: "gemini",
        upstream: "https://generativelanguage.googleapis.com",
        provider: "gemini",
    },
    Entry {
        protocol: Protocol::Ollama,
        prefix: "ollama",
        upstream: "http://127.0.0.1:11434",
        provider: "ollama",
    },
];

/// The order matters only where two wires would take the same request; none do.
static WIRES: &[&dyn Wire] = &[
    &OpenAiChat,
    &OpenAiResponses,
    &OpenAiEmbeddings,
    &Messages,
    &Converse,
    &Gemini,
    &ollama::CHAT,
    &ollama::GENERATE,
];

impl Protocol {
    /// Every protocol, in the order of the documentation.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        PROTOCOLS.iter().map(|entry| entry.protocol)
    }

    fn entry(self) -> &'static Entry {
        PROTOCOLS
            .iter()
            .find(|entry| entry.protocol == self)
            .unwrap_or(&PROTOCOLS[0])
    }

    /// The path of the gateway under which the protocol lives, without slashes at its ends: `openai/v1`.
    pub(crate) fn prefix(self) -> &'static str {
        self.entry().prefix
    }

    /// Where its requests go by default, without a trailing slash.
    pub(crate) fn upstream(self) -> &'static str {
        self.entry().upstream
    }

    /// The provider behind the default upstream.
    pub(crate) fn provider(self) -> &'static str {
        self.entry().provider
    }
}

/// The wire format that cassettes call `name`.
pub(crate) fn find(name: &str) -> Option<&'static dyn Wire> {
    WIRES.iter().copied().find(|wire| wire.name() == name)
}

/// Every wire format, for tests of what holds of all.
#[cfg(test)]
pub(crate) fn all_wires() -> impl Iterator<Item = &'static dyn Wire> {
    WIRES.iter().copied()
}

/// Whose request it is, whatever the path prefix it came under.
pub(crate) fn recognise(http: &HttpRequest<'_>) -> Option<(&'static dyn Wire, CanonicalRequest)> {
    WIRES.iter().find_map(|wire| Some((*wire, wire.request(http)?)))
}

/// Hosts whose registrable name is not the provider's. A leading dot means every host below.
const HOSTS: &[(&str, &str)] = &[
    ("api.x.ai", "xai"),
    (".openai.azure.com", "azure"),
    (".cognitiveservices.azure.com", "azure"),
    (".services.ai.azure.com", "azure"),
    ("generativelanguage.googleapis.com", "gemini"),
    (".aiplatform.googleapis.com", "vertex"),
    ("aiplatform.googleapis.com", "vertex"),
    (".amazonaws.com", "bedrock"),
    (".aliyuncs.com", "alibaba"),
];

/// The provider's name for people by the host of an upstream URL. `None` where the host says nothing (addresses,
/// `localhost`, names without a dot): the protocol's own name then stands.
pub(crate) fn provider_of(url: &str) -> Option<String> {
    let host = host_of(url)?;
    let known = HOSTS
        .iter()
        .find(|(pattern, _)| host == *pattern || (pattern.starts_with('.') && host.ends_with(pattern)));
    if let Some((_, provider)) = known {
        return Some((*provider).to_owned());
    }
    registrable_label(&host).map(str::to_owned)
}

/// The host in lower case, unless it is an address.
fn host_of(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        return None;
    }
    let host = host.split(':').next()?.trim_end_matches('.').to_ascii_lowercase();
    let address = host.parse::<std::net::IpAddr>().is_ok();
    (!host.is_empty() && !address && !host.ends_with("localhost")).then_some(host)
}

/// `groq` of `api.groq.com`, `example` of `llm.example.co.uk`. Not the public suffix list: a name for people need not be exact.
fn registrable_label(host: &str) -> Option<&str> {
    const SECOND_LEVEL: &[&str] = &["ac", "co", "com", "edu", "gov", "net", "org"];
    let mut labels = host.rsplit('.');
    let (top, second) = (labels.next()?, labels.next()?);
    if top.len() == 2 && SECOND_LEVEL.contains(&second) {
        return labels.next().or(Some(second));
    }
    Some(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_has_its_row() {
        for protocol in Protocol::all() {
            assert_eq!(protocol.entry().protocol, protocol);
            assert!(!protocol.upstream().ends_with('/'));
            assert!(!protocol.provider().is_empty());
            let others = Protocol::all().filter(|other| *other != protocol);
            assert!(
                !others
                    .map(Protocol::prefix)
                    .any(|prefix| prefix == protocol.prefix())
            );
        }
    }

    #[test]
    fn wires_are_found_by_their_names() {
        for wire in WIRES {
            assert_eq!(find(wire.name()).map(Wire::name), Some(wire.name()));
        }
        assert!(find("telepathy").is_none());
    }

    #[test]
    fn a_request_finds_its_wire() {
        let http = HttpRequest {
            method: "POST",
            path: "/v1/chat/completions",
            query: "",
            body: br#"{"model":"m","messages":[]}"#,
        };
        let (wire, request) = recognise(&http).unwrap();
        assert_eq!((wire.name(), request.model.as_str()), ("openai-chat", "m"));
        let other = HttpRequest {
            path: "/v1/moderations",
            ..http
        };
        assert!(recognise(&other).is_none());
    }

    #[test]
    fn hosts_name_their_providers() {
        for (url, provider) in [
            ("https://openrouter.ai/api/v1", Some("openrouter")),
            ("https://api.groq.com/openai/v1", Some("groq")),
            ("https://my-east.openai.azure.com/openai", Some("azure")),
            ("https://api.mistral.ai/v1", Some("mistral")),
            ("https://api.deepseek.com", Some("deepseek")),
            ("https://api.x.ai/v1", Some("xai")),
            ("https://user:pw@API.OpenAI.com:443/v1?x#y", Some("openai")),
            ("https://llm.example.co.uk/v1", Some("example")),
            ("http://127.0.0.1:8080/v1", None),
            ("http://[::1]:8080/v1", None),
            ("http://10.0.0.7/v1", None),
            ("http://localhost:11434/v1", None),
            ("http://llm.localhost/v1", None),
            ("http://vllm:8000/v1", None),
            ("", None),
        ] {
            assert_eq!(provider_of(url).as_deref(), provider, "{url}");
        }
    }
}
