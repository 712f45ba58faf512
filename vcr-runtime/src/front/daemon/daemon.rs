use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::config::ProjectFile;
use crate::error::{Error, Result};
use crate::front::gateway::Server;
use crate::session::Surroundings;

use super::config::DaemonConfig;
use super::desk::Desk;
use super::routes::Routes;
use super::scenes::{Ended, Scenes};
use super::terms::Terms;

/// Starts a daemon: a loopback server that records and replays for programs in any language.
///
/// It serves from a thread of its own, so it may be started inside or outside a runtime.
///
/// # Errors
/// [`ErrorKind::Config`](crate::ErrorKind::Config) for a setting outside its set, in the configuration, the environment or
/// `vcr.toml`; [`ErrorKind::Gateway`](crate::ErrorKind::Gateway) when the address cannot be bound.
///
/// ```no_run
/// # async fn run() -> vcr_runtime::Result<()> {
/// use vcr_runtime::daemon::{DaemonConfig, start_daemon};
///
/// let daemon = start_daemon(DaemonConfig::default())?;
/// println!("http://{}", daemon.addr());
/// // … until it is told to stop …
/// daemon.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub fn start_daemon(config: DaemonConfig) -> Result<RunningDaemon> {
    let named = if config.root.as_os_str().is_empty() {
        Path::new(".")
    } else {
        &config.root
    };
    let root = std::path::absolute(named).map_err(|error| Error::io("find the directory", named, &error))?;
    let around = Surroundings::of(ProjectFile::load(&root)?)?;
    let project = Arc::clone(&around.project);
    let warnings = around.environment.warnings();
    let (terms, serve) = Terms::new(&config, around, &root)?;
    let scenes = Scenes::new(serve.idle);
    let desk = Desk {
        terms,
        routes: Routes::new(project, serve.upstream.as_deref())?,
        scenes: scenes.clone(),
        body_limit: serve.body_limit,
        metrics: config.metrics,
    };
    let server = Server::start(serve.listen, Arc::new(desk))?;
    Ok(RunningDaemon {
        server,
        scenes,
        grace: serve.grace,
        warnings,
    })
}

/// A daemon that serves. Dropped without [`shutdown`](Self::shutdown) it stops at once, and what it was recording stays in
/// journals beside the cassettes.
#[derive(Debug)]
pub struct RunningDaemon {
    server: Server,
    scenes: Scenes,
    grace: Duration,
    warnings: Vec<String>,
}

impl RunningDaemon {
    /// Where it listens, with the real port.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// One line for each `VCR_*` variable that nobody knows.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Stops accepting, lets open answers end (for as long as the configuration's grace), then saves every recording.
    pub async fn shutdown(self) -> Vec<Ended> {
        // What is aborted is told in the reports, as calls that had not ended.
        self.server.shutdown(self.grace).await;
        self.scenes.end(None).await
    }
}
