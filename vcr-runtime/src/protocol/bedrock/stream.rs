use crate::json::{Json, parse};
use crate::protocol::rules::Reader;
use crate::protocol::{Decoder, Event, Tail, WireError, WireEvent};

use super::eventstream::{Message, Messages};
use super::words::RULES;

/// Reads a binary stream, so that people, breakers and other protocols have its text. It is replayed from its bytes.
#[derive(Debug)]
pub(super) struct ConverseDecoder {
    messages: Messages,
    reader: Reader,
    failed: bool,
    stopped: bool,
}

impl ConverseDecoder {
    pub(super) fn new() -> Self {
        Self {
            messages: Messages::default(),
            reader: Reader::new(&RULES),
            failed: false,
            stopped: false,
        }
    }

    fn message(&mut self, message: &Message, out: &mut Vec<Event>) {
        let text = String::from_utf8_lossy(&message.payload);
        let payload = parse(&text).unwrap_or_else(|_| text.as_ref().into());
        if let Some(exception) = &message.exception {
            self.failed = true;
            out.push(Event::Error(WireError {
                error_type: exception.clone(),
                message: message
                    .error
                    .clone()
                    .unwrap_or_else(|| RULES.error(None, &payload).message),
                status: None,
                code: None,
            }));
        } else if let Json::Object(_) = payload {
            self.reader.event(message.event.as_deref(), &payload, out);
        }
    }
}

impl Decoder for ConverseDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        let mut messages = Vec::new();
        self.messages.push(&event.bytes, &mut messages);
        for message in &messages {
            self.message(message, out);
        }
        self.stopped |= out.iter().any(|event| matches!(event, Event::End));
    }

    fn finish(&mut self) -> Tail {
        let odd = if self.messages.is_broken() {
            "the event stream is broken"
        } else {
            "a binary event stream is replayed from its bytes"
        };
        Tail {
            template: None,
            complete: self.failed || (self.stopped && self.messages.is_whole()),
            odd: Some(odd.to_owned()),
        }
    }
}
