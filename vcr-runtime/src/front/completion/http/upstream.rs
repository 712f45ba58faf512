use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use once_cell::sync::OnceCell;

use super::send;
use crate::error::{Error, ErrorKind, Result};
use crate::front::completion::{Reply, Request, Upstream};
use crate::front::gateway::{check_base, is_hop_by_hop};
use crate::session::Failure;

/// Long enough for a long answer of a slow model.
const TOTAL: Duration = Duration::from_secs(600);
const CONNECT: Duration = Duration::from_secs(30);
/// Reasoning models are silent for minutes.
const IDLE: Duration = Duration::from_secs(300);

/// The built-in [`Upstream`]: sends completions to the provider that stands before the model's name.
///
/// | model | key |
/// |---|---|
/// | `gpt-…`, `openai/…` (chat completions), `openai-responses/…` | `OPENAI_API_KEY` |
/// | `anthropic/…` | `ANTHROPIC_API_KEY` |
/// | `gemini/…` | `GEMINI_API_KEY`, else `GOOGLE_API_KEY` |
/// | `ollama/…` | none needed; `OLLAMA_API_KEY` |
/// | `groq/…`, `deepseek/…`, `mistral/…`, `openrouter/…`, `xai/…` | `GROQ_API_KEY` and so on |
/// | `NAME/…` of `[providers.NAME]` in `vcr.toml` | `NAME_API_KEY`, if set |
///
/// Keys are read from the environment when a call goes live, so replaying needs none. What a provider's protocol cannot
/// say of a request is a failure that names it, and parameters that are none of chat completions are handed on as they
/// are. It never retries.
///
/// ```
/// use vcr_runtime::{Client, HttpUpstream};
///
/// # fn run() -> vcr_runtime::Result<()> {
/// let upstream = HttpUpstream::new().base_url("openai", "http://127.0.0.1:8000/v1")?;
/// let client = Client::new(upstream);
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpUpstream {
    pub(super) settings: Arc<HttpSettings>,
}

/// What a call needs to know.
#[derive(Clone)]
pub(super) struct HttpSettings {
    pub(super) bases: HashMap<String, String>,
    pub(super) headers: HeaderMap,
    pub(super) total: Duration,
    pub(super) connect: Duration,
    pub(super) idle: Duration,
    /// Where keys are looked up.
    pub(super) key: fn(&str) -> Option<String>,
    /// For hosts that a proxy may lead to, and for this machine.
    pub(super) clients: [OnceCell<reqwest::Client>; 2],
}

impl HttpUpstream {
    /// An upstream with the providers' own addresses, or those of `vcr.toml`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            settings: Arc::new(HttpSettings {
                bases: HashMap::new(),
                headers: HeaderMap::new(),
                total: TOTAL,
                connect: CONNECT,
                idle: IDLE,
                key: |name| std::env::var(name).ok(),
                clients: [OnceCell::new(), OnceCell::new()],
            }),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut HttpSettings)) -> Self {
        let settings = Arc::make_mut(&mut self.settings);
        // The clients have the old connect limit.
        settings.clients = [OnceCell::new(), OnceCell::new()];
        change(settings);
        self
    }

    /// Another address of a provider, such as a proxy's or a server's of your own. It stands above `[upstreams]` of
    /// `vcr.toml`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] when it is no `http` or `https` URL that paths can be appended to.
    pub fn base_url(self, provider: impl Into<String>, url: &str) -> Result<Self> {
        let base = check_base(url)?;
        let provider = provider.into();
        Ok(self.with(|settings| {
            settings.bases.insert(provider, base);
        }))
    }

    /// A header that every request carries besides, to whichever provider. A later value of the same name replaces it.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for what cannot stand in a header, and for names that HTTP or this upstream sets:
    /// framing, connection, content type, and the keys, which belong into the environment.
    pub fn header(self, name: &str, value: &str) -> Result<Self> {
        let (name, value) = check_header(name, value)?;
        Ok(self.with(|settings| {
            settings.headers.insert(name, value);
        }))
    }

    /// How long a call may take from its start to the end of its answer; 10 minutes by default.
    #[must_use]
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.total = limit)
    }

    /// How long it may take to connect; 30 seconds by default.
    #[must_use]
    pub fn connect_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.connect = limit)
    }

    /// How long the provider may be silent, before its answer begins or within it; 5 minutes by default.
    #[must_use]
    pub fn idle_timeout(self, limit: Duration) -> Self {
        self.with(|settings| settings.idle = limit)
    }

    /// Another place of the keys: the environment is the process's and cannot be set for one test.
    #[cfg(test)]
    pub(super) fn keys(self, key: fn(&str) -> Option<String>) -> Self {
        self.with(|settings| settings.key = key)
    }
}

impl Default for HttpUpstream {
    fn default() -> Self {
        Self::new()
    }
}

impl Upstream for HttpUpstream {
    fn call(&self, request: Request) -> impl Future<Output = Result<Reply, Failure>> + Send {
        send::call(Arc::clone(&self.settings), request)
    }
}

impl fmt::Debug for HttpUpstream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers may hold secrets.
        formatter
            .debug_struct("HttpUpstream")
            .field("bases", &self.settings.bases)
            .finish_non_exhaustive()
    }
}

/// Set by this upstream, or by HTTP.
const OWN_HEADERS: [&str; 11] = [
    "accept-encoding",
    "api-key",
    "authorization",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "x-api-key",
    "x-goog-api-key",
];

fn check_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let refuse = |problem: &str, advice: &str| {
        let message = format!("the header `{}` {problem}", name.escape_debug());
        Error::new(ErrorKind::Config, message, advice)
    };
    let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
        return Err(refuse("has no possible name", "use letters, digits and `-`"));
    };
    if OWN_HEADERS.contains(&parsed.as_str()) {
        let advice =
            "leave it out; keys are read from the provider's environment variable, such as OPENAI_API_KEY";
        return Err(refuse("is set by the upstream itself", advice));
    }
    if is_hop_by_hop(parsed.as_str()) {
        return Err(refuse(
            "concerns the connection",
            "leave it out; the connection is not yours",
        ));
    }
    // Not quoted: it may be a secret.
    let value = HeaderValue::from_str(value);
    let value = value.map_err(|_| refuse("has a value that cannot be sent", "use visible ASCII characters"));
    let mut value = value?;
    value.set_sensitive(true);
    Ok((parsed, value))
}
