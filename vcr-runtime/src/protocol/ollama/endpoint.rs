use crate::json::Json;
use crate::model::CanonicalRequest;
use crate::protocol::common::object;
use crate::protocol::neutral::{Ask, Unsayable};
use crate::protocol::rules::Rules;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire};

use super::decode::LineDecoder;
use super::words::RULES;
use super::{ask, assemble, neutral, render, request, unary};

pub(super) const PROVIDER: &str = "ollama";
const LINES: &str = "application/x-ndjson";

/// One of the two endpoints. They differ in where the answer's text stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    /// The name in cassettes.
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// Whether text, thinking and tool calls stand in a `message` of the line, or in the line itself.
    pub(super) has_message: bool,
    /// The member with the text.
    pub(super) text: &'static str,
}

/// `POST /api/chat`.
pub(crate) static CHAT: Endpoint = Endpoint {
    name: "ollama-chat",
    path: "/api/chat",
    has_message: true,
    text: "content",
};

/// `POST /api/generate`.
pub(crate) static GENERATE: Endpoint = Endpoint {
    name: "ollama-generate",
    path: "/api/generate",
    has_message: false,
    text: "response",
};

impl Wire for Endpoint {
    fn name(&self) -> &'static str {
        self.name
    }

    fn route(&self) -> &'static str {
        self.path
    }

    fn refusal(&self, _status: u16, code: &str, message: &str) -> Json {
        object([("error", message.into()), ("code", code.into())]).into()
    }

    fn request(&self, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
        request::canonical(self, http)
    }

    #[cfg(test)]
    fn rebuild(&self, request: &CanonicalRequest) -> Json {
        request::rebuild(self, request)
    }

    fn ask(&self, request: &CanonicalRequest) -> Result<Ask, Unsayable> {
        if self.has_message {
            return ask::ask(self.path, request);
        }
        Err(Unsayable::new(
            "`/api/generate` takes one prompt and no conversation",
        ))
    }

    fn neutral(&self, request: &CanonicalRequest) -> Option<CanonicalRequest> {
        self.has_message.then(|| neutral::neutral(request))?
    }

    fn framing(&self, content_type: Option<&str>) -> Option<Framing> {
        Framing::of(content_type).filter(|framing| *framing == Framing::Ndjson)
    }

    fn rules(&self) -> Option<&'static Rules> {
        Some(&RULES)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(LineDecoder::new(*self))
    }

    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
        unary::read(self, status, body, out)
    }

    fn render_unary(&self, answer: &Answer<'_>) -> Json {
        unary::render(self, answer)
    }

    fn render_stream(&self, answer: &Answer<'_>) -> Vec<(usize, Json)> {
        render::stream(self, answer)
    }

    fn write_frame(&self, payload: &str, out: &mut String) {
        out.push_str(payload);
        out.push('\n');
    }

    fn trailer(&self, _template: Option<&Json>) -> &'static str {
        ""
    }

    fn stream_content_type(&self) -> &'static str {
        LINES
    }

    fn assemble(&self, payloads: &[Json]) -> Json {
        assemble::assemble(self, payloads)
    }
}
