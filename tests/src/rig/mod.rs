//! What most tests are made of: a directory for one cassette, a session in some mode, a question and its answer.

mod cassette;
mod front;
mod gateway;
mod inprocess;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use vcr_runtime::{Error, InterceptError, Mode, Vcr, VcrBuilder};

use crate::{Reply, Upstream};

pub use cassette::{Cassette, RecordedCall};
pub use front::{Front, Got};
pub use gateway::{Delivered, ask, chat, direct};
pub use inprocess::{InProcess, Open, Say, Seen};

/// A directory of its own and one scenario in it.
#[derive(Debug)]
pub struct Rig {
    directory: TempDir,
}

impl Rig {
    /// An empty directory.
    #[must_use]
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    /// With this text as the cassette.
    #[must_use]
    pub fn with_cassette(text: &str) -> Self {
        let rig = Self::new();
        std::fs::write(rig.path(), text).expect("the cassette");
        rig
    }

    /// With these calls recorded one after the other through the gateway.
    pub async fn recorded(calls: impl IntoIterator<Item = (serde_json::Value, Reply)>) -> Self {
        let (bodies, replies): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
        let upstream = Upstream::start(replies);
        let rig = Self::new();
        let vcr = rig.record();
        for body in &bodies {
            ask(&vcr, &upstream.v1(), body).await;
        }
        assert_eq!(upstream.count(), bodies.len());
        done(vcr).await;
        rig
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where the cassette lies, by the naming rule.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("fixture_rig_case.json")
    }

    /// The names of all files in the directory, sorted.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory");
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The cassette as it is now.
    #[must_use]
    pub fn cassette(&self) -> Cassette {
        Cassette::read(&self.path())
    }

    /// The settings that all sessions of this rig share.
    pub fn builder(&self, mode: Mode) -> VcrBuilder {
        Vcr::builder()
            .scenario("case")
            .invoker("rig")
            .fixture_dir(self.directory.path())
            .mode(mode)
    }

    /// A recording session with default settings.
    #[must_use]
    pub fn record(&self) -> Vcr {
        self.builder(Mode::Record).open().expect("a recording session")
    }

    /// A replaying session with default settings.
    #[must_use]
    pub fn replay(&self) -> Vcr {
        self.builder(Mode::Replay).open().expect("a replaying session")
    }

    /// What a replaying session is refused with.
    pub async fn replay_error(&self) -> Error {
        refused(self.builder(Mode::Replay)).await
    }
}

impl Default for Rig {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends a session that has nothing to complain of.
///
/// # Panics
/// When it complains.
pub async fn done(vcr: Vcr) {
    vcr.finish().await.expect("a session without complaints");
}

/// Ends a session and returns its complaint.
///
/// # Panics
/// When it has none.
pub async fn complaint(vcr: Vcr) -> Error {
    match vcr.finish().await {
        Ok(report) => panic!("the session has nothing to complain of: {report:?}"),
        Err(error) => error,
    }
}

/// What a session is refused with, when it is opened or at its first call; the end of the session then says so again.
///
/// # Panics
/// When it is not refused.
pub async fn refused(builder: VcrBuilder) -> Error {
    let vcr = match builder.open() {
        Ok(vcr) => vcr,
        Err(error) => return error,
    };
    match vcr
        .intercept(&question("anything"), || async { Ok::<_, std::io::Error>(0) })
        .await
    {
        Err(InterceptError::Vcr(fault)) => {
            let verdict = complaint(vcr).await;
            assert_eq!(
                verdict.kind(),
                fault.kind(),
                "the verdict is another one: {verdict}"
            );
            fault
        }
        Ok(_) => complaint(vcr).await,
        Err(error) => panic!("refused with another error: {error:?}"),
    }
}

/// Turns a hang into a failure. The time is far beyond what any step takes.
///
/// # Panics
/// When the future is not ready within it.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), future).await {
        Ok(value) => value,
        Err(_) => panic!("nothing happened for 30 seconds"),
    }
}

/// The plain request of most tests, with another prompt.
#[must_use]
pub fn question(prompt: &str) -> serde_json::Value {
    serde_json::json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]})
}

/// The same as a stream.
#[must_use]
pub fn stream_question(prompt: &str) -> serde_json::Value {
    let mut body = question(prompt);
    body["stream"] = true.into();
    body
}
