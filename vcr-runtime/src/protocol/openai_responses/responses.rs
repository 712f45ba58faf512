use std::borrow::Cow;
use std::sync::LazyLock;

use crate::json::{Json, Object, member_of};
use crate::model::{CanonicalRequest, RecordedRequest};
use crate::protocol::neutral::{Ask, Unsayable};
use crate::protocol::rules::Rules;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire};

use super::decode::ResponsesDecoder;
use super::words::is_noise;
use super::{ask, assemble, neutral, render, request, unary, usual};

/// The name in cassettes.
pub(crate) const NAME: &str = "openai-responses";
pub(super) const PROVIDER: &str = "openai";
const EVENT_STREAM: &str = "text/event-stream";

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded(include_str!("rules.toml")));

pub(super) fn rules() -> &'static Rules {
    &RULES
}

/// The Responses API: `POST …/responses`, answered by one body or by named events without an end marker of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenAiResponses;

impl Wire for OpenAiResponses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn route(&self) -> &'static str {
        ask::PATH
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
        Some(rules())
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new())
    }

    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
        unary::read(status, body, out)
    }

    fn lean(&self, template: Json, request: &RecordedRequest) -> Json {
        usual::lean(template, request)
    }

    fn whole<'t>(&self, template: &'t Json, request: &RecordedRequest) -> Cow<'t, Json> {
        usual::whole(template, request)
    }

    fn render_unary(&self, answer: &Answer<'_>) -> Json {
        unary::render(answer)
    }

    fn render_stream(&self, answer: &Answer<'_>) -> Vec<(usize, Json)> {
        render::stream(answer)
    }

    fn write_frame(&self, payload: &str, out: &mut String) {
        let name = member_of(payload, "type");
        if let Some(name) = name
            .as_ref()
            .and_then(Json::as_str)
            .filter(|name| !name.is_empty())
        {
            out.extend(["event: ", name, "\n"]);
        }
        out.extend(["data: ", payload, "\n\n"]);
    }

    fn trailer(&self, _: Option<&Json>) -> &'static str {
        ""
    }

    fn stream_content_type(&self) -> &'static str {
        EVENT_STREAM
    }

    fn assemble(&self, payloads: &[Json]) -> Json {
        assemble::assemble(payloads)
    }

    fn comparable(&self, body: &Json) -> Json {
        let Some(members) = body.as_object() else {
            return body.clone();
        };
        let kept: Object = members
            .iter()
            .filter(|(name, _)| !is_noise(name))
            .cloned()
            .collect();
        let mut kept = Json::Object(kept);
        kept.sort();
        kept
    }
}
