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
    wires: &'static [&'static dyn Wire],
}

/// A new protocol is a variant and a row here. The order matters only where two wires would take the same request; none do.
static PROTOCOLS: &[Entry] = &[
    Entry {
        protocol: Protocol::OpenAi,
        prefix: "openai/v1",
        upstream: "https://api.openai.com/v1",
        provider: "openai",
        wires: &[&OpenAiChat, &OpenAiResponses, &OpenAiEmbeddings],
    },
    Entry {
        protocol: Protocol::Anthropic,
        prefix: "anthropic",
        upstream: "https://api.anthropic.com",
        provider: "anthropic",
        wires: &[&Messages],
    },
    Entry {
        protocol: Protocol::Gemini,
        prefix: "gemini",
        upstream: "https://generativelanguage.googleapis.com",
        provider: "gemini",
        wires: &[&Gemini],
    },
    Entry {
        protocol: Protocol::Ollama,
        prefix: "ollama",
        upstream: "http://127.0.0.1:11434",
        provider: "ollama",
        wires: &[&ollama::CHAT, &ollama::GENERATE],
    },
];

/// Wires without a base URL of their own: where they live depends on region or account, so callers name it.
static OTHERS: &[&dyn Wire] = &[&Converse];

/// Every built-in wire.
pub(crate) fn wires() -> impl Iterator<Item = &'static dyn Wire> {
    let of_protocols = PROTOCOLS.iter().flat_map(|entry| entry.wires);
    of_protocols.chain(OTHERS).copied()
}

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

    /// The path below which clients ask whose base URL is a bare origin, without slashes at its ends: `v1` of `openai/v1`.
    pub(crate) fn mount(self) -> &'static str {
        self.prefix().split_once('/').map_or("", |(_, mount)| mount)
    }

    /// The one that a wire belongs to.
    pub(crate) fn of(wire: &dyn Wire) -> Option<Self> {
        let has = |entry: &&Entry| entry.wires.iter().any(|own| own.name() == wire.name());
        PROTOCOLS.iter().find(has).map(|entry| entry.protocol)
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
    wires().find(|wire| wire.name() == name)
}

/// Whose request it is, whatever the path prefix it came under.
pub(crate) fn recognise(http: &HttpRequest<'_>) -> Option<(&'static dyn Wire, CanonicalRequest)> {
    wires().find_map(|wire| Some((wire, wire.request(http)?)))
}

/// The wire format that requests to a path speak, whatever their body says.
pub(crate) fn owner(path: &str) -> Option<&'static dyn Wire> {
    wires().find(|wire| wire.owns(path))
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
        for wire in wires() {
            assert_eq!(find(wire.name()).map(Wire::name), Some(wire.name()));
        }
        assert!(find("telepathy").is_none());
    }

    #[test]
    fn a_path_tells_its_wire() {
        for (path, name) in [
            ("/v1/chat/completions", "openai-chat"),
            ("/api/v1/chat/completions", "openai-chat"),
            ("/v1beta/openai/chat/completions", "openai-chat"),
            ("/v1/responses", "openai-responses"),
            ("/v1/embeddings", "openai-embeddings"),
            ("/v1/messages", "anthropic-messages"),
            ("/anthropic/v1/messages/count_tokens", "anthropic-messages"),
            ("/v1beta/models/g:generateContent", "gemini"),
            ("/v1beta/models/g:countTokens", "gemini"),
            ("/p/locations/l/models/g:streamGenerateContent", "gemini"),
            ("/model/m/converse-stream", "bedrock-converse"),
            ("/api/chat", "ollama-chat"),
            ("/api/generate", "ollama-generate"),
        ] {
            assert_eq!(owner(path).map(Wire::name), Some(name), "{path}");
        }
        for path in ["/", "/v1/models", "/v1/threads/t/messages", "/converse", "/a:b"] {
            assert!(owner(path).is_none(), "{path}");
        }
        // A protocol that has a base URL is found by the paths of all its wires.
        for entry in PROTOCOLS {
            for wire in entry.wires {
                assert_eq!(Protocol::of(*wire), Some(entry.protocol), "{}", wire.name());
                let path = wire.route().replace("{model}", "m");
                assert_eq!(owner(&path).map(Wire::name), Some(wire.name()));
            }
        }
        assert_eq!(Protocol::of(&Converse), None);
    }

    #[test]
    fn every_refusal_says_what_and_why() {
        for wire in wires() {
            let text = crate::json::compact(&wire.refusal(409, "vcr_replay_miss", "no such call"));
            assert!(
                text.contains("\"vcr_replay_miss\"") && text.contains("\"no such call\""),
                "{text}"
            );
        }
        let gemini = find("gemini").unwrap().refusal(409, "c", "m");
        assert_eq!(
            gemini
                .get("error")
                .and_then(|error| error.get("code"))
                .and_then(crate::json::Json::as_u64),
            Some(409)
        );
        let ollama = find("ollama-chat").unwrap().refusal(409, "c", "m");
        assert_eq!(ollama.get("error").and_then(crate::json::Json::as_str), Some("m"));
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
