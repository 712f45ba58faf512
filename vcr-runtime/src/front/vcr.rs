use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::builder::VcrBuilder;
use super::completion::{Client, Upstream};
use super::intercept::{InterceptError, intercept_in};
use crate::config::{Catalogue, Mode};
use crate::error::Result;
use crate::scope::{self, Home, Scoped, ThreadGuard};
use crate::session::{Report, Session, StreamBreaker};

/// A handle of a session: one test's cassettes, and the ways in.
///
/// A test gets it as its argument, from [`Vcr::current`] or from [`Vcr::builder`]. Clones are handles of the same session.
#[derive(Clone)]
pub struct Vcr {
    pub(crate) session: Arc<Session>,
    /// The key of the agent's session whose calls this handle makes.
    key: Option<Arc<str>>,
}

impl Vcr {
    pub(crate) const fn of(session: Arc<Session>) -> Self {
        Self { session, key: None }
    }

    fn home(&self) -> Home {
        Home {
            session: Arc::clone(&self.session),
            key: self.key.clone(),
        }
    }

    /// Starts to describe a session without the attribute.
    pub fn builder() -> VcrBuilder {
        VcrBuilder::new()
    }

    /// The session that the calling code belongs to.
    ///
    /// # Errors
    /// [`ErrorKind::NoSession`](crate::ErrorKind::NoSession), naming the cause.
    pub fn current() -> Result<Self> {
        let Home { session, key } = scope::required()?;
        Ok(Self { session, key })
    }

    /// The same test's handle for one of several agents, by the key of its session: whatever is called through its clients,
    /// its base URLs and its scopes belongs to that agent. A session script answers each agent from
    /// a log of its own.
    ///
    /// A key that is the recorded id of a script means that script. Any other key gets a script at its first call.
    /// What a call says of itself (`vcr_session` in its metadata, the header `x-vcr-session`, `metadata.session_id` in
    /// its body) counts more.
    ///
    /// ```
    /// use vcr_runtime::{InCassette as _, Vcr};
    ///
    /// async fn child() { /* asks a model */ }
    ///
    /// async fn parent(vcr: &Vcr) {
    ///     // A task of its own leaves the scope that it was started in, so the key goes along.
    ///     let child = tokio::spawn(child().in_cassette(&vcr.session("child-1")));
    ///     child.await.unwrap();
    /// }
    /// # let _ = parent;
    /// ```
    #[must_use]
    pub fn session(&self, key: impl Into<String>) -> Self {
        Self {
            session: Arc::clone(&self.session),
            key: Some(key.into().into()),
        }
    }

    /// What the session does with calls that do not say otherwise.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.session.settings().effective_mode()
    }

    /// The session's cassette; `None` when it has no scenario, so that each call has an automatic file.
    #[must_use]
    pub fn cassette_path(&self) -> Option<PathBuf> {
        self.session.cassette_path()
    }

    /// A client whose calls belong to this session wherever they are made.
    #[must_use]
    pub fn client(&self, upstream: impl Upstream) -> Client {
        Client::at_home(upstream, self.home())
    }

    /// Records or replays any asynchronous call; see [`intercept`](crate::intercept).
    ///
    /// # Errors
    /// See [`InterceptError`].
    pub async fn intercept<Q, T, E, F, Fut>(&self, request: &Q, live: F) -> Result<T, InterceptError<E>>
    where
        Q: Serialize + ?Sized,
        T: Serialize + DeserializeOwned,
        E: fmt::Display,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        intercept_in(Some(self.home()), request, live).await
    }

    /// Sets the policy that may cut answers while they are recorded.
    pub fn set_breaker(&self, breaker: impl StreamBreaker) {
        self.session.set_breaker(Arc::new(breaker));
    }

    /// Runs a future inside the session, on whatever thread or runtime it is polled.
    pub fn scope<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped::new(self.home(), future)
    }

    /// Runs a closure inside the session, on a thread that the test's runtime did not start.
    pub fn sync_scope<T>(&self, run: impl FnOnce() -> T) -> T {
        let _guard = ThreadGuard::enter(self.home());
        run()
    }

    /// The providers and models of the project's catalogue, the tables `[catalogue.PROVIDER]` of `vcr.toml`: for a program
    /// that looks for them by itself. Clients of the gateway get them from `GET /models` below their base URL, where a
    /// session script or frozen answers are replayed.
    #[must_use]
    pub fn catalogue(&self) -> Catalogue {
        self.session.project().catalogue.clone()
    }

    /// Whether everything that was recorded has been asked for by now. The end of a test asks the same by itself, unless
    /// `allow_unused` keeps it from that; here it is asked in the midst, and the session goes on.
    ///
    /// # Errors
    /// [`ErrorKind::Verdict`](crate::ErrorKind::Verdict) naming all that was not asked for at once: of a session script each
    /// script that no agent came for, and how far each of the others was read. A file that cannot be read.
    pub fn assert_consumed(&self) -> Result<()> {
        self.session.assert_consumed()
    }

    /// Ends a session and does not ask for what was not called: its answers are gone, and further calls are refused. What
    /// was recorded is saved. Also in a test under the attribute, before it ends.
    ///
    /// # Errors
    /// The first miss, or a cassette that could not be saved.
    pub async fn dispose(self) -> Result<Report> {
        self.session.dispose();
        self.end(true).await
    }

    /// Ends a session that was opened by [`Vcr::builder`]: saves what was recorded, and decides. Under the attribute this
    /// happens by itself.
    ///
    /// # Errors
    /// The first miss, recorded calls that nobody asked for, or a cassette that could not be saved.
    pub async fn finish(self) -> Result<Report> {
        self.end(true).await
    }

    /// Ends a session whose test failed: what was recorded goes to a side file, and the cassette stays as it was.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub async fn abandon(self) -> Result<Report> {
        self.end(false).await
    }

    async fn end(self, passed: bool) -> Result<Report> {
        self.session.end();
        #[cfg(feature = "gateway")]
        let aborted = match self.open_gateway() {
            Some(gateway) => gateway.shutdown(GRACE).await,
            None => 0,
        };
        #[cfg(not(feature = "gateway"))]
        let aborted = 0;
        let verdict = self.session.conclude(passed, aborted);
        match verdict.failure {
            None => Ok(verdict.report),
            // The report is lost to the caller, so the error says where the recording went.
            Some(error) if verdict.report.set_aside.is_empty() => Err(error),
            Some(error) => Err(error.and(&format!("\n{}", verdict.line.unwrap_or_default()))),
        }
    }

    /// The same without a runtime to wait on, for the attribute.
    pub(crate) fn conclude_blocking(&self, passed: bool) -> crate::session::Verdict {
        #[cfg(feature = "gateway")]
        let aborted = self
            .open_gateway()
            .map_or(0, |gateway| gateway.shutdown_blocking(GRACE));
        #[cfg(not(feature = "gateway"))]
        let aborted = 0;
        self.session.conclude(passed, aborted)
    }
}

/// How long the gateway waits at the end for exchanges that are still under way.
#[cfg(feature = "gateway")]
const GRACE: std::time::Duration = std::time::Duration::from_secs(1);

#[cfg(feature = "gateway")]
mod gateway {
    use std::sync::Arc;

    use super::Vcr;
    use crate::error::{Error, ErrorKind, Result};
    use crate::front::gateway::{Gateway, check_proxies};
    use crate::protocol::Protocol;
    use crate::session::Upstream;

    impl Vcr {
        /// The base URL of the loopback gateway for a provider's clients, without a trailing slash:
        /// `http://127.0.0.1:PORT/openai/v1`. In record mode it forwards to the provider's own address.
        ///
        /// # Errors
        /// [`ErrorKind::Proxy`] when a proxy variable would capture it, [`ErrorKind::PausedClock`] under
        /// `start_paused`, [`ErrorKind::Gateway`] when no port can be bound.
        pub fn base_url(&self, protocol: Protocol) -> Result<String> {
            Ok(format!("{}/{}", self.root(self.gateway()?), protocol.prefix()))
        }

        /// The base URL of the gateway for any other upstream, such as `https://openrouter.ai/api/v1`, or for one that
        /// `vcr.toml` names below `[providers]` or `[upstreams]`.
        ///
        /// # Errors
        /// As [`base_url`](Self::base_url), and [`ErrorKind::Config`] when `upstream` is no `http` or `https` URL.
        pub fn base_url_for(&self, upstream: &str) -> Result<String> {
            let gateway = self.gateway()?;
            let project = self.session.project();
            let own = project.providers.get(upstream).map(|provider| &provider.base_url);
            let named = own.or_else(|| project.upstreams.get(upstream));
            let number = gateway.add_upstream(named.map_or(upstream, String::as_str))?;
            Ok(format!("{}/up/{number}", self.root(gateway)))
        }

        /// Where the paths of this handle's calls begin.
        fn root(&self, gateway: &Gateway) -> String {
            let home = format!("http://{}", gateway.addr());
            match &self.key {
                Some(key) => format!("{home}/session/{}", gateway.add_key(key)),
                None => home,
            }
        }

        /// The session's gateway, if it was ever asked for.
        pub(super) fn open_gateway(&self) -> Option<&Gateway> {
            self.session.front.get()?.downcast_ref()
        }

        fn gateway(&self) -> Result<&Gateway> {
            self.session
                .front
                .get_or_try_init(|| self.start_gateway().map(|gateway| Box::new(gateway) as Box<_>))?;
            self.open_gateway().ok_or_else(|| {
                Error::new(
                    ErrorKind::Gateway,
                    "another front occupies the session",
                    "use one session for each front",
                )
            })
        }

        fn start_gateway(&self) -> Result<Gateway> {
            if self.session.start_paused {
                return Err(Error::new(
                    ErrorKind::PausedClock,
                    "`start_paused` and the loopback gateway exclude each other: the clock jumps while a socket is awaited, so every timeout fires at once",
                    "drop `start_paused`, or use the in-process front (`vcr.client(..)` or `vcr.intercept(..)`)",
                ));
            }
            check_proxies(|name| std::env::var(name).ok())?;
            let project = self.session.project();
            let routes = Protocol::all().map(|protocol| {
                let base = project
                    .upstreams
                    .get(protocol.provider())
                    .map_or(protocol.upstream(), String::as_str);
                let upstream = Upstream {
                    provider: protocol.provider().to_owned(),
                    base: base.to_owned(),
                };
                (protocol.prefix().to_owned(), upstream)
            });
            // The gateway must not keep alive the session that owns it.
            Gateway::start(Arc::new(Arc::downgrade(&self.session)), routes.collect())
        }
    }
}

impl fmt::Debug for Vcr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Vcr")
            .field("session", &self.session)
            .field("key", &self.key)
            .finish()
    }
}

/// Hands a future over to a session.
///
/// ```
/// use vcr_runtime::{InCassette as _, Vcr};
///
/// fn hand_over(vcr: &Vcr) {
///     let vcr = vcr.clone();
///     std::thread::spawn(move || {
///         let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
///         runtime.block_on(async { Vcr::current().is_ok() }.in_cassette(&vcr))
///     });
/// }
/// # let _ = hand_over;
/// ```
pub trait InCassette: Future + Sized {
    /// This future, with `vcr` as its session wherever it is polled.
    fn in_cassette(self, vcr: &Vcr) -> Scoped<Self> {
        vcr.scope(self)
    }
}

impl<F: Future> InCassette for F {}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Vcr>();
    shareable::<Client>();
};
