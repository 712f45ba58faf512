//! A session as the engine behind an HTTP front.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use super::exchange::{Exchange, HttpTurn, PlaybackBody, Upstream};
use super::http_recorder::HttpRecorder;
use super::play::Asked;
use super::session::{Session, Turn, asked};
use crate::config::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::observe;
use crate::protocol::{self, HttpRequest, Wire};

/// A front holds its session weakly: the session owns the front.
impl Exchange for Weak<Session> {
    fn begin<'a>(
        &'a self,
        upstream: &'a Upstream,
        request: HttpRequest<'a>,
        control: &'a [(String, String)],
        key: Option<Arc<str>>,
    ) -> Pin<Box<dyn Future<Output = HttpTurn> + Send + 'a>> {
        let Some(session) = self.upgrade() else {
            return Box::pin(std::future::ready(HttpTurn::Refused(Error::new(
                ErrorKind::Ended,
                "a call came after its session was dropped",
                "keep the `Vcr` handle until the last call is answered",
            ))));
        };
        let control = control_headers(control.iter().map(|(name, value)| (&**name, &**value)));
        let settings = session.settings_of(&control);
        if let Ok(settings) = &settings
            && let Some(listing) = session.listing(upstream, &request, settings)
        {
            return Box::pin(std::future::ready(HttpTurn::Replay(listing)));
        }
        let understood = session.understand(upstream, &request);
        if settings
            .as_ref()
            .map_or(true, |settings| session.is_ready(settings))
        {
            return Box::pin(std::future::ready(session.answer(
                understood,
                settings,
                key.as_deref(),
            )));
        }
        // A cassette may be big, and its disk slow: other tests' calls must not wait for it.
        Box::pin(async move {
            let turn =
                tokio::task::spawn_blocking(move || session.answer(understood, settings, key.as_deref()))
                    .await;
            turn.unwrap_or_else(|_| {
                HttpTurn::Refused(Error::new(
                    ErrorKind::Gateway,
                    "the cassette could not be opened, because the gateway is going down",
                    "await the call before the test returns",
                ))
            })
        })
    }
}

/// A request as the session understands it.
struct Understood {
    wire: Option<&'static dyn Wire>,
    request: CanonicalRequest,
    /// Whether what was read from the body need not be searched for secrets string by string.
    is_clean: bool,
}

impl Session {
    /// Decides about an HTTP request, by its settings where they could be read.
    pub(crate) fn http_turn(
        &self,
        upstream: &Upstream,
        http: &HttpRequest<'_>,
        settings: Result<Arc<Settings>>,
    ) -> HttpTurn {
        self.answer(self.understand(upstream, http), settings, None)
    }

    fn understand(&self, upstream: &Upstream, http: &HttpRequest<'_>) -> Understood {
        let known = self.providers().recognise(&upstream.base, http);
        let (wire, mut request): (Option<&'static dyn Wire>, _) = match known {
            Some((wire, request)) => (Some(wire), request),
            None => (None, protocol::plain_request(http)),
        };
        // A provider of the project's own has the name that the project gave it.
        let is_own = wire.is_some_and(|wire| protocol::find(wire.name()).is_none());
        if !upstream.provider.is_empty() && !is_own {
            request.provider.clone_from(&upstream.provider);
        }
        // A protocol takes nothing but the model from elsewhere; a plain call has a query.
        let is_clean = wire.is_some() && self.redactor().is_plain_request(http.body);
        Understood {
            wire,
            request,
            is_clean,
        }
    }

    fn answer(&self, understood: Understood, settings: Result<Arc<Settings>>, key: Option<&str>) -> HttpTurn {
        let Understood {
            wire,
            request,
            is_clean,
        } = understood;
        let question = Asked::of(&request, wire);
        match self.begin_with(request, wire, settings, key, is_clean) {
            Err(error) => HttpTurn::Refused(error),
            Ok(Turn::Live) => HttpTurn::Live,
            Ok(Turn::Record(call)) => HttpTurn::Record(Box::new(HttpRecorder::new(call, wire))),
            Ok(Turn::Replay(played)) => {
                let playback = played.http(&question);
                if let PlaybackBody::Pieces(pieces) = &playback.body {
                    observe::stream(asked(wire), pieces.len(), !playback.pace.is_immediate());
                }
                HttpTurn::Replay(playback)
            }
        }
    }
}

/// The `x-vcr-…` headers of a request as control members: `x-vcr-target-trace` is `vcr_target_trace`.
/// Names come in lower case. `x-vcr` alone is the mode.
pub(crate) fn control_headers<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>) -> Object {
    headers
        .filter_map(|(name, value)| {
            let rest = name.strip_prefix("x-vcr")?;
            let name = match rest.strip_prefix('-') {
                Some(rest) => format!("vcr_{}", rest.replace('-', "_")),
                None if rest.is_empty() => "vcr_mode".to_owned(),
                None => return None,
            };
            Some((name, Json::from(value)))
        })
        .collect()
}
