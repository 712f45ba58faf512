//! Learns a stream's template while it is read; see [`super::template`].

use std::collections::BTreeSet;

use crate::json::{Json, Object};
use crate::protocol::Event;

use super::items::Item;
use super::skeleton::{diff, open_last, response_created};
use super::template::COUNTS;
use super::words::{
    CREATED, ERROR, IN_PROGRESS, ITEM_ADDED, ITEM_DONE, NAME, SEQUENCE, SLOT_ITEM, SLOT_ITEMS, SLOT_NAME,
    around, call_kind, call_of_event, is_noise, is_terminal, part_of_event, type_of,
};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Scribe {
    /// The first events and their responses.
    start: Vec<(String, Json)>,
    /// The response of the last event.
    end: Option<Json>,
    items: Vec<Item>,
    error: Option<Object>,
    /// Events that are no deltas and that only the usual order has.
    steps: u64,
    seen: BTreeSet<String>,
    /// Members that every event of a type has besides the usual ones.
    members: Vec<(String, Object)>,
    unnumbered: bool,
}

impl Scribe {
    /// Takes a payload. What it says that no delta has said is appended to `out`; the answer is what is odd about it.
    pub(super) fn event(&mut self, payload: &Json, out: &mut Vec<Event>) -> Option<&'static str> {
        let event = payload.as_object()?;
        let kind = type_of(payload);
        self.unnumbered |= event.get(SEQUENCE).is_none();
        self.seen.insert(kind.to_owned());
        if kind == ERROR || (kind.is_empty() && event.get(ERROR).is_some()) {
            self.error = Some(
                event
                    .iter()
                    .filter(|(name, _)| !is_noise(name))
                    .cloned()
                    .collect(),
            );
            return None;
        }
        if let Some(response) = event.get("response") {
            let odd = if is_terminal(kind) {
                self.terminal(response, out)
            } else {
                self.steps += 1;
                self.start.push((kind.to_owned(), response.clone()));
                None
            };
            self.note(kind, event, &["response"], None);
            return odd;
        }
        let Some((odd, at, usual)) = self.of_item(kind, event, out) else {
            match self.find(event).or(self.items.len().checked_sub(1)) {
                Some(at) => self.items[at].extra(event),
                None => return Some("has no place"),
            }
            return None;
        };
        if !kind.ends_with(".delta") {
            self.steps += 1;
            self.items[at].step();
        }
        self.note(kind, event, &usual, Some(at));
        odd
    }

    /// An event of an item: what is odd about it, the item, and the members that such an event usually has. `None` where
    /// it is none of the usual ones.
    fn of_item(
        &mut self,
        kind: &str,
        event: &Object,
        out: &mut Vec<Event>,
    ) -> Option<(Option<&'static str>, usize, [&'static str; 4])> {
        const UNLIKE: &str = "says something else than the deltas before";
        let odd = |same: bool| (!same).then_some(UNLIKE);
        let text = |name: &str| event.get(name).and_then(Json::as_str);
        if kind == ITEM_ADDED {
            let mut item = Item::new(
                event.get("output_index").and_then(Json::as_u64),
                event.get("item")?.clone(),
            );
            item.added();
            self.items.push(item);
            return Some((None, self.items.len() - 1, ["output_index", "item", "", ""]));
        }
        if kind == ITEM_DONE {
            let item = event.get("item")?;
            let at = self.find(event).unwrap_or_else(|| {
                self.items.push(Item::new(
                    event.get("output_index").and_then(Json::as_u64),
                    item.clone(),
                ));
                self.items.len() - 1
            });
            let number = self.number(at);
            let same = self.items[at].done(item, number, out);
            return Some((odd(same), at, ["output_index", "item", "", ""]));
        }
        let at = self.find(event)?;
        let (name, what) = kind.rsplit_once('.')?;
        if let Some(call) = call_of_event(name) {
            if what == "delta" {
                self.items[at].argument(text("delta")?);
            } else if what != "done" {
                return None;
            }
            let member = if what == "delta" { "delta" } else { call.member };
            return Some((None, at, ["item_id", "output_index", member, ""]));
        }
        if let Some(part) = part_of_event(name) {
            let number = number(event.get(part.index));
            let mut same = true;
            match what {
                "delta" => self.items[at].delta(part, number, text("delta")?),
                "done" => same = self.items[at].part_done(part, number, text(part.member)?, out),
                _ => return None,
            }
            let member = if what == "delta" { "delta" } else { part.member };
            return Some((odd(same), at, ["item_id", "output_index", part.index, member]));
        }
        let (list, index) = around(name, &self.items[at].item)?;
        let (number, part) = (number(event.get(index)), event.get("part")?);
        match what {
            "added" => self.items[at].part_added(list, number, part),
            "done" => self.items[at].set_part(list, number, part),
            _ => return None,
        }
        Some((None, at, ["item_id", "output_index", index, "part"]))
    }

    fn terminal(&mut self, response: &Json, out: &mut Vec<Event>) -> Option<&'static str> {
        let output = response
            .get("output")
            .and_then(Json::as_array)
            .unwrap_or_default();
        let mut same = true;
        for (at, item) in output.iter().enumerate() {
            if at == self.items.len() {
                self.items.push(Item::new(None, item.clone()));
                let number = self.number(at);
                same &= self.items[at].whole(item, number, out);
            } else if let Some(known) = self.items.get(at)
                && !known.is_done()
                && known.is(item.get("id"))
            {
                let number = self.number(at);
                same &= self.items[at].done(item, number, out);
            }
        }
        self.end = Some(response.clone());
        (!same).then_some("repeats something else than the deltas before")
    }

    fn find(&self, event: &Object) -> Option<usize> {
        let index = event.get("output_index").and_then(Json::as_u64);
        let id = event.get("item_id").or_else(|| event.get("item")?.get("id"));
        let by_index = index.and_then(|index| {
            self.items
                .iter()
                .position(|item| item.output_index == Some(index))
        });
        by_index.or_else(|| self.items.iter().position(|item| item.is(id)))
    }

    /// The number of a tool call among the calls, as the rules count them.
    fn number(&self, at: usize) -> u32 {
        let before = self.items.iter().take(at);
        let calls = before.filter(|item| call_kind(&item.item).is_some()).count();
        u32::try_from(calls).unwrap_or(u32::MAX)
    }

    /// Keeps the members that all events of a type agree on.
    fn note(&mut self, kind: &str, event: &Object, usual: &[&str], item: Option<usize>) {
        let own_name = item.and_then(|at| self.items[at].item.get(NAME));
        let rest = event
            .iter()
            .filter(|(name, _)| !is_noise(name) && name != "type" && !usual.contains(&name.as_str()));
        let rest: Object = rest
            .map(|(name, value)| {
                let is_own = name == NAME && own_name == Some(value);
                (
                    name.clone(),
                    if is_own { SLOT_NAME.into() } else { value.clone() },
                )
            })
            .collect();
        match self.members.iter_mut().find(|(known, _)| known == kind) {
            Some((_, known)) => known.0.retain(|(name, value)| rest.get(name) == Some(value)),
            None => self.members.push((kind.to_owned(), rest)),
        }
    }

    /// The template; `None` where nothing came that one could be made of.
    pub(super) fn finish(&mut self) -> Option<Json> {
        let last = self
            .end
            .as_ref()
            .or(self.start.last().map(|(_, response)| response));
        if last.is_none() && self.error.is_none() {
            return None;
        }
        let mut response = last.cloned().unwrap_or_else(|| Object::new().into());
        self.items.iter_mut().for_each(Item::settle);
        let mut template = Object::new();
        let start = self.start_patches(&response);
        if let Some(members) = response.as_object_mut() {
            COUNTS.take(members);
            if let Some(told) = members.get("output") {
                let output = self.output(told);
                members.set("output", output);
            }
        }
        template.push("response", response);
        let mut items: Vec<Json> = self.items.iter().map(Item::skeleton).collect();
        open_last(&mut items);
        template.push("items", items);
        if let Some(start) = start {
            template.push("start", start);
        }
        let layouts = self.items.iter().map(Item::layout).enumerate();
        let layouts = layouts.filter(|(_, layout)| !layout.is_empty());
        let layouts: Object = layouts
            .map(|(at, layout)| (at.to_string(), layout.into()))
            .collect();
        let members = std::mem::take(&mut self.members)
            .into_iter()
            .filter(|(_, members)| !members.is_empty());
        let members: Object = members.map(|(kind, members)| (kind, members.into())).collect();
        for (name, told) in [("layout", layouts), ("events", members)] {
            if !told.is_empty() {
                template.push(name, told);
            }
        }
        let status = self
            .end
            .as_ref()
            .and_then(|response| response.get("status")?.as_str());
        if self.error.is_some() || !matches!(status, Some("completed" | "incomplete")) {
            template.push("until", self.steps);
        } else {
            let mut skip: Vec<String> = self.items.iter().flat_map(Item::usual_events).collect();
            skip.retain(|event| !self.seen.contains(event));
            skip.sort_unstable();
            skip.dedup();
            if !skip.is_empty() {
                template.push("skip", skip.into_iter().map(Json::from).collect::<Vec<_>>());
            }
        }
        if let Some(error) = self.error.take() {
            template.push(ERROR, error);
        }
        if self.unnumbered {
            template.push("numbered", false);
        }
        Some(template.into())
    }

    /// How the responses of the first events differ from the usual; `None` if they do not.
    fn start_patches(&self, last: &Json) -> Option<Object> {
        let mut before = response_created(last);
        let mut patches = Object::new();
        for (event, response) in &self.start {
            patches.push(event.clone(), diff(&before, response));
            before = response.clone();
        }
        let is_usual = match patches.0.as_slice() {
            [(first, a), (second, b)] => {
                let same = |patch: &Json| patch.as_object().is_some_and(Object::is_empty);
                first == CREATED && second == IN_PROGRESS && same(a) && same(b)
            }
            _ => false,
        };
        (!is_usual).then_some(patches)
    }

    /// The output of the last response by the items.
    fn output(&self, told: &Json) -> Json {
        let Json::Array(told) = told else {
            return told.clone();
        };
        let entries: Vec<Json> = told
            .iter()
            .enumerate()
            .map(|(at, entry)| match self.items.get(at) {
                Some(item) => {
                    let patch = diff(&item.item, entry);
                    if patch.is_empty() {
                        SLOT_ITEM.into()
                    } else {
                        Object(vec![(SLOT_ITEM.to_owned(), patch.into())]).into()
                    }
                }
                None => entry.clone(),
            })
            .collect();
        let all = entries.len() == self.items.len() && !entries.is_empty();
        if all && entries.iter().all(|entry| entry.as_str() == Some(SLOT_ITEM)) {
            return SLOT_ITEMS.into();
        }
        entries.into()
    }
}

fn number(index: Option<&Json>) -> usize {
    let index = index
        .and_then(Json::as_u64)
        .and_then(|index| usize::try_from(index).ok());
    index.unwrap_or(0)
}
