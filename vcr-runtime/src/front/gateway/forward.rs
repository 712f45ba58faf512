//! The streaming reverse proxy: one call to the upstream, its answer passed on as it comes.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http::{Method, Response};
use http_body::Body;
use once_cell::sync::OnceCell;
use reqwest::{Client, Url};

use super::backend::{Fault, Outgoing};
use super::encoding::Coding;
use super::flushed::Flushed;
use super::headers;
use super::patience::Patience;
use super::respond::{Reply, assemble};
use super::route::is_loopback;
use super::tee::{Forwarded, Tee};
use crate::observe;
use crate::session::{End, Recording, Upstream};

/// Without a bound a dead host would hold a test for minutes. The caller's own time limits come first. On this machine a
/// port answers or refuses at once, and a timer for it would wake the gateway's thread twice a call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Well below what load balancers keep: a call on a connection that is closing fails, and would be recorded so.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no answer, or no more of it. Names neither key nor query.
pub(super) struct Failure {
    error_type: &'static str,
    message: String,
}

/// Forwards a call. Every way out ends the recording: here, in the body, or by dropping it. `refused` renders a fault for
/// the caller.
pub(super) async fn forward(
    call: Outgoing,
    recording: Option<Box<dyn Recording>>,
    flushed: Arc<Flushed>,
    refused: impl Fn(&Fault) -> Response<Reply>,
) -> Response<Reply> {
    let mut tee = Tee::new(recording);
    let upstream = Arc::clone(&call.upstream);
    let keep_length = call.method == Method::HEAD;
    let mut patience = Patience::of(call.limit);
    let answer = match patience.over(send(call)).await {
        Ok(Ok(answer)) => answer,
        Err(failure) | Ok(Err(failure)) => return refused(&bad_gateway(&upstream, tee, failure)),
    };

    let (
        Parts {
            status,
            headers: head,
            ..
        },
        body,
    ) = Response::<reqwest::Body>::from(answer).into_parts();
    let empty = body.is_end_stream();
    let decoding = match Coding::of(&head) {
        Coding::Known(decoding) if !empty => Some(decoding),
        // The bytes could be kept, but never read, compared or edited, and would be replayed to callers that did not
        // ask for them. Passing through without recording them is no trouble.
        Coding::Unknown(name) if !empty && tee.is_recording() => {
            return refused(&bad_gateway(&upstream, tee, Failure::unreadable(&name)));
        }
        Coding::Plain | Coding::Known(_) | Coding::Unknown(_) => None,
    };

    let mut plain = head;
    if decoding.is_some() {
        plain.remove(http::header::CONTENT_ENCODING);
        plain.remove(http::header::CONTENT_LENGTH);
    }
    if tee.is_recording() {
        tee.head(status.as_u16(), &headers::as_pairs(&plain));
    }
    let passed = headers::for_caller(&plain, keep_length);
    if empty {
        tee.end(End::Complete);
        return assemble(status, passed, Reply::whole(Bytes::new()));
    }
    let body = Forwarded::new(body, decoding, tee, flushed, patience);
    assemble(status, passed, Reply::forwarded(body))
}

async fn send(call: Outgoing) -> Result<reqwest::Response, Failure> {
    let url = Url::parse(&format!("{}{}", call.upstream.base, call.tail))
        .map_err(|error| Failure::connect(format!("the upstream's URL cannot be used: {error}")))?;
    let client = match &call.client {
        Some(client) => client,
        None => client(url.host_str().is_some_and(is_loopback)).map_err(Failure::of)?,
    };
    let mut request = client.request(call.method, url).headers(call.headers);
    if !call.body.is_empty() {
        request = request.body(call.body);
    }
    request.send().await.map_err(Failure::of)
}

/// The client of this process; used on the gateway's own runtime only, since its connections live there.
fn client(direct: bool) -> reqwest::Result<&'static Client> {
    static PROXIED: OnceCell<Client> = OnceCell::new();
    static DIRECT: OnceCell<Client> = OnceCell::new();
    let cell = if direct { &DIRECT } else { &PROXIED };
    // One on this machine answers at once or not at all, and a timer costs more than the connection.
    cell.get_or_try_init(|| client_of(direct, (!direct).then_some(CONNECT_TIMEOUT)))
}

/// A client for upstreams. `direct` ones are on this machine.
pub(in crate::front) fn client_of(
    direct: bool,
    connect_timeout: Option<Duration>,
) -> reqwest::Result<Client> {
    let mut builder = plain_client(direct);
    if let Some(limit) = connect_timeout {
        builder = builder.connect_timeout(limit);
    }
    if direct {
        // Mock servers close connections without a word, and a new one costs nothing on this machine.
        builder.pool_max_idle_per_host(0).build()
    } else {
        builder.pool_idle_timeout(IDLE_TIMEOUT).build()
    }
}

/// A client that hands answers on as they are. `direct` ones pass every proxy by.
pub(in crate::front) fn plain_client(direct: bool) -> reqwest::ClientBuilder {
    // Features of reqwest that somebody else in the build turns on must not change what is recorded.
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .http1_only()
        .tcp_nodelay(true);
    if direct { builder.no_proxy() } else { builder }
}

/// The class of a transport fault and its message, which names no URL.
pub(in crate::front) fn transport_fault(error: reqwest::Error) -> (&'static str, String) {
    let failure = Failure::of(error);
    (failure.error_type, failure.message)
}

fn bad_gateway(upstream: &Upstream, mut tee: Tee, failure: Failure) -> Fault {
    let message = format!(
        "{} gave no answer that can be passed on ({}): {}",
        upstream.base, failure.error_type, failure.message
    );
    observe::unreachable(failure.error_type);
    tee.end(failure.into());
    Fault::unreachable(message)
}

impl Failure {
    pub(super) fn of(error: reqwest::Error) -> Self {
        let error_type = if error.is_timeout() {
            "timeout"
        } else if error.is_connect() {
            "connect"
        } else if chain(&error).any(is_reset) {
            "reset"
        } else {
            "body"
        };
        // The URL may hold a key.
        let error = error.without_url();
        let mut message = error.to_string();
        for cause in chain(&error).skip(1).map(ToString::to_string) {
            if !message.ends_with(&cause) {
                message = format!("{message}: {cause}");
            }
        }
        Self { error_type, message }
    }

    pub(super) fn of_coding(error: &io::Error) -> Self {
        Self {
            error_type: "body",
            message: format!("the body does not fit its content-encoding: {error}"),
        }
    }

    pub(super) fn timeout(message: String) -> Self {
        Self {
            error_type: "timeout",
            message,
        }
    }

    fn connect(message: String) -> Self {
        Self {
            error_type: "connect",
            message,
        }
    }

    fn unreadable(coding: &str) -> Self {
        Self {
            error_type: "body",
            message: format!(
                "it answered with content-encoding {coding} although identity was asked for; \
                 such an answer cannot be recorded, switch its compression off"
            ),
        }
    }
}

impl Failure {
    /// The class, for logs and metrics.
    pub(super) fn class(&self) -> &'static str {
        self.error_type
    }
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            error_type: failure.error_type.to_owned(),
            message: failure.message,
        }
    }
}

fn chain<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The peer was there and is gone: a reset, or an end where an answer should begin.
fn is_reset(error: &(dyn StdError + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        return matches!(error.kind(), ConnectionReset | ConnectionAborted | BrokenPipe);
    }
    error
        .downcast_ref::<hyper::Error>()
        .is_some_and(|error| error.is_incomplete_message() || error.is_canceled())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_clients_for_both_kinds_of_upstream_can_be_built() {
        for direct in [false, true] {
            client(direct).unwrap();
        }
    }
}
