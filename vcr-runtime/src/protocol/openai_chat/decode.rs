use std::collections::BTreeMap;

use crate::json::{Json, Object, parse};
use crate::model::Usage;
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::assemble::is_padding;
use super::delta::{self, Delta};
use super::error;
use super::shape::Shape;
use super::template::{Level, Place};
use super::words::{canonical_reason, lacking, read_usage};
use crate::protocol::rules::{ToolCalls, index};

/// Reads the chunks of one streamed answer.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    choices: BTreeMap<u32, Choice>,
    shape: Shape,
    usage: Option<Usage>,
    done: bool,
    failed: bool,
    count: usize,
    odd: Option<String>,
}

/// What has been seen of a choice.
#[derive(Debug, Default)]
struct Choice {
    finish: Option<String>,
    tools: ToolCalls,
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
        self.count += 1;
        if event.odd {
            self.odd("has bytes that are no UTF-8");
        }
        if self.done {
            self.odd("comes after [DONE]");
            return;
        }
        // The SDKs look at the first characters only.
        if event.data.starts_with("[DONE]") {
            self.done = true;
            out.push(Event::End);
            return;
        }
        let is_error = event.event.as_deref() == Some("error");
        if let Some(name) = event.event.as_deref().filter(|name| *name != "message") {
            // Chunks render without a name, so that even the telling name `error` is worth a note.
            self.odd(&format!("is named `{name}`"));
        }
        match parse(&event.data) {
            Ok(payload @ Json::Object(_)) => self.payload(&payload, is_error, out),
            Ok(other) if is_error => self.error(&other, out),
            Ok(other) => self.odd(&format!("is {}, not an object", other.kind())),
            Err(error) => self.odd(&format!("is no JSON: {error}")),
        }
    }

    fn finish(&mut self) -> Tail {
        let closed = |choice: &Choice| choice.finish.is_some();
        let all_closed = !self.choices.is_empty() && self.choices.values().all(closed);
        let complete = self.done || self.failed || all_closed;
        Tail {
            // A stream that broke off has no end marker to remember.
            template: self.shape.finish(self.done || !complete),
            complete,
            odd: self.odd.take(),
        }
    }
}

impl ChatDecoder {
    /// The first oddity stands; the ones after it are mostly its consequences.
    fn odd(&mut self, what: &str) {
        let number = self.count;
        self.odd.get_or_insert_with(|| format!("event {number} {what}"));
    }

    fn payload(&mut self, payload: &Json, named_error: bool, out: &mut Vec<Event>) {
        let Some(members) = payload.as_object() else {
            return;
        };
        let is_error = named_error || error::find(members);
        let started = !self.choices.is_empty();
        let items = match members.get("choices") {
            Some(Json::Array(items)) => items.as_slice(),
            None | Some(Json::Null) => &[],
            Some(other) => {
                self.odd(&format!("has choices that are {}", other.kind()));
                &[]
            }
        };
        let mut rests = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            rests.extend(self.choice(position, item, is_error, out));
        }
        let said = rests.iter().find_map(|rest| rest.place);
        let usage = self.usage(members, out);
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
        self.note(members, place, &rests);
        if is_error {
            self.shape.note_error(error_template(members, said.is_some()));
            self.error(payload, out);
        }
    }

    fn error(&mut self, payload: &Json, out: &mut Vec<Event>) {
        self.failed = true;
        out.push(Event::Error(error::read(None, payload)));
    }

    fn note(&mut self, members: &Object, place: Option<Place>, rests: &[Rest<'_>]) {
        for rest in rests {
            if let Some(place) = rest.place.or(place.filter(|place| *place == Place::Tail)) {
                self.shape.note(place, Level::Choice, &rest.choice);
                self.shape.note(place, Level::Delta, &rest.delta);
            }
        }
        if let Some(place) = place.filter(|place| *place != Place::Error) {
            let kept = members.iter().filter(|(name, value)| match name.as_str() {
                "choices" => false,
                "usage" => read_usage(value).is_none(),
                name => !is_padding(name),
            });
            self.shape.note(place, Level::Chunk, &kept.collect::<Vec<_>>());
        }
    }

    /// Whether the chunk has usage. Groq's twin of it counts only where there is no other.
    fn usage(&mut self, members: &Object, out: &mut Vec<Event>) -> bool {
        let own = members.get("usage").and_then(read_usage);
        let has_own = own.is_some();
        let twin = || {
            let twin = read_usage(members.get("x_groq")?.get("usage")?);
            twin.filter(|_| self.usage.is_none())
        };
        if let Some(usage) = own.or_else(twin)
            && self.usage.as_ref() != Some(&usage)
        {
            out.push(Event::Usage(usage.clone()));
            self.usage = Some(usage);
        }
        has_own
    }

    fn choice<'a>(
        &mut self,
        position: usize,
        item: &'a Json,
        is_error: bool,
        out: &mut Vec<Event>,
    ) -> Option<Rest<'a>> {
        let Some(members) = item.as_object() else {
            self.odd(&format!("has a choice that is {}", item.kind()));
            return None;
        };
        let number = index(item.get("index")).or(u32::try_from(position).ok())?;
        let known = self.choices.contains_key(&number);
        let tools = self.choices.get_mut(&number).map(|choice| &mut choice.tools);
        let mut tools = tools.map(std::mem::take).unwrap_or_default();
        let delta = self.delta(number, members, &mut tools, out);
        let finish = self.finish_reason(members);
        let place = match (known, finish.is_some()) {
            // A blank choice beside an error opens nothing: it is part of the error's payload.
            (false, false) if is_error && delta.place.is_none() => None,
            (false, _) => Some(Place::Open),
            (true, true) => Some(Place::Close),
            (true, false) => delta.place,
        };
        if known || place.is_some() {
            let choice = self.choices.entry(number).or_default();
            choice.tools = tools;
            if let Some((reason, native)) = finish
                && choice.finish.as_ref() != Some(&reason)
            {
                choice.finish = Some(reason.clone());
                out.push(Event::Finish {
                    choice: number,
                    reason,
                    native,
                });
            }
        }
        if members.get("error").is_some_and(|error| !error.is_null()) {
            self.error(item, out);
        }
        let is_rest = |(name, _): &&(String, Json)| {
            !["index", "delta", "finish_reason", "native_finish_reason"].contains(&name.as_str())
        };
        Some(Rest {
            place,
            choice: members.iter().filter(is_rest).collect(),
            delta: delta.rest,
        })
    }

    fn delta<'a>(
        &mut self,
        number: u32,
        choice: &'a Object,
        tools: &mut ToolCalls,
        out: &mut Vec<Event>,
    ) -> Delta<'a> {
        let mut delta = match choice.get("delta") {
            Some(Json::Object(members)) => delta::read(number, members, tools, out),
            None | Some(Json::Null) => Delta::default(),
            Some(other) => {
                self.odd(&format!("has a delta that is {}", other.kind()));
                Delta::default()
            }
        };
        if let Some(odd) = delta.odd.take() {
            self.odd(&odd);
        }
        if let Some(key) = delta.reasoning_key {
            self.shape.note_reasoning(key);
        }
        for call in std::mem::take(&mut delta.calls) {
            self.shape.note_tool_call(call);
        }
        delta
    }

    /// The canonical word, and the provider's own where it differs. OpenRouter sends the latter in a member of its own.
    fn finish_reason(&mut self, choice: &Object) -> Option<(String, Option<String>)> {
        let native = choice.get("native_finish_reason");
        if native.is_some() {
            self.shape.note_native_reason();
        }
        let word = match choice.get("finish_reason") {
            Some(Json::String(word)) if !word.is_empty() => word,
            None | Some(Json::Null | Json::String(_)) => return None,
            Some(other) => {
                self.odd(&format!("has a finish reason that is {}", other.kind()));
                return None;
            }
        };
        let reason = canonical_reason(word);
        let native = native.and_then(Json::as_str).unwrap_or(word);
        Some((reason.to_owned(), (native != reason).then(|| native.to_owned())))
    }
}

/// The payload of an error, less what stands elsewhere: the usage, and choices that said something of their own.
fn error_template(members: &Object, choices_said: bool) -> Json {
    let kept = members.iter().filter(|(name, value)| match name.as_str() {
        "choices" => !choices_said,
        "usage" => read_usage(value).is_none(),
        name => !is_padding(name),
    });
    Json::Object(kept.cloned().collect())
}
