//! Writing a cassette: interactions are appended to the text that is there, which stays as it is.

use super::decode::{Unreadable, decode};
use super::model::{Body, Event, FORMAT_VERSION, Interaction, Pairs, Request, Response, Stream};
use crate::json::{Json, parse, pretty_at, quote_into};

/// The text of a cassette, split where the next interaction goes.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    before: String,
    after: String,
    is_empty: bool,
}

impl Document {
    /// A cassette without interactions.
    pub(crate) fn new() -> Self {
        Self {
            before: format!("{{\n  \"format_version\": {FORMAT_VERSION},\n  \"interactions\": ["),
            after: "\n  ]\n}".to_owned(),
            is_empty: true,
        }
    }

    /// A cassette that is there, with its interactions.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub(crate) fn open(text: &str) -> Result<(Self, Vec<Interaction>), Unreadable> {
        let mut end = None;
        let interactions = decode(text, |place| end = Some(place.end))?;
        let document = match end {
            Some(end) => Self {
                before: text[..end].to_owned(),
                after: text[end..].to_owned(),
                is_empty: false,
            },
            None => Self::open_empty(text),
        };
        Ok((document, interactions))
    }

    /// Without interactions the place is that of the empty array; other members stay.
    fn open_empty(text: &str) -> Self {
        let mut document = Self::new();
        let Ok(Json::Object(members)) = parse(text) else {
            return document;
        };
        let others = members
            .0
            .into_iter()
            .filter(|(key, _)| !matches!(key.as_str(), "format_version" | "interactions"));
        for (key, value) in others {
            document.after.truncate(document.after.len() - 2);
            document.after.push_str(",\n  ");
            quote_into(&key, &mut document.after);
            document.after.push_str(": ");
            pretty_at(&value, 1, &mut document.after);
            document.after.push_str("\n}");
        }
        document
    }

    /// Appends an interaction in the form that [`stored`] gives it.
    pub(crate) fn push(&mut self, stored: &str) {
        self.before
            .push_str(if self.is_empty { "\n    " } else { ",\n    " });
        self.before.push_str(stored);
        self.is_empty = false;
    }

    /// The pieces of the whole text, in order.
    pub(crate) fn pieces(&self) -> [&str; 2] {
        // An array that is empty closes where it opens.
        let after = if self.is_empty {
            self.after.strip_prefix("\n  ").unwrap_or(&self.after)
        } else {
            &self.after
        };
        [&self.before, after]
    }
}

/// The text of one interaction, as it stands in the file.
pub(crate) fn stored(interaction: &Interaction) -> String {
    let metadata = &interaction.metadata;
    let mut members = vec![
        ("protocol_id", quoted(&metadata.protocol_id)),
        ("upstream_id", quoted(&metadata.upstream_id)),
        ("recorded_at", quoted(&metadata.recorded_at)),
        ("relative_offset_ms", metadata.relative_offset_ms.to_string()),
    ];
    if metadata.stream_answered_whole {
        members.push(("stream_answered_whole", "true".to_owned()));
    }
    let metadata = object(3, members);
    object(
        2,
        vec![
            ("request", request(&interaction.request)),
            ("response", response(&interaction.response)),
            ("metadata", metadata),
        ],
    )
}

fn request(request: &Request) -> String {
    let canonical = request.canonical.as_deref().and_then(|text| parse(text).ok());
    object(
        3,
        vec![
            ("method", quoted(&request.method)),
            ("path", quoted(&request.path)),
            ("query", quoted(&request.query)),
            ("headers", pairs(&request.headers)),
            ("body", bytes(&request.body)),
            ("parsed_json", parsed(&request.body, 4)),
            ("canonical_request", document(canonical.as_ref(), 4)),
            (
                "stable_hash",
                request.hash.as_deref().map_or_else(|| "null".to_owned(), quoted),
            ),
        ],
    )
}

fn response(response: &Response) -> String {
    let mut members = vec![
        ("kind", String::new()),
        ("status", response.status.to_string()),
        ("headers", pairs(&response.headers)),
    ];
    match &response.body {
        Body::Whole(body) => {
            members[0].1 = quoted("non_stream");
            members.push(("body", bytes(body)));
            members.push(("parsed_json", parsed(body, 4)));
        }
        Body::Stream(stream) => {
            members[0].1 = quoted("stream");
            members.push(("events", events(stream)));
            members.push(("raw_transcript", bytes(&stream.transcript)));
            members.push(("timing", timing(stream)));
        }
    }
    object(3, members)
}

fn events(stream: &Stream) -> String {
    let events = stream.events.iter().map(|event| {
        let mut members = Vec::new();
        match event {
            Event::Comment(text) => {
                members.push(("kind", quoted("comment")));
                members.push(("text", quoted(text)));
            }
            Event::Data(data) => {
                members.push(("kind", quoted("data")));
                members.push(("raw", quoted(&data.raw)));
                members.push(("parsed_json", parsed(data.raw.as_bytes(), 6)));
                for (name, value) in [("event", &data.event), ("id", &data.id), ("retry", &data.retry)] {
                    if let Some(value) = value {
                        members.push((name, quoted(value)));
                    }
                }
            }
        }
        object(5, members)
    });
    lines(4, events)
}

fn timing(stream: &Stream) -> String {
    let Some(timing) = &stream.timing else {
        return "null".to_owned();
    };
    let offsets: Vec<String> = timing.chunk_offsets_ms.iter().map(u64::to_string).collect();
    object(
        4,
        vec![
            ("ttft_ms", timing.ttft_ms.to_string()),
            ("chunk_offsets_ms", format!("[{}]", offsets.join(", "))),
        ],
    )
}

/// A header a line.
fn pairs(pairs: &Pairs) -> String {
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("[{}, {}]", quoted(name), quoted(value)));
    lines(4, pairs)
}

/// The body as a document, `null` when it is none.
fn parsed(body: &[u8], depth: usize) -> String {
    let text = std::str::from_utf8(body).ok();
    document(text.and_then(|text| parse(text).ok()).as_ref(), depth)
}

fn document(document: Option<&Json>, depth: usize) -> String {
    let mut out = String::new();
    pretty_at(document.unwrap_or(&Json::Null), depth, &mut out);
    out
}

/// All on one line: a byte a line helps nobody.
fn bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 + 2);
    out.push('[');
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if *byte >= 100 {
            out.push(char::from(b'0' + byte / 100));
        }
        if *byte >= 10 {
            out.push(char::from(b'0' + byte / 10 % 10));
        }
        out.push(char::from(b'0' + byte % 10));
    }
    out.push(']');
    out
}

fn object(depth: usize, members: Vec<(&str, String)>) -> String {
    let members = members
        .into_iter()
        .map(|(name, value)| format!("\"{name}\": {value}"));
    enclosed(depth, '{', members, '}')
}

fn lines(depth: usize, items: impl Iterator<Item = String>) -> String {
    enclosed(depth, '[', items, ']')
}

fn enclosed(depth: usize, open: char, items: impl Iterator<Item = String>, close: char) -> String {
    let indent = "  ".repeat(depth);
    let mut out = String::from(open);
    for item in items {
        out.push_str(if out.len() == 1 { "\n  " } else { ",\n  " });
        out.push_str(&indent);
        out.push_str(&item);
    }
    if out.len() > 1 {
        out.push('\n');
        out.push_str(&indent);
    }
    out.push(close);
    out
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote_into(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::super::model::{Data, Metadata, Timing};
    use super::*;

    fn interaction() -> Interaction {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Interaction {
            request: Request {
                method: "POST".to_owned(),
                path: "/v1/chat/completions".to_owned(),
                query: "a=\"".to_owned(),
                headers: vec![header("x-a", "1"), header("x-a", "\u{e9}\u{0}")],
                body: br#"{"n":1.50}"#.to_vec(),
                canonical: Some(r#"{"method":"POST"}"#.into()),
                hash: Some("ab".to_owned()),
            },
            response: Response {
                status: 200,
                headers: Pairs::new(),
                body: Body::Stream(Stream {
                    events: vec![
                        Event::Comment("WAIT".to_owned()),
                        Event::Data(Data {
                            raw: "{\"n\":1}".to_owned(),
                            event: Some("delta".to_owned()),
                            ..Data::default()
                        }),
                        Event::Data(Data {
                            raw: "[DONE]".to_owned(),
                            ..Data::default()
                        }),
                    ],
                    transcript: vec![0, 9, 10, 99, 100, 255],
                    timing: Some(Timing {
                        ttft_ms: 3,
                        chunk_offsets_ms: vec![3, 4, 4],
                    }),
                }),
            },
            metadata: Metadata {
                protocol_id: "p".to_owned(),
                upstream_id: "u".to_owned(),
                recorded_at: "2026-01-01T00:00:00Z".to_owned(),
                relative_offset_ms: 7,
                stream_answered_whole: false,
            },
        }
    }

    fn whole() -> Interaction {
        Interaction {
            response: Response {
                status: 500,
                headers: Pairs::new(),
                body: Body::Whole(b"\xff".to_vec()),
            },
            metadata: Metadata {
                stream_answered_whole: true,
                ..Metadata::default()
            },
            ..interaction()
        }
    }

    fn text(document: &Document) -> String {
        document.pieces().concat()
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut document = Document::new();
        assert_eq!(
            text(&document),
            "{\n  \"format_version\": 1,\n  \"interactions\": []\n}"
        );
        let mut expected = Vec::new();
        for interaction in [interaction(), whole()] {
            document.push(&stored(&interaction));
            expected.push(interaction);
            let text = text(&document);
            let (again, read) = Document::open(&text).unwrap();
            // The envelope is written in lines; its text is no part of what it says.
            for (read, expected) in read.iter().zip(&expected) {
                let mut read = read.clone();
                read.request.canonical = expected.request.canonical.clone();
                assert_eq!(&read, expected);
            }
            assert_eq!(read.len(), expected.len());
            assert_eq!(again.pieces().concat(), text);
        }
        // Every member of the format stands there, in its order.
        let text = text(&document);
        let mut at = 0;
        for member in [
            "format_version",
            "interactions",
            "request",
            "method",
            "path",
            "query",
            "headers",
            "body",
            "parsed_json",
            "canonical_request",
            "stable_hash",
            "response",
            "kind",
            "status",
            "headers",
            "events",
            "kind",
            "text",
            "kind",
            "raw",
            "parsed_json",
            "raw_transcript",
            "timing",
            "ttft_ms",
            "chunk_offsets_ms",
            "metadata",
            "protocol_id",
            "upstream_id",
            "recorded_at",
            "relative_offset_ms",
        ] {
            at += text[at..]
                .find(&format!("\"{member}\": "))
                .unwrap_or_else(|| panic!("{member}: {text}"));
        }
        assert!(text.contains("\"raw_transcript\": [0,9,10,99,100,255]"), "{text}");
    }

    #[test]
    fn what_is_there_stays_to_the_byte() {
        for old in [
            "{\"interactions\":[ {\"request\":{\"method\":\"POST\",\"path\":\"/\"},\"response\":{\"kind\":\"non_stream\",\"status\":200,\"body\":[]}} ],\"format_version\":1}\n",
            "{\"format_version\":1,\"interactions\":[],\"mine\":{\"a\":[1]}}",
        ] {
            let (mut document, before) = Document::open(old).unwrap();
            document.push(&stored(&interaction()));
            let text = text(&document);
            let (_, after) = Document::open(&text).unwrap();
            assert_eq!(after.len(), before.len() + 1, "{text}");
            if before.is_empty() {
                assert_eq!(parse(&text).unwrap().get("mine"), parse(old).unwrap().get("mine"));
            } else {
                let kept = old.find(" ],").unwrap();
                assert!(
                    text.starts_with(&old[..kept]) && text.ends_with(&old[kept..]),
                    "{text}"
                );
            }
        }
    }
}
