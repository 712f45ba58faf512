//! A session as the engine behind an HTTP front.

use std::future::Future;
use std::pin::Pin;
use std::sync::Weak;

use super::exchange::{Exchange, HttpTurn, Upstream};
use super::http_recorder::HttpRecorder;
use super::play::Asked;
use super::session::{Session, Turn};
use crate::error::{Error, ErrorKind};
use crate::json::{Json, Object};
use crate::protocol::{self, HttpRequest, Wire};

/// A front holds its session weakly: the session owns the front.
impl Exchange for Weak<Session> {
    fn begin<'a>(
        &'a self,
        upstream: &'a Upstream,
        request: HttpRequest<'a>,
        control: &'a [(String, String)],
    ) -> Pin<Box<dyn Future<Output = HttpTurn> + Send + 'a>> {
        let turn = match self.upgrade() {
            Some(session) => session.http_turn(upstream, &request, control),
            None => HttpTurn::Refused(Error::new(
                ErrorKind::Ended,
                "a call came after its session was dropped",
                "keep the `Vcr` handle until the last call is answered",
            )),
        };
        Box::pin(std::future::ready(turn))
    }
}

impl Session {
    fn http_turn(
        &self,
        upstream: &Upstream,
        http: &HttpRequest<'_>,
        control: &[(String, String)],
    ) -> HttpTurn {
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
        let asked = Asked::of(&request, wire);
        match Self::begin(self, request, wire, &members(control)) {
            Err(error) => HttpTurn::Refused(error),
            Ok(Turn::Live) => HttpTurn::Live,
            Ok(Turn::Record(call)) => HttpTurn::Record(Box::new(HttpRecorder::new(call, wire))),
            Ok(Turn::Replay(played)) => HttpTurn::Replay(played.http(&asked)),
        }
    }
}

/// The `x-vcr-…` headers of a request as control members: `x-vcr-target-trace` is `vcr_target_trace`.
fn members(control: &[(String, String)]) -> Object {
    control
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
