use crate::json::{Json, Object};
use crate::protocol::rules::{Field, StreamReader};
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::blocks::Blocks;
use super::template::{short_end, short_message, usual_names};
use super::words::{RULES, event, usage_rest, write_usage};

/// Reads the events of one streamed answer: the rules say what is what, the template is learnt here from the rest.
#[derive(Debug)]
pub(super) struct MessagesDecoder {
    stream: StreamReader,
    blocks: Blocks,
    /// The message that the stream started with.
    message: Option<Object>,
    /// The closing event without what is canonical.
    end: Option<Object>,
    /// The members of its usage.
    end_usage: Option<Vec<String>>,
    error: Option<Json>,
    begun: bool,
    stopped: bool,
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        self.begun = true;
        let mut said = Vec::new();
        let Some((payload, reading)) = self.stream.event(event, &mut said) else {
            return;
        };
        let word = payload.get("type").and_then(Json::as_str);
        if self.stopped && word != Some(event::PING) {
            return self.stream.odd("comes after message_stop");
        }
        if word.is_none() {
            self.stream.odd("has no type");
        }
        if let Some(odd) = self.blocks.take(&payload, said, out) {
            self.stream.odd(&odd);
        }
        match word {
            Some(event::MESSAGE_START) => {
                let message = payload.get("message").and_then(Json::as_object);
                self.message = Some(message.cloned().unwrap_or_default());
            }
            Some(event::MESSAGE_DELTA) => self.end(&payload),
            Some(event::MESSAGE_STOP) => self.stopped = true,
            _ => {}
        }
        if reading.hits.iter().any(|hit| hit.field == Field::Error) {
            self.error.get_or_insert(payload);
        }
    }

    fn finish(&mut self) -> Tail {
        let template = self.template();
        self.stream.tail(template)
    }
}

impl MessagesDecoder {
    pub(super) fn new() -> Self {
        Self {
            stream: StreamReader::new(&RULES),
            blocks: Blocks::default(),
            message: None,
            end: None,
            end_usage: None,
            error: None,
            begun: false,
            stopped: false,
        }
    }

    fn end(&mut self, payload: &Json) {
        let mut end = self.end.take().unwrap_or_default();
        for (name, value) in payload.as_object().into_iter().flat_map(Object::iter) {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("usage", usage) => {
                    let members = usage.as_object().into_iter().flat_map(Object::iter);
                    let names = members.map(|(name, _)| name.clone());
                    self.end_usage.get_or_insert_default().extend(names);
                }
                ("delta", Json::Object(delta)) => {
                    let mut known = match end.remove(name) {
                        Some(Json::Object(known)) => known,
                        _ => Object::new(),
                    };
                    for (name, value) in delta.iter().filter(|(name, _)| name != "stop_reason") {
                        known.set(name.clone(), value.clone());
                    }
                    end.push(name.clone(), known);
                }
                (_, value) => end.set(name.clone(), value.clone()),
            }
        }
        self.end = Some(end);
    }

    fn template(&self) -> Option<Json> {
        if !self.begun {
            return None;
        }
        let mut template = Object::new();
        let usage = self.stream.reader().usage();
        let written = usage.map(|usage| write_usage(usage, false)).unwrap_or_default();
        let mut late = Vec::new();
        let message = self.message.clone().map(|mut message| {
            if let Some(Json::Object(start)) = message.get_mut("usage") {
                (*start, late) = usage_rest(start, &written);
            }
            short_message(message)
        });
        template.push("message", message);
        if let Some(mut end) = self.end.clone() {
            if let Some(names) = &self.end_usage {
                let late: Vec<&str> = late.iter().filter_map(Json::as_str).collect();
                end.push("usage", usage_names(names, usual_names(&written, &late)));
            }
            template.push("end", short_end(end, self.message.as_ref()));
        }
        if !late.is_empty() {
            template.push("usage_late", late);
        }
        self.blocks.shapes().write(&mut template);
        if let Some(error) = &self.error {
            template.push("error", error.clone());
        }
        if !self.stopped {
            self.cut(&mut template);
        }
        Some(Json::Object(template))
    }

    /// What is to be known of a stream without its end.
    fn cut(&self, template: &mut Object) {
        template.push("done", false);
        if self.blocks.all_closed() {
            template.push("closed", true);
        }
        if let Some(block) = self.blocks.untold() {
            template.push("open", block);
        }
    }
}

/// `true` for the usual names.
fn usage_names(names: &[String], mut usual: Vec<&str>) -> Json {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    usual.sort_unstable();
    if names == usual {
        return true.into();
    }
    names.into_iter().map(Json::from).collect::<Vec<_>>().into()
}
