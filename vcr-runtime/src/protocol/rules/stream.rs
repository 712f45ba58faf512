use crate::json::{Json, parse};
use crate::protocol::{Event, Tail, Timeline, Told, WireEvent};

use super::{Reader, Reading, Rules};

/// Reads the events of one streamed answer: what every decoder does before its template work.
#[derive(Debug)]
pub(crate) struct StreamReader {
    reader: Reader,
    count: usize,
    /// The end marker has come as an event of its own.
    done: bool,
    odd: Option<String>,
    /// Set where the template can say that an error came as an event named `error`.
    named_errors: Option<bool>,
}

impl Rules {
    /// What the payloads of a stream, each with its `event:` name, say by this table alone.
    pub(crate) fn told<'p>(
        &'static self,
        payloads: impl Iterator<Item = (Option<&'p str>, &'p Json)>,
    ) -> Told {
        let mut reader = Reader::new(self);
        // Where one frame ends and the next begins is nothing that a payload says.
        let mut timeline = Timeline::unary();
        for (name, payload) in payloads {
            let mut said = Vec::new();
            reader.event(name, payload, &mut said);
            timeline.push(0, said);
        }
        timeline.finish()
    }
}

impl StreamReader {
    pub(crate) fn new(rules: &'static Rules) -> Self {
        Self {
            reader: Reader::new(rules),
            count: 0,
            done: false,
            odd: None,
            named_errors: None,
        }
    }

    /// An event with an `error` member may be named `error`: the caller's template remembers it.
    pub(crate) fn with_named_errors(self) -> Self {
        Self {
            named_errors: Some(false),
            ..self
        }
    }

    /// Whether an error came as an event named `error`.
    pub(crate) fn has_named_error(&self) -> bool {
        self.named_errors == Some(true)
    }

    /// Takes one event; what it says is appended to `out`. Returns its payload and what was read from it; `None` for end
    /// markers and for what is no JSON, which is noted as odd.
    pub(crate) fn event(&mut self, event: &WireEvent, out: &mut Vec<Event>) -> Option<(Json, Reading)> {
        self.count += 1;
        if event.odd {
            self.odd("has bytes that are no UTF-8");
        }
        let rules = self.reader.rules();
        if let Some(end) = &rules.stream.end {
            if self.done {
                self.odd(&format!("comes after {end}"));
                return None;
            }
            // The SDKs look at the first characters only.
            if event.data.starts_with(end.as_str()) {
                self.done = true;
                self.reader.end();
                out.push(Event::End);
                return None;
            }
        }
        let payload = match parse(&event.data) {
            Ok(payload) => payload,
            Err(error) => {
                self.odd(&format!("is no JSON: {error}"));
                return None;
            }
        };
        self.name(event.event.as_deref(), &payload);
        if !matches!(payload, Json::Object(_)) && event.event.as_deref() != Some("error") {
            self.odd(&format!("is {}, not an object", payload.kind()));
        }
        let reading = self.reader.event(event.event.as_deref(), &payload, out);
        if let Some(odd) = &reading.odd {
            self.odd(odd);
        }
        Some((payload, reading))
    }

    /// Counts an event that is like the latest one.
    pub(crate) fn again(&mut self) {
        self.count += 1;
    }

    /// The `event:` name, against what the table says of names.
    fn name(&mut self, name: Option<&str>, payload: &Json) {
        let expected = self.reader.rules().stream.names.as_ref();
        let expected = expected.map(|path| path.get(payload).and_then(Json::as_str));
        match (expected, name) {
            (None, Some("error")) if self.named_errors.is_some() && payload.get("error").is_some() => {
                self.named_errors = Some(true);
            }
            // Payloads render without a name, so that even the telling name `error` is worth a note.
            (None, Some(name)) if name != "message" => self.odd(&format!("is named `{name}`")),
            // A missing name follows from the payload: it is rendered with one, as clients need it.
            (Some(expected), Some(name)) if expected != Some(name) => {
                self.odd(&format!("is named `{name}`, unlike its payload"));
            }
            _ => {}
        }
    }

    /// Notes what was odd about the latest event; the first oddity stands, the ones after it are mostly its
    /// consequences.
    pub(crate) fn odd(&mut self, what: &str) {
        let number = self.count;
        self.odd.get_or_insert_with(|| format!("event {number} {what}"));
    }

    /// The state of the answer.
    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Whether the end marker of `stream.end` has come.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// What is known after the last event.
    pub(crate) fn tail(&mut self, template: Option<Json>) -> Tail {
        Tail {
            template,
            complete: self.reader.is_complete(),
            odd: self.odd.take(),
        }
    }
}
