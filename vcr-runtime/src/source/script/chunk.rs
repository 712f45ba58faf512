//! The vocabulary of a session log: what a model said, chunk by chunk. A closed set, every member checked.

use super::fields::{Fields, shown};
use crate::json::Json;

/// One chunk of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Chunk {
    Start,
    Text {
        index: u32,
        text: String,
    },
    Reasoning {
        index: u32,
        text: String,
    },
    /// A piece of a tool call; its arguments are JSON text.
    Tool {
        index: u32,
        id: String,
        name: Option<String>,
        arguments: String,
    },
    /// The block as it was put together.
    End {
        index: u32,
        block: Block,
    },
    Usage(Tokens),
    Finish(Reason),
}

/// Chunks with the times at which they came.
pub(super) type Timed = Vec<(u64, Chunk)>;

/// A block of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    Text(String),
    Reasoning(String),
    Tool {
        id: String,
        name: String,
        arguments: String,
    },
    /// An image or a tool's result, as it stands.
    Other(Json),
}

/// Token counts; the three of the input exclude one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) total: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    /// Part of the output.
    pub(super) reasoning: Option<u64>,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Stop,
    ToolCalls,
    MaxTokens,
    Aborted(Failure),
    Error(Failure),
}

/// What a provider or the transport reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) code: String,
    pub(super) status: Option<u16>,
    pub(super) retry_after_ms: Option<u64>,
}

const BLOCKS: [&str; 5] = ["text", "reasoning", "image", "tool-call", "tool-result"];

impl Chunk {
    /// Reads a chunk. What is wrong is told as a predicate of it.
    pub(super) fn read(value: &Json) -> Result<Self, String> {
        let fields = Fields::of(value)?;
        let kind = fields.text("type")?;
        let index = || fields.whole::<u32>("index");
        Ok(match kind {
            "block-start" => {
                fields.only(&["type", "index", "blockType"])?;
                index()?;
                known_block(fields.text("blockType")?)?;
                Self::Start
            }
            "text-delta" | "reasoning-delta" => {
                fields.only(&["type", "index", "text"])?;
                let (index, text) = (index()?, fields.text("text")?.to_owned());
                match kind {
                    "text-delta" => Self::Text { index, text },
                    _ => Self::Reasoning { index, text },
                }
            }
            "tool-call-delta" => {
                fields.only(&["type", "index", "id", "name", "argumentsDelta"])?;
                Self::Tool {
                    index: index()?,
                    id: fields.text("id")?.to_owned(),
                    name: fields.maybe_text("name")?.map(str::to_owned),
                    arguments: fields.text("argumentsDelta")?.to_owned(),
                }
            }
            "block-end" => {
                fields.only(&["type", "index", "block"])?;
                Self::End {
                    index: index()?,
                    block: Block::read(fields.must("block")?)?,
                }
            }
            "usage" => {
                fields.only(&["type", "usage"])?;
                Self::Usage(Tokens::read(fields.must("usage")?)?)
            }
            "finish" => {
                // What `replayState` holds is the recorder's own affair.
                fields.only(&["type", "reason", "replayState"])?;
                Self::Finish(Reason::read(fields.must("reason")?)?)
            }
            other => return Err(format!("has the unknown type `{}`", shown(other))),
        })
    }
}

fn known_block(kind: &str) -> Result<(), String> {
    match BLOCKS.contains(&kind) {
        true => Ok(()),
        false => Err(format!("has a block of the unknown type `{}`", shown(kind))),
    }
}

impl Block {
    /// Reads a block. What is wrong is told as a predicate of the chunk that has it.
    pub(super) fn read(value: &Json) -> Result<Self, String> {
        let within = |problem: String| format!("has a block that {problem}");
        let fields = Fields::of(value).map_err(within)?;
        let kind = fields.text("type").map_err(within)?;
        known_block(kind)?;
        let read = || -> Result<Self, String> {
            Ok(match kind {
                "text" | "reasoning" => {
                    fields.only(&["type", "text"])?;
                    let text = fields.text("text")?.to_owned();
                    match kind {
                        "text" => Self::Text(text),
                        _ => Self::Reasoning(text),
                    }
                }
                "tool-call" => {
                    fields.only(&["type", "id", "name", "arguments"])?;
                    Self::Tool {
                        id: fields.text("id")?.to_owned(),
                        name: fields.text("name")?.to_owned(),
                        arguments: fields.text("arguments")?.to_owned(),
                    }
                }
                _ => Self::Other(value.clone()),
            })
        };
        read().map_err(within)
    }
}

impl Tokens {
    pub(super) fn read(value: &Json) -> Result<Self, String> {
        let read = || {
            let fields = Fields::of(value)?;
            fields.only(&[
                "inputTokens",
                "outputTokens",
                "totalTokens",
                "cacheReadTokens",
                "cacheWriteTokens",
                "reasoningTokens",
            ])?;
            Ok(Self {
                input: fields.whole("inputTokens")?,
                output: fields.whole("outputTokens")?,
                total: fields.maybe_whole("totalTokens")?,
                cache_read: fields.maybe_whole("cacheReadTokens")?,
                cache_write: fields.maybe_whole("cacheWriteTokens")?,
                reasoning: fields.maybe_whole("reasoningTokens")?,
            })
        };
        read().map_err(|problem: String| format!("has a `usage` that {problem}"))
    }
}

impl Reason {
    fn read(value: &Json) -> Result<Self, String> {
        let read = || {
            let fields = Fields::of(value)?;
            let kind = fields.text("kind")?;
            let failure = || {
                fields.only(&["kind", "failure"])?;
                Failure::read(fields.must("failure")?)
            };
            let plain = |reason: Self| fields.only(&["kind"]).map(|()| reason);
            match kind {
                "stop" => plain(Self::Stop),
                "tool-calls" => plain(Self::ToolCalls),
                "max-tokens" => plain(Self::MaxTokens),
                "aborted" => failure().map(Self::Aborted),
                "error" => failure().map(Self::Error),
                other => Err(format!("has the unknown kind `{}`", shown(other))),
            }
        };
        read().map_err(|problem: String| format!("has a `reason` that {problem}"))
    }
}

impl Failure {
    fn read(value: &Json) -> Result<Self, String> {
        let read = || {
            let fields = Fields::of(value)?;
            fields.only(&["message", "code", "status", "providerRetryAfterMs", "requestId"])?;
            fields.maybe_text("requestId")?;
            Ok(Self {
                message: fields.text("message")?.to_owned(),
                code: fields.text("code")?.to_owned(),
                status: fields.maybe_whole("status")?,
                retry_after_ms: fields.maybe_whole("providerRetryAfterMs")?,
            })
        };
        read().map_err(|problem: String| format!("has a failure that {problem}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn every_member_of_every_kind_is_checked() {
        for (chunk, problem) in [
            ("[]", "is no object"),
            ("{}", "has no `type`"),
            ("{\"type\":1}", "has a `type` that is no text"),
            ("{\"type\":\"text\"}", "has the unknown type `text`"),
            ("{\"type\":\"block-start\",\"index\":0}", "has no `blockType`"),
            (
                "{\"type\":\"block-start\",\"index\":0,\"blockType\":\"x\"}",
                "has a block of the unknown type `x`",
            ),
            (
                "{\"type\":\"text-delta\",\"index\":-1,\"text\":\"\"}",
                "has an `index` that is no whole number in its range",
            ),
            (
                "{\"type\":\"text-delta\",\"index\":4294967296,\"text\":\"\"}",
                "has an `index` that is no whole number in its range",
            ),
            (
                "{\"type\":\"text-delta\",\"index\":0,\"text\":null}",
                "has a `text` that is no text",
            ),
            (
                "{\"type\":\"reasoning-delta\",\"index\":0,\"text\":\"\",\"txt\":1}",
                "has the member `txt`, which has no place there",
            ),
            (
                "{\"type\":\"tool-call-delta\",\"index\":0,\"id\":\"\",\"name\":null,\"argumentsDelta\":\"\"}",
                "has a `name` that is no text",
            ),
            (
                "{\"type\":\"tool-call-delta\",\"index\":0,\"id\":\"\"}",
                "has no `argumentsDelta`",
            ),
            (
                "{\"type\":\"block-end\",\"index\":0,\"block\":{\"type\":\"text\"}}",
                "has a block that has no `text`",
            ),
            (
                "{\"type\":\"block-end\",\"index\":0,\"block\":{\"type\":\"tool-call\",\"id\":\"a\",\"name\":\"b\"}}",
                "has a block that has no `arguments`",
            ),
            (
                "{\"type\":\"usage\",\"usage\":{\"inputTokens\":1}}",
                "has a `usage` that has no `outputTokens`",
            ),
            (
                "{\"type\":\"usage\",\"usage\":{\"inputTokens\":1.5,\"outputTokens\":1}}",
                "has a `usage` that has an `inputTokens` that is no whole number in its range",
            ),
            (
                "{\"type\":\"finish\",\"reason\":\"stop\"}",
                "has a `reason` that is no object",
            ),
            (
                "{\"type\":\"finish\",\"reason\":{\"kind\":\"done\"}}",
                "has a `reason` that has the unknown kind `done`",
            ),
            (
                "{\"type\":\"finish\",\"reason\":{\"kind\":\"stop\",\"failure\":1}}",
                "has a `reason` that has the member `failure`, which has no place there",
            ),
            (
                "{\"type\":\"finish\",\"reason\":{\"kind\":\"error\"}}",
                "has a `reason` that has no `failure`",
            ),
            (
                "{\"type\":\"finish\",\"reason\":{\"kind\":\"error\",\"failure\":{\"message\":\"m\"}}}",
                "has a `reason` that has a failure that has no `code`",
            ),
            (
                "{\"type\":\"finish\",\"reason\":{\"kind\":\"error\",\"failure\":{\"message\":\"m\",\"code\":\"c\",\"status\":70000}}}",
                "has a `reason` that has a failure that has a `status` that is no whole number in its range",
            ),
        ] {
            assert_eq!(
                Chunk::read(&parse(chunk).unwrap()).unwrap_err(),
                problem,
                "{chunk}"
            );
        }
        let long = format!("{{\"type\":\"{}\"}}", "x".repeat(1000));
        assert!(Chunk::read(&parse(&long).unwrap()).unwrap_err().len() < 100);
    }
}
