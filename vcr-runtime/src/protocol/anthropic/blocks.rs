//! Content blocks to canonical events.
//!
//! Frames have no blocks: text is text, and tool calls stand on the frame that ends the answer. Where that would lose
//! which block something belonged to, or the order of blocks, a native event marks the beginning of a block:
//! `{"type": "text"}` a text block that follows another, `{"type": "tool_use"}` the next tool call, when something
//! other than a tool call follows it. A marker has the members of its block besides the canonical ones.

use crate::json::{Json, Object, compact, parse};
use crate::protocol::Event;

use super::shape::{Kind, Shapes};
use super::words::{block, delta};

/// Reads the blocks of one answer, in pieces or whole.
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
    /// A signature that came before the text it signs.
    signature: String,
    json: String,
}

impl Blocks {
    /// A block begins; a unary answer has its blocks whole.
    pub(crate) fn start(&mut self, index: u64, block: &Json, out: &mut Vec<Event>) {
        let members = block.as_object().cloned().unwrap_or_default();
        let kind = Kind::of(&members);
        let rest = kind.rest(&members);
        let fits = self.shapes.fits(kind, &rest);
        if kind != Kind::Tool || !fits {
            for rest in std::mem::take(&mut self.unmarked) {
                out.push(marker(Kind::Tool, rest));
            }
        }
        let mut open = Open {
            kind,
            tool: self.tools,
            told: kind == Kind::Tool,
            signature: String::new(),
            json: String::new(),
            block: members,
        };
        let follows = match kind {
            Kind::Text => self.before == Before::Text,
            Kind::Thinking => self.before == Before::Thinking,
            Kind::Tool | Kind::Native => false,
        };
        if kind != Kind::Native && (follows || !fits) {
            open.told = true;
            out.push(marker(kind, rest.clone()));
        }
        self.before = Before::Other;
        match kind {
            Kind::Text => {
                self.before = Before::Text;
                open.text(text(&open.block, "text").to_owned(), out);
            }
            Kind::Thinking => {
                self.before = Before::Thinking;
                text(&open.block, "signature").clone_into(&mut open.signature);
                open.text(text(&open.block, "thinking").to_owned(), out);
            }
            Kind::Tool => {
                self.tools += 1;
                if fits {
                    self.unmarked.push(rest);
                }
                out.push(open.tool_event(Some(&open.block), String::new()));
            }
            Kind::Native => {}
        }
        self.open.push((index, open));
    }

    /// A piece of a block; says what was odd about it.
    pub(crate) fn delta(&mut self, index: u64, delta: &Json, out: &mut Vec<Event>) -> Option<String> {
        let word = delta.get("type").and_then(Json::as_str).unwrap_or_default();
        if !self.open.iter().any(|(open, _)| *open == index) {
            self.start(index, &implied(word), out);
        }
        let Some((_, open)) = self.open.iter_mut().find(|(open, _)| *open == index) else {
            return None;
        };
        let piece = |name| delta.as_object().map_or("", |members| text(members, name)).to_owned();
        match (open.kind, word) {
            (Kind::Text, delta::TEXT) => open.text(piece("text"), out),
            (Kind::Text, delta::CITATION) => {
                open.told = true;
                out.push(native(delta.clone()));
            }
            (Kind::Thinking, delta::THINKING) => open.text(piece("thinking"), out),
            (Kind::Thinking, delta::SIGNATURE) => {
                open.signature.clear();
                let text = piece("signature");
                if !text.is_empty() {
                    open.told = true;
                    self.before = Before::Other;
                    out.push(Event::Signature { choice: 0, text });
                }
            }
            (Kind::Tool, delta::JSON) => {
                let piece = piece("partial_json");
                open.json.push_str(&piece);
                if !piece.is_empty() {
                    out.push(open.tool_event(None, piece));
                }
            }
            (Kind::Native, delta::JSON) => open.json.push_str(&piece("partial_json")),
            (kind, word) => return Some(format!("has a `{word}` in a {kind:?} block")),
        }
        None
    }

    /// A block ends.
    pub(crate) fn stop(&mut self, index: u64, out: &mut Vec<Event>) {
        let Some(at) = self.open.iter().position(|(open, _)| *open == index) else {
            return;
        };
        let (_, mut open) = self.open.remove(at);
        if !open.signature.is_empty() {
            open.told = true;
            self.before = Before::Other;
            let text = std::mem::take(&mut open.signature);
            out.push(Event::Signature { choice: 0, text });
        }
        match open.kind {
            Kind::Text | Kind::Thinking => {
                if !open.told {
                    out.push(marker(open.kind, open.kind.rest(&open.block)));
                }
            }
            Kind::Tool => {
                if open.json.is_empty() {
                    let input = open.block.get("input").filter(|input| !input.is_null());
                    let arguments = input.map_or_else(|| "{}".to_owned(), compact);
                    out.push(open.tool_event(None, arguments));
                }
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

impl Open {
    fn text(&mut self, text: String, out: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        self.told = true;
        out.push(match self.kind {
            Kind::Thinking => Event::Reasoning { choice: 0, text },
            _ => Event::Text { choice: 0, text },
        });
    }

    fn tool_event(&self, start: Option<&Object>, arguments: String) -> Event {
        let member = |name| start.and_then(|block| block.get(name)?.as_str()).map(str::to_owned);
        Event::Tool {
            choice: 0,
            index: self.tool,
            id: member("id"),
            name: member("name"),
            arguments,
        }
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
        delta::THINKING | delta::SIGNATURE => vec![("type", block::THINKING), ("thinking", ""), ("signature", "")],
        delta::JSON => vec![("type", block::TOOL), ("id", ""), ("name", "")],
        _ => Vec::new(),
    };
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
}

fn text<'a>(members: &'a Object, name: &str) -> &'a str {
    members.get(name).and_then(Json::as_str).unwrap_or_default()
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
