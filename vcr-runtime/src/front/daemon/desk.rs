//! What stands behind the daemon's server: every request, from its control members to a decision.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Uri};

use crate::config::{Mode, Settings};
use crate::front::gateway::{Answer, Backend, Decision, Fault, Outgoing, interface, is_loopback};
use crate::observe;
use crate::protocol::HttpRequest;
use crate::session::{End, HttpTurn, Recording, Session, Upstream, wanted_models, writes};
use crate::source::Remedy;

use super::config::RenderMetrics;
use super::control::Control;
use super::fault::{foreign_origin, refusal, unknown_path};
use super::models;
use super::own;
use super::routes::{Routes, Target};
use super::scenes::{Asked, Call, Scenes};
use super::terms::{NOWHERE, Terms, names_one, says_mode};

/// The daemon's side of its server.
pub(super) struct Desk {
    pub(super) terms: Terms,
    pub(super) routes: Routes,
    pub(super) scenes: Scenes,
    pub(super) body_limit: usize,
    pub(super) metrics: Option<RenderMetrics>,
}

impl Backend for Desk {
    fn body_limit(&self) -> usize {
        self.body_limit
    }

    fn admit(&self, head: &Parts) -> Result<(), Fault> {
        let path = head.uri.path();
        let origin = head.headers.get(http::header::ORIGIN);
        let fault = if !origin.is_none_or(|origin| origin.to_str().is_ok_and(is_local_origin)) {
            foreign_origin()
        } else if own::is_own(path, self.metrics.is_some()) || self.routes.leads(path) {
            return Ok(());
        } else {
            unknown_path(path, &self.routes.known())
        };
        observe::rejected(interface(path), fault.code);
        Err(fault)
    }

    fn decide<'a>(
        &'a self,
        head: &'a Parts,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        Box::pin(async move {
            self.take(head, body).await.unwrap_or_else(|fault| {
                observe::rejected(interface(head.uri.path()), fault.code);
                Decision::Refuse(fault)
            })
        })
    }
}

impl Desk {
    async fn take(&self, head: &Parts, body: Bytes) -> Result<Decision, Fault> {
        let path = head.uri.path();
        if own::is_own(path, self.metrics.is_some()) {
            return own::answer(self, head, body).await.map(Decision::Answer);
        }
        let Some(target) = self.routes.target(path) else {
            return Err(unknown_path(path, &self.routes.known()));
        };
        let is_json = target.wire.is_some() && head.method == Method::POST;
        let control = Control::read(&head.headers, body, is_json)?;
        let asked = self.terms.of(&control.members).map_err(|error| refusal(&error))?;
        let mode = asked.settings.effective_mode();
        let passes = mode == Mode::Live && says_mode(&control.members);
        if !passes
            && !writes(mode)
            && let Some(wanted) = wanted_models(head.method.as_str(), path)
        {
            return self.models(&control, &asked, wanted).await.map(Decision::Answer);
        }
        if mode == Mode::Live {
            observe::call(interface(path), observe::Outcome::Live);
            return Ok(self.forward(head, target, control, None));
        }
        let call = self.scenes.enter(&asked, || self.session(&asked)).await?;
        match self.begin(&call, head, &target, &control, &asked.settings).await {
            HttpTurn::Replay(playback) => Ok(Decision::Play(playback)),
            HttpTurn::Refused(error) => Ok(Decision::Refuse(refusal(&error))),
            HttpTurn::Live => Ok(self.forward(head, target, control, None)),
            HttpTurn::Record(recording) => {
                let recording = Box::new(Held { recording, call });
                Ok(self.forward(head, target, control, Some(recording)))
            }
        }
    }

    fn session(&self, asked: &Asked) -> Session {
        let settings = Arc::clone(&asked.settings);
        Session::with(self.terms.around.clone(), NOWHERE, settings, Remedy::Request)
    }

    /// Asks the session. Where that may read a file it is done on another thread, so that the others' answers go on.
    async fn begin(
        &self,
        call: &Call,
        head: &Parts,
        target: &Target<'_>,
        control: &Control,
        settings: &Arc<Settings>,
    ) -> HttpTurn {
        let session = call.session();
        let named = settings.scenario.is_some() || settings.filename.is_some();
        let body = control.to_match(target.wire.is_some());
        if named && call.is_warm() {
            let rest = if target.rest.is_empty() { "/" } else { target.rest };
            let request = HttpRequest {
                method: head.method.as_str(),
                path: rest,
                query: head.uri.query().unwrap_or_default(),
                body: &body,
            };
            return session.http_turn(&target.upstream, &request, Ok(Arc::clone(settings)));
        }
        let cold = Cold {
            session: Arc::clone(session),
            settings: Arc::clone(settings),
            upstream: Arc::clone(&target.upstream),
            method: head.method.clone(),
            path: if target.rest.is_empty() { "/" } else { target.rest }.to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            body,
        };
        let turn = tokio::task::spawn_blocking(move || cold.begin()).await;
        call.warm_up();
        turn.unwrap_or_else(|error| {
            HttpTurn::Refused(crate::error::Error::new(
                crate::error::ErrorKind::Gateway,
                format!("the session did not answer: {error}"),
                "this is a fault of the daemon; please report it",
            ))
        })
    }

    fn forward(
        &self,
        head: &Parts,
        target: Target<'_>,
        mut control: Control,
        recording: Option<Box<dyn Recording>>,
    ) -> Decision {
        let mut upstream = Arc::clone(&target.upstream);
        let model = control.model.take();
        let named = model
            .as_deref()
            .and_then(|model| self.routes.by_model(&target, model));
        let body = control.into_forward(named.as_ref().map(|(_, model)| *model));
        if let Some((other, _)) = named {
            upstream = other;
        }
        let outgoing = Outgoing::new(upstream, head, target.rest, body);
        Decision::Forward(Box::new(outgoing), recording)
    }

    async fn models(
        &self,
        control: &Control,
        asked: &Asked,
        wanted: Option<String>,
    ) -> Result<Answer, Fault> {
        let place = if names_one(&control.members) && asked.place.is_file() {
            asked.place.clone()
        } else {
            asked
                .settings
                .fixture_dir
                .clone()
                .unwrap_or_else(|| self.terms.fixtures.clone())
        };
        let answer = tokio::task::spawn_blocking(move || models::answer(&place, wanted.as_deref()));
        answer.await.unwrap_or_else(|error| {
            let message = format!("the recordings could not be read: {error}");
            Err(Fault::new(http::StatusCode::CONFLICT, "vcr_error", message))
        })
    }
}

/// A request on its way to another thread.
struct Cold {
    session: Arc<Session>,
    settings: Arc<Settings>,
    upstream: Arc<Upstream>,
    method: Method,
    path: String,
    query: String,
    body: Bytes,
}

impl Cold {
    fn begin(self) -> HttpTurn {
        let request = HttpRequest {
            method: self.method.as_str(),
            path: &self.path,
            query: &self.query,
            body: &self.body,
        };
        self.session
            .http_turn(&self.upstream, &request, Ok(self.settings))
    }
}

/// A recording that keeps its scene from ending.
#[derive(Debug)]
struct Held {
    recording: Box<dyn Recording>,
    call: Call,
}

impl Recording for Held {
    fn head(&mut self, status: u16, headers: &[(String, String)]) {
        self.recording.head(status, headers);
    }

    fn bytes(&mut self, piece: &[u8]) -> ControlFlow<usize> {
        self.recording.bytes(piece)
    }

    fn end(self: Box<Self>, end: End) {
        let Self { recording, call } = *self;
        recording.end(end);
        drop(call);
    }
}

/// Whether a page of that origin came from this machine. Browsers let any page send simple requests to loopback.
fn is_local_origin(origin: &str) -> bool {
    let uri: Option<Uri> = origin.parse().ok();
    uri.is_some_and(|uri| uri.host().is_some_and(is_loopback))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_machine_may_ask() {
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1",
            "https://[::1]:8443",
            "http://app.localhost",
        ] {
            assert!(is_local_origin(origin), "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://localhost.evil.example",
            "",
            "http://10.0.0.1",
        ] {
            assert!(!is_local_origin(origin), "{origin}");
        }
    }
}
