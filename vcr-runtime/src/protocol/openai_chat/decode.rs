use std::collections::BTreeSet;

use crate::json::{Json, Object};
use crate::protocol::paths::Step;
use crate::protocol::rules::{Field, Hit, Reading, Rules, StreamReader, index};
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::assemble::is_padding;
use super::details::{DETAILS, Forms};
use super::shape::Shape;
use super::template::{ERROR_EVENT, Level, Place};
use super::words::lacking;

/// Reads the chunks of one streamed answer: the rules say what is what, the template is learnt here from the rest.
#[derive(Debug)]
pub(super) struct ChatDecoder {
    stream: StreamReader,
    shape: Shape,
    /// The choices that have begun.
    opened: BTreeSet<u32>,
    forms: Forms,
}

/// One choice of one chunk without its canonical parts.
struct Rest<'a> {
    /// `None` when it said nothing.
    place: Option<Place>,
    choice: Vec<&'a (String, Json)>,
    delta: Vec<&'a (String, Json)>,
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        let start = out.len();
        if let Some((Json::Object(mut members), reading)) = self.stream.event(event, out) {
            self.forms.take(&mut members, start, out);
            self.learn(&members, &reading);
        }
    }

    fn again(&mut self) -> bool {
        // Members that were noted once in their place are known, and the choice is open.
        self.stream.again();
        true
    }

    fn finish(&mut self) -> Tail {
        // A stream that broke off has no end marker to remember.
        let done = self.stream.is_done() || !self.stream.reader().is_complete();
        let mut template = self.shape.finish(done);
        if let Some(members) = template.as_mut().and_then(Json::as_object_mut) {
            if self.stream.has_named_error() {
                members.push(ERROR_EVENT, true);
            }
            if let Some(form) = self.forms.first() {
                members.push(DETAILS, form.clone());
            }
        }
        self.stream.tail(template)
    }
}

impl ChatDecoder {
    pub(super) fn new(rules: &'static Rules) -> Self {
        Self {
            stream: StreamReader::new(rules),
            shape: Shape::default(),
            opened: BTreeSet::new(),
            forms: Forms::default(),
        }
    }

    /// Keeps in the template that an error came as an event named `error`.
    pub(super) fn with_named_errors(self) -> Self {
        Self {
            stream: self.stream.with_named_errors(),
            ..self
        }
    }

    fn learn(&mut self, members: &Object, reading: &Reading) {
        let is_whole = |hit: &&Hit| hit.steps.len() <= 1;
        let is_error = reading
            .hits
            .iter()
            .filter(is_whole)
            .any(|hit| hit.field == Field::Error);
        let started = !self.opened.is_empty();
        let items = members
            .get("choices")
            .and_then(Json::as_array)
            .unwrap_or_default();
        let rests: Vec<Rest<'_>> = items
            .iter()
            .enumerate()
            .filter_map(|(position, item)| self.choice(position, item, is_error, reading))
            .collect();
        let said = rests.iter().find_map(|rest| rest.place);
        let usage = has_usage(reading);
        let place = match said {
            _ if is_error => Some(Place::Error),
            Some(place) => Some(place),
            None if items.is_empty() && !started && !usage => Some(Place::Prelude),
            None => (usage || items.is_empty()).then_some(Place::Tail),
        };
        if usage {
            let closes = rests.iter().any(|rest| rest.place == Some(Place::Close));
            let usage_place = Some(Place::Close).filter(|_| closes && !is_error).or(place);
            if let Some(place @ (Place::Close | Place::Tail | Place::Error)) = usage_place {
                let lacks = members.get("usage").map(lacking).unwrap_or_default();
                self.shape.note_usage(place, lacks);
            }
        }
        self.note(members, place, usage, &rests);
        if is_error {
            let template = error_template(members, usage, said.is_some());
            self.shape.note_error(template);
        }
    }

    fn note(&mut self, members: &Object, place: Option<Place>, usage: bool, rests: &[Rest<'_>]) {
        for rest in rests {
            if let Some(place) = rest.place.or(place.filter(|place| *place == Place::Tail)) {
                self.shape.note(place, Level::Choice, &rest.choice);
                self.shape.note(place, Level::Delta, &rest.delta);
            }
        }
        if let Some(place) = place.filter(|place| *place != Place::Error) {
            let kept = members.iter().filter(|(name, _)| match name.as_str() {
                "choices" => false,
                "usage" => !usage,
                name => !is_padding(name),
            });
            self.shape.note(place, Level::Chunk, &kept.collect::<Vec<_>>());
        }
    }

    fn choice<'a>(
        &mut self,
        position: usize,
        item: &'a Json,
        is_error: bool,
        reading: &Reading,
    ) -> Option<Rest<'a>> {
        let members = item.as_object()?;
        let number = index(item.get("index")).or(u32::try_from(position).ok())?;
        let here = [Step::Key("choices"), Step::Index(position)];
        let hits = || reading.hits.iter().filter(|hit| hit.steps.starts_with(&here));
        let known = self.opened.contains(&number);
        let finishes = hits().any(|hit| hit.field == Field::Finish);
        let said = hits().find_map(|hit| place_of(hit.field));
        let place = match (known, finishes) {
            // A blank choice beside an error opens nothing: it is part of the error's payload.
            (false, false) if is_error && said.is_none() => None,
            (false, _) => Some(Place::Open),
            (true, true) => Some(Place::Close),
            (true, false) => said,
        };
        if place.is_some() {
            self.opened.insert(number);
        }
        if members.get("native_finish_reason").is_some() {
            self.shape.note_native_reason();
        }
        hits().for_each(|hit| self.part(hit, item));
        let is_rest = |(name, _): &&(String, Json)| {
            !["index", "delta", "finish_reason", "native_finish_reason"].contains(&name.as_str())
        };
        let is_unsaid = |(name, _): &&(String, Json)| {
            !hits().any(
                |hit| matches!(&hit.steps[2..], [Step::Key("delta"), Step::Key(said), ..] if said == name),
            )
        };
        let delta = members.get("delta").and_then(Json::as_object);
        Some(Rest {
            place,
            choice: members.iter().filter(is_rest).collect(),
            delta: delta
                .into_iter()
                .flat_map(Object::iter)
                .filter(is_unsaid)
                .collect(),
        })
    }

    /// What a part of a choice tells of the dialect.
    fn part(&mut self, hit: &Hit, choice: &Json) {
        match (hit.field, &hit.steps[2..]) {
            (Field::Reasoning, [_, Step::Key(key)]) => self.shape.note_reasoning(key),
            (Field::Reasoning, _) => self.shape.note_reasoning("thinking"),
            (Field::Tool, [_, Step::Key(list), Step::Index(number)]) if hit.is_new => {
                let call = choice.get("delta").and_then(|delta| delta.get(list)?.at(*number));
                let members = call.and_then(Json::as_object).into_iter().flat_map(Object::iter);
                let rest = members.filter(|(name, _)| !hit.node.owns(name)).cloned();
                self.shape.note_tool_call(rest.collect());
            }
            _ => {}
        }
    }
}

/// What a chunk is there for by what it says.
fn place_of(field: Field) -> Option<Place> {
    match field {
        Field::Reasoning => Some(Place::Reasoning),
        Field::Text | Field::Native => Some(Place::Text),
        Field::Refusal => Some(Place::Refusal),
        Field::Tool => Some(Place::Tool),
        _ => None,
    }
}

/// Whether the chunk has a usage of its own; Groq's twin of it stays in the template.
fn has_usage(reading: &Reading) -> bool {
    let own = [Step::Key("usage")];
    reading
        .hits
        .iter()
        .any(|hit| hit.field == Field::Usage && hit.steps == own)
}

/// The payload of an error, less what stands elsewhere: the usage, and choices that said something of their own.
fn error_template(members: &Object, usage: bool, choices_said: bool) -> Json {
    let kept = members.iter().filter(|(name, _)| match name.as_str() {
        "choices" => !choices_said,
        "usage" => !usage,
        name => !is_padding(name),
    });
    Json::Object(kept.cloned().collect())
}
