use crate::json::{Json, Object};
use crate::model::{Boundary, BoundaryKind, TRANSPORT};
use crate::protocol::Answer;
use crate::protocol::openai_chat::error;

use super::lay::{Delta, Laid};
use super::skeleton::{item_added, part_added, patched, response_created};
use super::template::{Filled, Origin};
use super::words::{
    CREATED, ERROR, IN_PROGRESS, ITEM_ADDED, ITEM_DONE, NAME, SEQUENCE, SLOT_NAME, TEXT_PART, around_list,
    is_canonical, part_kind, terminal,
};

/// The events of an answer, each with the frame that it belongs to.
pub(super) fn stream(answer: &Answer<'_>) -> Vec<(usize, Json)> {
    let filled = Filled::of(answer);
    let mut painter = Painter::new(&filled);
    painter.start();
    for item in &filled.items {
        painter.item(item);
    }
    let breaks_off = answer.boundary.is_some() && filled.origin != Origin::Stream;
    if breaks_off {
        painter.break_off();
    }
    (painter.until, painter.is_cut) = (None, false);
    painter.end(answer, breaks_off);
    painter.finish(answer.frames.len().saturating_sub(1))
}

struct Painter<'a> {
    filled: &'a Filled<'a>,
    /// How many events that are no deltas may still come.
    until: Option<u64>,
    /// One more has been asked for: the stream broke off before it.
    is_cut: bool,
    out: Vec<Painted>,
}

struct Painted {
    /// `None`: with whatever comes next.
    frame: Option<usize>,
    is_delta: bool,
    event: Object,
}

/// Where the painting of an item stands.
struct Brush<'a> {
    item: &'a Laid,
    output_index: usize,
    extras: &'a [Json],
    /// Events of the item that are no deltas, and characters since.
    at: u64,
    run: u64,
}

impl<'a> Painter<'a> {
    fn new(filled: &'a Filled<'a>) -> Self {
        Self {
            filled,
            until: filled.get("until").and_then(Json::as_u64),
            is_cut: false,
            out: Vec::new(),
        }
    }

    fn start(&mut self) {
        let mut response = response_created(&self.filled.response);
        let usual = Object(vec![
            (CREATED.to_owned(), Json::Null),
            (IN_PROGRESS.to_owned(), Json::Null),
        ]);
        let told = self
            .filled
            .get("start")
            .and_then(Json::as_object)
            .unwrap_or(&usual);
        for (event, patch) in told.iter() {
            response = patched(&response, Some(patch));
            let members = members([("response", response.clone())]);
            self.event(Some(0), event, members, None);
        }
    }

    fn item(&mut self, item: &'a Laid) {
        let output_index = self
            .filled
            .items
            .iter()
            .position(|other| std::ptr::eq(other, item));
        let mut brush = Brush {
            item,
            output_index: output_index.unwrap_or_default(),
            extras: self
                .filled
                .layout(item, "extra")
                .and_then(Json::as_array)
                .unwrap_or_default(),
            at: 0,
            run: 0,
        };
        let added = patched(&item_added(&item.item), self.filled.layout(item, "added"));
        let with_item = |item: Json| members([("output_index", index(brush.output_index)), ("item", item)]);
        let (added, done) = (with_item(added), with_item(item.item.clone()));
        let first = match (
            is_canonical(&item.item),
            item.parts.iter().find_map(|(.., deltas)| deltas.first()),
        ) {
            (true, first) => first.map(|(frame, _)| *frame).or(item.done),
            (false, _) => None,
        };
        self.step(&mut brush, first, ITEM_ADDED, added);
        let mut last = first;
        for (list, number, deltas) in &item.parts {
            self.part(&mut brush, (list, *number), deltas, last);
            last = deltas.last().map(|(frame, _)| *frame).or(last);
        }
        if let Some((kind, deltas)) = &item.call {
            let address = address(&brush);
            self.deltas(&mut brush, kind.event, &address, deltas);
            let mut done = address;
            let text = item.item.get(kind.member).cloned().unwrap_or_default();
            done.push(kind.member, text);
            last = deltas.last().map(|(frame, _)| *frame);
            self.step(&mut brush, last, &format!("{}.done", kind.event), done);
        }
        self.step(&mut brush, item.done.or(last), ITEM_DONE, done);
        self.extras(&mut brush, item.done.or(last), u64::MAX);
    }

    fn part(&mut self, brush: &mut Brush<'a>, place: (&str, usize), deltas: &[Delta], before: Option<usize>) {
        let (list, number) = place;
        let Some(part) = brush.item.item.get(list).and_then(|parts| parts.at(number)) else {
            return;
        };
        let around = around_list(list);
        let mut address = address(brush);
        address.push(around.index, index(number));
        let patch = self.filled.layout(brush.item, "parts");
        let patch = patch.and_then(|parts| parts.get(&format!("{list}.{number}")));
        let with_part = |part: Json| {
            let mut members = address.clone();
            members.push("part", part);
            members
        };
        let first = deltas.first().map(|(frame, _)| *frame).or(before);
        let last = deltas.last().map(|(frame, _)| *frame).or(before);
        let added = with_part(patched(&part_added(part), patch));
        self.step(brush, first, &format!("{}.added", around.around), added);
        if let Some(kind) = part_kind(&brush.item.item, list, part) {
            self.deltas(brush, kind.event, &address, deltas);
            let mut done = address.clone();
            done.push(kind.member, part.get(kind.member).cloned().unwrap_or_default());
            self.step(brush, last, &format!("{}.done", kind.event), done);
        }
        self.step(
            brush,
            last,
            &format!("{}.done", around.around),
            with_part(part.clone()),
        );
    }

    fn deltas(&mut self, brush: &mut Brush<'a>, event: &str, address: &Object, deltas: &[Delta]) {
        let event = format!("{event}.delta");
        for (frame, text) in deltas {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let room = next_extra(brush).map_or(u64::MAX, |after| after.saturating_sub(brush.run));
                if room == 0 {
                    self.extras(brush, Some(*frame), brush.run);
                    continue;
                }
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                let end = rest.char_indices().nth(room).map_or(rest.len(), |(end, _)| end);
                let (now, later) = rest.split_at(end);
                let mut members = address.clone();
                members.push("delta", now);
                if !self.is_cut {
                    self.push(Some(*frame), &event, members, true, None);
                }
                brush.run += now.chars().count() as u64;
                rest = later;
            }
        }
    }

    /// One event of an item that is no delta, after what comes between.
    fn step(&mut self, brush: &mut Brush<'a>, frame: Option<usize>, event: &str, members: Object) {
        self.extras(brush, frame, u64::MAX);
        if self.event(frame, event, members, Some(brush.item)) {
            brush.at += 1;
            brush.run = 0;
        }
    }

    /// The events that only this item has, up to that many characters.
    fn extras(&mut self, brush: &mut Brush<'a>, frame: Option<usize>, run: u64) {
        while let Some(after) = next_extra(brush).filter(|after| *after <= run) {
            let (extra, rest) = match brush.extras.split_first() {
                Some((extra, rest)) => (extra, rest),
                None => return,
            };
            brush.extras = rest;
            brush.run = brush.run.max(after);
            if let Some(Json::Object(event)) = extra.get("event")
                && !self.is_cut
            {
                self.out.push(Painted {
                    frame,
                    is_delta: false,
                    event: event.clone(),
                });
            }
        }
    }

    /// Whether the event is one that this stream has.
    fn event(&mut self, frame: Option<usize>, event: &str, members: Object, item: Option<&Laid>) -> bool {
        self.is_cut |= self.until == Some(0) && !self.skips(event);
        if self.is_cut || self.skips(event) {
            return false;
        }
        if let Some(left) = &mut self.until {
            *left -= 1;
        }
        self.push(frame, event, members, false, item);
        true
    }

    fn skips(&self, event: &str) -> bool {
        let skip = self
            .filled
            .get("skip")
            .and_then(Json::as_array)
            .unwrap_or_default();
        skip.iter().any(|name| name.as_str() == Some(event))
    }

    fn push(
        &mut self,
        frame: Option<usize>,
        kind: &str,
        members: Object,
        is_delta: bool,
        item: Option<&Laid>,
    ) {
        if is_delta && self.skips(kind) {
            return;
        }
        let mut event = Object::new();
        event.push("type", kind);
        event.0.extend(members);
        match self.filled.get("events") {
            Some(events) => {
                for (name, value) in events
                    .get(kind)
                    .and_then(Json::as_object)
                    .into_iter()
                    .flat_map(Object::iter)
                {
                    let own = item.filter(|_| value.as_str() == Some(SLOT_NAME));
                    let own = own.and_then(|item| item.item.get(NAME));
                    event.set(name.clone(), own.unwrap_or(value).clone());
                }
            }
            None if self.filled.origin == Origin::Stream => {}
            None if kind.strip_prefix(TEXT_PART.event).is_some() => event.push("logprobs", Vec::new()),
            None => {}
        }
        self.out.push(Painted {
            frame,
            is_delta,
            event,
        });
    }

    /// An answer without a template that ended badly ends after its last delta.
    fn break_off(&mut self) {
        if let Some(last) = self.out.iter().rposition(|painted| painted.is_delta) {
            self.out.truncate(last + 1);
        }
    }

    fn end(&mut self, answer: &Answer<'_>, breaks_off: bool) {
        let told = answer.boundary.filter(|boundary| is_told(boundary));
        if let Some(boundary) = answer.boundary
            && let Some(payload) = self.filled.get(ERROR)
        {
            self.error(error::with_message(payload.clone(), boundary));
        } else if let Some(boundary) = told.filter(|_| breaks_off) {
            let mut payload = Object(vec![("type".to_owned(), ERROR.into())]);
            if let Json::Object(error) = error::write(boundary) {
                payload.0.extend(error);
            }
            self.error(Json::Object(payload));
        }
        let mut response = self.filled.response.clone();
        if breaks_off {
            let (Some(boundary), Some(members)) = (told, response.as_object_mut()) else {
                return;
            };
            fail(members, boundary);
        }
        let status = response.get("status").and_then(Json::as_str).and_then(terminal);
        if let Some(event) = status {
            self.event(Some(usize::MAX), event, members([("response", response)]), None);
        }
    }

    fn error(&mut self, payload: Json) {
        if let Json::Object(event) = payload {
            self.out.push(Painted {
                frame: Some(usize::MAX),
                is_delta: false,
                event,
            });
        }
    }

    /// Numbers the events and gives each a frame; no event may come before the one before it.
    fn finish(self, last_frame: usize) -> Vec<(usize, Json)> {
        let numbered = self.filled.get("numbered").and_then(Json::as_bool) != Some(false);
        let mut next = last_frame;
        let mut numbers = (0..self.out.len() as u64).rev();
        let mut events: Vec<(usize, Json)> = Vec::with_capacity(self.out.len());
        for painted in self.out.into_iter().rev() {
            next = painted.frame.map_or(next, |frame| frame.min(next));
            let mut event = painted.event;
            if let Some(number) = numbers.next().filter(|_| numbered) {
                event.set(SEQUENCE, number);
            }
            events.push((next, Json::Object(event)));
        }
        events.reverse();
        events
    }
}

/// After how many characters the item's next own event comes, if not after another event.
fn next_extra(brush: &Brush<'_>) -> Option<u64> {
    let extra = brush.extras.first()?;
    let at = extra.get("at").and_then(Json::as_u64).unwrap_or_default();
    let after = extra.get("after").and_then(Json::as_u64).unwrap_or_default();
    (at <= brush.at).then_some(if at < brush.at { 0 } else { after })
}

/// Whether a boundary is one that the provider tells in the stream.
fn is_told(boundary: &Boundary) -> bool {
    boundary.kind == BoundaryKind::Error && boundary.code.as_deref() != Some(TRANSPORT)
}

/// Makes a failed response of it.
pub(super) fn fail(response: &mut Object, boundary: &Boundary) {
    response.set("status", "failed");
    let mut error = Object::new();
    error.push("code", boundary.code.as_deref().unwrap_or("server_error"));
    error.push("message", boundary.message.as_str());
    response.set("error", error);
}

fn address(brush: &Brush<'_>) -> Object {
    let id = brush.item.item.get("id").cloned();
    let id = id.map(|id| ("item_id".to_owned(), id));
    let mut members: Object = id.into_iter().collect();
    members.push("output_index", index(brush.output_index));
    members
}

fn index(number: usize) -> Json {
    Json::from(number as u64)
}

fn members<const N: usize>(members: [(&str, Json); N]) -> Object {
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
