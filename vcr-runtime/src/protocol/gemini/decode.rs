use std::collections::BTreeMap;

use crate::json::Json;
use crate::protocol::common::{object, synthetic_id};
use crate::protocol::paths::follow;
use crate::protocol::rules::{Field, Hit, Reading, StreamReader};
use crate::protocol::{Decoder, Event, Tail, WireEvent};

use super::partial::{Partial, Whole};
use super::shape::Shape;
use super::template::{BLOCKED, PARTIAL};
use super::words::{CALLS_HERE, FUNCTION_CALL, RULES};

/// Reads the chunks of one streamed answer.
#[derive(Debug)]
pub(super) struct ChunkDecoder {
    stream: StreamReader,
    shape: Shape,
    teller: Teller,
}

impl ChunkDecoder {
    pub(super) fn new() -> Self {
        Self {
            stream: StreamReader::new(&RULES),
            shape: Shape::default(),
            teller: Teller::default(),
        }
    }
}

impl Decoder for ChunkDecoder {
    fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) {
        let mut said = Vec::new();
        let Some((mut payload, reading)) = self.stream.event(event, &mut said) else {
            return;
        };
        self.teller.tell(&mut payload, &reading, said, out);
        if reading.hits.iter().any(|hit| hit.field == Field::Error) {
            self.shape.note_error(payload);
        } else {
            self.shape.partial |= self.teller.has_partial;
            self.shape.note(&mut payload, &reading);
        }
    }

    fn finish(&mut self) -> Tail {
        let template = self.shape.finish();
        self.stream.tail(template)
    }
}

/// What the table of rules cannot say: calls get ids and come in pieces, a reason may come twice, a refused prompt has
/// words of its own.
///
/// Tool calls stand on the frame that ends their choice. Where another part follows some, a native event marks their place:
/// `{"functionCalls": 2}`, two calls stand here.
#[derive(Debug, Default)]
pub(super) struct Teller {
    calls: BTreeMap<u32, u32>,
    /// Calls whose place has no marker yet.
    unmarked: BTreeMap<u32, u32>,
    partial: BTreeMap<u32, Partial>,
    /// The last finish of each choice.
    finished: BTreeMap<u32, Event>,
    /// A call has come in pieces.
    pub(super) has_partial: bool,
}

impl Teller {
    /// Passes on the events that were read from `payload`.
    pub(super) fn tell(
        &mut self,
        payload: &mut Json,
        reading: &Reading,
        said: Vec<Event>,
        out: &mut Vec<Event>,
    ) {
        let blocked = reading.hits.iter().any(|hit| hit.node.name() == Some(BLOCKED));
        let mut finishes: Vec<u32> = reading
            .hits
            .iter()
            .filter(|hit| hit.field == Field::Finish)
            .map(|hit| hit.choice)
            .collect();
        let mut natives = reading.hits.iter().filter(|hit| hit.field == Field::Native);
        let mut signatures = reading.hits.iter().filter(|hit| hit.field == Field::Signature);
        for event in said {
            let follows = match &event {
                Event::Text { text, .. } | Event::Reasoning { text, .. } => !text.is_empty(),
                Event::Signature { .. } => signatures.next().is_some_and(|hit| !signs_call(payload, hit)),
                Event::Native { .. } => true,
                _ => false,
            };
            if follows && let Some(marker) = self.marker(&event) {
                out.push(marker);
            }
            match event {
                Event::Tool {
                    choice,
                    id,
                    name,
                    arguments,
                    ..
                } => out.push(self.call(
                    choice,
                    Whole {
                        id,
                        name: name.unwrap_or_default(),
                        arguments,
                    },
                )),
                Event::Native { choice, block } => {
                    let hit = natives.next().filter(|hit| hit.node.name() == Some(PARTIAL));
                    out.push(Event::Native { choice, block });
                    if let Some(part) = hit.and_then(|hit| follow(payload, &hit.steps)) {
                        self.has_partial = true;
                        let whole = self.partial.entry(choice).or_default().take(part);
                        out.extend(whole.map(|whole| self.call(choice, whole)));
                    }
                }
                Event::Finish {
                    choice,
                    reason,
                    native,
                } => {
                    let cut = self.partial.get_mut(&choice).and_then(Partial::end);
                    out.extend(cut.map(|cut| self.call(choice, cut)));
                    finishes.retain(|known| *known != choice);
                    out.push(self.finish(choice, reason, native, blocked));
                }
                other => out.push(other),
            }
        }
        // The same reason again, after more text: the client sees it again.
        out.extend(
            finishes
                .iter()
                .filter_map(|choice| self.finished.get(choice).cloned()),
        );
    }

    /// What tells the place of the calls before a part that is none.
    fn marker(&mut self, part: &Event) -> Option<Event> {
        let (Event::Text { choice, .. }
        | Event::Reasoning { choice, .. }
        | Event::Signature { choice, .. }
        | Event::Native { choice, .. }) = *part
        else {
            return None;
        };
        let count = self.unmarked.remove(&choice)?;
        let block = object([(CALLS_HERE, count.into())]).into();
        Some(Event::Native { choice, block })
    }

    fn call(&mut self, choice: u32, whole: Whole) -> Event {
        let count = self.calls.entry(choice).or_default();
        let index = *count;
        *count += 1;
        *self.unmarked.entry(choice).or_default() += 1;
        let id = whole.id.filter(|id| !id.is_empty());
        Event::Tool {
            choice,
            index,
            id: Some(id.unwrap_or_else(|| synthetic_id(index, &whole.name, &whole.arguments))),
            name: Some(whole.name),
            arguments: whole.arguments,
        }
    }

    fn finish(&mut self, choice: u32, reason: String, native: Option<String>, blocked: bool) -> Event {
        let canonical = match reason.as_str() {
            _ if blocked => "content_filter",
            "stop" if self.calls.contains_key(&choice) => "tool_calls",
            reason => reason,
        };
        let native = native.or_else(|| (canonical != reason).then(|| reason.clone()));
        // They stand on this very frame.
        self.unmarked.remove(&choice);
        let event = Event::Finish {
            choice,
            reason: canonical.to_owned(),
            native,
        };
        self.finished.insert(choice, event.clone());
        event
    }
}

/// Whether the part that a signature stands on is a call; a call's signature tells its place itself.
fn signs_call(payload: &mut Json, signature: &Hit) -> bool {
    let part = signature
        .steps
        .split_last()
        .and_then(|(_, steps)| follow(payload, steps));
    part.is_some_and(|part| part.get(FUNCTION_CALL).is_some())
}
