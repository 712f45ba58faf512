//! Starting a harness, and ending it.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::config::{CassetteFormat, HarnessConfig, Mode};
use super::error::{HarnessError, HarnessResult};
use super::own::{self, Own};
use super::record::{Kept, Recorder};
use super::replay::Replayer;
use super::report::{Counts, HarnessReport};
use super::saver::Saver;
use super::target::Target;
use super::verify;
use crate::cassette::{Journal, replace};
use crate::config::{Environment, ProjectFile, Speed};
use crate::front::gateway::{Backend, Server};
use crate::observe;
use crate::redact::Redactor;
use crate::session::Session;
use crate::source::spycatcher::{Document, FORMAT_VERSION, Interaction, Pointers, Unreadable, decode};

/// A harness that serves. Dropping it stops it at once; [`shutdown`](Self::shutdown) lets answers end and says what happened.
#[must_use = "the harness stops when it is dropped"]
pub struct RunningHarness {
    /// Where it listens, with the port that it got.
    pub addr: SocketAddr,
    /// The file that it reads or writes.
    pub cassette_path: PathBuf,
    cassette_name: String,
    grace: Duration,
    server: Server,
    engine: Engine,
}

enum Engine {
    Record(Saver, Arc<Counts>),
    Replay(Arc<Replayer>),
    Own(Arc<Session>),
}

/// Checks the configuration, opens the cassette and starts to serve. The server has a thread of its own, so the harness
/// answers whatever the caller's runtime does.
///
/// ```no_run
/// use std::net::SocketAddr;
/// use vcr_runtime::harness::config::{ListenAddr, Mode, UpstreamConfig};
/// use vcr_runtime::harness::{HarnessConfig, HarnessResult, start_harness};
///
/// # async fn example() -> HarnessResult<()> {
/// let harness = start_harness(HarnessConfig {
///     listen: ListenAddr::from(SocketAddr::from(([127, 0, 0, 1], 0))),
///     mode: Mode::Record,
///     upstream: Some(UpstreamConfig::default()),
///     ..HarnessConfig::default()
/// })
/// .await?;
/// println!("base URL: http://{}/v1", harness.addr);
/// let report = harness.shutdown().await?;
/// println!("{} calls recorded", report.recorded);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`HarnessError::InvalidConfig`], naming the field; [`HarnessError::CassetteNotFound`],
/// [`HarnessError::InvalidCassette`] and [`HarnessError::UnsupportedCassetteFormatVersion`] for the file;
/// [`HarnessError::Io`] for a file that cannot be read or written, an address that is in use, and a cassette that another
/// harness is recording.
pub async fn start_harness(config: HarnessConfig) -> HarnessResult<RunningHarness> {
    blocking(move || start(&config)).await
}

impl RunningHarness {
    /// Stops accepting, waits for the answers that are under way, at most `shutdown_grace`, saves, and reports.
    ///
    /// # Errors
    /// [`HarnessError::Io`] when what was recorded could not be saved.
    pub async fn shutdown(self) -> HarnessResult<HarnessReport> {
        let Self {
            cassette_path,
            cassette_name,
            grace,
            server,
            engine,
            ..
        } = self;
        let aborted = server.shutdown(grace).await;
        drop(server);
        let report = match engine {
            Engine::Record(saver, counts) => {
                blocking(move || {
                    saver
                        .join()
                        .map_err(|error| HarnessError::of(&error, &cassette_name))
                })
                .await?;
                counts.take()
            }
            Engine::Replay(replayer) => HarnessReport {
                leftovers: replayer.leftovers(),
                ..replayer.counts.take()
            },
            Engine::Own(session) => {
                blocking(move || match own::conclude(&session, aborted) {
                    (report, None) => Ok(report),
                    (_, Some(error)) => Err(HarnessError::of(&error, &cassette_name)),
                })
                .await?
            }
        };
        let (served, recorded) = (report.served, report.recorded);
        observe::ended(
            &cassette_path,
            usize::try_from(served).unwrap_or(usize::MAX),
            usize::try_from(recorded).unwrap_or(usize::MAX),
            recorded > 0,
        );
        Ok(HarnessReport { aborted, ..report })
    }
}

impl fmt::Debug for RunningHarness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunningHarness")
            .field("addr", &self.addr)
            .field("cassette_path", &self.cassette_path)
            .finish_non_exhaustive()
    }
}

fn start(config: &HarnessConfig) -> HarnessResult<RunningHarness> {
    check(config)?;
    let target = match (&config.upstream, config.mode) {
        (Some(upstream), Mode::Record) => Some(Target::of(upstream, config.upstream_timeouts)?),
        (None, Mode::Record) => {
            return Err(HarnessError::config("`upstream` is required for record mode"));
        }
        // A replaying harness knows no upstream, whatever is configured.
        (_, Mode::Replay | Mode::Verify) => None,
    };
    // The address first: a cassette is not touched for a harness that cannot serve.
    let listener = std::net::TcpListener::bind(config.listen.as_socket_addr())?;
    let (cassette_path, engine, backend) = match (config.format, target) {
        (CassetteFormat::Vcr, target) => open_own(config, target)?,
        (CassetteFormat::Spycatcher, Some(target)) => open_recorder(config, target)?,
        (CassetteFormat::Spycatcher, None) => open_replayer(config)?,
    };
    let server =
        Server::on(listener, backend).map_err(|error| HarnessError::of(&error, &config.cassette_name))?;
    Ok(RunningHarness {
        addr: server.addr(),
        cassette_path,
        cassette_name: config.cassette_name.clone(),
        grace: config.shutdown_grace,
        server,
        engine,
    })
}

type Opened = (PathBuf, Engine, Arc<dyn Backend>);

fn open_recorder(config: &HarnessConfig, target: Target) -> HarnessResult<Opened> {
    fs::create_dir_all(&config.cassette_dir)?;
    let path = config.cassette_dir.join(&config.cassette_name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    confined(config, &path)?;
    let fault = |error: &crate::Error| HarnessError::of(error, &config.cassette_name);
    let (lock, left) = Journal::open(&path).map_err(|error| fault(&error))?;
    if left.is_some() {
        return Err(HarnessError::config(format!(
            "`cassette_name` is {:?}, and an interrupted recording of a test lies in the journal beside it",
            config.cassette_name
        )));
    }
    // Written once at the start, so that what cannot be written is known before a call is paid for.
    let opened = document(&path, config).and_then(|document| {
        let written = replace(&path, &path, &document.pieces().concat());
        written.map(|()| document).map_err(|error| fault(&error))
    });
    let document = match opened {
        Ok(document) => document,
        Err(error) => {
            // An empty file beside the cassette is the least of this caller's troubles.
            let _ = lock.remove();
            return Err(error);
        }
    };
    let counts = Arc::new(Counts::default());
    let (saver, sender) = Saver::start(path.clone(), document, lock)?;
    let dropped = config.redaction.drop_headers.iter();
    let recorder = Recorder {
        protocol: config.protocol,
        body_limit: config.max_body_bytes,
        target,
        kept: Arc::new(Kept {
            dropped: dropped.map(|name| name.to_ascii_lowercase()).collect(),
            redactor: redactor(config)?,
        }),
        counts: Arc::clone(&counts),
        sender,
        session_start: Instant::now(),
    };
    Ok((path, Engine::Record(saver, counts), Arc::new(recorder)))
}

/// The cassette that is there, or a new one.
fn document(path: &Path, config: &HarnessConfig) -> HarnessResult<Document> {
    match read(path, config) {
        Ok(text) => Ok(Document::open(&text).map_err(unreadable)?.0),
        Err(HarnessError::CassetteNotFound { .. }) => Ok(Document::new()),
        Err(error) => Err(error),
    }
}

fn open_replayer(config: &HarnessConfig) -> HarnessResult<Opened> {
    let (path, text) = text(config)?;
    let redactor = redactor(config)?;
    if config.mode == Mode::Verify {
        verify::holds(config, &text, redactor.as_deref())?;
    }
    let interactions: Vec<Interaction> = decode(&text, |_| ()).map_err(unreadable)?;
    let replayer = Arc::new(Replayer::of(
        config,
        interactions,
        redactor,
        Arc::new(Counts::default()),
    )?);
    Ok((path, Engine::Replay(Arc::clone(&replayer)), replayer))
}

fn open_own(config: &HarnessConfig, target: Option<Target>) -> HarnessResult<Opened> {
    let fault = |error: &crate::Error| HarnessError::of(error, &config.cassette_name);
    let directory = std::path::absolute(&config.cassette_dir)?;
    let session = own::open(config, &directory).map_err(|error| fault(&error))?;
    let path = session
        .cassette_path()
        .ok_or_else(|| HarnessError::config("`cassette_name` names no cassette"))?;
    if config.mode != Mode::Record {
        verify::own(config, &path)?;
    }
    let backend = Arc::new(Own::new(config, &session, target));
    Ok((path, Engine::Own(session), backend))
}

/// What can be said of a configuration alone.
fn check(config: &HarnessConfig) -> HarnessResult<()> {
    let listen = config.listen.as_socket_addr();
    if !listen.ip().is_loopback() {
        return Err(HarnessError::config(format!(
            "`listen` is {listen}, and a harness listens on loopback only: it holds a key and asks nobody for one"
        )));
    }
    let name = &config.cassette_name;
    if name.is_empty() {
        return Err(HarnessError::config("`cassette_name` is empty"));
    }
    let plain = Path::new(name)
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    if !plain || name.contains("..") || name.contains('\\') || name.chars().any(char::is_control) {
        return Err(HarnessError::config(format!(
            "`cassette_name` is {name:?}, and must name a file below `cassette_dir`"
        )));
    }
    if let Speed::Factor(factor) = config.speed
        && !(factor.is_finite() && factor > 0.0)
    {
        return Err(HarnessError::config(format!(
            "`speed` is {factor}, and must be above 0"
        )));
    }
    Pointers::parse(&config.ignored_body_paths)
        .map(drop)
        .map_err(|error| HarnessError::config(format!("`ignored_body_paths`: {error}")))
}

/// The text of the cassette and its path.
pub(super) fn text(config: &HarnessConfig) -> HarnessResult<(PathBuf, String)> {
    check(config)?;
    let path = config.cassette_dir.join(&config.cassette_name);
    let text = read(&path, config)?;
    confined(config, &path)?;
    Ok((path, text))
}

fn read(path: &Path, config: &HarnessConfig) -> HarnessResult<String> {
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => HarnessError::CassetteNotFound {
            cassette_name: config.cassette_name.clone(),
        },
        _ => error.into(),
    })?;
    String::from_utf8(bytes).map_err(|_| HarnessError::cassette("the file is no UTF-8"))
}

/// Refuses a link that leads out of the directory.
fn confined(config: &HarnessConfig, path: &Path) -> HarnessResult<()> {
    let directory = fs::canonicalize(&config.cassette_dir)?;
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => {
            fs::canonicalize(path.parent().unwrap_or(path))?
        }
        Err(error) => return Err(error.into()),
    };
    if real.starts_with(&directory) {
        return Ok(());
    }
    Err(HarnessError::config(format!(
        "`cassette_name` is {:?}, which leads out of `cassette_dir` by a link",
        config.cassette_name
    )))
}

pub(super) fn unreadable(error: Unreadable) -> HarnessError {
    match error {
        Unreadable::Broken(message) => HarnessError::cassette(message),
        Unreadable::Version(found) => HarnessError::UnsupportedCassetteFormatVersion {
            found,
            supported: FORMAT_VERSION,
        },
    }
}

/// What removes secrets, by the rules of the `vcr.toml` beside the package's manifest, or of the working directory.
pub(super) fn redactor(config: &HarnessConfig) -> HarnessResult<Option<Arc<Redactor>>> {
    if !config.scrub_secrets {
        return Ok(None);
    }
    let environment = Environment::process();
    let directory = environment.get("CARGO_MANIFEST_DIR").unwrap_or(".");
    let redactor = ProjectFile::load(Path::new(directory))
        .and_then(|project| Redactor::new(&project.redact, environment))
        .map_err(|error| HarnessError::config(error.to_string()))?;
    Ok(Some(Arc::new(redactor)))
}

/// Runs work that reads or writes files, beside the runtime where there is one.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> HarnessResult<T> + Send + 'static,
) -> HarnessResult<T> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return work();
    };
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(failed) => Err(HarnessError::Io {
            source: std::io::Error::other(failed.to_string()),
        }),
    }
}

const _: () = {
    const fn sendable<T: Send + Sync + 'static>() {}
    sendable::<RunningHarness>();
    sendable::<HarnessError>();
};
