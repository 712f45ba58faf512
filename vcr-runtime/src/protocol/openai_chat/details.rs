//! `OpenRouter` tells reasoning twice: as text, and in `reasoning_details`, a list of blocks that names its source.
//!
//! A detail whose text is the reasoning of its chunk says nothing new. Its form, with a slot for the text, is kept in the
//! template as `reasoning_details`. Where the form changes from one chunk to the next, and with it the block, a native
//! event holds the new form before the reasoning. Any other detail (a signature, encrypted reasoning) is itself a native
//! event: `{"reasoning_details": [{"type": "reasoning.encrypted", "data": "…"}]}`.

use std::collections::BTreeMap;

use crate::json::{Json, Object};
use crate::protocol::Event;
use crate::protocol::common::object;
use crate::protocol::rules::index;

use super::words::REASONING_KEYS;

pub(super) const DETAILS: &str = "reasoning_details";
/// Stands in a form for the reasoning of the chunk.
const SLOT: &str = "$reasoning";
/// What the text of a detail is called.
const TEXTS: [&str; 2] = ["text", "summary"];

/// Follows the forms of one stream.
#[derive(Debug, Default)]
pub(super) struct Forms {
    first: Option<Json>,
    latest: BTreeMap<u32, Json>,
}

impl Forms {
    /// Takes the details out of a chunk. What must be known of them goes to `out`, where the chunk's own events begin at
    /// `start`.
    pub(super) fn take(&mut self, chunk: &mut Object, start: usize, out: &mut Vec<Event>) {
        let Some(Json::Array(choices)) = chunk.get_mut("choices") else {
            return;
        };
        for (position, item) in choices.iter_mut().enumerate() {
            let number = index(item.get("index")).or(u32::try_from(position).ok());
            let delta = item
                .as_object_mut()
                .and_then(|choice| choice.get_mut("delta")?.as_object_mut());
            if let (Some(choice), Some(delta)) = (number, delta) {
                self.take_delta(choice, delta, start, out);
            }
        }
    }

    fn take_delta(&mut self, choice: u32, delta: &mut Object, start: usize, out: &mut Vec<Event>) {
        let texts = REASONING_KEYS.iter().filter_map(|key| delta.get(key)?.as_str());
        let reasoning = texts.map(str::to_owned).find(|text| !text.is_empty());
        let Some(Json::Array(details)) = delta.get_mut(DETAILS) else {
            return;
        };
        if details.is_empty() {
            return;
        }
        let repeats = |detail: &Json| text_of(detail).is_some_and(|text| Some(text) == reasoning.as_deref());
        let form = details.iter().position(repeats).map(|at| details.remove(at));
        let others = std::mem::take(details);
        delta.remove(DETAILS);
        if let Some(mut form) = form {
            fill(&mut form, SLOT);
            let first = self.first.get_or_insert_with(|| form.clone());
            if *self.latest.get(&choice).unwrap_or(first) != form {
                out.insert(start, native(choice, vec![form.clone()]));
            }
            self.latest.insert(choice, form);
        }
        if !others.is_empty() {
            out.push(native(choice, others));
        }
    }

    /// The form of the first chunk that had one.
    pub(super) fn first(&self) -> Option<&Json> {
        self.first.as_ref()
    }
}

fn native(choice: u32, details: Vec<Json>) -> Event {
    let block = object([(DETAILS, details.into())]).into();
    Event::Native { choice, block }
}

/// The details of a native block; `None` when the block is another one.
pub(super) fn details_of(block: &Json) -> Option<&[Json]> {
    block.get(DETAILS)?.as_array()
}

/// The form that a native block announces for the reasoning to come.
pub(super) fn form_of(details: &[Json]) -> Option<&Json> {
    let [form] = details else { return None };
    Some(form).filter(|form| text_of(form) == Some(SLOT))
}

/// The details of a chunk with this reasoning.
pub(super) fn filled(form: &Json, reasoning: &str) -> Json {
    let mut detail = form.clone();
    fill(&mut detail, reasoning);
    vec![detail].into()
}

fn text_of(detail: &Json) -> Option<&str> {
    TEXTS.iter().find_map(|name| detail.get(name)?.as_str())
}

fn fill(detail: &mut Json, text: &str) {
    let name = TEXTS
        .iter()
        .find(|name| detail.get(name).is_some_and(|text| text.as_str().is_some()));
    if let (Some(name), Some(members)) = (name, detail.as_object_mut()) {
        members.set(*name, text);
    }
}
