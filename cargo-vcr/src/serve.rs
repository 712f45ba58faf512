//! `cargo vcr serve`.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use tracing::Level;
use vcr_runtime::ErrorKind;
use vcr_runtime::daemon::{Ended, RenderMetrics, RunningDaemon, start_daemon};

use crate::args::Serve;

/// Serves until a signal comes.
pub(crate) async fn run(arguments: Serve) -> ExitCode {
    log(&arguments.log);
    match start(arguments) {
        Ok((daemon, signals)) => until_told(daemon, signals).await,
        Err(why) => {
            say(&format!("cargo vcr serve: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: Serve) -> Result<(RunningDaemon, Signals), String> {
    // Taken before the address is printed: whoever reads it may send a signal at once.
    let signals = Signals::new().map_err(|error| format!("failed to listen for signals: {error}"))?;
    let metrics = if arguments.metrics {
        Some(recorder()?)
    } else {
        None
    };
    let mut config = arguments.config();
    config.metrics = metrics;
    let daemon = start_daemon(config).map_err(|error| error.to_string())?;
    for warning in daemon.warnings() {
        tracing::warn!(target: "vcr", "{warning}");
    }
    let mut out = std::io::stdout();
    // Who closed stdout does not want to know.
    let _ = writeln!(out, "http://{}", daemon.addr()).and_then(|()| out.flush());
    Ok((daemon, signals))
}

/// Stops at the first signal. The second one leaves at once; what is being recorded then stays in journals.
async fn until_told(daemon: RunningDaemon, mut signals: Signals) -> ExitCode {
    signals.next().await;
    tracing::info!(target: "vcr", "stopping: open answers end first; a second signal leaves at once");
    tokio::select! {
        ended = daemon.shutdown() => conclude(&ended),
        () = signals.next() => {
            say("cargo vcr serve: left at once; unsaved calls are in the journals beside the cassettes");
            ExitCode::from(130)
        }
    }
}

fn conclude(ended: &[Ended]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for scenario in ended {
        say(&format!("{}: {}", scenario.cassette.display(), scenario.report));
        for note in &scenario.report.notes {
            say(&format!("  {note}"));
        }
        let Some(failure) = &scenario.failure else {
            continue;
        };
        say(&format!("  {failure}"));
        // Verdicts on a program are its tests' concern; a recording that is lost is ours.
        if !matches!(failure.kind(), ErrorKind::Miss | ErrorKind::Verdict) {
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn log(level: &str) {
    // `off` is no level.
    if let Ok(level) = level.parse::<Level>() {
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .init();
    }
}

fn recorder() -> Result<RenderMetrics, String> {
    let handle = PrometheusBuilder::new()
        .install_recorder()
        .map_err(|error| format!("failed to install the metrics recorder: {error}"))?;
    Ok(Arc::new(move || {
        handle.run_upkeep();
        handle.render()
    }))
}

/// What tells the daemon to stop.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// What tells the daemon to stop.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without signals there is nothing to wait for but the end of the process.
            std::future::pending::<()>().await;
        }
    }
}
