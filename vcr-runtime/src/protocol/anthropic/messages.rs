use crate::json::{Json, member_of};
use crate::model::CanonicalRequest;
use crate::protocol::neutral::{Ask, Unsayable};
use crate::protocol::rules::Rules;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire};

use super::decode::MessagesDecoder;
use super::words::RULES;
use super::{ask, assemble, neutral, render, request, unary};

/// The name in cassettes.
pub(crate) const NAME: &str = "anthropic-messages";
pub(crate) const PROVIDER: &str = "anthropic";
const EVENT_STREAM: &str = "text/event-stream";

/// Anthropic Messages: `POST …/v1/messages`, answered by one body or by named events up to `message_stop`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages;

impl Wire for Messages {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self) -> &'static str {
        ask::PATH
    }

    fn owns(&self, path: &str) -> bool {
        request::owns(path)
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
        let essence = content_type?.split(';').next()?.trim();
        essence.eq_ignore_ascii_case(EVENT_STREAM).then_some(Framing::Sse)
    }

    fn rules(&self) -> Option<&'static Rules> {
        Some(&RULES)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(MessagesDecoder::new())
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

    /// Clients look at the event's name before they look at the payload.
    fn write_frame(&self, payload: &str, out: &mut String) {
        let name = member_of(payload, "type");
        let name = name.as_ref().and_then(Json::as_str);
        if let Some(name) = name.filter(|name| !name.contains(['\n', '\r'])) {
            out.extend(["event: ", name, "\n"]);
        }
        out.extend(["data: ", payload, "\n\n"]);
    }

    /// The end marker is a payload like the others.
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
