//! Learns a stream's template while it is decoded.
//!
//! A chunk has members at three levels: its own, its choice's, and its delta's. What is left of them without the
//! canonical parts depends only on what the chunk is there for (its [`Place`]) in nearly every dialect. So per place
//! the members are kept that all its chunks agree on; what they disagree on stays out of the template, and the
//! comparison with the raw stream then shows whether anything was lost.

use crate::json::{Json, Object};

use super::template::{Level, Place};

/// The levels of one place.
#[derive(Clone, Debug, Default)]
struct Levels([Option<Object>; 3]);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Shape {
    places: Vec<(Place, Levels)>,
    /// The last value of members that no chunk can do without, in case their values vary.
    identity: Object,
    usage_on: Vec<Place>,
    usage_lacks: Vec<Json>,
    reasoning_key: Option<&'static str>,
    native_reason: bool,
    tool_call: Option<Object>,
    error: Option<Json>,
}

/// Members that strict SDKs refuse to miss.
const IDENTITY: [&str; 4] = ["id", "object", "created", "model"];

impl Shape {
    /// Takes the members of one level of a chunk in that place.
    pub(super) fn note(&mut self, place: Place, level: Level, members: &[&(String, Json)]) {
        if level == Level::Chunk && place != Place::Prelude {
            self.note_identity(members);
        }
        let position = self.places.iter().position(|(known, _)| *known == place);
        let position = position.unwrap_or_else(|| {
            self.places.push((place, Levels::default()));
            self.places.len() - 1
        });
        let slot = &mut self.places[position].1.0[level as usize];
        match slot {
            Some(agreed) => agreed.0.retain(|known| members.contains(&known)),
            None => *slot = Some(members.iter().map(|member| (*member).clone()).collect()),
        }
    }

    fn note_identity(&mut self, members: &[&(String, Json)]) {
        for (name, value) in members {
            if IDENTITY.contains(&name.as_str()) && self.identity.get(name) != Some(value) {
                self.identity.set(name.clone(), value.clone());
            }
        }
    }

    /// A usage was seen in that place, without these counts.
    pub(super) fn note_usage(&mut self, place: Place, lacks: Vec<Json>) {
        if !self.usage_on.contains(&place) {
            self.usage_on.push(place);
        }
        self.usage_lacks = lacks;
    }

    /// The member that carried reasoning; the first one stands.
    pub(super) fn note_reasoning(&mut self, key: &'static str) {
        self.reasoning_key.get_or_insert(key);
    }

    pub(super) fn note_native_reason(&mut self) {
        self.native_reason = true;
    }

    /// The members of a tool call besides index, id and function.
    pub(super) fn note_tool_call(&mut self, members: Object) {
        match &mut self.tool_call {
            Some(agreed) => agreed.0.retain(|known| members.0.contains(known)),
            None => self.tool_call = Some(members),
        }
    }

    /// The payload that carried an error, without its usage.
    pub(super) fn note_error(&mut self, payload: Json) {
        self.error = Some(payload);
    }

    /// The template, in the form that [`Template`](super::template::Template) reads. `None` when nothing came.
    pub(super) fn finish(&self, done: bool) -> Option<Json> {
        if self.places.is_empty() && self.error.is_none() {
            return None;
        }
        let mut template = Object::new();
        let bases = Level::ALL.map(|level| self.base(level));
        for (level, base) in Level::ALL.into_iter().zip(&bases) {
            // The member `chunk` is what tells this template from a unary one.
            if level == Level::Chunk || !base.is_empty() {
                template.push(level.name(), base.clone());
            }
        }
        for place in Place::ALL {
            let Some((_, levels)) = self.places.iter().find(|(known, _)| *known == place) else {
                continue;
            };
            let patch = patch(levels, &bases, place);
            if !patch.is_empty() || place.is_explicit() {
                template.push(place.name(), patch);
            }
        }
        self.push_rest(&mut template, done);
        Some(Json::Object(template))
    }

    fn push_rest(&self, template: &mut Object, done: bool) {
        if !self.usage_on.is_empty() {
            let places = self.usage_on.iter().map(|place| Json::from(place.name()));
            template.push("usage_on", places.collect::<Vec<_>>());
        }
        if !self.usage_lacks.is_empty() {
            template.push("usage_lacks", self.usage_lacks.clone());
        }
        if let Some(key) = self.reasoning_key.filter(|key| *key != "reasoning_content") {
            template.push("reasoning_key", key);
        }
        if self.native_reason {
            template.push("native_finish_reason", true);
        }
        if let Some(members) = &self.tool_call
            && *members != super::template::usual_tool_call()
        {
            template.push("tool_call", members.clone());
        }
        if let Some(error) = &self.error {
            template.push("error", error.clone());
        }
        if !done {
            template.push("done", false);
        }
    }

    /// What all ordinary places agree on.
    fn base(&self, level: Level) -> Object {
        let ordinary = self.places.iter().filter(|(place, _)| place.is_ordinary());
        let mut levels = ordinary.filter_map(|(_, levels)| levels.0[level as usize].as_ref());
        let mut base = levels.next().cloned().unwrap_or_default();
        for other in levels {
            base.0.retain(|member| other.0.contains(member));
        }
        if level == Level::Chunk && self.places.iter().any(|(place, _)| place.is_ordinary()) {
            for (name, value) in self.identity.iter() {
                if base.get(name).is_none() {
                    base.push(name.clone(), value.clone());
                }
            }
        }
        base
    }
}

fn patch(levels: &Levels, bases: &[Object; 3], place: Place) -> Object {
    let mut patch = Object::new();
    for level in Level::ALL {
        let Some(members) = &levels.0[level as usize] else {
            continue;
        };
        let base = &bases[level as usize];
        let own: Object = members
            .iter()
            .filter(|(name, value)| base.get(name) != Some(value))
            .cloned()
            .collect();
        // A tail with a delta has a choice to hold it, one without has none.
        if !own.is_empty() || (place == Place::Tail && level == Level::Delta) {
            patch.push(level.name(), own);
        }
    }
    patch
}
