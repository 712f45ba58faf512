//! The seam between a provider's wire format and the canonical form. Everything a protocol knows is behind it.

use std::borrow::Cow;

use super::common::refusal;
use super::neutral::{Ask, Unsayable};
use super::rules::Rules;
use crate::json::{Json, Object, compact};
use crate::model::{Boundary, CanonicalRequest, Frame, Frames, Framing, RecordedRequest, Usage};

impl Framing {
    /// The framing of a content type; `None` when its body is one whole.
    pub(crate) fn of(content_type: Option<&str>) -> Option<Self> {
        const TYPES: [(&str, Framing); 5] = [
            ("text/event-stream", Framing::Sse),
            ("application/x-ndjson", Framing::Ndjson),
            ("application/ndjson", Framing::Ndjson),
            ("application/jsonl", Framing::Ndjson),
            ("application/vnd.amazon.eventstream", Framing::Opaque),
        ];
        let media_type = content_type?.split(';').next()?.trim();
        let known = TYPES
            .iter()
            .find(|(name, _)| media_type.eq_ignore_ascii_case(name));
        known.map(|(_, framing)| *framing)
    }
}

/// The parts of an HTTP request that a protocol looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpRequest<'a> {
    /// Upper case.
    pub(crate) method: &'a str,
    /// Below the upstream's base, beginning with `/`, without the query.
    pub(crate) path: &'a str,
    /// Without `?`; empty when there is none.
    pub(crate) query: &'a str,
    pub(crate) body: &'a [u8],
}

/// One event as it stood on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireEvent {
    /// The `event:` field.
    pub(crate) event: Option<String>,
    /// The joined `data:` lines, or the NDJSON line.
    pub(crate) data: String,
    /// Every byte from the end of the event before to the end of this one, comments included.
    pub(crate) bytes: Vec<u8>,
    /// The bytes were no UTF-8, so `event` or `data` has replacement characters.
    pub(crate) odd: bool,
}

/// A step of an answer in canonical form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Text {
        choice: u32,
        text: String,
    },
    Reasoning {
        choice: u32,
        text: String,
    },
    /// The signature of the reasoning block before it.
    Signature {
        choice: u32,
        text: String,
    },
    Refusal {
        choice: u32,
        text: String,
    },
    /// A piece of tool call `index`; `id` and `name` come with the first piece.
    Tool {
        choice: u32,
        index: u32,
        id: Option<String>,
        name: Option<String>,
        arguments: String,
    },
    Finish {
        choice: u32,
        reason: String,
        native: Option<String>,
    },
    Usage(Usage),
    /// An error that the provider reported inside the answer.
    Error(WireError),
    /// A block without a canonical form.
    Native {
        choice: u32,
        block: Json,
    },
    /// The protocol's end marker: nothing follows that belongs to the answer.
    End,
}

/// A provider's error, whatever the shape it came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireError {
    pub(crate) error_type: String,
    pub(crate) message: String,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
}

/// Reads the events of one streamed answer.
pub(crate) trait Decoder: Send {
    /// Takes one event; what it says is appended to `out`.
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>);

    /// Takes an event that differs from the latest one in the text that it says, and in nothing else. `false` when it has
    /// to be read like any other, which is always right.
    ///
    /// A decoder that answers `true` must learn nothing from such an event but that text, and its protocol must give the
    /// same answer whether a text comes in one event or in several.
    fn again(&mut self) -> bool {
        false
    }

    /// After the last event.
    fn finish(&mut self) -> Tail;
}

/// What a decoder knows once the stream is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tail {
    /// What was constant over the events; see [`Answer::template`].
    pub(crate) template: Option<Json>,
    /// The protocol said that the answer is complete (an end marker, or its terminal event).
    pub(crate) complete: bool,
    /// What was odd about the stream, in words for the call's note.
    pub(crate) odd: Option<String>,
}

/// A canonical answer to be rendered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) frames: &'a [Frame],
    pub(crate) usage: Option<&'a Usage>,
    pub(crate) boundary: Option<&'a Boundary>,
    /// What [`Tail::template`] was. `None` when another protocol recorded the answer: its template means nothing here.
    pub(crate) template: Option<&'a Json>,
    /// The model of the request, for answers without a template.
    pub(crate) model: &'a str,
    /// Stable and recognisable, for answers without a template: `vcr-` and eight digits of the trace id.
    pub(crate) id: &'a str,
}

/// One provider's wire format, in both directions. Implementations are stateless statics.
pub(crate) trait Wire: Sync + Send {
    /// The name that cassettes store, such as `openai-chat`.
    fn name(&self) -> &'static str;

    /// How the paths of its requests end, for people and metrics; what varies stands in braces.
    fn route(&self) -> &'static str;

    /// Whether a path speaks this protocol, whatever its body says.
    fn owns(&self, path: &str) -> bool {
        path.ends_with(self.route())
    }

    /// A refusal of ours in the form in which this protocol's callers read errors.
    fn refusal(&self, _status: u16, code: &str, message: &str) -> Json {
        refusal(code, message)
    }

    /// Reads a request; `None` when it is not of this protocol.
    fn request(&self, http: &HttpRequest<'_>) -> Option<CanonicalRequest>;

    /// The request body that [`request`](Self::request) reads back to the same request.
    #[cfg(test)]
    fn rebuild(&self, request: &CanonicalRequest) -> Json;

    /// What asks this provider for what a provider-neutral request (in the shape of chat completions) says.
    ///
    /// # Errors
    /// The protocol cannot say it.
    fn ask(&self, _request: &CanonicalRequest) -> Result<Ask, Unsayable> {
        let why = format!("the protocol `{}` has no form of a neutral request", self.name());
        Err(Unsayable::new(why))
    }

    /// The request in the form in which requests of different protocols are compared; `None` where it has none.
    fn neutral(&self, _request: &CanonicalRequest) -> Option<CanonicalRequest> {
        None
    }

    /// How a streamed answer of this content type is framed; `None` when the answer is unary.
    fn framing(&self, content_type: Option<&str>) -> Option<Framing>;

    /// Whether a request with these parameters asks for its stream in the form of one JSON array.
    fn in_array(&self, _parameters: &Object) -> bool {
        false
    }

    /// Whether a streamed answer can be rendered from frames. Where it cannot, its raw layer is always kept.
    fn renders_streams(&self) -> bool {
        true
    }

    /// The table that streamed payloads can be read by without the protocol's own decoder.
    fn rules(&self) -> Option<&'static Rules> {
        None
    }

    /// A decoder for one streamed answer.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// Reads a unary body, an error body included.
    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail;

    /// A template without what the request and the protocol's defaults tell as well: what a file keeps of it.
    fn lean(&self, template: Json, _request: &RecordedRequest) -> Json {
        template
    }

    /// What [`lean`](Self::lean) made it of, which is what answers are rendered by.
    fn whole<'t>(&self, template: &'t Json, _request: &RecordedRequest) -> Cow<'t, Json> {
        Cow::Borrowed(template)
    }

    /// The unary body of an answer.
    fn render_unary(&self, answer: &Answer<'_>) -> Json;

    /// Appends the unary body of an answer that did not fail, by its template as the file keeps it, a text without white
    /// space. `false` when it has to be rendered from a tree, which is always right.
    fn write_kept(
        &self,
        _template: &str,
        _frames: &Frames,
        _usage: Option<&Usage>,
        _out: &mut Vec<u8>,
    ) -> bool {
        false
    }

    /// The events of a streamed answer: for each the index of the frame it belongs to, and its payload.
    /// Events after the last frame (usage, error) name the last frame.
    fn render_stream(&self, answer: &Answer<'_>) -> Vec<(usize, Json)>;

    /// Whether a frame that only continues the text of the frame before it renders to one payload, which is that one's
    /// but for the text, and whether such frames assemble to the same answer as one with all their text. A long answer is
    /// then written by the pattern of its second frame, and compared as if it had come in one piece.
    fn repeats_text(&self) -> bool {
        false
    }

    /// Appends the usual framing of one payload, ready for the wire. The payload is a text without white space.
    fn write_frame(&self, payload: &str, out: &mut String);

    /// The same of a payload that is no text yet.
    fn frame(&self, payload: &Json) -> String {
        let text = compact(payload);
        let mut out = String::with_capacity(text.len() + 64);
        self.write_frame(&text, &mut out);
        out
    }

    /// [`write_frame`](Self::write_frame) by the template, for servers that put more around some payloads than is usual.
    fn write_frame_as_recorded(&self, payload: &str, _template: Option<&Json>, out: &mut String) {
        self.write_frame(payload, out);
    }

    /// What stands after the last payload of a complete stream; by the template, as some servers leave it out.
    fn trailer(&self, template: Option<&Json>) -> &'static str;

    /// The payload that only marks the end of a stream; empty where the protocol has none.
    fn end_marker(&self) -> &'static str {
        ""
    }

    /// The content type of a streamed answer.
    fn stream_content_type(&self) -> &'static str;

    /// The answer as the provider's SDK would assemble it from the payloads of a stream, for comparison.
    fn assemble(&self, payloads: &[Json]) -> Json;

    /// A unary body without what carries no information (padding), for comparison.
    fn comparable(&self, body: &Json) -> Json {
        body.clone()
    }
}
