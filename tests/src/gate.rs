//! A gate that one side waits at until the other opens it: the tests' alternative to sleeping.

use std::sync::Arc;

use tokio::sync::watch;

/// Starts closed, opens once, works across threads and runtimes.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is open.
    pub async fn passed(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|open| *open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}
