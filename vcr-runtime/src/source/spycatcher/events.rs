//! Bytes of a stream to events and back.

use super::model::{Data, Event};
use crate::protocol::Framing;

/// Reads the events of a streamed body, in whatever pieces it comes.
#[derive(Debug)]
pub(crate) struct EventReader {
    framing: Framing,
    line: Vec<u8>,
    /// The line before ended in CR, so that a LF now belongs to it.
    after_cr: bool,
    started: bool,
    pending: Data,
    has_data: bool,
    events: Vec<Event>,
    offsets_ms: Vec<u64>,
    fault: Option<&'static str>,
}

impl EventReader {
    /// For `text/event-stream`, and for one JSON document a line.
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            after_cr: false,
            started: false,
            pending: Data::default(),
            has_data: false,
            events: Vec::new(),
            offsets_ms: Vec::new(),
            fault: None,
        }
    }

    /// Takes the next bytes, which came at `at_ms`.
    pub(crate) fn push(&mut self, bytes: &[u8], at_ms: u64) {
        for &byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' => self.end_line(at_ms),
                b'\r' => {
                    self.after_cr = true;
                    self.end_line(at_ms);
                }
                _ => self.line.push(byte),
            }
        }
    }

    /// The events so far.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The end of the body: the events with the time of each.
    ///
    /// # Errors
    /// Why the body is no whole stream: a line that is no UTF-8, or an event that was not finished.
    pub(crate) fn finish(mut self, at_ms: u64) -> Result<(Vec<Event>, Vec<u64>), &'static str> {
        if self.framing != Framing::Sse && !self.line.is_empty() {
            self.end_line(at_ms);
        }
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.has_data || !self.line.is_empty() {
            return Err("the stream ended inside an event");
        }
        Ok((self.events, self.offsets_ms))
    }

    fn end_line(&mut self, at_ms: u64) {
        let line = std::mem::take(&mut self.line);
        let Ok(mut line) = String::from_utf8(line) else {
            self.fault.get_or_insert("a line of the stream is no UTF-8");
            return;
        };
        if !std::mem::replace(&mut self.started, true)
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            line = rest.to_owned();
        }
        let event = if self.framing == Framing::Sse {
            self.sse_line(&line)
        } else if line.trim().is_empty() {
            None
        } else {
            Some(Event::Data(Data {
                raw: line,
                ..Data::default()
            }))
        };
        if let Some(event) = event {
            self.events.push(event);
            self.offsets_ms.push(at_ms);
        }
    }

    /// What a line completes. A comment does not wait for the event that it stands in.
    fn sse_line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.pending);
            return std::mem::take(&mut self.has_data).then_some(Event::Data(data));
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "" => return Some(Event::Comment(value.to_owned())),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.pending.raw.push('\n');
                }
                self.pending.raw.push_str(value);
            }
            "event" => self.pending.event = Some(value.to_owned()),
            "id" => self.pending.id = Some(value.to_owned()),
            "retry" => self.pending.retry = Some(value.to_owned()),
            _ => {}
        }
        None
    }
}

/// An event as it goes on the wire.
pub(crate) fn render(event: &Event, framing: Framing) -> Vec<u8> {
    let mut out = String::new();
    let mut field = |name: &str, value: &str| {
        for line in value.split('\n') {
            out.push_str(name);
            out.push_str(": ");
            out.push_str(line);
            out.push('\n');
        }
    };
    match event {
        Event::Data(data) if framing != Framing::Sse => out.push_str(&data.raw),
        Event::Comment(text) => field("", text),
        Event::Data(data) => {
            for (name, value) in [("event", &data.event), ("id", &data.id), ("retry", &data.retry)] {
                if let Some(value) = value {
                    field(name, value);
                }
            }
            field("data", &data.raw);
        }
    }
    out.push('\n');
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(raw: &str) -> Event {
        Event::Data(Data {
            raw: raw.to_owned(),
            ..Data::default()
        })
    }

    fn comment(text: &str) -> Event {
        Event::Comment(text.to_owned())
    }

    fn read(framing: Framing, pieces: &[&[u8]]) -> Result<(Vec<Event>, Vec<u64>), &'static str> {
        let mut reader = EventReader::new(framing);
        for (at, piece) in pieces.iter().enumerate() {
            reader.push(piece, at as u64);
        }
        reader.finish(99)
    }

    const STREAM: &str = "\u{feff}: WAIT\n\nevent: delta\nid: 7\ndata: {\"n\":1}\n\ndata: a\n:in\ndata:b\ndata\n\n\
                          retry: 5\nevent: alone\nfoo: bar\n\ndata: caf\u{e9}\n\ndata: [DONE]\n\n";

    fn stream() -> Vec<Event> {
        vec![
            comment("WAIT"),
            Event::Data(Data {
                raw: "{\"n\":1}".to_owned(),
                event: Some("delta".to_owned()),
                id: Some("7".to_owned()),
                retry: None,
            }),
            comment("in"),
            data("a\nb\n"),
            data("caf\u{e9}"),
            data("[DONE]"),
        ]
    }

    #[test]
    fn every_line_end_and_every_split_reads_the_same() {
        for end in ["\n", "\r\n", "\r"] {
            let text = STREAM.replace('\n', end);
            assert_eq!(
                read(Framing::Sse, &[text.as_bytes()]).unwrap().0,
                stream(),
                "{end:?}"
            );
            for at in 0..=text.len() {
                let (one, other) = text.as_bytes().split_at(at);
                assert_eq!(
                    read(Framing::Sse, &[one, other]).unwrap().0,
                    stream(),
                    "{end:?} {at}"
                );
            }
        }
    }

    #[test]
    fn events_have_the_time_of_the_piece_that_completes_them() {
        let (events, offsets) = read(Framing::Sse, &[b": a\n\nda", b"ta: 1\n\ndata: 2\n\n"]).unwrap();
        assert_eq!(events, [comment("a"), data("1"), data("2")]);
        assert_eq!(offsets, [0, 1, 1]);
    }

    #[test]
    fn what_is_no_whole_stream_is_refused() {
        for (bytes, fault) in [
            (&b"data: a\n\ndata: b\n"[..], "the stream ended inside an event"),
            (b"data: a\n\ndat", "the stream ended inside an event"),
            (b"data: \xc3\n\n", "a line of the stream is no UTF-8"),
        ] {
            assert_eq!(read(Framing::Sse, &[bytes]), Err(fault));
        }
        assert_eq!(
            read(Framing::Sse, &[b"data: a\n\nevent: x\n"]).unwrap().0,
            [data("a")]
        );
        assert_eq!(
            read(Framing::Ndjson, &[b"{\"a\":1}\r\n\n{\"b\"", b":2}"]).unwrap(),
            (vec![data("{\"a\":1}"), data("{\"b\":2}")], vec![0, 99])
        );
    }

    #[test]
    fn rendering_reads_back() {
        let rendered: Vec<u8> = stream()
            .iter()
            .flat_map(|event| render(event, Framing::Sse))
            .collect();
        assert_eq!(
            String::from_utf8(rendered.clone()).unwrap(),
            ": WAIT\n\nevent: delta\nid: 7\ndata: {\"n\":1}\n\n: in\n\ndata: a\ndata: b\ndata: \n\n\
             data: caf\u{e9}\n\ndata: [DONE]\n\n"
        );
        assert_eq!(read(Framing::Sse, &[&rendered]).unwrap().0, stream());
        assert_eq!(render(&data("{}"), Framing::Ndjson), b"{}\n");
    }
}
