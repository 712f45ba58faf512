//! A session as the engine behind an HTTP front.

use std::future::Future;
use std::pin::Pin;
use std::sync::Weak;

use super::exchange::{Exchange, HttpTurn, Upstream};
use super::http_recorder::HttpRecorder;
use super::session::{Session, Turn};
use crate::error::{Error, ErrorKind};
use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::{self, HttpRequest, Wire};

/// A front holds its session weakly: the session owns the front.
impl Exchange for Weak<Session> {
    fn begin<'a>(
        &'a self,
        upstream: &'a Upstream,
        request: HttpRequest<'a>,
        headers: &'a [(String, String)],
    ) -> Pin<Box<dyn Future<Output = HttpTurn> + Send + 'a>> {
        let Some(session) = self.upgrade() else {
            return Box::pin(std::future::ready(HttpTurn::Refused(Error::new(
                ErrorKind::Ended,
                "a call came after its session was dropped",
                "keep the `Vcr` handle until the last call is answered",
            ))));
        };
        let asked = session.asked(upstream, &request, headers);
        if session.is_ready(&asked.control) {
            return Box::pin(std::future::ready(session.http_turn(asked)));
        }
        // A cassette may be big, and its disk slow: other tests' calls must not wait for it.
        Box::pin(async move {
            let turn = tokio::task::spawn_blocking(move || session.http_turn(asked)).await;
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
struct Asked {
    wire: Option<&'static dyn Wire>,
    request: CanonicalRequest,
    control: Object,
}

impl Session {
    fn asked(&self, upstream: &Upstream, http: &HttpRequest<'_>, headers: &[(String, String)]) -> Asked {
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
        Asked {
            wire,
            request,
            control: control(headers),
        }
    }

    fn http_turn(&self, asked: Asked) -> HttpTurn {
        let Asked {
            wire,
            request,
            control,
        } = asked;
        let live = request.clone();
        match self.begin(request, wire, &control) {
            Err(error) => HttpTurn::Refused(error),
            Ok(Turn::Live) => HttpTurn::Live,
            Ok(Turn::Record(call)) => HttpTurn::Record(Box::new(HttpRecorder::new(call, wire))),
            Ok(Turn::Replay(played)) => HttpTurn::Replay(played.http(wire, &live)),
        }
    }
}

/// The `x-vcr-…` headers of a request as control members: `x-vcr-target-trace` is `vcr_target_trace`.
fn control(headers: &[(String, String)]) -> Object {
    headers
        .iter()
        .filter_map(|(name, value)| {
            let rest = name.strip_prefix("x-vcr-")?;
            Some((
                format!("vcr_{}", rest.replace('-', "_")),
                Json::from(value.as_str()),
            ))
        })
        .collect()
}
