use std::sync::Arc;

use super::{CanonicalRequest, Frames, Usage};
use crate::json::{Document, Documents, Json, Object};

/// One recording of a scenario; the seed calls it a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Take {
    /// 32 lower-case hexadecimal digits.
    pub(crate) trace_id: String,
    /// In the order in which they started.
    pub(crate) calls: Vec<Call>,
}

/// One completion inside a take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// Shared with whoever looks requests up.
    pub(crate) request: Arc<RecordedRequest>,
    /// Microseconds from the take's start; `None` in files written by hand.
    pub(crate) started_us: Option<u64>,
    /// When it had ended, where that is not its start and its duration: a call that was played while the take was recorded
    /// took less time then than it had taken live, which its metrics tell.
    pub(crate) over_us: Option<u64>,
    pub(crate) http: Option<HttpHead>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) frames: Frames,
    pub(crate) boundary: Option<Boundary>,
    pub(crate) usage: Option<Usage>,
    /// What is constant over the response, so that frames render back to the provider's wire form.
    pub(crate) template: Option<Document>,
    pub(crate) raw: Option<Raw>,
    /// Why the raw layer was kept or what was odd, for people.
    pub(crate) note: Option<String>,
}

impl Call {
    /// When the call had ended, in microseconds from the take's start.
    pub(crate) fn ended_us(&self) -> Option<u64> {
        let started = self.started_us?;
        let live = || started + self.metrics.map_or(0, |metrics| metrics.total_us);
        Some(self.over_us.unwrap_or_else(live))
    }

    /// Whether it was recorded in another protocol than this, and says something that can be rendered into it.
    pub(crate) fn is_of_another_protocol(&self, protocol: &str) -> bool {
        let recorded = self.request.protocol.as_deref();
        let renderable = !self.frames.is_empty() || self.boundary.is_some();
        renderable && recorded.is_some_and(|recorded| recorded != protocol)
    }

    /// The content type of the answer.
    pub(crate) fn content_type(&self) -> Option<&str> {
        let headers = &self.http.as_ref()?.headers;
        let header = headers.iter().find(|(name, _)| name == "content-type");
        header.map(|(_, value)| value.as_str())
    }

    /// The call without what only its own protocol understands. No time is lost with what goes.
    pub(crate) fn for_another_protocol(mut self) -> Self {
        let mut late = 0;
        let all = std::mem::take(&mut self.frames);
        for mut frame in all {
            frame.native = None;
            frame.native_finish_reason = None;
            frame.reasoning_signature = None;
            frame.delta_us += std::mem::take(&mut late);
            if frame.is_blank() {
                late = frame.delta_us;
            } else {
                self.frames.push(frame);
            }
        }
        if let Some(usage) = &mut self.usage {
            usage.details = Object::new();
        }
        if let Some(head) = &mut self.http {
            head.headers.clear();
        }
        self.template = None;
        self.raw = None;
        self
    }
}

/// A request as the file has it. Written by hand it may lack any of its members.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecordedRequest {
    /// `sha256:` and 64 hexadecimal digits; `None` in files written by hand.
    pub(crate) hash: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) messages: Option<Vec<Json>>,
    pub(crate) parameters: Option<Object>,
}

impl RecordedRequest {
    /// What is recorded of a live request.
    pub(crate) fn recorded(request: CanonicalRequest, hash: String) -> Self {
        Self {
            hash: Some(hash),
            protocol: Some(request.protocol),
            model: Some(request.model),
            provider: Some(request.provider),
            messages: Some(request.messages),
            parameters: Some(request.parameters),
        }
    }
}

/// Times of one call, in microseconds from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metrics {
    pub(crate) ttfb_us: u64,
    pub(crate) total_us: u64,
}

/// The head of an HTTP answer: its status and the headers worth keeping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpHead {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

/// How a call ended when it did not end well: the seed's `exception_boundary` with `occurred: true`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Boundary {
    pub(crate) kind: BoundaryKind,
    pub(crate) error_type: String,
    pub(crate) message: String,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
}

/// The `code` of a boundary that the transport caused, as opposed to one that the provider reported.
pub(crate) const TRANSPORT: &str = "transport";

/// The kinds of section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundaryKind {
    /// An error that the provider or the transport raised.
    Error,
    /// An HTTP status that is no success.
    Http,
    /// Our stream breaker cut it.
    Cutoff,
    /// The caller stopped reading.
    Cancelled,
    /// The stream ended before the protocol said so.
    Truncated,
}

/// The bytes, where the canonical layer would lose something.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Raw {
    pub(crate) body: RawBody,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RawBody {
    /// A unary JSON body in the protocol's usual spelling (compact).
    Unary(Document),
    /// The JSON payload of each event in the protocol's usual framing, with its offset.
    Chunks { chunks: Documents, offsets_us: Vec<u64> },
    /// The bytes themselves, one piece an event.
    Transcript(Vec<Piece>),
}

/// A piece of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Microseconds from the call's start to the arrival of its last byte.
    pub(crate) offset_us: u64,
    pub(crate) bytes: Vec<u8>,
}

impl BoundaryKind {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Error, "error"),
        (Self::Http, "http"),
        (Self::Cutoff, "cutoff"),
        (Self::Cancelled, "cancelled"),
        (Self::Truncated, "truncated"),
    ];

    pub(crate) fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("error", |(_, text)| text)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(kind, _)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Frame;

    #[test]
    fn what_another_protocol_cannot_say_goes_and_its_time_stays() {
        let opaque = Frame {
            delta_us: 5,
            native: Some(Json::Null),
            ..Frame::default()
        };
        let text = Frame {
            delta_us: 7,
            chunk: "a".to_owned(),
            native_finish_reason: Some("end_turn".to_owned()),
            ..Frame::default()
        };
        let mut call = Call {
            frames: vec![opaque, text].into(),
            template: Some(Json::Null.into()),
            ..Call::default()
        };
        Arc::make_mut(&mut call.request).protocol = Some("anthropic-messages".to_owned());
        assert!(
            call.is_of_another_protocol("openai-chat") && !call.is_of_another_protocol("anthropic-messages")
        );
        let call = call.for_another_protocol();
        assert_eq!((call.frames.len(), call.frames[0].delta_us), (1, 12));
        assert_eq!(
            (call.frames[0].native_finish_reason.as_ref(), call.template),
            (None, None)
        );
    }
}
