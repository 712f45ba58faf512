//! `cargo vcr serve`.

use std::process::ExitCode;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use tracing::Level;
use vcr_runtime::ErrorKind;
use vcr_runtime::daemon::{Ended, RenderMetrics, RunningDaemon, start_daemon};

use crate::args::Serve;
use crate::out;
use crate::words::Words;

/// Serves until a signal comes.
pub(crate) async fn run(arguments: Serve, words: &Words) -> ExitCode {
    log(&arguments.log);
    match start(arguments, words) {
        Ok((daemon, signals)) => until_told(daemon, signals, words).await,
        Err(why) => {
            out::fault(&words.failed("serve", &why));
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: Serve, words: &Words) -> Result<(RunningDaemon, Signals), String> {
    // Taken before the address is printed: whoever reads it may send a signal at once.
    let signals =
        Signals::new().map_err(|error| words.say("signals-failed", [("cause", error.to_string().into())]))?;
    let metrics = if arguments.metrics {
        Some(recorder(words)?)
    } else {
        None
    };
    let mut config = arguments.config();
    config.metrics = metrics;
    let daemon = start_daemon(config).map_err(|error| words.error(&error))?;
    for warning in daemon.warnings() {
        tracing::warn!(target: "vcr", "{warning}");
    }
    out::line(&format!("http://{}", daemon.addr()));
    Ok((daemon, signals))
}

/// Stops at the first signal. The second one leaves at once; what is being recorded then stays in journals.
async fn until_told(daemon: RunningDaemon, mut signals: Signals, words: &Words) -> ExitCode {
    signals.next().await;
    tracing::info!(target: "vcr", "stopping: open answers end first; a second signal leaves at once");
    tokio::select! {
        ended = daemon.shutdown() => conclude(&ended, words),
        () = signals.next() => {
            out::fault(&words.say("left-at-once", []));
            ExitCode::from(130)
        }
    }
}

fn conclude(ended: &[Ended], words: &Words) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for scenario in ended {
        let cassette = scenario.cassette.display().to_string();
        let report = words.report(&scenario.report);
        out::fault(&words.say(
            "ended",
            [("cassette", cassette.into()), ("report", report.into())],
        ));
        for note in &scenario.report.notes {
            out::fault(&format!("  {note}"));
        }
        let Some(failure) = &scenario.failure else {
            continue;
        };
        out::fault(&format!("  {}", words.error(failure)));
        // Verdicts on a program are its tests' concern; a recording that is lost is ours.
        if !matches!(failure.kind(), ErrorKind::Miss | ErrorKind::Verdict) {
            code = ExitCode::FAILURE;
        }
    }
    code
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

fn recorder(words: &Words) -> Result<RenderMetrics, String> {
    let handle = PrometheusBuilder::new()
        .install_recorder()
        .map_err(|error| words.say("metrics-failed", [("cause", error.to_string().into())]))?;
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
