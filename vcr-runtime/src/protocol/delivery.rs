use super::{Framing, Wire};
use crate::json::{Json, Object, compact};

/// How the streamed answer to one request is put on the wire: as the protocol's usual events, or as one JSON array
/// whose elements come one by one.
#[derive(Clone, Copy)]
pub(crate) struct Delivery<'w> {
    wire: &'w dyn Wire,
    in_array: bool,
}

impl<'w> Delivery<'w> {
    /// The form that a request with these parameters asks for.
    pub(crate) fn of(wire: &'w dyn Wire, parameters: &Object) -> Self {
        Self {
            wire,
            in_array: wire.in_array(parameters),
        }
    }

    /// The form of an answer of this content type: some servers answer with events where an array was asked for.
    pub(crate) fn answered(self, content_type: Option<&str>) -> Self {
        Self {
            in_array: self.in_array && Framing::of(content_type).is_none(),
            ..self
        }
    }

    pub(crate) fn wire(&self) -> &'w dyn Wire {
        self.wire
    }

    /// Whether the answer is one array.
    pub(crate) fn is_array(&self) -> bool {
        self.in_array
    }

    /// How an answer of this content type is framed; `None` when it is unary.
    pub(crate) fn framing(&self, content_type: Option<&str>) -> Option<Framing> {
        if self.in_array && content_type.is_some_and(is_json) {
            return Some(Framing::JsonArray);
        }
        self.wire.framing(content_type)
    }

    /// The content type of a streamed answer.
    pub(crate) fn content_type(&self) -> &'static str {
        if self.in_array {
            "application/json"
        } else {
            self.wire.stream_content_type()
        }
    }

    /// Whether a recorded content type can stand over an answer in this form, or over a whole one.
    pub(crate) fn fits(&self, content_type: &str, streamed: bool) -> bool {
        match Framing::of(Some(content_type)) {
            Some(_) => streamed && !self.in_array,
            None => !streamed || self.in_array,
        }
    }

    /// The payload at that place, ready for the wire.
    pub(crate) fn piece(&self, place: usize, payload: &Json, template: Option<&Json>) -> String {
        let text = compact(payload);
        let mut out = String::with_capacity(text.len() + 64);
        self.write_piece(place, &text, template, &mut out);
        out
    }

    /// Appends the payload at that place, a text without white space.
    pub(crate) fn write_piece(&self, place: usize, payload: &str, template: Option<&Json>, out: &mut String) {
        if !self.in_array {
            return self.wire.write_frame_as_recorded(payload, template, out);
        }
        out.push_str(if place == 0 { "[" } else { ",\r\n" });
        out.push_str(payload);
    }

    /// What stands after the last of `count` payloads of a complete stream.
    pub(crate) fn trailer(&self, count: usize, template: Option<&Json>) -> &'static str {
        match (self.in_array, count) {
            (false, _) => self.wire.trailer(template),
            (true, 0) => "[]",
            (true, _) => "\n]",
        }
    }
}

impl std::fmt::Debug for Delivery<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Delivery")
            .field("wire", &self.wire.name())
            .field("in_array", &self.in_array)
            .finish()
    }
}

fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}
