use crate::json::{Json, Object};
use crate::model::CanonicalRequest;
use crate::protocol::common::object;
use crate::protocol::neutral::{Ask, Unsayable};
use crate::protocol::rules::Rules;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire};

use super::decode::ChunkDecoder;
use super::words::RULES;
use super::{ask, assemble, neutral, render, request, unary};

/// The name in cassettes.
pub(super) const NAME: &str = "gemini";
const EVENT_STREAM: &str = "text/event-stream";

/// `POST …/models/<model>:generateContent`, answered by one body, and `:streamGenerateContent`, answered by
/// server-sent chunks (`alt=sse`) or by an array of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemini;

impl Wire for Gemini {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self) -> &'static str {
        "/models/{model}:generateContent"
    }

    fn owns(&self, path: &str) -> bool {
        request::owns(path)
    }

    fn refusal(&self, status: u16, code: &str, message: &str) -> Json {
        let reason = object([("reason", code.into())]);
        let error = object([
            ("code", u64::from(status).into()),
            ("message", message.into()),
            ("status", "FAILED_PRECONDITION".into()),
            ("details", Json::Array(vec![reason.into()])),
        ]);
        object([("error", error.into())]).into()
    }

    fn request(&self, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
        request::canonical(http)
    }

    #[cfg(test)]
    fn rebuild(&self, request: &CanonicalRequest) -> Json {
        request::rebuild(request)
    }

    fn ask(&self, request: &CanonicalRequest) -> Result<Ask, Unsayable> {
        ask::ask(request)
    }

    fn neutral(&self, request: &CanonicalRequest) -> Option<CanonicalRequest> {
        neutral::neutral(request)
    }

    fn framing(&self, content_type: Option<&str>) -> Option<Framing> {
        Framing::of(content_type).filter(|framing| *framing == Framing::Sse)
    }

    fn in_array(&self, parameters: &Object) -> bool {
        request::in_array(parameters)
    }

    fn rules(&self) -> Option<&'static Rules> {
        Some(&RULES)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ChunkDecoder::new())
    }

    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
        unary::read(status, body, out)
    }

    fn render_unary(&self, answer: &Answer<'_>) -> Json {
        unary::render(answer)
    }

    fn render_stream(&self, answer: &Answer<'_>) -> Vec<(usize, Json)> {
        render::stream(answer)
    }

    fn write_frame(&self, payload: &str, out: &mut String) {
        out.extend(["data: ", payload, "\r\n\r\n"]);
    }

    fn trailer(&self, _template: Option<&Json>) -> &'static str {
        ""
    }

    fn stream_content_type(&self) -> &'static str {
        EVENT_STREAM
    }

    fn assemble(&self, payloads: &[Json]) -> Json {
        assemble::assemble(payloads)
    }
}
