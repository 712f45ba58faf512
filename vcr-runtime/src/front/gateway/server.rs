//! The thread and runtime that serve the loopback servers of this process, and one such server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use once_cell::sync::OnceCell;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::backend::Backend;
use super::connection;
use crate::error::{Error, ErrorKind, Result};

/// How long to wait after `accept` failed (too many open files), so as not to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Says when to stop, and how long open exchanges may take after that.
pub(super) type Stop = watch::Receiver<Option<Duration>>;

/// A loopback server. Dropping it stops it without grace.
pub(in crate::front) struct Server {
    addr: SocketAddr,
    stop: watch::Sender<Option<Duration>>,
    aborted: watch::Receiver<Option<usize>>,
}

/// What the connections of one server have in common.
pub(super) struct Shared {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) port: u16,
    pub(super) open: OpenCount,
}

impl Server {
    /// Starts a server; port 0 is any free one. May be called inside or outside any runtime.
    pub(in crate::front) fn start(listen: SocketAddr, backend: Arc<dyn Backend>) -> Result<Self> {
        let listener = std::net::TcpListener::bind(listen).map_err(|error| unbound(listen, &error))?;
        Self::on(listener, backend)
    }

    /// Starts a server on an address that is bound already.
    pub(in crate::front) fn on(listener: std::net::TcpListener, backend: Arc<dyn Backend>) -> Result<Self> {
        let server = server()?;
        let hand_over = || {
            listener.set_nonblocking(true)?;
            let addr = listener.local_addr()?;
            let _inside = server.enter();
            Ok((TcpListener::from_std(listener)?, addr))
        };
        let (listener, addr) =
            hand_over().map_err(|error: std::io::Error| failed("use its address", &error))?;
        let shared = Arc::new(Shared {
            backend,
            port: addr.port(),
            open: OpenCount::default(),
        });
        let (stop, stopping) = watch::channel(None);
        let (done, aborted) = watch::channel(None);
        server.spawn(serve(listener, shared, stopping, done));
        Ok(Self { addr, stop, aborted })
    }

    /// Where it listens.
    pub(in crate::front) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops accepting at once, whether or not the future is polled. The future waits until the open exchanges are over,
    /// `grace` at most, and says how many were aborted; their recordings have been ended by then. Asked again it says the
    /// same.
    pub(in crate::front) fn shutdown(&self, grace: Duration) -> impl Future<Output = usize> + Send + use<> {
        self.stop_within(grace);
        let mut aborted = self.aborted.clone();
        async move {
            // The other end goes away unanswered only with the whole server thread.
            aborted
                .wait_for(Option::is_some)
                .await
                .map_or(0, |count| count.unwrap_or(0))
        }
    }

    /// [`shutdown`](Self::shutdown) for callers that cannot await. Blocks this thread, inside a runtime too.
    pub(in crate::front) fn shutdown_blocking(&self, grace: Duration) -> usize {
        block_on(self.shutdown(grace))
    }

    fn stop_within(&self, grace: Duration) {
        self.stop.send_if_modified(|stop| {
            let first = stop.is_none();
            stop.get_or_insert(grace);
            first
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_within(Duration::ZERO);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

/// How many exchanges of a server are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCount(Arc<AtomicUsize>);

/// One of them, from its request's head to the end of its answer.
#[derive(Debug)]
pub(super) struct Open(Arc<AtomicUsize>);

impl OpenCount {
    pub(super) fn enter(&self) -> Open {
        self.0.fetch_add(1, Ordering::AcqRel);
        Open(Arc::clone(&self.0))
    }

    fn now(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The runtime that serves: never the test's, which may be blocked, or gone.
fn server() -> Result<&'static Handle> {
    static SERVER: OnceCell<Handle> = OnceCell::new();
    SERVER.get_or_try_init(|| {
        let (report, started) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name("vcr-gateway".to_owned())
            .spawn(move || {
                // Built here, because a runtime must not be dropped inside another one, which is where callers may be.
                let runtime = match Builder::new_current_thread().enable_all().build() {
                    Ok(runtime) => runtime,
                    Err(error) => return drop(report.send(Err(error))),
                };
                if report.send(Ok(runtime.handle().clone())).is_ok() {
                    runtime.block_on(std::future::pending::<()>());
                }
            })
            .map_err(|error| failed("start its thread", &error))?;
        match started.recv() {
            Ok(runtime) => runtime.map_err(|error| failed("start its runtime", &error)),
            Err(error) => Err(failed("start its runtime", &error)),
        }
    })
}

fn unbound(listen: SocketAddr, error: &std::io::Error) -> Error {
    if error.kind() != std::io::ErrorKind::AddrInUse {
        return failed(&format!("listen on {listen}"), error);
    }
    Error::new(
        ErrorKind::Gateway,
        format!("the gateway cannot listen on {listen}: another process listens there"),
        "stop it, or choose another port; port 0 is any free one",
    )
}

fn failed(action: &str, error: &dyn fmt::Display) -> Error {
    Error::new(
        ErrorKind::Gateway,
        format!("the gateway failed to {action}: {error}"),
        "check the limits on threads and open files, or use the in-process front",
    )
}

/// Resolves once the gateway is told to stop, with the grace.
pub(super) async fn stopped(mut stop: Stop) -> Duration {
    // A sender that is gone without a word stops too.
    stop.wait_for(Option::is_some)
        .await
        .map_or(None, |grace| *grace)
        .unwrap_or_default()
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, stop: Stop, done: watch::Sender<Option<usize>>) {
    let mut connections = JoinSet::new();
    let grace = accept_until_stopped(&listener, &mut connections, &shared, &stop).await;
    drop(listener);
    let all_over = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(grace, all_over).await;
    let aborted = shared.open.now();
    // Awaited, so that every recording has its end when the count is told.
    connections.shutdown().await;
    done.send_replace(Some(aborted));
}

async fn accept_until_stopped(
    listener: &TcpListener,
    connections: &mut JoinSet<()>,
    shared: &Arc<Shared>,
    stop: &Stop,
) -> Duration {
    enum Step {
        Stop(Duration),
        Accepted(std::io::Result<(TcpStream, SocketAddr)>),
    }
    let mut stopping = pin!(stopped(stop.clone()));
    loop {
        let step = poll_fn(|context| {
            if let Poll::Ready(grace) = stopping.as_mut().poll(context) {
                return Poll::Ready(Step::Stop(grace));
            }
            while let Poll::Ready(Some(_)) = connections.poll_join_next(context) {}
            listener.poll_accept(context).map(Step::Accepted)
        });
        match step.await {
            Step::Stop(grace) => return grace,
            Step::Accepted(Ok((socket, _))) => {
                connections.spawn(connection::serve(socket, Arc::clone(shared), stop.clone()));
            }
            Step::Accepted(Err(_)) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Waits on this thread for a future that another thread completes. A runtime's `block_on` refuses to run in one.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Parked(Thread);
    impl Wake for Parked {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Parked(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
