//! What the events of a recorded stream say.
//!
//! The chunks of a text differ in that text and in nothing else. Where the decoder agrees, such a chunk is read by the
//! pattern of the one before instead of being parsed, looked through and taken apart.

use super::stencil::Stencil;
use crate::protocol::{Decoder, Event, Tail, WireEvent};

/// Reads the events of one stream.
pub(super) struct Listener {
    decoder: Box<dyn Decoder>,
    latest: Option<Latest>,
    passages: Vec<Passage>,
}

/// The payload of an event as it is compared later.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// The payload of that number.
    One(usize),
    /// Payloads that differed in one text, as one that has all their text; and their `event:` field.
    Joined { name: Option<String>, data: String },
}

/// The latest event, as the pattern of the next one.
struct Latest {
    stencil: Stencil,
    /// The `event:` field.
    name: Option<String>,
    /// What it said, and nothing else; its text is the hole.
    said: Event,
    /// The decoder found in a second event what the pattern says, so the hole is where the text comes from.
    is_proven: bool,
    /// The texts that were read by the pattern since.
    joined: String,
}

impl Listener {
    pub(super) fn new(decoder: Box<dyn Decoder>) -> Self {
        Self {
            decoder,
            latest: None,
            passages: Vec::new(),
        }
    }

    /// Takes one event, whose payload has that number; what it says is appended to `out`.
    pub(super) fn event(&mut self, event: &WireEvent, number: usize, out: &mut Vec<Event>) {
        let repeated = self.latest.as_ref().and_then(|latest| latest.read(event));
        if let Some(latest) = &mut self.latest
            && let Some((said, text)) = &repeated
            && latest.is_proven
            && self.decoder.again()
        {
            latest.joined.push_str(text);
            out.push(said.clone());
            return;
        }
        self.end_run();
        let before = out.len();
        self.decoder.event(event, out);
        self.passages.push(Passage::One(number));
        let said = &out[before..];
        let is_proof = matches!((&repeated, said), (Some((expected, _)), [said]) if said == expected);
        match &mut self.latest {
            Some(latest) if is_proof => latest.is_proven = true,
            latest => *latest = Latest::of(event, said),
        }
    }

    /// After the last event: what the decoder concludes, and the payloads that there were.
    pub(super) fn finish(mut self) -> (Tail, Vec<Passage>) {
        self.end_run();
        (self.decoder.finish(), self.passages)
    }

    fn end_run(&mut self) {
        if let Some(latest) = &mut self.latest
            && !latest.joined.is_empty()
        {
            let mut data = String::new();
            latest.stencil.write(&latest.joined, &mut data);
            latest.joined.clear();
            let name = latest.name.clone();
            self.passages.push(Passage::Joined { name, data });
        }
    }
}

impl Latest {
    /// `None` where the event said another thing than one text.
    fn of(event: &WireEvent, said: &[Event]) -> Option<Self> {
        let [said] = said else {
            return None;
        };
        let mut said = said.clone();
        let text = std::mem::take(text_of(&mut said)?);
        if event.odd || text.is_empty() {
            return None;
        }
        Some(Self {
            stencil: Stencil::around(&event.data, &text)?,
            name: event.event.clone(),
            said,
            is_proven: false,
            joined: String::new(),
        })
    }

    /// What an event says if it is like this one, and its text.
    fn read(&self, event: &WireEvent) -> Option<(Event, String)> {
        if event.odd || event.event != self.name {
            return None;
        }
        // An empty text is none, so it says something else.
        let text = self.stencil.read(&event.data).filter(|text| !text.is_empty())?;
        let mut said = self.said.clone();
        text_of(&mut said)?.push_str(&text);
        Some((said, text))
    }
}

/// The text of a step that consists of text.
fn text_of(event: &mut Event) -> Option<&mut String> {
    match event {
        Event::Text { text, .. } | Event::Reasoning { text, .. } | Event::Refusal { text, .. } => Some(text),
        Event::Tool {
            id: None,
            name: None,
            arguments,
            ..
        } => Some(arguments),
        _ => None,
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Listener")
            .field("passages", &self.passages.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{Json, parse};
    use crate::protocol::Wire;

    fn event(data: &str) -> WireEvent {
        WireEvent {
            data: data.to_owned(),
            ..WireEvent::default()
        }
    }

    fn wire() -> &'static dyn Wire {
        crate::protocol::find("openai-chat").unwrap()
    }

    fn listen(payloads: &[String]) -> (Vec<Event>, Tail, Vec<Passage>) {
        let mut listener = Listener::new(wire().decoder());
        let mut out = Vec::new();
        for (number, payload) in payloads.iter().enumerate() {
            listener.event(&event(payload), number, &mut out);
        }
        let (tail, heard) = listener.finish();
        (out, tail, heard)
    }

    fn decode(payloads: &[String]) -> (Vec<Event>, Tail) {
        let mut decoder = wire().decoder();
        let mut out = Vec::new();
        for payload in payloads {
            decoder.event(&event(payload), &mut out);
        }
        (out, decoder.finish())
    }

    fn assembled<'p>(payloads: impl Iterator<Item = &'p str>) -> Json {
        let payloads: Vec<Json> = payloads.filter_map(|payload| parse(payload).ok()).collect();
        wire().assemble(&payloads)
    }

    fn delta(delta: &str) -> String {
        format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
    }

    #[test]
    fn a_run_is_one_payload_and_ends_with_another_kind() {
        let text = |text: &str| delta(&format!(r#"{{"content":"{text}"}}"#));
        let mut payloads: Vec<String> = ["a", "b", "c", "\\u00e9\\n", "d"].map(text).to_vec();
        payloads.push(delta("{\"reasoning_content\":\"r\"}"));
        payloads.push(text("e"));
        payloads.push("[DONE]".to_owned());
        payloads.push(text("f"));
        let (said, tail, heard) = listen(&payloads);
        assert_eq!((said, tail), decode(&payloads));
        let joined = Passage::Joined {
            name: None,
            data: text("cé\\nd"),
        };
        let expected = [0, 1].map(Passage::One).into_iter().chain([joined]);
        let expected: Vec<Passage> = expected.chain([5, 6, 7, 8].map(Passage::One)).collect();
        assert_eq!(heard, expected);
    }

    #[test]
    fn a_name_that_looks_like_the_text_proves_nothing() {
        // The text is spelled with an escape, so the pattern sits on the model, and its filling is never the text.
        let chunk = |model: &str, text: &str| {
            format!(r#"{{"model":"{model}","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
        };
        let payloads = [
            chunk("m", "\\u006d"),
            chunk("n", "\\u006d"),
            chunk("o", "\\u006d"),
            chunk("o", "\\u006d"),
        ];
        let (said, tail, heard) = listen(&payloads);
        assert_eq!((said, tail), decode(&payloads));
        assert_eq!(heard, [0, 1, 2, 3].map(Passage::One));
    }

    fn payload() -> impl Strategy<Value = String> {
        let word = prop_oneof![Just("a"), Just("b\\n"), Just("\\u00e9"), Just("c"), Just("")];
        (0_u8..12, word, 0_u8..2).prop_map(|(kind, word, choice)| match kind {
            0..=5 => delta(&format!(r#"{{"content":"{word}"}}"#)),
            6 => format!(r#"{{"id":"c","choices":[{{"index":{choice},"delta":{{"content":"{word}"}}}}]}}"#),
            7 => delta(&format!(r#"{{"role":"assistant","reasoning":"{word}"}}"#)),
            8 => delta(&format!(r#"{{"tool_calls":[{{"index":{choice},"function":{{"arguments":"{word}"}}}}]}}"#)),
            9 => format!(
                r#"{{"id":"{word}","choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":"stop"}}],"usage":{{"total_tokens":{choice}}}}}"#
            ),
            10 => format!(r#"{{"error":{{"message":"{word}"}}}}"#),
            _ => "[DONE]".to_owned(),
        })
    }

    proptest! {
        #[test]
        fn the_short_way_hears_the_same(kinds in prop::collection::vec((payload(), 1_usize..6), 0..12)) {
            // The same payload several times over, and so do payloads in a row that differ in a word.
            let payloads: Vec<String> = kinds
                .into_iter()
                .flat_map(|(payload, count)| vec![payload; count])
                .collect();
            let (said, tail, heard) = listen(&payloads);
            prop_assert_eq!((said, tail), decode(&payloads));
            let heard = heard.iter().map(|heard| match heard {
                Passage::One(number) => payloads[*number].as_str(),
                Passage::Joined { data, .. } => data.as_str(),
            });
            prop_assert_eq!(assembled(heard), assembled(payloads.iter().map(String::as_str)));
        }
    }
}
