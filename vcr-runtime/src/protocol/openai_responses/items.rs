//! The output items of a stream while they come.

use crate::json::{Json, Object};
use crate::protocol::Event;

use super::skeleton::{diff, item_added, part_added, skeleton};
use super::words::{
    CALL_ID, LISTS, NAME, PartKind, SIGNATURE, Says, around_list, call_kind, is_canonical, is_noise,
    part_kind,
};

/// One output item.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) output_index: Option<u64>,
    /// As it is by now; once it is done, as the server says that it is.
    pub(super) item: Json,
    added: Option<Json>,
    is_done: bool,
    parts: Vec<Part>,
    /// The arguments of a call so far.
    arguments: String,
    /// Events that are no deltas, and characters since.
    at: u64,
    run: u64,
    extras: Vec<Json>,
}

/// One part of an item.
#[derive(Debug)]
struct Part {
    list: &'static str,
    number: usize,
    added: Option<Json>,
    text: String,
}

impl Item {
    pub(super) fn new(output_index: Option<u64>, item: Json) -> Self {
        Self {
            output_index,
            item,
            added: None,
            is_done: false,
            parts: Vec::new(),
            arguments: String::new(),
            at: 0,
            run: 0,
            extras: Vec::new(),
        }
    }

    pub(super) fn is(&self, id: Option<&Json>) -> bool {
        id.is_some() && self.item.get("id") == id
    }

    /// An event of this item that is no delta has come.
    pub(super) fn step(&mut self) {
        self.at += 1;
        self.run = 0;
    }

    pub(super) fn added(&mut self) {
        self.added = Some(self.item.clone());
    }

    pub(super) fn part_added(&mut self, list: &'static str, number: usize, part: &Json) {
        self.part(list, number).added = Some(part.clone());
        self.set_part(list, number, part);
    }

    pub(super) fn delta(&mut self, kind: &'static PartKind, number: usize, text: &str) {
        self.part(kind.list, number).text.push_str(text);
        self.run += text.chars().count() as u64;
    }

    pub(super) fn argument(&mut self, text: &str) {
        self.arguments.push_str(text);
        self.run += text.chars().count() as u64;
    }

    /// A part's text that came whole, for servers that send no deltas.
    pub(super) fn part_done(
        &mut self,
        kind: &'static PartKind,
        number: usize,
        text: &str,
        out: &mut Vec<Event>,
    ) -> bool {
        let part = self.part(kind.list, number);
        if part.text.is_empty() && !text.is_empty() {
            text.clone_into(&mut part.text);
            out.push(say(kind.says, text));
        }
        part.text == text
    }

    pub(super) fn set_part(&mut self, list: &'static str, number: usize, part: &Json) {
        let Some(members) = self.item.as_object_mut() else {
            return;
        };
        if members.get(list).is_none() {
            members.push(list, Vec::new());
        }
        if let Some(Json::Array(parts)) = members.get_mut(list)
            // No server has that many parts; a wrong number must not cost memory.
            && number <= parts.len()
        {
            match parts.get_mut(number) {
                Some(slot) => *slot = part.clone(),
                None => parts.push(part.clone()),
            }
        }
    }

    /// The item as the server says that it is now. What it says that no delta has said is appended to `out`; false if it
    /// says other things than the deltas. `number` is what to call it if it is a tool call.
    pub(super) fn done(&mut self, item: &Json, number: u32, out: &mut Vec<Event>) -> bool {
        self.item = item.clone();
        self.is_done = true;
        let mut same = true;
        for list in LISTS {
            let parts = item.get(list).and_then(Json::as_array).unwrap_or_default();
            for (at, part) in parts.iter().enumerate() {
                if let Some(kind) = part_kind(item, list, part) {
                    let text = part.get(kind.member).and_then(Json::as_str).unwrap_or_default();
                    same &= self.part_done(kind, at, text, out);
                }
            }
            same &= self
                .parts
                .iter()
                .all(|part| part.list != list || part.number < parts.len());
        }
        if let Some(kind) = call_kind(item) {
            let text = item.get(kind.member).and_then(Json::as_str).unwrap_or_default();
            if self.arguments.is_empty() && !text.is_empty() {
                text.clone_into(&mut self.arguments);
                out.push(Event::Tool {
                    choice: 0,
                    index: number,
                    id: None,
                    name: None,
                    arguments: text.to_owned(),
                });
            }
            same &= self.arguments == text;
        }
        same
    }

    /// An item that only the last event has, with everything that it says.
    pub(super) fn whole(&mut self, item: &Json, number: u32, out: &mut Vec<Event>) -> bool {
        let text = |name: &str| item.get(name).and_then(Json::as_str).map(str::to_owned);
        if call_kind(item).is_some() {
            out.push(Event::Tool {
                choice: 0,
                index: number,
                id: text(CALL_ID),
                name: text(NAME),
                arguments: String::new(),
            });
        }
        let same = self.done(item, number, out);
        if let Some(text) = text(SIGNATURE).filter(|text| is_canonical(item) && !text.is_empty()) {
            out.push(Event::Signature { choice: 0, text });
        }
        if !is_canonical(item) {
            out.push(Event::Native {
                choice: 0,
                block: item.clone(),
            });
        }
        same
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Notes an event that only this item has.
    pub(super) fn extra(&mut self, event: &Object) {
        let event: Object = event
            .iter()
            .filter(|(name, _)| !is_noise(name))
            .cloned()
            .collect();
        let mut extra = Object::new();
        extra.push("at", self.at);
        if self.run > 0 {
            extra.push("after", self.run);
        }
        extra.push("event", event);
        self.extras.push(Json::Object(extra));
    }

    /// The item with the text that has come, where it did not come to its end.
    pub(super) fn settle(&mut self) {
        if self.is_done {
            return;
        }
        for part in &self.parts {
            let slot = self.item.as_object_mut().and_then(|item| item.get_mut(part.list));
            let slot = match slot {
                Some(Json::Array(parts)) => parts.get_mut(part.number),
                _ => None,
            };
            if let Some(Json::Object(members)) = slot {
                let member = if members.get("refusal").is_some() {
                    "refusal"
                } else {
                    "text"
                };
                members.set(member, part.text.as_str());
            }
        }
        let arguments = std::mem::take(&mut self.arguments);
        if let Some(kind) = call_kind(&self.item)
            && let Some(members) = self.item.as_object_mut()
        {
            members.set(kind.member, arguments);
        }
    }

    /// The item for the template. A block is told by a frame only when it is done.
    pub(super) fn skeleton(&self) -> Json {
        if !self.is_done && !is_canonical(&self.item) {
            return self.item.clone();
        }
        let mut slotted = skeleton(&self.item);
        // A signature is told when the item is done.
        if !self.is_done
            && let Some(members) = slotted.as_object_mut()
            && let Some(text) = self.item.get(SIGNATURE)
        {
            members.set(SIGNATURE, text.clone());
        }
        slotted
    }

    /// What is special about it.
    pub(super) fn layout(&self) -> Object {
        let mut layout = Object::new();
        if let Some(added) = &self.added {
            let patch = diff(&item_added(&self.item), added);
            if !patch.is_empty() {
                layout.push("added", patch);
            }
        }
        let mut patches = Object::new();
        for part in &self.parts {
            let now = self.item.get(part.list).and_then(|parts| parts.at(part.number));
            if let (Some(now), Some(added)) = (now, &part.added) {
                let patch = diff(&part_added(now), added);
                if !patch.is_empty() {
                    patches.push(format!("{}.{}", part.list, part.number), patch);
                }
            }
        }
        if !patches.is_empty() {
            layout.push("parts", patches);
        }
        if !self.extras.is_empty() {
            layout.push("extra", self.extras.clone());
        }
        layout
    }

    /// The types of the events that such an item usually has, deltas of what it says included.
    pub(super) fn usual_events(&self) -> Vec<String> {
        let mut events = vec![
            super::words::ITEM_ADDED.to_owned(),
            super::words::ITEM_DONE.to_owned(),
        ];
        let mut add =
            |event: &str, ends: &[&str]| events.extend(ends.iter().map(|end| format!("{event}.{end}")));
        for list in LISTS.into_iter().filter(|_| is_canonical(&self.item)) {
            for part in self.item.get(list).and_then(Json::as_array).unwrap_or_default() {
                add(around_list(list).around, &["added", "done"]);
                if let Some(kind) = part_kind(&self.item, list, part) {
                    let says = part
                        .get(kind.member)
                        .and_then(Json::as_str)
                        .is_some_and(|text| !text.is_empty());
                    add(kind.event, if says { &["delta", "done"] } else { &["done"] });
                }
            }
        }
        if let Some(kind) = call_kind(&self.item) {
            let says = self
                .item
                .get(kind.member)
                .and_then(Json::as_str)
                .is_some_and(|text| !text.is_empty());
            add(kind.event, if says { &["delta", "done"] } else { &["done"] });
        }
        events
    }

    fn part(&mut self, list: &'static str, number: usize) -> &mut Part {
        let known = self
            .parts
            .iter()
            .position(|part| part.list == list && part.number == number);
        let at = known.unwrap_or_else(|| {
            self.parts.push(Part {
                list,
                number,
                added: None,
                text: String::new(),
            });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }
}

fn say(says: Says, text: &str) -> Event {
    let (choice, text) = (0, text.to_owned());
    match says {
        Says::Text => Event::Text { choice, text },
        Says::Reasoning => Event::Reasoning { choice, text },
        Says::Refusal => Event::Refusal { choice, text },
    }
}
