//! Which session does this code belong to: explicit handle, then task-local, then thread, else a typed error.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;

/// Where code belongs: to a test's session, and there to one of the agents that it runs, where several are told apart.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) session: Arc<Session>,
    /// The key of the agent's session.
    pub(crate) key: Option<Arc<str>>,
}

impl Home {
    pub(crate) const fn of(session: Arc<Session>) -> Self {
        Self { session, key: None }
    }
}

tokio::task_local! {
    static TASK: Home;
}

thread_local! {
    /// Innermost last. The threads of a test's runtime hold its session for as long as they live.
    static THREAD: RefCell<Vec<Home>> = const { RefCell::new(Vec::new()) };
}

/// The session of the calling code.
pub(crate) fn current() -> Option<Home> {
    // Cloned out at once: `LocalKey` must not be held across the caller's code.
    TASK.try_with(Home::clone)
        .ok()
        .or_else(|| THREAD.with_borrow(|stack| stack.last().cloned()))
}

/// The session of the calling code, or why there is none.
pub(crate) fn required() -> Result<Home> {
    current().ok_or_else(no_session)
}

fn no_session() -> Error {
    let place = match (
        tokio::runtime::Handle::try_current().is_ok(),
        std::thread::current().name(),
    ) {
        (true, _) => "a task of another runtime than the test's".to_owned(),
        (false, Some(name)) => format!("the thread `{name}`, which the test's runtime did not start"),
        (false, None) => "a thread that the test's runtime did not start".to_owned(),
    };
    Error::new(
        ErrorKind::NoSession,
        format!("this code runs outside every vcr session, on {place}"),
        "annotate the test with #[vcr_test], or hand the session over with `future.in_cassette(&vcr)` or `vcr.sync_scope(..)`",
    )
}

/// Makes a session the thread's own until the guard is dropped.
#[derive(Debug)]
pub(crate) struct ThreadGuard {
    depth: usize,
}

impl ThreadGuard {
    pub(crate) fn enter(home: Home) -> Self {
        THREAD.with_borrow_mut(|stack| {
            stack.push(home);
            Self {
                depth: stack.len() - 1,
            }
        })
    }
}

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        // The thread may be going down with its locals; then there is nothing left to restore.
        let _ = THREAD.try_with(|stack| stack.borrow_mut().truncate(self.depth));
    }
}

/// Makes a session the thread's own for good: what a runtime's threads do when they start.
pub(crate) fn adopt_thread(session: Arc<Session>) {
    THREAD.with_borrow_mut(|stack| stack.push(Home::of(session)));
}

/// A future that runs inside a session, wherever it is polled. Made by [`Vcr::scope`](crate::Vcr::scope) and
/// [`InCassette::in_cassette`](crate::InCassette::in_cassette).
#[must_use = "futures do nothing unless polled"]
pub struct Scoped<F> {
    inner: Pin<Box<tokio::task::futures::TaskLocalFuture<Home, F>>>,
}

impl<F: Future> Scoped<F> {
    pub(crate) fn new(home: Home, future: F) -> Self {
        Self {
            inner: Box::pin(TASK.scope(home, future)),
        }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.inner.as_mut().poll(context)
    }
}

impl<F> std::fmt::Debug for Scoped<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Scoped").finish_non_exhaustive()
    }
}
