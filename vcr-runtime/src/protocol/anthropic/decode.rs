use crate::json::{Json, Object, parse};
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::blocks::Blocks;
use super::error;
use super::template::usual_names;
use super::words::{canonical_reason, event, lacking, read_usage};

/// Reads the events of one streamed answer.
#[derive(Debug, Default)]
pub(super) struct MessagesDecoder {
    blocks: Blocks,
    /// The message that the stream started with.
    message: Option<Object>,
    /// The usage so far: later members replace earlier ones.
    usage: Option<Object>,
    /// The closing event without what is canonical.
    end: Option<Object>,
    /// The members of its usage.
    end_usage: Option<Vec<String>>,
    reason: Option<String>,
    error: Option<Json>,
    stopped: bool,
    count: usize,
    odd: Option<String>,
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        self.count += 1;
        if event.odd {
            self.odd("has bytes that are no UTF-8");
        }
        let payload = match parse(&event.data) {
            Ok(payload @ Json::Object(_)) => payload,
            Ok(other) => return self.odd(&format!("is {}, not an object", other.kind())),
            Err(error) => return self.odd(&format!("is no JSON: {error}")),
        };
        let own = payload.get("type").and_then(Json::as_str);
        let named = event.event.as_deref();
        let Some(word) = own.or(named) else {
            return self.odd("has no type");
        };
        if named.is_some_and(|named| named != word) || own.is_none() {
            // Rendered events are named by their type.
            self.odd(&format!("is named `{}`", named.unwrap_or_default()));
        }
        if self.stopped && word != event::PING {
            return self.odd("comes after message_stop");
        }
        self.payload(word, &payload, out);
    }

    fn finish(&mut self) -> Tail {
        Tail {
            template: self.template(),
            complete: self.stopped || self.error.is_some(),
            odd: self.odd.take(),
        }
    }
}

impl MessagesDecoder {
    /// The first oddity stands; the ones after it are mostly its consequences.
    fn odd(&mut self, what: &str) {
        let number = self.count;
        self.odd.get_or_insert_with(|| format!("event {number} {what}"));
    }

    fn payload(&mut self, word: &str, payload: &Json, out: &mut Vec<Event>) {
        let index = payload.get("index").and_then(Json::as_u64).unwrap_or(0);
        match word {
            event::MESSAGE_START => self.start(payload, out),
            event::BLOCK_START => {
                self.blocks.start(index, payload.get("content_block").unwrap_or(&Json::Null), out);
            }
            event::BLOCK_DELTA => {
                let delta = payload.get("delta").unwrap_or(&Json::Null);
                if let Some(odd) = self.blocks.delta(index, delta, out) {
                    self.odd(&odd);
                }
            }
            event::BLOCK_STOP => self.blocks.stop(index, out),
            event::MESSAGE_DELTA => self.end(payload, out),
            event::MESSAGE_STOP => {
                self.stopped = true;
                out.push(Event::End);
            }
            event::PING => {}
            event::ERROR => {
                self.error.get_or_insert_with(|| payload.clone());
                out.push(Event::Error(error::read(None, payload)));
            }
            // The SDKs pass over events that they do not know; the comparison shows whether they said anything.
            _ => {}
        }
    }

    fn start(&mut self, payload: &Json, out: &mut Vec<Event>) {
        let message = payload.get("message").and_then(Json::as_object);
        if let Some(usage) = message.and_then(|message| message.get("usage")) {
            self.usage(usage, out);
        }
        self.message = Some(message.cloned().unwrap_or_default());
    }

    fn end(&mut self, payload: &Json, out: &mut Vec<Event>) {
        let mut end = self.end.take().unwrap_or_default();
        for (name, value) in payload.as_object().into_iter().flat_map(Object::iter) {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("usage", usage) => {
                    let members = usage.as_object().into_iter().flat_map(Object::iter);
                    let names = members.map(|(name, _)| name.clone());
                    self.end_usage.get_or_insert_default().extend(names);
                    self.usage(usage, out);
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
                    self.reason(delta.get("stop_reason"), out);
                }
                (_, value) => end.set(name.clone(), value.clone()),
            }
        }
        self.end = Some(end);
    }

    fn reason(&mut self, reason: Option<&Json>, out: &mut Vec<Event>) {
        let Some(native) = reason.and_then(Json::as_str) else { return };
        if self.reason.as_deref() == Some(native) {
            return;
        }
        self.reason = Some(native.to_owned());
        out.push(finish(native));
    }

    fn usage(&mut self, usage: &Json, out: &mut Vec<Event>) {
        let Some(members) = usage.as_object() else { return };
        let known = self.usage.get_or_insert_default();
        for (name, value) in members.iter() {
            if known.get(name).is_none() || !value.is_null() {
                known.set(name.clone(), value.clone());
            }
        }
        out.extend(read_usage(known).map(Event::Usage));
    }

    fn template(&self) -> Option<Json> {
        if self.count == 0 {
            return None;
        }
        let mut template = Object::new();
        let usage = self.usage.clone().unwrap_or_default();
        let mut late = Vec::new();
        let message = self.message.clone().map(|mut message| {
            if let Some(Json::Object(start)) = message.get_mut("usage") {
                late = usage.iter().filter(|(name, _)| start.get(name).is_none()).map(|(name, _)| name.as_str()).collect();
                start.0.retain(|(name, value)| usage.get(name) != Some(value));
            }
            message
        });
        template.push("message", message);
        if let Some(mut end) = self.end.clone() {
            if let Some(names) = &self.end_usage {
                end.push("usage", usage_names(names, usual_names(&usage, &late)));
            }
            template.push("end", end);
        }
        let late: Vec<Json> = late.into_iter().map(Json::from).collect();
        for (name, names) in [("usage_late", late), ("usage_lacks", self.lacking())] {
            if !names.is_empty() {
                template.push(name, names);
            }
        }
        self.blocks.shapes().write(&mut template);
        if let Some(error) = &self.error {
            template.push("error", error.clone());
        }
        if !self.stopped {
            template.push("done", false);
            if self.blocks.all_closed() {
                template.push("closed", true);
            }
            if let Some(block) = self.blocks.untold() {
                template.push("open", block);
            }
        }
        Some(Json::Object(template))
    }

    fn lacking(&self) -> Vec<Json> {
        let usage = self.usage.as_ref().filter(|usage| read_usage(usage).is_some());
        usage.map(lacking).unwrap_or_default()
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

/// The end of an answer with this stop reason.
pub(super) fn finish(native: &str) -> Event {
    let reason = canonical_reason(native);
    Event::Finish {
        choice: 0,
        reason: reason.to_owned(),
        native: (reason != native).then(|| native.to_owned()),
    }
}
