//! A harness that answers from a cassette.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;

use super::answers;
use super::config::{HarnessConfig, MatchMode, Protocol};
use super::doors;
use super::error::{HarnessError, HarnessResult};
use super::play::{Playable, Timing};
use super::recording::scrubbed;
use super::report::{Counts, Leftover};
use crate::front::gateway::{Answer, Backend, Decision, Fault};
use crate::json::{Json, Object, parse};
use crate::observe::{self, Outcome, Reason};
use crate::redact::Redactor;
use crate::session::PlaybackBody;
use crate::source::spycatcher::{Canonical, Interaction, Matcher, Miss, Order, Pointers, Took, diff};

/// The backend of a replaying harness.
pub(super) struct Replayer {
    protocol: Protocol,
    body_limit: usize,
    ignored: Pointers,
    timing: Timing,
    matcher: Matcher,
    answers: Vec<Playable>,
    /// For each interaction the text of its envelope, where the file has it, and what it is called.
    envelopes: Vec<Option<Box<str>>>,
    summaries: Vec<String>,
    redactor: Option<Arc<Redactor>>,
    pub(super) counts: Arc<Counts>,
}

impl Replayer {
    /// # Errors
    /// An interaction that no request can match, or whose body cannot be served; it is named.
    pub(super) fn of(
        config: &HarnessConfig,
        interactions: Vec<Interaction>,
        redactor: Option<Arc<Redactor>>,
        counts: Arc<Counts>,
    ) -> HarnessResult<Self> {
        let ignored = Pointers::parse(&config.ignored_body_paths)
            .map_err(|error| HarnessError::config(error.to_string()))?;
        let (mut hashes, mut answers, mut envelopes) = (Vec::new(), Vec::new(), Vec::new());
        let mut summaries = Vec::new();
        for (index, mut interaction) in interactions.into_iter().enumerate() {
            let request = &mut interaction.request;
            let envelope = request.canonical.take();
            let stored = request.hash.take().ok_or_else(|| {
                HarnessError::cassette(format!(
                    "interaction {index} has no `stable_hash`, so no request can match it; `stable_hash` of this library computes it"
                ))
            })?;
            let short = stored.get(..8).unwrap_or(&stored);
            summaries.push(format!("{} {} {short}", request.method, request.path));
            hashes.push(match rehashed(request, envelope.as_deref(), &ignored, index)? {
                Some(hash) => hash,
                None => stored,
            });
            envelopes.push(envelope);
            answers.push(Playable::of(interaction, index, config.byte_exact)?);
        }
        let order = match config.match_mode {
            MatchMode::SequentialStrict => Order::Strict,
            MatchMode::Keyed => Order::Keyed,
        };
        Ok(Self {
            protocol: config.protocol,
            body_limit: config.max_body_bytes,
            ignored,
            timing: Timing::of(config),
            matcher: Matcher::new(order, config.allow_repeats, hashes),
            answers,
            envelopes,
            summaries,
            redactor,
            counts,
        })
    }

    /// What nobody asked for.
    pub(super) fn leftovers(&self) -> Vec<Leftover> {
        let summary = |index: usize| self.summaries.get(index).cloned().unwrap_or_default();
        let leftovers = self.matcher.leftovers().into_iter();
        leftovers
            .map(|index| Leftover {
                name: format!("interaction {index}"),
                summary: summary(index),
            })
            .collect()
    }

    fn reply(&self, head: &Parts, body: &Bytes) -> Result<Decision, Fault> {
        let interface = doors::interface(self.protocol, head.uri.path());
        let Some(document) = std::str::from_utf8(body).ok().and_then(|text| parse(text).ok()) else {
            observe::call(interface, Outcome::Malformed);
            return Ok(Decision::Answer(answers::malformed_json()));
        };
        let asked = doors::read(self.protocol, head, body, &document)?;
        let canonical = self.canonical(head, head.uri.query().unwrap_or_default(), document)?;
        let hash = canonical.hash();
        let took = match self.take(&hash, asked.stream) {
            // Secrets were removed before the request was stored, so the search goes on without them.
            Err(miss) => match self.scrubbed(head, body)? {
                Some(clean) if clean.text() != canonical.text() => {
                    let hash = clean.hash();
                    let took = self.take(&hash, asked.stream);
                    tell(interface, &took);
                    return Ok(took.map_or_else(
                        |miss| self.mismatch(&miss, &hash, &clean),
                        |made| made.unwrap_or_else(Decision::Answer),
                    ));
                }
                _ => Err(miss),
            },
            took => took,
        };
        tell(interface, &took);
        Ok(match took {
            Ok(made) => made.unwrap_or_else(Decision::Answer),
            Err(miss) => self.mismatch(&miss, &hash, &canonical),
        })
    }

    fn canonical(&self, head: &Parts, query: &str, document: Json) -> Result<Canonical, Fault> {
        Canonical::of(
            head.method.as_str(),
            head.uri.path(),
            query,
            Some(document),
            &self.ignored,
        )
        .map_err(|error| Fault::new(StatusCode::BAD_REQUEST, "vcr_ignore_path", error.to_string()))
    }

    /// The request as a recording would have stored it.
    fn scrubbed(&self, head: &Parts, body: &Bytes) -> Result<Option<Canonical>, Fault> {
        let Some(redactor) = &self.redactor else {
            return Ok(None);
        };
        let query = redactor.query(head.uri.query().unwrap_or_default());
        let body = scrubbed(body.to_vec(), Some(redactor));
        let document = std::str::from_utf8(&body).ok().and_then(|text| parse(text).ok());
        document
            .map(|document| self.canonical(head, &query, document))
            .transpose()
    }

    /// The answer to a request with that hash. What is refused is not used up.
    fn take(&self, hash: &str, stream: bool) -> Took<Decision, Answer> {
        let took = self.matcher.take(hash, |index| {
            let answer = &self.answers[index];
            if stream && !answer.is_stream() && !answer.answered_whole {
                return Err(answers::error(
                    StatusCode::NOT_IMPLEMENTED,
                    "stream_cassette_required",
                    "the request asks for a stream, and the answer recorded for it is none",
                    Object::new(),
                ));
            }
            if !answer.has_status() {
                let status = answer.status();
                let message =
                    format!("the cassette says that the answer has status {status}, which cannot be sent");
                return Err(answers::error(
                    StatusCode::BAD_GATEWAY,
                    "internal",
                    &message,
                    Object::new(),
                ));
            }
            Ok(Decision::Play(answer.playback(&self.timing)))
        });
        if let Ok(Ok(_)) = took {
            self.counts.note(|report| report.served += 1);
        }
        took
    }

    fn mismatch(&self, miss: &Miss, observed_hash: &str, observed: &Canonical) -> Decision {
        let (position, index, expected_hash, summary) = match miss {
            Miss::Expected(index) => (
                place("expected", "index", *index),
                *index,
                self.matcher.hash(*index),
                self.difference(*index, observed),
            ),
            Miss::Exhausted(count) => (
                place("exhausted", "count", *count),
                *count,
                "",
                format!("cassette-exhausted: all {count} recorded interactions were given out"),
            ),
            Miss::Unknown(count) => (
                place("keyed_miss", "count", *count),
                *count,
                "",
                format!("no-matching-interaction: none of the {count} recorded interactions has this hash"),
            ),
            Miss::Used { count, of_hash } => (
                place("keyed_miss", "count", *count),
                *count,
                "",
                format!(
                    "interaction-already-consumed: all {of_hash} interactions with this hash were given out"
                ),
            ),
        };
        let mut more = Object::new();
        more.push("position", position);
        more.push("expected_hash", expected_hash);
        more.push("observed_hash", observed_hash);
        more.push("diff_summary", summary.as_str());
        self.counts.note(|report| report.mismatches += 1);
        self.counts.fault(HarnessError::RequestMismatch {
            interaction_id: index,
            expected_hash: expected_hash.to_owned(),
            observed_hash: observed_hash.to_owned(),
            diff_summary: summary.clone(),
        });
        let message = format!("the request is not the recorded one: {summary}");
        Decision::Answer(answers::error(
            StatusCode::CONFLICT,
            "request_mismatch",
            &message,
            more,
        ))
    }

    /// What differs from the interaction that is next.
    fn difference(&self, index: usize, observed: &Canonical) -> String {
        let envelope = self
            .envelopes
            .get(index)
            .and_then(|text| parse(text.as_deref()?).ok());
        let Some(mut expected) = envelope.as_ref().and_then(Canonical::stored) else {
            return "the cassette has no canonical request to compare with".to_owned();
        };
        // It was applied when the cassette was loaded, or the harness would not have started.
        let _ = self.ignored.apply(&mut expected.body);
        diff(&expected, observed)
    }
}

/// Tells logs and metrics what came of a request.
fn tell(interface: observe::Asked, took: &Took<Decision, Answer>) {
    let outcome = match took {
        Ok(Ok(_)) => Outcome::Matched,
        Ok(Err(refusal)) if refusal.status == StatusCode::NOT_IMPLEMENTED => Outcome::Missed(Reason::Shape),
        Ok(Err(_)) => Outcome::Failed,
        Err(Miss::Expected(_)) => Outcome::Missed(Reason::OutOfOrder),
        Err(Miss::Exhausted(_)) => Outcome::Missed(Reason::Exhausted),
        Err(Miss::Unknown(_)) => Outcome::Missed(Reason::NoMatch),
        Err(Miss::Used { .. }) => Outcome::Missed(Reason::Consumed),
    };
    observe::call(interface, outcome);
    if let Ok(Ok(Decision::Play(playback))) = took
        && let PlaybackBody::Pieces(pieces) = &playback.body
    {
        observe::stream(interface, pieces.len(), !playback.pace.is_immediate());
    }
}

/// The hash without what is ignored; `None` where that is nothing.
fn rehashed(
    request: &crate::source::spycatcher::Request,
    envelope: Option<&str>,
    ignored: &Pointers,
    index: usize,
) -> HarnessResult<Option<String>> {
    if ignored.is_empty() {
        return Ok(None);
    }
    let broken = |why: &str| HarnessError::cassette(format!("interaction {index} {why}"));
    let stored = envelope.and_then(|text| Canonical::stored(&parse(text).ok()?));
    let mut canonical = match stored {
        Some(canonical) => canonical,
        None => {
            let body = std::str::from_utf8(&request.body)
                .ok()
                .and_then(|text| parse(text).ok());
            let (method, path, query) = (&request.method, &request.path, &request.query);
            Canonical::of(method, path, query, body, &Pointers::default())
                .map_err(|error| broken(&error.to_string()))?
        }
    };
    ignored
        .apply(&mut canonical.body)
        .map_err(|error| broken(&format!("does not fit `ignored_body_paths`: {error}")))?;
    Ok(Some(canonical.hash()))
}

fn place(kind: &str, name: &str, number: usize) -> Json {
    let mut place = Object::new();
    place.push("kind", kind);
    place.push(name, number as u64);
    Json::Object(place)
}

impl Backend for Replayer {
    fn body_limit(&self) -> usize {
        self.body_limit
    }

    fn admit(&self, head: &Parts) -> Result<(), Fault> {
        let path = head.uri.path();
        doors::admit(self.protocol, head).map_err(|fault| doors::rejected(self.protocol, path, fault))
    }

    fn decide<'a>(
        &'a self,
        head: &'a Parts,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        let refuse = |fault| Decision::Refuse(doors::rejected(self.protocol, head.uri.path(), fault));
        let decision = self.reply(head, &body).unwrap_or_else(refuse);
        Box::pin(std::future::ready(decision))
    }

    fn answer(&self, _path: &str, fault: &Fault) -> Answer {
        answers::answer(fault)
    }
}
