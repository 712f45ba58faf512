//! Lets a body know when what it handed out has left through the socket.
//!
//! hyper collects the frames of a body that is always ready into one write, and throws its write buffer away when a
//! body fails. Replaying needs the opposite of both: one write a piece, and a break only after everything before it.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::{io, sync::Arc};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Counts the completed flushes of one connection.
#[derive(Debug, Default)]
pub(super) struct Flushed {
    count: AtomicU64,
    waiter: Mutex<Option<Waker>>,
}

impl Flushed {
    /// How many flushes were completed so far; what is handed out now has left once there is one more.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// One more: everything written before is in the kernel's hands.
    pub(super) fn note(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        let waiter = self.lock().take();
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Ready once more than `mark` flushes were completed.
    pub(super) fn poll_past(&self, mark: u64, context: &Context<'_>) -> Poll<()> {
        if self.count() > mark {
            return Poll::Ready(());
        }
        *self.lock() = Some(context.waker().clone());
        // A flush between the look and the registration would have woken nobody.
        if self.count() > mark {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.waiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller's socket, noting every completed flush.
#[derive(Debug)]
pub(super) struct FlushedIo {
    socket: TokioIo<TcpStream>,
    flushed: Arc<Flushed>,
}

impl FlushedIo {
    pub(super) fn new(socket: TcpStream, flushed: Arc<Flushed>) -> Self {
        Self {
            socket: TokioIo::new(socket),
            flushed,
        }
    }
}

impl Read for FlushedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl Write for FlushedIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flush = Pin::new(&mut self.socket).poll_flush(cx);
        // hyper flushes the socket only when its own buffer is empty.
        if matches!(flush, Poll::Ready(Ok(()))) {
            self.flushed.note();
        }
        flush
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }
}
