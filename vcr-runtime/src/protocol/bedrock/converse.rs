use crate::json::Json;
use crate::model::CanonicalRequest;
use crate::protocol::common::object;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire};

use super::stream::ConverseDecoder;
use super::{request, unary};

/// The name in cassettes.
pub(super) const NAME: &str = "bedrock-converse";
pub(super) const PROVIDER: &str = "bedrock";
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// Bedrock's Converse: `POST …/model/<id>/converse`, and `…/converse-stream`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Converse;

impl Wire for Converse {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self) -> &'static str {
        "/model/{model}/converse"
    }

    fn owns(&self, path: &str) -> bool {
        request::operation(path).is_some()
    }

    fn refusal(&self, _status: u16, code: &str, message: &str) -> Json {
        object([("message", message.into()), ("code", code.into())]).into()
    }

    fn request(&self, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
        request::canonical(http)
    }

    #[cfg(test)]
    fn rebuild(&self, request: &CanonicalRequest) -> Json {
        request::rebuild(request)
    }

    fn framing(&self, content_type: Option<&str>) -> Option<Framing> {
        let essence = content_type?.split(';').next()?.trim();
        essence
            .eq_ignore_ascii_case(EVENT_STREAM)
            .then_some(Framing::Opaque)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ConverseDecoder::new())
    }

    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
        unary::read(status, body, out)
    }

    fn render_unary(&self, answer: &Answer<'_>) -> Json {
        unary::render(answer)
    }

    fn renders_streams(&self) -> bool {
        false
    }

    /// Binary streams come from the raw layer alone.
    fn render_stream(&self, _answer: &Answer<'_>) -> Vec<(usize, Json)> {
        Vec::new()
    }

    fn write_frame(&self, payload: &str, out: &mut String) {
        out.push_str(payload);
    }

    fn trailer(&self, _template: Option<&Json>) -> &'static str {
        ""
    }

    fn stream_content_type(&self) -> &'static str {
        EVENT_STREAM
    }

    fn assemble(&self, payloads: &[Json]) -> Json {
        Json::Array(payloads.to_vec())
    }
}
