use crate::json::{Json, Object, member_of};
use crate::model::{CanonicalRequest, Frames, Usage};
use crate::protocol::alike::alike;
use crate::protocol::neutral::{Ask, Unsayable};
use crate::protocol::rules::Rules;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire};

use super::decode::ChatDecoder;
use super::template::ERROR_EVENT;
use super::words::RULES;
use super::{ask, assemble, body, render, request, unary, written};

/// The name in cassettes.
pub(crate) const NAME: &str = "openai-chat";
pub(crate) const PROVIDER: &str = "openai";
/// Of its requests.
pub(crate) const PATH: &str = "/chat/completions";
const EVENT_STREAM: &str = "text/event-stream";

/// Chat completions: `POST …/chat/completions`, answered by one body or by server-sent chunks and `[DONE]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAiChat;

/// Reads a chat request below another path.
pub(in crate::protocol) fn request_at(path: &str, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
    request::canonical(path, http)
}

/// Asks below another path.
pub(in crate::protocol) fn ask_at(path: &str, request: &CanonicalRequest) -> Ask {
    ask::ask(path, request)
}

/// A decoder that goes by other rules than the built-in ones, which know the same places.
pub(in crate::protocol) fn decoder(rules: &'static Rules) -> Box<dyn Decoder> {
    Box::new(ChatDecoder::new(rules))
}

/// Reads a unary body by such rules.
pub(in crate::protocol) fn read_body(
    rules: &'static Rules,
    status: u16,
    body: &Json,
    out: &mut Vec<Event>,
) -> Tail {
    body::read(rules, status, body, out)
}

impl Wire for OpenAiChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self) -> &'static str {
        PATH
    }

    fn request(&self, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
        request_at(PATH, http)
    }

    #[cfg(test)]
    fn rebuild(&self, request: &CanonicalRequest) -> Json {
        request::rebuild(request)
    }

    fn ask(&self, request: &CanonicalRequest) -> Result<Ask, Unsayable> {
        Ok(ask_at(PATH, request))
    }

    fn neutral(&self, request: &CanonicalRequest) -> Option<CanonicalRequest> {
        alike(request)
    }

    fn framing(&self, content_type: Option<&str>) -> Option<Framing> {
        let essence = content_type?.split(';').next()?.trim();
        essence.eq_ignore_ascii_case(EVENT_STREAM).then_some(Framing::Sse)
    }

    fn rules(&self) -> Option<&'static Rules> {
        Some(&RULES)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(&RULES).with_named_errors())
    }

    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
        read_body(&RULES, status, body, out)
    }

    fn render_unary(&self, answer: &Answer<'_>) -> Json {
        unary::render(answer)
    }

    fn write_kept(&self, template: &str, frames: &Frames, usage: Option<&Usage>, out: &mut Vec<u8>) -> bool {
        written::write(template, frames, usage, out)
    }

    fn render_stream(&self, answer: &Answer<'_>) -> Vec<(usize, Json)> {
        render::stream(answer)
    }

    fn repeats_text(&self) -> bool {
        true
    }

    fn write_frame(&self, payload: &str, out: &mut String) {
        out.push_str("data: ");
        out.push_str(payload);
        out.push_str("\n\n");
    }

    fn write_frame_as_recorded(&self, payload: &str, template: Option<&Json>, out: &mut String) {
        let named = template.and_then(|template| template.get(ERROR_EVENT)?.as_bool());
        if named == Some(true) && member_of(payload, "error").is_some() {
            out.push_str("event: error\n");
        }
        self.write_frame(payload, out);
    }

    fn trailer(&self, template: Option<&Json>) -> &'static str {
        let done = template.and_then(|template| template.get("done"));
        match done.and_then(Json::as_bool) {
            Some(false) => "",
            _ => "data: [DONE]\n\n",
        }
    }

    fn end_marker(&self) -> &'static str {
        "[DONE]"
    }

    fn stream_content_type(&self) -> &'static str {
        EVENT_STREAM
    }

    fn assemble(&self, payloads: &[Json]) -> Json {
        assemble::assemble(payloads)
    }

    fn comparable(&self, body: &Json) -> Json {
        let mut body = body.clone();
        if let Some(members) = body.as_object_mut() {
            let kept: Object = std::mem::take(members)
                .into_iter()
                .filter(|(name, _)| !assemble::is_padding(name))
                .collect();
            *members = kept;
        }
        body.sort();
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_marker_is_the_payload_of_the_trailer() {
        let trailer = OpenAiChat.trailer(None);
        assert_eq!(trailer, format!("data: {}\n\n", OpenAiChat.end_marker()));
    }
}
