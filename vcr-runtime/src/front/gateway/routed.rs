//! What stands behind a test's gateway: paths that name upstreams, and the test's session.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;

use super::backend::{Backend, Decision, Fault, Outgoing};
use super::headers;
use super::route::{Resolved, Routes};
use crate::protocol::HttpRequest;
use crate::session::{Exchange, HttpTurn};

/// The largest request body; a request beyond it is no conversation with a model.
const BODY_LIMIT: usize = 64 << 20;

/// A session below path prefixes.
pub(super) struct Routed {
    pub(super) exchange: Arc<dyn Exchange>,
    pub(super) routes: Routes,
}

impl fmt::Debug for Routed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Routed")
            .field("routes", &self.routes)
            .finish_non_exhaustive()
    }
}

impl Backend for Routed {
    fn body_limit(&self) -> usize {
        BODY_LIMIT
    }

    fn admit(&self, head: &Parts) -> Result<(), Fault> {
        match self.routes.resolve(head.uri.path()) {
            Some(_) => Ok(()),
            None => Err(self.unknown(head.uri.path())),
        }
    }

    fn decide<'a>(
        &'a self,
        head: &'a Parts,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        Box::pin(self.exchange(head, body))
    }
}

impl Routed {
    async fn exchange(&self, head: &Parts, body: Bytes) -> Decision {
        let Some(Resolved { upstream, rest, key }) = self.routes.resolve(head.uri.path()) else {
            return Decision::Refuse(self.unknown(head.uri.path()));
        };
        let request = HttpRequest {
            method: head.method.as_str(),
            path: if rest.is_empty() { "/" } else { rest },
            query: head.uri.query().unwrap_or_default(),
            body: &body,
        };
        let control = headers::control(&head.headers);
        let recording = match self.exchange.begin(&upstream, request, &control, key).await {
            HttpTurn::Replay(playback) => return Decision::Play(playback),
            HttpTurn::Refused(error) => return Decision::Refuse(Fault::of(&error)),
            HttpTurn::Live => None,
            HttpTurn::Record(recording) => Some(recording),
        };
        Decision::Forward(Box::new(Outgoing::new(upstream, head, rest, body)), recording)
    }

    fn unknown(&self, path: &str) -> Fault {
        let message = format!(
            "no upstream belongs to the path {path}; known prefixes: {}; others are registered with base_url_for",
            self.routes.known()
        );
        Fault::new(StatusCode::NOT_FOUND, "vcr_unknown_path", message)
    }
}
