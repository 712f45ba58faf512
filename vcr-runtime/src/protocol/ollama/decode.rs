use crate::json::Json;
use crate::protocol::rules::{Field, StreamReader};
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::endpoint::Endpoint;
use super::template::{Shape, name_calls, put_slots};
use super::words::RULES;

/// Reads the lines of one streamed answer.
#[derive(Debug)]
pub(super) struct LineDecoder {
    endpoint: Endpoint,
    stream: StreamReader,
    shape: Shape,
}

impl LineDecoder {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            stream: StreamReader::new(&RULES),
            shape: Shape::default(),
        }
    }
}

impl Decoder for LineDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        let is_over = self.stream.reader().is_complete();
        let mut said = Vec::new();
        let read = self.stream.event(event, &mut said);
        if is_over {
            self.stream.odd("comes after the last line");
            return;
        }
        let Some((mut payload, reading)) = read else {
            return;
        };
        if reading.hits.iter().any(|hit| hit.field == Field::Error) {
            self.shape.note_error(payload);
        } else {
            for form in put_slots(&mut payload, &reading) {
                self.shape.note_tool_call(form);
            }
            if let Json::Object(members) = &payload {
                self.shape.note(&self.endpoint, members);
            }
        }
        name_calls(&mut said);
        out.append(&mut said);
    }

    fn finish(&mut self) -> Tail {
        let template = self.shape.finish();
        self.stream.tail(template)
    }
}
