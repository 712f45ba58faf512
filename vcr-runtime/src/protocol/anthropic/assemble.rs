//! The message as the official SDKs accumulate it from the events of a stream.
//!
//! Where the deltas are cut makes no difference here, and pings say nothing. What the SDKs drop (unknown events and
//! deltas) is kept, so that a comparison sees it.

use crate::json::{Json, Object};

use super::blocks::{implied, input};
use super::words::{block, delta, event};

/// Accumulates one message.
#[derive(Default)]
struct Snapshot {
    message: Object,
    blocks: Vec<Block>,
    error: Option<Json>,
    strays: Vec<Json>,
    stopped: bool,
}

#[derive(Default)]
struct Block {
    index: u64,
    members: Object,
    json: String,
}

/// See the module.
pub(super) fn assemble(payloads: &[Json]) -> Json {
    let snapshot = Snapshot::of(payloads);
    let (error, strays, stopped) = (snapshot.error.clone(), snapshot.strays.clone(), snapshot.stopped);
    let mut message = snapshot.message();
    message.push("message_stop", stopped);
    if let Some(error) = error {
        message.push("error", error);
    }
    if !strays.is_empty() {
        message.push("strays", strays);
    }
    Json::Object(message)
}

/// The message alone, as a unary answer has it.
pub(super) fn message(payloads: &[Json]) -> Object {
    Snapshot::of(payloads).message()
}

impl Snapshot {
    fn of(payloads: &[Json]) -> Self {
        let mut snapshot = Self::default();
        payloads.iter().for_each(|payload| snapshot.take(payload));
        snapshot
    }

    fn take(&mut self, payload: &Json) {
        let index = payload.get("index").and_then(Json::as_u64).unwrap_or(0);
        match payload.get("type").and_then(Json::as_str) {
            Some(event::MESSAGE_START) => {
                let message = payload.get("message").and_then(Json::as_object);
                self.message = message.cloned().unwrap_or_default();
            }
            Some(event::BLOCK_START) => {
                self.block(index, payload.get("content_block").unwrap_or(&Json::Null));
            }
            Some(event::BLOCK_DELTA) => self.delta(index, payload.get("delta").unwrap_or(&Json::Null)),
            Some(event::BLOCK_STOP | event::PING) => {}
            Some(event::MESSAGE_DELTA) => self.end(payload),
            Some(event::MESSAGE_STOP) => self.stopped = true,
            Some(event::ERROR) => {
                self.error.get_or_insert_with(|| payload.clone());
            }
            _ => self.strays.push(payload.clone()),
        }
    }

    fn block(&mut self, index: u64, block: &Json) {
        self.blocks.push(Block {
            index,
            members: block.as_object().cloned().unwrap_or_default(),
            json: String::new(),
        });
    }

    fn delta(&mut self, index: u64, piece: &Json) {
        let word = piece.get("type").and_then(Json::as_str).unwrap_or_default();
        if self.blocks.iter().all(|block| block.index != index) {
            self.block(index, &implied(word));
        }
        // Of blocks that share an index the last one is meant.
        let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) else {
            return;
        };
        let text = |name| piece.get(name).and_then(Json::as_str).unwrap_or_default();
        match word {
            delta::TEXT => append(&mut block.members, "text", text("text")),
            delta::THINKING => append(&mut block.members, "thinking", text("thinking")),
            delta::SIGNATURE => block.members.set("signature", text("signature")),
            delta::JSON => block.json.push_str(text("partial_json")),
            delta::CITATION => push(&mut block.members, "citations", piece.get("citation").cloned()),
            _ => push(&mut block.members, "deltas", Some(piece.clone())),
        }
    }

    fn end(&mut self, payload: &Json) {
        for (name, value) in payload.as_object().into_iter().flat_map(Object::iter) {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("delta", Json::Object(delta)) => {
                    delta
                        .iter()
                        .for_each(|(name, value)| self.message.set(name.clone(), value.clone()));
                }
                ("usage", Json::Object(usage)) => self.usage(usage),
                (_, value) => self.message.set(name.clone(), value.clone()),
            }
        }
    }

    /// Counts are cumulative: later ones replace earlier ones, and `null` replaces nothing.
    fn usage(&mut self, usage: &Object) {
        let mut known = match self.message.get("usage") {
            Some(Json::Object(known)) => known.clone(),
            _ => Object::new(),
        };
        for (name, value) in usage.iter() {
            if known.get(name).is_none() || !value.is_null() {
                known.set(name.clone(), value.clone());
            }
        }
        self.message.set("usage", known);
    }

    fn message(self) -> Object {
        let mut message = self.message;
        let blocks = (0..).zip(self.blocks).map(|(place, block)| block.finish(place));
        message.set("content", blocks.collect::<Vec<_>>());
        message
    }
}

impl Block {
    fn finish(mut self, place: u64) -> Json {
        let is_tool = self.members.get("type").and_then(Json::as_str) == Some(block::TOOL);
        if !self.json.is_empty() {
            self.members.set("input", input(&self.json));
        } else if is_tool && self.members.get("input").is_none() {
            self.members.push("input", Object::new());
        }
        if self.index != place {
            self.members.push("index", self.index);
        }
        Json::Object(self.members)
    }
}

fn append(members: &mut Object, name: &str, piece: &str) {
    match members.get_mut(name) {
        Some(Json::String(text)) => text.push_str(piece),
        _ => members.set(name, piece),
    }
}

fn push(members: &mut Object, name: &str, item: Option<Json>) {
    let item = item.unwrap_or_default();
    match members.get_mut(name) {
        Some(Json::Array(items)) => items.push(item),
        _ => members.set(name, vec![item]),
    }
}
