//! Content blocks to canonical events.
//!
//! Frames have no blocks: text is text, and tool calls stand on the frame that ends the answer. Where that would lose
//! which block something belonged to, or the order of blocks, a native event marks the beginning of a block:
//! `{"type": "text"}` a text block that follows another, `{"type": "tool_use"}` the next tool call, when something
//! other than a tool call follows it. A marker has the members of its block besides the canonical ones.

use crate::json::{Json, Object, compact, parse};
use crate::protocol::Event;

use super::shape::{Kind, Shapes};
use super::words::{block, delta, event};

/// Follows the blocks of one answer: the rules say what they say, this says what they are.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// Blocks that have begun, with their index on the wire; usually one.
    open: Vec<(u64, Open)>,
    before: Before,
    tools: u32,
    /// Tool calls whose place has no marker yet.
    unmarked: Vec<Object>,
    shapes: Shapes,
}

/// The block before, as far as the next one has to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Other,
    Text,
    /// Thinking that no signature has ended.
    Thinking,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    block: Object,
    /// The number of the tool call.
    tool: u32,
    /// Whether an event tells that there is such a block.
    told: bool,
    json: String,
}

impl Blocks {
    /// Takes a payload and the events that the rules have read from it; appends both these and its own to `out`. Says
    /// what was odd about the payload.
    pub(crate) fn take(&mut self, payload: &Json, said: Vec<Event>, out: &mut Vec<Event>) -> Option<String> {
        let index = payload.get("index").and_then(Json::as_u64).unwrap_or(0);
        let member = |name| payload.get(name).unwrap_or(&Json::Null);
        let mut odd = None;
        match payload.get("type").and_then(Json::as_str) {
            Some(event::BLOCK_START) => self.start(index, member("content_block"), out),
            Some(event::BLOCK_DELTA) => odd = self.delta(index, member("delta"), out),
            Some(event::BLOCK_STOP) => self.stop(index, out),
            _ => {}
        }
        for event in &said {
            self.said(index, event);
        }
        out.extend(said);
        odd
    }

    /// A block begins; a unary answer has its blocks whole.
    fn start(&mut self, index: u64, block: &Json, out: &mut Vec<Event>) {
        let members = block.as_object().cloned().unwrap_or_default();
        let kind = Kind::of(&members);
        let rest = kind.rest(&members);
        let fits = self.shapes.fits(kind, &rest);
        if kind != Kind::Tool || !fits {
            let unmarked = std::mem::take(&mut self.unmarked);
            out.extend(unmarked.into_iter().map(|rest| marker(Kind::Tool, rest)));
        }
        let follows = match kind {
            Kind::Text => self.before == Before::Text,
            Kind::Thinking => self.before == Before::Thinking,
            Kind::Tool | Kind::Native => false,
        };
        let marked = kind != Kind::Native && (follows || !fits);
        let open = Open {
            kind,
            block: members,
            tool: self.tools,
            told: marked || kind == Kind::Tool,
            json: String::new(),
        };
        self.before = match kind {
            Kind::Text => Before::Text,
            Kind::Thinking => Before::Thinking,
            Kind::Tool | Kind::Native => Before::Other,
        };
        self.tools += u32::from(kind == Kind::Tool);
        if marked {
            out.push(marker(kind, rest));
        } else if kind == Kind::Tool {
            self.unmarked.push(rest);
        }
        self.open.push((index, open));
    }

    /// A piece of a block.
    fn delta(&mut self, index: u64, delta: &Json, out: &mut Vec<Event>) -> Option<String> {
        let word = delta.get("type").and_then(Json::as_str).unwrap_or_default();
        if !self.open.iter().any(|(open, _)| *open == index) {
            self.start(index, &implied(word), out);
        }
        let (_, open) = self.open.iter_mut().rev().find(|(open, _)| *open == index)?;
        match (open.kind, word) {
            (Kind::Text, delta::TEXT) | (Kind::Thinking, delta::THINKING | delta::SIGNATURE) => {}
            (Kind::Text, delta::CITATION) => {
                open.told = true;
                out.push(native(delta.clone()));
            }
            (Kind::Tool | Kind::Native, delta::JSON) => {
                let piece = delta.get("partial_json").and_then(Json::as_str);
                open.json.push_str(piece.unwrap_or_default());
            }
            (_, word) => return Some(format!("has a `{word}` for another kind of block")),
        }
        None
    }

    /// What the rules have read from the latest payload of a block.
    fn said(&mut self, index: u64, event: &Event) {
        let says = matches!(
            event,
            Event::Text { .. } | Event::Reasoning { .. } | Event::Signature { .. }
        );
        if let Some((_, open)) = self.open.iter_mut().rev().find(|(open, _)| *open == index) {
            open.told |= says;
        }
        if matches!(event, Event::Signature { .. }) {
            self.before = Before::Other;
        }
    }

    /// A block ends.
    fn stop(&mut self, index: u64, out: &mut Vec<Event>) {
        let Some(at) = self.open.iter().rposition(|(open, _)| *open == index) else {
            return;
        };
        let (_, mut open) = self.open.remove(at);
        match open.kind {
            Kind::Text | Kind::Thinking if open.told => {}
            Kind::Text | Kind::Thinking => out.push(marker(open.kind, open.kind.rest(&open.block))),
            Kind::Tool if !open.json.is_empty() => {}
            // Without pieces the input is what the block began with: usually nothing, of a unary answer all.
            Kind::Tool => {
                let input = open.block.get("input").filter(|input| !input.is_null());
                out.push(Event::Tool {
                    choice: 0,
                    index: open.tool,
                    id: None,
                    name: None,
                    arguments: input.map_or_else(|| "{}".to_owned(), compact),
                });
            }
            Kind::Native => {
                if !open.json.is_empty() {
                    open.block.set("input", input(&open.json));
                }
                out.push(native(Json::Object(open.block)));
            }
        }
    }

    /// Whether every block that has begun has ended.
    pub(crate) fn all_closed(&self) -> bool {
        self.open.is_empty()
    }

    /// A block that has begun and that no event tells of, as it stands: the answer broke off in it.
    pub(crate) fn untold(&self) -> Option<Json> {
        let (_, open) = self.open.iter().find(|(_, open)| !open.told)?;
        let mut block = open.block.clone();
        if !open.json.is_empty() {
            block.set("input", open.json.as_str());
        }
        Some(Json::Object(block))
    }

    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }
}

/// The input that JSON text stands for; text that is none (the answer was cut) stays text.
pub(super) fn input(text: &str) -> Json {
    parse(text).unwrap_or_else(|_| text.into())
}

/// The block that a delta without a beginning belongs to.
pub(super) fn implied(delta: &str) -> Json {
    let members = match delta {
        delta::TEXT | delta::CITATION => vec![("type", block::TEXT), ("text", "")],
        delta::THINKING | delta::SIGNATURE => {
            vec![("type", block::THINKING), ("thinking", ""), ("signature", "")]
        }
        _ => Vec::new(),
    };
    Json::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect(),
    )
}

fn marker(kind: Kind, rest: Object) -> Event {
    let word = match kind {
        Kind::Text => block::TEXT,
        Kind::Thinking => block::THINKING,
        Kind::Tool | Kind::Native => block::TOOL,
    };
    let mut members: Object = [("type".to_owned(), word.into())].into_iter().collect();
    members.0.extend(rest);
    native(Json::Object(members))
}

fn native(block: Json) -> Event {
    Event::Native { choice: 0, block }
}
