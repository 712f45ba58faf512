use crate::json::{Json, compact, parse};
use crate::model::CanonicalRequest;
use crate::protocol::neutral::{Ask, Unsayable};
use crate::protocol::openai_chat::{self, OpenAiChat};
use crate::protocol::rules::Rules;
use crate::protocol::{Answer, Decoder, Event, Framing, HttpRequest, Tail, Wire, WireEvent};

use super::moves::{Moves, Way};

/// A dialect of chat completions with places and words of its own. Made once a definition and kept for the life of the
/// process, as wires are.
#[derive(Debug)]
pub(super) struct CustomWire {
    pub(super) name: &'static str,
    pub(super) base_url: String,
    /// Of its requests, below the base.
    pub(super) path: String,
    pub(super) rules: &'static Rules,
    pub(super) event: Moves,
    pub(super) body: Moves,
    /// What stands after the last payload of a complete stream.
    pub(super) trailer: &'static str,
    pub(super) end_marker: &'static str,
}

impl CustomWire {
    /// A payload as the provider would send it. `fresh` ones were recorded elsewhere, so they have canonical words.
    fn outward(&self, mut payload: Json, moves: &Moves, fresh: bool) -> Json {
        if fresh {
            self.own_words(&mut payload);
        }
        moves.apply(&mut payload, Way::Out);
        payload
    }

    fn own_words(&self, payload: &mut Json) {
        let choices = payload
            .as_object_mut()
            .and_then(|payload| payload.get_mut("choices"));
        let Some(Json::Array(choices)) = choices else {
            return;
        };
        for choice in choices.iter_mut().filter_map(Json::as_object_mut) {
            let word = choice.get("finish_reason").and_then(Json::as_str);
            if let Some(own) = word.map(|word| self.rules.finish_word(word).to_owned()) {
                choice.set("finish_reason", own);
            }
        }
    }

    fn inward(payload: &Json, moves: &Moves) -> Json {
        let mut payload = payload.clone();
        moves.apply(&mut payload, Way::In);
        payload
    }
}

impl Wire for CustomWire {
    fn name(&self) -> &'static str {
        self.name
    }

    fn route(&self) -> &'static str {
        "{path}"
    }

    fn owns(&self, path: &str) -> bool {
        path.ends_with(&self.path)
    }

    fn request(&self, http: &HttpRequest<'_>) -> Option<CanonicalRequest> {
        let mut request = openai_chat::request_at(&self.path, http)?;
        self.name.clone_into(&mut request.protocol);
        self.name.clone_into(&mut request.provider);
        Some(request)
    }

    #[cfg(test)]
    fn rebuild(&self, request: &CanonicalRequest) -> Json {
        OpenAiChat.rebuild(request)
    }

    fn ask(&self, request: &CanonicalRequest) -> Result<Ask, Unsayable> {
        Ok(openai_chat::ask_at(&self.path, request))
    }

    fn neutral(&self, request: &CanonicalRequest) -> Option<CanonicalRequest> {
        OpenAiChat.neutral(request)
    }

    fn framing(&self, content_type: Option<&str>) -> Option<Framing> {
        OpenAiChat.framing(content_type)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(CustomDecoder {
            moves: self.event.clone(),
            inner: openai_chat::decoder(self.rules),
        })
    }

    fn unary(&self, status: u16, body: &Json, out: &mut Vec<Event>) -> Tail {
        openai_chat::read_body(self.rules, status, &Self::inward(body, &self.body), out)
    }

    fn render_unary(&self, answer: &Answer<'_>) -> Json {
        let body = OpenAiChat.render_unary(answer);
        self.outward(body, &self.body, answer.template.is_none())
    }

    fn render_stream(&self, answer: &Answer<'_>) -> Vec<(usize, Json)> {
        let payloads = OpenAiChat.render_stream(answer).into_iter();
        payloads
            .map(|(frame, payload)| {
                (
                    frame,
                    self.outward(payload, &self.event, answer.template.is_none()),
                )
            })
            .collect()
    }

    fn write_frame(&self, payload: &str, out: &mut String) {
        OpenAiChat.write_frame(payload, out);
    }

    fn trailer(&self, template: Option<&Json>) -> &'static str {
        if OpenAiChat.trailer(template).is_empty() {
            ""
        } else {
            self.trailer
        }
    }

    fn end_marker(&self) -> &'static str {
        self.end_marker
    }

    fn stream_content_type(&self) -> &'static str {
        OpenAiChat.stream_content_type()
    }

    fn assemble(&self, payloads: &[Json]) -> Json {
        let payloads: Vec<Json> = payloads
            .iter()
            .map(|payload| Self::inward(payload, &self.event))
            .collect();
        OpenAiChat.assemble(&payloads)
    }

    fn comparable(&self, body: &Json) -> Json {
        OpenAiChat.comparable(&Self::inward(body, &self.body))
    }
}

/// Reads chunks after they have been put into the usual places.
struct CustomDecoder {
    moves: Moves,
    inner: Box<dyn Decoder>,
}

impl Decoder for CustomDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        let Ok(mut payload) = parse(&event.data) else {
            return self.inner.event(event, out);
        };
        self.moves.apply(&mut payload, Way::In);
        let event = WireEvent {
            event: event.event.clone(),
            data: compact(&payload),
            bytes: Vec::new(),
            odd: event.odd,
        };
        self.inner.event(&event, out);
    }

    fn finish(&mut self) -> Tail {
        self.inner.finish()
    }
}
