//! Where recorded calls go, and what is put on their way.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};

use super::config::{UpstreamConfig, UpstreamKind, UpstreamTimeouts};
use super::error::{HarnessError, HarnessResult};
use crate::front::gateway::{Fault, Limit, Outgoing, client_of, is_hop_by_hop, is_loopback, split_base};
use crate::session::Upstream;

/// Paths that OpenAI-like servers have below a base that names the version already.
const BELOW_VERSION: [&str; 3] = ["/chat/completions", "/responses", "/embeddings"];

/// A checked upstream.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) upstream: Arc<Upstream>,
    /// The query of the base, which every call carries.
    query: Option<String>,
    kind: UpstreamKind,
    api_key_env: String,
    extra: Vec<(HeaderName, HeaderValue)>,
    client: reqwest::Client,
    timeouts: UpstreamTimeouts,
}

impl Target {
    pub(super) fn of(config: &UpstreamConfig, timeouts: UpstreamTimeouts) -> HarnessResult<Self> {
        let (base, query) = split_base(&config.base_url)
            .map_err(|error| HarnessError::config(format!("`upstream.base_url`: {error}")))?;
        let limits = [
            ("total", timeouts.total),
            ("connect", timeouts.connect),
            ("idle", timeouts.idle),
        ];
        if let Some((name, _)) = limits.iter().find(|(_, limit)| limit.is_zero()) {
            return Err(HarnessError::config(format!(
                "`upstream_timeouts.{name}` is 0, and must be above"
            )));
        }
        let direct = http::Uri::try_from(&base).is_ok_and(|uri| uri.host().is_some_and(is_loopback));
        let client = client_of(direct, Some(timeouts.connect))
            .map_err(|error| HarnessError::from(std::io::Error::other(error)))?;
        let mut extra = Vec::new();
        for (name, value) in &config.extra_headers {
            extra.extend(header(name, value)?);
        }
        Ok(Self {
            upstream: Arc::new(Upstream {
                provider: config.kind.id().to_owned(),
                base,
            }),
            query,
            kind: config.kind,
            api_key_env: config.api_key_env.clone(),
            extra,
            client,
            timeouts,
        })
    }

    pub(super) fn id(&self) -> &'static str {
        self.kind.id()
    }

    /// The call as it leaves for the upstream; `stream` says whether it asks for one.
    ///
    /// # Errors
    /// The key is not there.
    pub(super) fn outgoing(&self, head: &Parts, body: Bytes, stream: bool) -> Result<Outgoing, Fault> {
        let path = self.path(head.uri.path());
        let mut outgoing = Outgoing::new(Arc::clone(&self.upstream), head, path, body);
        outgoing.client = Some(self.client.clone());
        outgoing.limit = Some(if stream {
            Limit::Idle(self.timeouts.idle)
        } else {
            Limit::Whole(self.timeouts.total)
        });
        if let Some(query) = &self.query {
            let joint = if head.uri.query().is_some() { '&' } else { '?' };
            // The base's own pairs come first, as its author wrote them.
            outgoing.tail = match outgoing.tail.split_once('?') {
                Some((path, rest)) => format!("{path}?{query}{joint}{rest}"),
                None => format!("{}{joint}{query}", outgoing.tail),
            };
        }
        if !self.api_key_env.is_empty() {
            for name in ["authorization", "x-api-key", "api-key", "x-goog-api-key"] {
                outgoing.headers.remove(name);
            }
            let (name, value) = self.credential()?;
            outgoing.headers.insert(name, value);
        }
        for (name, value) in &self.extra {
            outgoing.headers.insert(name.clone(), value.clone());
        }
        Ok(outgoing)
    }

    /// The path below the base: the version that both name stands once.
    fn path<'p>(&self, path: &'p str) -> &'p str {
        let first_ends = path.get(1..).and_then(|rest| rest.find('/')).map(|at| at + 1);
        let Some((first, rest)) = first_ends.map(|at| path.split_at(at)) else {
            return path;
        };
        let openai = first == "/v1" && BELOW_VERSION.iter().any(|below| rest.starts_with(below));
        if openai || self.upstream.base.ends_with(first) {
            rest
        } else {
            path
        }
    }

    /// The key as a header, read anew for each call.
    fn credential(&self) -> Result<(HeaderName, HeaderValue), Fault> {
        // Names neither the variable nor what it holds: callers are not those who run the harness.
        let missing = || {
            Fault::new(
                StatusCode::BAD_GATEWAY,
                "vcr_credentials",
                "the upstream's credentials are not configured",
            )
        };
        let key = std::env::var(&self.api_key_env).map_err(|_| missing())?;
        let key = key.trim();
        let (name, text) = match self.kind {
            UpstreamKind::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
            UpstreamKind::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
            UpstreamKind::OpenRouter | UpstreamKind::OpenAi | UpstreamKind::Ollama => {
                (http::header::AUTHORIZATION, format!("Bearer {key}"))
            }
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| missing())?;
        if key.is_empty() {
            return Err(missing());
        }
        value.set_sensitive(true);
        Ok((name, value))
    }
}

/// One of `extra_headers`; `None` for `authorization`, which is the key's.
fn header(name: &str, value: &str) -> HarnessResult<Option<(HeaderName, HeaderValue)>> {
    let refuse = |why: &str| HarnessError::config(format!("`upstream.extra_headers`: `{name}` {why}"));
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse("is no header name"))?;
    if parsed == http::header::AUTHORIZATION {
        return Ok(None);
    }
    let framing = matches!(
        parsed.as_str(),
        "host" | "content-length" | "accept-encoding" | "expect"
    );
    if framing || is_hop_by_hop(parsed.as_str()) {
        return Err(refuse("belongs to the connection and cannot be set"));
    }
    let value = HeaderValue::from_str(value).map_err(|_| refuse("has a value that no header can have"))?;
    Ok(Some((parsed, value)))
}
