//! A harness that forwards calls and keeps their answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use http::request::Parts;

use super::answers;
use super::config::Protocol;
use super::doors::{self, Asked};
use super::recording::{InteractionRecording, Reading, kept_headers, scrubbed};
use super::report::Counts;
use super::target::Target;
use crate::front::gateway::{Answer, Backend, Decision, Fault, as_pairs};
use crate::json::{Json, compact, parse};
use crate::observe::{self, Outcome};
use crate::redact::Redactor;
use crate::source::spycatcher::{Canonical, Interaction, Metadata, Pairs, Pointers, Request, Response};

/// What of an exchange is stored.
#[derive(Debug)]
pub(super) struct Kept {
    /// Header names that are not, in lower case.
    pub(super) dropped: Vec<String>,
    /// `None` where secrets stay.
    pub(super) redactor: Option<Arc<Redactor>>,
}

impl Kept {
    /// The headers that are stored; `drops` names those that its side of the exchange never keeps.
    pub(super) fn headers(&self, headers: &[(String, String)], drops: impl Fn(&str) -> bool) -> Pairs {
        kept_headers(headers, |name| {
            // `authorization` is the configuration's to keep or to drop.
            let credential =
                self.redactor.is_some() && name != "authorization" && Redactor::is_credential(name);
            drops(name) || credential || self.dropped.iter().any(|dropped| dropped == name)
        })
    }
}

/// The backend of a recording harness.
pub(super) struct Recorder {
    pub(super) protocol: Protocol,
    pub(super) body_limit: usize,
    pub(super) target: Target,
    pub(super) kept: Arc<Kept>,
    pub(super) counts: Arc<Counts>,
    pub(super) sender: Sender<String>,
    pub(super) session_start: Instant,
}

impl Backend for Recorder {
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
        let decision = self.forward(head, body).unwrap_or_else(refuse);
        Box::pin(std::future::ready(decision))
    }

    fn answer(&self, _path: &str, fault: &Fault) -> Answer {
        answers::answer(fault)
    }
}

impl Recorder {
    fn forward(&self, head: &Parts, body: Bytes) -> Result<Decision, Fault> {
        let document = std::str::from_utf8(&body).ok().and_then(|text| parse(text).ok());
        let (recording, stream) = match document {
            // No replay could answer it: it passes, and is counted.
            None => {
                self.counts.note(|report| report.not_recorded += 1);
                (None, false)
            }
            Some(document) => {
                let asked = doors::read(self.protocol, head, &body, &document)?;
                (Some(self.recording(head, &body, document, asked)), asked.stream)
            }
        };
        let outgoing = self.target.outgoing(head, body, stream)?;
        let outcome = if recording.is_some() {
            Outcome::Recorded
        } else {
            Outcome::Live
        };
        observe::call(doors::interface(self.protocol, head.uri.path()), outcome);
        Ok(Decision::Forward(
            Box::new(outgoing),
            recording.map(|recording| Box::new(recording) as _),
        ))
    }

    fn recording(&self, head: &Parts, body: &Bytes, document: Json, asked: Asked) -> InteractionRecording {
        let started = Instant::now();
        let offset = started.duration_since(self.session_start).as_millis();
        let interaction = Interaction {
            request: self.request(head, body, document),
            response: Response::default(),
            metadata: Metadata {
                protocol_id: asked.protocol_id.to_owned(),
                upstream_id: self.target.id().to_owned(),
                recorded_at: rfc3339(SystemTime::now()),
                relative_offset_ms: u64::try_from(offset).unwrap_or(u64::MAX),
                stream_answered_whole: false,
            },
        };
        InteractionRecording {
            kept: Arc::clone(&self.kept),
            counts: Arc::clone(&self.counts),
            sender: self.sender.clone(),
            interaction,
            stream: asked.stream,
            wire: asked.wire,
            started,
            reading: Reading::Whole(Vec::new()),
        }
    }

    fn request(&self, head: &Parts, body: &Bytes, document: Json) -> Request {
        let redactor = self.kept.redactor.as_deref();
        let query = head.uri.query().unwrap_or_default();
        let query = redactor.map_or_else(|| query.to_owned(), |redactor| redactor.query(query));
        let stored = scrubbed(body.to_vec(), redactor);
        let document = if stored == body[..] {
            document
        } else {
            let text = std::str::from_utf8(&stored).ok();
            text.and_then(|text| parse(text).ok()).unwrap_or(Json::Null)
        };
        let method = head.method.as_str();
        let path = head.uri.path();
        let nothing = Pointers::default();
        // What is ignored is left out when requests are compared: it may be other parts then. Nothing to leave out cannot fail.
        let canonical = Canonical::of(method, path, &query, Some(document), &nothing).ok();
        let headers = self.kept.headers(&as_pairs(&head.headers), |name| {
            matches!(name, "host" | "content-length" | "accept-encoding") || name.starts_with("x-vcr-")
        });
        Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query,
            headers,
            body: stored,
            hash: canonical.as_ref().map(Canonical::hash),
            canonical: canonical.map(|canonical| compact(&canonical.document()).into()),
        }
    }
}

/// `2026-11-30T09:05:07Z`.
fn rfc3339(time: SystemTime) -> String {
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March: the leap day is the last one. 719 468 days lie between 0000-03-01 and 1970-01-01.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (
        day - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    let year = era * 400 + year + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_796_029_507, "2026-11-30T09:05:07Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(rfc3339(time), text);
        }
    }
}
