//! Writes a growing cassette, on a thread of its own: no answer waits for the disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::cassette::{Journal, replace};
use crate::error::Result;
use crate::observe;
use crate::source::spycatcher::Document;

/// After a save that took a while the next one waits this many times as long, so that a long session does not spend its
/// time writing the same file.
const REST: u32 = 4;

/// The writing end of a recording. When every sender of interactions is gone the file is written a last time.
#[derive(Debug)]
pub(super) struct Saver {
    thread: JoinHandle<Result<()>>,
}

impl Saver {
    /// Starts to write `document` to `path` whenever interactions are sent. `lock` excludes other recordings until the end.
    pub(super) fn start(
        path: PathBuf,
        document: Document,
        lock: Journal,
    ) -> io::Result<(Self, Sender<String>)> {
        let (sender, receiver) = channel();
        let thread = thread::Builder::new()
            .name("vcr-harness-saver".to_owned())
            .spawn(move || {
                let saved = run(&path, document, &receiver);
                // What could not be removed is only an empty file beside the cassette.
                saved.and(lock.remove())
            })?;
        Ok((Self { thread }, sender))
    }

    /// Waits for the last save, which begins when the last sender is gone. Blocks this thread.
    pub(super) fn join(self) -> Result<()> {
        match self.thread.join() {
            Ok(saved) => saved,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// A save that fails is tried again with the next interaction; the last word counts.
fn run(path: &Path, mut document: Document, receiver: &Receiver<String>) -> Result<()> {
    let mut outcome = Ok(());
    let mut dirty = false;
    loop {
        if !dirty {
            match receiver.recv() {
                Ok(stored) => document.push(&stored),
                Err(_) => return outcome,
            }
        }
        receiver.try_iter().for_each(|stored| document.push(&stored));
        let began = Instant::now();
        outcome = replace(path, path, &document.pieces().concat());
        if let Err(error) = &outcome {
            observe::unsaved(path, error.kind());
        }
        dirty = rest(began.elapsed() * REST, &mut document, receiver);
    }
}

/// Takes what comes meanwhile. True when something came, so that there is something to write.
fn rest(long: Duration, document: &mut Document, receiver: &Receiver<String>) -> bool {
    // A small file is written at once, whenever there is something to write.
    if long < Duration::from_millis(200) {
        return false;
    }
    let until = Instant::now() + long;
    let mut came = false;
    // A sender that is gone ends the rest.
    while let Ok(stored) = receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
        document.push(&stored);
        came = true;
    }
    came
}
