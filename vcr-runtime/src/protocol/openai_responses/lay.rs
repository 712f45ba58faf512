//! Puts what the frames say into the slots of a template's output items.

use std::collections::VecDeque;

use crate::json::{Json, Object};
use crate::model::{Frame, ToolCall};

use super::skeleton::take;
use super::words::{
    CALL_ID, CallKind, FUNCTION, LISTS, NAME, PartKind, REASONING, REFUSAL_PART, SIGNATURE, SLOT_ARGUMENTS,
    SLOT_ID, SLOT_NAME, SLOT_NATIVE, SLOT_SIGNATURE, SUMMARY_PART, Says, TEXT_PART, call_kind, part_kind,
};

/// A piece of text and the frame that it belongs to.
pub(super) type Delta = (usize, String);

/// An item that is filled.
#[derive(Debug)]
pub(super) struct Laid {
    /// Its number in the template; `None` for one that the template does not have.
    pub(super) position: Option<usize>,
    pub(super) item: Json,
    /// Of every part, its list, its number there, and its text.
    pub(super) parts: Vec<(&'static str, usize, Vec<Delta>)>,
    pub(super) call: Option<(&'static CallKind, Vec<Delta>)>,
    /// The frame in which it ended, where one tells.
    pub(super) done: Option<usize>,
}

/// What the frames say, in order, by kind.
struct Supply<'a> {
    texts: [VecDeque<(usize, &'a str)>; 3],
    signatures: VecDeque<(usize, &'a str)>,
    tools: VecDeque<(usize, &'a ToolCall)>,
    natives: VecDeque<(usize, &'a Json)>,
}

/// Fills the items of a template. What finds no slot gets an item of its own; a tool call or native block that is no
/// longer there takes its item with it.
pub(super) fn lay(items: &[Json], frames: &[Frame], id: &str) -> Vec<Laid> {
    let mut supply = Supply::of(frames);
    let mut laid = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        if let Some(mut filled) = supply.fill(item) {
            filled.position = Some(position);
            laid.push(filled);
        }
    }
    for item in supply.left(laid.len(), id) {
        laid.extend(supply.fill(&item));
    }
    laid
}

/// Items for frames without a template, as a server would have made them.
pub(super) fn usual_items(frames: &[Frame], id: &str) -> Vec<Json> {
    let mut items = Items {
        id,
        first: 0,
        out: Vec::new(),
        open: None,
    };
    for frame in frames {
        items.text(SUMMARY_PART, frame.reasoning.as_deref().unwrap_or_default());
        if frame.reasoning_signature.is_some() {
            items.sign();
        }
        items.text(TEXT_PART, &frame.chunk);
        items.text(REFUSAL_PART, frame.refusal.as_deref().unwrap_or_default());
        frame.tool_calls.iter().for_each(|_| items.call());
    }
    items.close();
    items.out
}

struct Items<'a> {
    id: &'a str,
    /// The number of the first.
    first: usize,
    out: Vec<Json>,
    open: Option<Open>,
}

/// The item that is being built.
struct Open {
    kind: &'static str,
    /// Each with its length.
    parts: Vec<(&'static PartKind, usize)>,
    is_signed: bool,
}

impl Items<'_> {
    fn text(&mut self, kind: &'static PartKind, text: &str) {
        if text.is_empty() {
            return;
        }
        let parts = &mut self.open(kind.item).parts;
        match parts.last_mut() {
            Some((known, count)) if *known == kind => *count += text.chars().count(),
            _ => parts.push((kind, text.chars().count())),
        }
    }

    /// The item of that type that is being built, or a new one.
    fn open(&mut self, kind: &'static str) -> &mut Open {
        if self.open.as_ref().is_some_and(|open| open.kind != kind) {
            self.close();
        }
        self.open.get_or_insert_with(|| Open {
            kind,
            parts: Vec::new(),
            is_signed: false,
        })
    }

    fn sign(&mut self) {
        self.open(REASONING).is_signed = true;
        self.close();
    }

    fn close(&mut self) {
        let Some(Open {
            kind,
            parts,
            is_signed,
        }) = self.open.take()
        else {
            return;
        };
        let mut item = self.item(if kind == REASONING { "rs" } else { "msg" }, kind);
        let list = |list: &'static str| -> Json {
            let parts = parts.iter().filter(|(kind, _)| kind.list == list);
            Json::Array(
                parts
                    .map(|(kind, count)| usual_part(kind, Some(*count)))
                    .collect(),
            )
        };
        if kind == REASONING {
            item.push("summary", list("summary"));
            if is_signed {
                item.push(SIGNATURE, SLOT_SIGNATURE);
            }
        } else {
            item.push("status", "completed");
            item.push("role", "assistant");
            item.push("content", list("content"));
        }
        self.out.push(item.into());
    }

    fn call(&mut self) {
        self.close();
        let mut item = self.item("fc", FUNCTION.item);
        item.push("status", "completed");
        item.push(FUNCTION.member, SLOT_ARGUMENTS);
        item.push(CALL_ID, SLOT_ID);
        item.push(NAME, SLOT_NAME);
        self.out.push(item.into());
    }

    fn item(&self, prefix: &str, kind: &str) -> Object {
        let mut item = Object::new();
        item.push(
            "id",
            format!("{prefix}_{}_{}", self.id, self.first + self.out.len()),
        );
        item.push("type", kind);
        item
    }
}

/// A part with a slot of that many characters.
fn usual_part(kind: &PartKind, count: Option<usize>) -> Json {
    let mut part = Object::new();
    part.push("type", kind.part);
    let slot = kind.says.slot();
    part.push(
        kind.member,
        count.map_or_else(|| slot.to_owned(), |count| format!("{slot} {count}")),
    );
    if kind == TEXT_PART {
        part.push("annotations", Vec::new());
        part.push("logprobs", Vec::new());
    }
    part.into()
}

impl<'a> Supply<'a> {
    fn of(frames: &'a [Frame]) -> Self {
        let texts = Says::ALL.map(|says| {
            let of = |frame: &'a Frame| match says {
                Says::Text => Some(frame.chunk.as_str()),
                Says::Reasoning => frame.reasoning.as_deref(),
                Says::Refusal => frame.refusal.as_deref(),
            };
            let pieces = frames.iter().enumerate();
            pieces
                .filter_map(|(at, frame)| Some((at, of(frame).filter(|text| !text.is_empty())?)))
                .collect()
        });
        let numbered = || frames.iter().enumerate();
        Self {
            texts,
            signatures: numbered()
                .filter_map(|(at, frame)| Some((at, frame.reasoning_signature.as_deref()?)))
                .collect(),
            tools: numbered()
                .flat_map(|(at, frame)| frame.tool_calls.iter().map(move |call| (at, call)))
                .collect(),
            natives: numbered()
                .filter_map(|(at, frame)| Some((at, frame.native.as_ref()?)))
                .collect(),
        }
    }

    /// `None` where the call or block that the item was is not there any more.
    fn fill(&mut self, skeleton: &Json) -> Option<Laid> {
        let mut laid = Laid {
            position: None,
            item: skeleton.clone(),
            parts: Vec::new(),
            call: None,
            done: None,
        };
        if skeleton.as_str() == Some(SLOT_NATIVE) {
            let (at, block) = self.natives.pop_front()?;
            laid.item = block.clone();
            laid.done = Some(at);
            return Some(laid);
        }
        let Some(members) = laid.item.as_object_mut() else {
            return Some(laid);
        };
        for list in LISTS {
            let Some(Json::Array(parts)) = members.get_mut(list) else {
                continue;
            };
            for (number, part) in parts.iter_mut().enumerate() {
                let kind = part_kind(skeleton, list, part);
                let deltas = kind.map(|kind| self.part(kind, part)).unwrap_or_default();
                laid.parts.push((list, number, deltas));
            }
        }
        if members.get(SIGNATURE).and_then(Json::as_str) == Some(SLOT_SIGNATURE) {
            match self.signatures.pop_front() {
                Some((at, text)) => {
                    members.set(SIGNATURE, text);
                    laid.done = Some(at);
                }
                None => members.set(SIGNATURE, Json::Null),
            }
        }
        if let Some(kind) = call_kind(skeleton) {
            laid.call = Some((kind, self.call(kind, members)?));
        }
        Some(laid)
    }

    fn part(&mut self, kind: &PartKind, part: &mut Json) -> Vec<Delta> {
        let Some(Json::String(text)) = part.as_object_mut().and_then(|part| part.get_mut(kind.member)) else {
            return Vec::new();
        };
        let Some(count) = take(text, kind.says) else {
            return Vec::new();
        };
        let deltas = draw(&mut self.texts[kind.says as usize], count);
        *text = deltas.iter().map(|(_, text)| text.as_str()).collect();
        deltas
    }

    /// `None` when there is no call left for slots that want one. Calls without slots stay as they are.
    fn call(&mut self, kind: &CallKind, members: &mut Object) -> Option<Vec<Delta>> {
        let wants = |name: &str, slot: &str| members.get(name).and_then(Json::as_str) == Some(slot);
        let (id, name, arguments) = (
            wants(CALL_ID, SLOT_ID),
            wants(NAME, SLOT_NAME),
            wants(kind.member, SLOT_ARGUMENTS),
        );
        if !(id || name || arguments) {
            return Some(Vec::new());
        }
        let (at, call) = self.tools.pop_front()?;
        let text = call.function.arguments.as_str();
        if id {
            members.set(CALL_ID, call.id.as_str());
        }
        if name {
            members.set(NAME, call.function.name.as_str());
        }
        if arguments || !text.is_empty() {
            members.set(kind.member, text);
        }
        Some(vec![(at, text.to_owned())])
    }

    /// Items for what is left.
    fn left(&self, first: usize, id: &str) -> Vec<Json> {
        let mut items = Items {
            id,
            first,
            out: Vec::new(),
            open: None,
        };
        for kind in [SUMMARY_PART, TEXT_PART, REFUSAL_PART] {
            for (_, text) in &self.texts[kind.says as usize] {
                items.text(kind, text);
            }
        }
        self.tools.iter().for_each(|_| items.call());
        items.close();
        items.out
    }
}

/// Takes that many characters, or all.
fn draw(pieces: &mut VecDeque<(usize, &str)>, count: Option<usize>) -> Vec<Delta> {
    let mut wanted = count.unwrap_or(usize::MAX);
    let mut drawn = Vec::new();
    while wanted > 0
        && let Some((at, text)) = pieces.pop_front()
    {
        let end = text.char_indices().nth(wanted).map_or(text.len(), |(end, _)| end);
        let (now, later) = text.split_at(end);
        wanted -= now.chars().count();
        drawn.push((at, now.to_owned()));
        if !later.is_empty() {
            pieces.push_front((at, later));
        }
    }
    drawn
}
