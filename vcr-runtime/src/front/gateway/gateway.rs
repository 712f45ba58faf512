//! One test's gateway.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::route::Routes;
use super::routed::Routed;
use super::server::Server;
use crate::error::Result;
use crate::session::{Exchange, Upstream};

/// One test's loopback server. Its address is the test's identity, so that calls from any thread, runtime or process
/// find their session.
#[derive(Debug)]
pub(crate) struct Gateway {
    server: Server,
    backend: Arc<Routed>,
}

impl Gateway {
    /// Starts a server on a free port of 127.0.0.1. `routes` are the path prefixes with the upstreams they stand for.
    /// May be called inside or outside any runtime.
    pub(crate) fn start(exchange: Arc<dyn Exchange>, routes: Vec<(String, Upstream)>) -> Result<Self> {
        let backend = Arc::new(Routed {
            exchange,
            routes: Routes::new(routes),
        });
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::start(any, Arc::clone(&backend) as Arc<_>)?;
        Ok(Self { server, backend })
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Registers another upstream below `/up/<n>` and returns `n`. The same base keeps its number.
    pub(crate) fn add_upstream(&self, base_url: &str) -> Result<usize> {
        self.backend.routes.add(base_url)
    }

    /// Registers an agent's key below `/session/<n>` and returns `n`. The same key keeps its number.
    pub(crate) fn add_key(&self, key: &str) -> usize {
        self.backend.routes.add_key(key)
    }

    /// See [`Server::shutdown`].
    pub(crate) fn shutdown(&self, grace: Duration) -> impl Future<Output = usize> + Send + use<> {
        self.server.shutdown(grace)
    }

    /// See [`Server::shutdown_blocking`].
    pub(crate) fn shutdown_blocking(&self, grace: Duration) -> usize {
        self.server.shutdown_blocking(grace)
    }
}
