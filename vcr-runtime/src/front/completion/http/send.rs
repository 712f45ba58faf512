//! One call: the request into the provider's form, the head of the answer, an error body.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName};
use reqwest::Url;
use tokio::time::Instant;

use super::answer::{AnswerStream, Body, Deadlines};
use super::providers::{KeyHeader, Route, route};
use super::upstream::HttpSettings;
use crate::config::{Environment, ProjectFile};
use crate::front::completion::{Delta, Reply, Request};
use crate::front::gateway::{is_loopback, plain_client, transport_fault};
use crate::identity::Place;
use crate::json::{Json, compact, parse};
use crate::protocol::{Event, Wire};
use crate::session::Failure;

pub(super) async fn call(settings: Arc<HttpSettings>, request: Request) -> Result<Reply, Failure> {
    let canonical = request.into_canonical();
    let provider = canonical.provider.clone();
    let route = route(&provider, &*project()?)?;
    let base = settings.bases.get(&provider).unwrap_or(&route.base);
    let ask = route.wire.ask(&canonical).map_err(|why| {
        let message = format!("this request cannot be sent to {provider}: {why}");
        Failure::new("UnsupportedRequest", message)
    })?;
    let headers = headers(&settings, &route, &provider)?;
    let url = Url::parse(&format!("{base}{}", ask.path)).map_err(|error| {
        Failure::new(
            "ConfigError",
            format!("the address of {provider} cannot be used: {error}"),
        )
    })?;
    let deadlines = Deadlines::new(provider, settings.total, settings.idle);
    let request = client(&settings, &url)?
        .post(url)
        .headers(headers)
        .body(compact(&ask.body))
        .send();
    let response = deadlines
        .guard(request)
        .await?
        .map_err(|error| deadlines.transport(error, settings.connect))?;
    answer(route.wire, response, deadlines, canonical.stream()).await
}

/// `vcr.toml` of the package that runs.
fn project() -> Result<Arc<ProjectFile>, Failure> {
    let environment = Environment::process();
    let place = Place::at_run_time(environment);
    let manifest = environment.manifest_dir(place.manifest_dir);
    ProjectFile::load(manifest).map_err(|error| Failure::new("ConfigError", error.to_string()))
}

fn headers(settings: &HttpSettings, route: &Route, provider: &str) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in route.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.extend(settings.headers.clone());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // Said aloud: without the header a server may pick any coding it likes.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let found = route.keys.iter().find_map(|name| {
        let key = (settings.key)(name)?.trim().to_owned();
        (!key.is_empty()).then_some((name, key))
    });
    let Some((variable, key)) = found else {
        return if route.key_needed {
            Err(missing(route, provider))
        } else {
            Ok(headers)
        };
    };
    let (name, text) = match route.key_header {
        KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
        KeyHeader::Named(name) => (HeaderName::from_static(name), key),
    };
    // The text of the key stays out of every message.
    let mut value = HeaderValue::from_str(&text).map_err(|_| {
        let message = format!("{variable} holds characters that no key of {provider} has");
        Failure::new("AuthenticationError", message).with_code("unusable_key")
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

fn missing(route: &Route, provider: &str) -> Failure {
    let message = format!(
        "{provider} wants a key, and {} is not set; set it to record, or replay, which needs none",
        route.keys.join(" or ")
    );
    Failure::new("AuthenticationError", message).with_code("missing_key")
}

/// The client, made when the first call goes live. It keeps no connection for later: those live on the runtime that
/// opened them, and each test has a runtime of its own.
fn client<'s>(settings: &'s HttpSettings, url: &Url) -> Result<&'s reqwest::Client, Failure> {
    let direct = url.host_str().is_some_and(is_loopback);
    settings.clients[usize::from(direct)]
        .get_or_try_init(|| {
            let builder = plain_client(direct).pool_max_idle_per_host(0);
            builder.connect_timeout(settings.connect).build()
        })
        .map_err(|error| Failure::new("ConfigError", transport_fault(error).1))
}

async fn answer(
    wire: &'static dyn Wire,
    response: reqwest::Response,
    deadlines: Deadlines,
    stream: bool,
) -> Result<Reply, Failure> {
    let status = response.status().as_u16();
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let success = response.status().is_success();
    let mut body = Body::new(response, deadlines);
    if success && let Some(framing) = wire.framing(content_type.as_deref()) {
        let answer = AnswerStream::new(wire, framing, body);
        return Ok(Reply::stream(answer));
    }
    let bytes = body.whole().await?;
    let document = std::str::from_utf8(&bytes).ok().and_then(|text| parse(text).ok());
    let Some(document) = document else {
        return Err(unreadable(status, success, content_type.as_deref(), &bytes));
    };
    let (events, error) = read(wire, status, &document);
    match error {
        Some(failure) => Err(failure),
        None if !success => Err(unreadable(status, success, content_type.as_deref(), &bytes)),
        None if stream && events.is_empty() => Err(Failure::new(
            "UnreadableAnswer",
            "a stream was asked for, and a body without an answer came",
        )),
        None => Ok(Reply::from(events)),
    }
}

fn read(wire: &'static dyn Wire, status: u16, document: &Json) -> (Vec<Delta>, Option<Failure>) {
    let mut events = Vec::new();
    wire.unary(status, document, &mut events);
    let mut deltas = Vec::with_capacity(events.len());
    for event in events {
        match event {
            Event::Error(error) => {
                let mut failure = Failure::from(error);
                failure.status = failure.status.or((status >= 400).then_some(status));
                return (Vec::new(), Some(failure));
            }
            event => deltas.push(Delta(event)),
        }
    }
    (deltas, None)
}

/// So much of a body is quoted in a message.
const EXCERPT: usize = 300;

fn unreadable(status: u16, success: bool, content_type: Option<&str>, bytes: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(bytes);
    let mut excerpt: String = text.trim().chars().take(EXCERPT).collect();
    if excerpt.len() < text.trim().len() {
        excerpt.push('…');
    }
    let kind = content_type.unwrap_or("no content type");
    if success {
        let message = format!("the answer is none of the provider's ({kind}): {excerpt}");
        return Failure::new("UnreadableAnswer", message).with_status(status);
    }
    let message = if excerpt.is_empty() {
        format!("an empty body ({kind})")
    } else {
        excerpt
    };
    Failure::new("HttpError", message).with_status(status)
}

impl Deadlines {
    /// A failure to connect or to go on.
    pub(super) fn transport(&self, error: reqwest::Error, connect: Duration) -> Failure {
        let (kind, message) = transport_fault(error);
        let provider = self.provider();
        match kind {
            "timeout" => {
                let message = format!("no connection to {provider} within {connect:?}");
                Failure::new("TimeoutError", message).with_code("connect_timeout")
            }
            kind => {
                let message = format!("no answer from {provider}: {message}");
                Failure::new("ConnectionError", message).with_code(kind)
            }
        }
    }

    /// Waits for the head of the answer.
    async fn guard<F: Future>(&self, future: F) -> Result<F::Output, Failure> {
        let now = Instant::now();
        let (at, failure) = self.next(now);
        tokio::time::timeout_at(at, future).await.map_err(|_| failure)
    }
}
