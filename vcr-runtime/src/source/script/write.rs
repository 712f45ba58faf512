//! Lines of a session log: chunks as events, and rows that pack several of them.

use super::chunk::{Block, Chunk, Failure, Reason, Tokens};
use crate::json::{Json, Object, compact};

/// One event of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// A block begins.
    Start { index: u32, kind: &'static str },
    /// Anything else.
    Chunk(Chunk),
}

/// Fewer events in a row are written one by one, as the program that writes such logs does.
const RUN: usize = 3;
/// A row that packs more would be hard to read.
const ROW: usize = 500;

/// The log of one session as it is written: full lines, with numbers and times.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) text: String,
    seq: u64,
    step: u64,
}

impl Writer {
    /// Begins with the header; `created_at` is in milliseconds since 1970.
    pub(super) fn new(id: &str, created_at: u64) -> Self {
        let mut writer = Self::default();
        let mut header = Object::new();
        header.push("type", "session");
        header.push("version", 0_u64);
        header.push("id", id);
        header.push("createdAt", created_at);
        writer.line(header);
        writer
    }

    /// Writes a call, whose times are in milliseconds since 1970.
    pub(super) fn call(&mut self, pieces: &[(u64, Piece)]) {
        self.step += 1;
        let mut rest = pieces;
        while let Some(((time, piece), after)) = rest.split_first() {
            let run = run(rest);
            if run.len() >= RUN {
                self.packed(run);
                rest = &rest[run.len()..];
            } else {
                self.event(*time, piece);
                rest = after;
            }
        }
    }

    fn line(&mut self, line: Object) {
        self.text.push_str(&compact(&line.into()));
        self.text.push('\n');
    }

    fn data(&self) -> Object {
        let mut data = Object::new();
        data.push("turn", 1_u64);
        data.push("step", self.step);
        data
    }

    fn event(&mut self, time: u64, piece: &Piece) {
        let mut data = self.data();
        data.push("chunk", document(piece));
        let mut line = Object::new();
        line.push("type", "assistant/chunk");
        line.push("seq", self.seq);
        line.push("time", time);
        line.push("data", data);
        self.seq += 1;
        self.line(line);
    }

    fn packed(&mut self, run: &[(u64, Piece)]) {
        let (mut kind, mut of) = ("text-chunks", 0);
        let (mut texts, mut gaps): (Vec<Json>, Vec<Json>) = (Vec::new(), Vec::new());
        let (time0, mut last) = run.first().map_or((0, 0), |(time, _)| (*time, *time));
        for (time, piece) in run {
            if !texts.is_empty() {
                gaps.push(time.saturating_sub(last).into());
            }
            last = *time;
            match piece {
                Piece::Chunk(Chunk::Text { index, text }) => {
                    of = *index;
                    texts.push(text.as_str().into());
                }
                Piece::Chunk(Chunk::Reasoning { index, text }) => {
                    (kind, of) = ("reasoning-chunks", *index);
                    texts.push(text.as_str().into());
                }
                Piece::Start { .. } | Piece::Chunk(_) => {}
            }
        }
        let mut data = self.data();
        data.push("index", u64::from(of));
        data.push("dt", gaps);
        data.push("texts", texts);
        let mut line = Object::new();
        line.push("type", kind);
        line.push("seq0", self.seq);
        line.push("time0", time0);
        line.push("data", data);
        self.seq += run.len() as u64;
        self.line(line);
    }
}

/// The events at the beginning that one row can pack.
fn run(pieces: &[(u64, Piece)]) -> &[(u64, Piece)] {
    let block = |piece: &Piece| match piece {
        Piece::Chunk(Chunk::Text { index, .. }) => Some((false, *index)),
        Piece::Chunk(Chunk::Reasoning { index, .. }) => Some((true, *index)),
        _ => None,
    };
    let first = pieces.first().and_then(|(_, piece)| block(piece));
    let alike = pieces
        .iter()
        .take(ROW)
        .take_while(|(_, piece)| first.is_some() && block(piece) == first);
    &pieces[..alike.count()]
}

fn document(piece: &Piece) -> Object {
    let of = |kind: &str| {
        let mut object = Object::new();
        object.push("type", kind);
        object
    };
    let indexed = |kind: &str, index: u32| {
        let mut object = of(kind);
        object.push("index", u64::from(index));
        object
    };
    match piece {
        Piece::Start { index, kind } => {
            let mut object = indexed("block-start", *index);
            object.push("blockType", *kind);
            object
        }
        Piece::Chunk(Chunk::Start) => of("block-start"),
        Piece::Chunk(Chunk::Text { index, text }) => {
            let mut object = indexed("text-delta", *index);
            object.push("text", text.as_str());
            object
        }
        Piece::Chunk(Chunk::Reasoning { index, text }) => {
            let mut object = indexed("reasoning-delta", *index);
            object.push("text", text.as_str());
            object
        }
        Piece::Chunk(Chunk::Tool {
            index,
            id,
            name,
            arguments,
        }) => {
            let mut object = indexed("tool-call-delta", *index);
            object.push("id", id.as_str());
            if let Some(name) = name {
                object.push("name", name.as_str());
            }
            object.push("argumentsDelta", arguments.as_str());
            object
        }
        Piece::Chunk(Chunk::End { index, block }) => {
            let mut object = indexed("block-end", *index);
            object.push("block", whole(block));
            object
        }
        Piece::Chunk(Chunk::Usage(tokens)) => {
            let mut object = of("usage");
            object.push("usage", counts(tokens));
            object
        }
        Piece::Chunk(Chunk::Finish(reason)) => {
            let mut object = of("finish");
            object.push("reason", ended(reason));
            object
        }
    }
}

fn whole(block: &Block) -> Json {
    let mut object = Object::new();
    match block {
        Block::Text(text) => {
            object.push("type", "text");
            object.push("text", text.as_str());
        }
        Block::Reasoning(text) => {
            object.push("type", "reasoning");
            object.push("text", text.as_str());
        }
        Block::Tool { id, name, arguments } => {
            object.push("type", "tool-call");
            object.push("id", id.as_str());
            object.push("name", name.as_str());
            object.push("arguments", arguments.as_str());
        }
        Block::Other(block) => return block.clone(),
    }
    object.into()
}

fn counts(tokens: &Tokens) -> Object {
    let mut object = Object::new();
    object.push("inputTokens", tokens.input);
    object.push("outputTokens", tokens.output);
    for (name, count) in [
        ("totalTokens", tokens.total),
        ("cacheReadTokens", tokens.cache_read),
        ("cacheWriteTokens", tokens.cache_write),
        ("reasoningTokens", tokens.reasoning),
    ] {
        if let Some(count) = count {
            object.push(name, count);
        }
    }
    object
}

fn ended(reason: &Reason) -> Object {
    let (kind, failure) = match reason {
        Reason::Stop => ("stop", None),
        Reason::ToolCalls => ("tool-calls", None),
        Reason::MaxTokens => ("max-tokens", None),
        Reason::Aborted(failure) => ("aborted", Some(failure)),
        Reason::Error(failure) => ("error", Some(failure)),
    };
    let mut object = Object::new();
    object.push("kind", kind);
    if let Some(failure) = failure {
        object.push("failure", failed(failure));
    }
    object
}

fn failed(failure: &Failure) -> Object {
    let mut object = Object::new();
    object.push("message", failure.message.as_str());
    object.push("code", failure.code.as_str());
    if let Some(status) = failure.status {
        object.push("status", u64::from(status));
    }
    if let Some(wait) = failure.retry_after_ms {
        object.push("providerRetryAfterMs", wait);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_read_back_as_it_was() {
        let failure = Failure {
            message: "m".to_owned(),
            code: "c".to_owned(),
            status: Some(429),
            retry_after_ms: Some(70),
        };
        let tokens = Tokens {
            input: 1,
            output: 2,
            total: Some(9),
            cache_read: Some(3),
            cache_write: Some(4),
            reasoning: Some(5),
        };
        let image = crate::json::parse(r#"{"type":"image","attachment":{"id":1}}"#).unwrap();
        let text = || "a\"\u{2028}".to_owned();
        for chunk in [
            Chunk::Text {
                index: 0,
                text: text(),
            },
            Chunk::Reasoning {
                index: 1,
                text: text(),
            },
            Chunk::Tool {
                index: 2,
                id: "t".to_owned(),
                name: None,
                arguments: "{".to_owned(),
            },
            Chunk::Tool {
                index: 2,
                id: "t".to_owned(),
                name: Some("f".to_owned()),
                arguments: "}".to_owned(),
            },
            Chunk::End {
                index: 0,
                block: Block::Text(text()),
            },
            Chunk::End {
                index: 1,
                block: Block::Reasoning(text()),
            },
            Chunk::End {
                index: 2,
                block: Block::Tool {
                    id: "t".to_owned(),
                    name: "f".to_owned(),
                    arguments: "{}".to_owned(),
                },
            },
            Chunk::End {
                index: 3,
                block: Block::Other(image),
            },
            Chunk::Usage(tokens),
            Chunk::Usage(Tokens::default()),
            Chunk::Finish(Reason::Stop),
            Chunk::Finish(Reason::ToolCalls),
            Chunk::Finish(Reason::MaxTokens),
            Chunk::Finish(Reason::Aborted(failure.clone())),
            Chunk::Finish(Reason::Error(failure)),
        ] {
            let written = document(&Piece::Chunk(chunk.clone()));
            assert_eq!(Chunk::read(&written.into()), Ok(chunk));
        }
        let start = Piece::Start {
            index: 0,
            kind: "tool-result",
        };
        assert_eq!(Chunk::read(&document(&start).into()), Ok(Chunk::Start));
    }
}
