//! Any asynchronous call with serde types, recorded and replayed as it is.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::access::{Access, access};
use crate::error::{Error, ErrorKind};
use crate::json::{self, Json, Object, compact};
use crate::model::{CanonicalRequest, RawBody};
use crate::protocol::{self, Event, WireError};
use crate::scope::Home;
use crate::session::{CallRecorder, Ending, Evidence, Failure, Played, Session, Turn, Wired};

/// Why an intercepted call has no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum InterceptError<E> {
    /// The call itself failed, live.
    Live(E),
    /// The call had failed when it was recorded; the class is the name of the error's type, the message its text.
    Replayed(Failure),
    /// The recorder itself: a miss, no session, a broken cassette. It fails the test even when it is swallowed.
    Vcr(Error),
}

impl<E: fmt::Display> fmt::Display for InterceptError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live(error) => error.fmt(formatter),
            Self::Replayed(failure) => failure.fmt(formatter),
            Self::Vcr(error) => error.fmt(formatter),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for InterceptError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Live(error) => Some(error),
            Self::Replayed(failure) => Some(failure),
            Self::Vcr(error) => Some(error),
        }
    }
}

impl<E> From<Error> for InterceptError<E> {
    fn from(error: Error) -> Self {
        Self::Vcr(error)
    }
}

/// Records or replays any asynchronous call, in whichever session the calling code belongs to.
///
/// `request` is what the call is matched by: it should hold everything that decides the answer. An object with `model`
/// and `messages` is kept as a completion request, anything else as it is. `live` makes the call; in replay it never runs.
/// Outside every session, in a process that has none, `live` simply runs.
///
/// ```
/// # async fn run() -> Result<(), vcr_runtime::InterceptError<std::io::Error>> {
/// let request = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
/// let answer: String = vcr_runtime::intercept(&request, || async {
///     // … ask your client …
///     Ok::<_, std::io::Error>("hello".to_owned())
/// })
/// .await?;
/// # let _ = answer;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The call's own error, or what the recorder says; see [`InterceptError`].
pub async fn intercept<Q, T, E, F, Fut>(request: &Q, live: F) -> Result<T, InterceptError<E>>
where
    Q: Serialize + ?Sized,
    T: Serialize + DeserializeOwned,
    E: fmt::Display,
    F: FnOnce() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    intercept_in(None, request, live).await
}

pub(crate) async fn intercept_in<Q, T, E, F, Fut>(
    home: Option<Home>,
    request: &Q,
    live: F,
) -> Result<T, InterceptError<E>>
where
    Q: Serialize + ?Sized,
    T: Serialize + DeserializeOwned,
    E: fmt::Display,
    F: FnOnce() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let none = Object::new();
    let (Home { session, key }, own) = match access(home.as_ref(), &none)? {
        Access::Live => return live().await.map_err(InterceptError::Live),
        Access::Session(home) => (home, None),
        Access::OneCall(own) => (Home::of(Arc::clone(&own.0)), Some(own)),
    };
    let request =
        json::from_serialize(request).map_err(|error| session.fault(unserialisable("request", &error)))?;
    let answer = match session.begin(canonical(request), None, &none, key.as_deref())? {
        Turn::Live => live().await.map_err(InterceptError::Live),
        Turn::Record(call) => {
            let answer = live().await;
            record(call, &answer).map_err(|error| session.fault(error))?;
            answer.map_err(InterceptError::Live)
        }
        Turn::Replay(played) => replay(&session, played).await,
    };
    if let Some(own) = own {
        own.finish()?;
    }
    answer
}

fn canonical(request: Json) -> CanonicalRequest {
    let mut canonical = CanonicalRequest {
        protocol: "intercept".to_owned(),
        provider: "intercept".to_owned(),
        ..CanonicalRequest::default()
    };
    let parameters = &mut canonical.parameters;
    parameters.push("temperature", Json::Null);
    parameters.push("max_tokens", Json::Null);
    parameters.push("stream", false);
    match request {
        Json::Object(mut members)
            if members
                .get("messages")
                .is_some_and(|value| value.as_array().is_some()) =>
        {
            if let Some(Json::String(model)) = members.get("model").cloned() {
                members.remove("model");
                canonical.model = model;
            }
            if let Some(Json::Array(messages)) = members.remove("messages") {
                canonical.messages = messages;
            }
            for (name, value) in members {
                parameters.set(name, value);
            }
        }
        other => parameters.push("request", other),
    }
    canonical
}

fn record<T: Serialize, E: fmt::Display>(mut call: CallRecorder, answer: &Result<T, E>) -> Result<(), Error> {
    let at_us = call.now_us();
    call.touch(at_us);
    let (ending, evidence) = match answer {
        Ok(value) => {
            let body = json::from_serialize(value).map_err(|error| unserialisable("answer", &error))?;
            call.unary(said(&body));
            let bytes = compact(&body).into_bytes();
            (
                Ending::Clean { complete: true },
                Evidence::Body {
                    offset_us: at_us,
                    bytes,
                },
            )
        }
        Err(error) => {
            let name = std::any::type_name::<E>();
            let failure = WireError {
                error_type: name.rsplit("::").next().unwrap_or(name).to_owned(),
                message: error.to_string(),
                ..WireError::default()
            };
            (Ending::Failed(failure), Evidence::Nothing)
        }
    };
    call.finish(
        ending,
        Wired {
            evidence,
            ..Wired::default()
        },
    );
    Ok(())
}

/// What people will want to read in the timeline: a string as text, an OpenAI-shaped body as what it says.
fn said(body: &Json) -> Vec<Event> {
    let mut events = Vec::new();
    match body {
        Json::String(text) => events.push(Event::Text {
            choice: 0,
            text: text.clone(),
        }),
        Json::Object(members) if members.get("choices").is_some() => {
            if let Some(wire) = protocol::find("openai-chat") {
                wire.unary(200, body, &mut events);
            }
        }
        _ => {}
    }
    events
}

async fn replay<T: DeserializeOwned, E>(session: &Session, played: Played) -> Result<T, InterceptError<E>> {
    let total = std::time::Duration::from_micros(played.call.metrics.map_or(0, |metrics| metrics.total_us));
    played.pace(1).until(0, total).await;
    if let Some(hang) = &played.hang {
        hang.begin().map_err(|error| session.fault(error))?;
        std::future::pending::<()>().await;
    }
    let call = &played.call;
    if let Some(boundary) = &call.boundary {
        return Err(InterceptError::Replayed(Failure::from_boundary(boundary)));
    }
    let text = match call.raw.as_ref().map(|raw| &raw.body) {
        Some(RawBody::Unary(body)) => body.text().to_string(),
        // What has no other form in a cassette, such as `null`.
        Some(RawBody::Transcript(pieces)) => {
            let bytes: Vec<u8> = pieces
                .iter()
                .flat_map(|piece| piece.bytes.iter().copied())
                .collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        // Written by hand: the text of the timeline is the answer.
        _ => compact(&Json::String(
            call.frames.views().map(|frame| frame.chunk).collect(),
        )),
    };
    serde_json::from_str(&text).map_err(|error| {
        // The reason quotes the answer.
        let reason = match played.settings.private {
            true => String::new(),
            false => format!(": {error}"),
        };
        session
            .fault(Error::new(
                ErrorKind::CassetteBroken,
                format!(
                    "the recorded answer of call {} does not fit the type {}{reason}",
                    played.index + 1,
                    std::any::type_name::<T>()
                ),
                "record it again with VCR_MODE=record",
            ))
            .into()
    })
}

fn unserialisable(what: &str, error: &serde_json::Error) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("the intercepted {what} has no JSON form: {error}"),
        "intercept with types whose map keys are strings",
    )
}
