//! A recorded call as the chunks of a session log. What a log has no word for is refused, or named where the answer means the
//! same without it.

use super::chunk::{Block, Chunk, Failure, Reason, Tokens};
use super::fill;
use super::write::Piece;
use crate::json::{Json, Object, compact};
use crate::model::{Boundary, BoundaryKind, Call, Frame, Usage};

/// What a call said, with times in microseconds from its start.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) pieces: Vec<(u64, Piece)>,
    /// What the log does not have.
    pub(super) left_out: Vec<String>,
}

/// # Errors
/// Why no log can say it.
pub(super) fn said(call: &Call) -> Result<Said, String> {
    let mut scribe = Scribe::default();
    for frame in call.frames.iter() {
        scribe.frame(frame)?;
    }
    scribe.close();
    let reason = scribe.reason(call)?;
    if let Some(usage) = &call.usage {
        let tokens = scribe.tokens(usage);
        scribe.push(Piece::Chunk(Chunk::Usage(tokens)));
    }
    scribe.push(Piece::Chunk(Chunk::Finish(reason)));
    check_blocks(&scribe.said)?;
    Ok(scribe.said)
}

#[derive(Default)]
struct Scribe {
    said: Said,
    at_us: u64,
    index: u32,
    /// The block that is being said; within, whether it is reasoning.
    open: Option<(bool, String)>,
    finish: Option<String>,
    tools: bool,
}

impl Scribe {
    fn push(&mut self, piece: Piece) {
        self.said.pieces.push((self.at_us, piece));
    }

    fn left_out(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.said.left_out.contains(&what) {
            self.said.left_out.push(what);
        }
    }

    fn frame(&mut self, frame: &Frame) -> Result<(), String> {
        if frame.choice > 0 {
            return Err("it has several choices".to_owned());
        }
        if frame.refusal.is_some() {
            return Err("it has a refusal apart from its text".to_owned());
        }
        self.at_us = self.at_us.saturating_add(frame.delta_us);
        self.text(true, frame.reasoning.as_deref().unwrap_or_default());
        if frame.reasoning_signature.is_some() {
            self.left_out("the signature of its reasoning");
        }
        self.text(false, &frame.chunk);
        if let Some(block) = &frame.native {
            let block = Block::read(block)
                .ok()
                .filter(|block| matches!(block, Block::Other(_)));
            let block = block.ok_or("it has a block that only its provider understands")?;
            self.close();
            self.whole(block);
        }
        for tool in &frame.tool_calls {
            self.close();
            let (id, name, arguments) = (&tool.id, &tool.function.name, &tool.function.arguments);
            self.tools = true;
            self.start("tool-call");
            self.push(Piece::Chunk(Chunk::Tool {
                index: self.index,
                id: id.clone(),
                name: Some(name.clone()),
                arguments: arguments.clone(),
            }));
            self.end(Block::Tool {
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            });
        }
        if let Some(reason) = &frame.finish_reason {
            self.finish = Some(reason.clone());
            if let Some(word) = &frame.native_finish_reason {
                self.left_out(format!("the provider's own word for its end, `{word}`"));
            }
        }
        Ok(())
    }

    fn text(&mut self, reasoning: bool, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.open.as_ref().is_none_or(|(open, _)| *open != reasoning) {
            self.close();
            self.start(if reasoning { "reasoning" } else { "text" });
            self.open = Some((reasoning, String::new()));
        }
        let (index, text) = (self.index, text.to_owned());
        if let Some((_, whole)) = &mut self.open {
            whole.push_str(&text);
        }
        self.push(Piece::Chunk(if reasoning {
            Chunk::Reasoning { index, text }
        } else {
            Chunk::Text { index, text }
        }));
    }

    /// Ends the block of text or reasoning that is being said.
    fn close(&mut self) {
        if let Some((reasoning, text)) = self.open.take() {
            self.end(if reasoning {
                Block::Reasoning(text)
            } else {
                Block::Text(text)
            });
        }
    }

    fn start(&mut self, kind: &'static str) {
        let index = self.index;
        // Replay counts from the first chunk, so that the first block begins when the call did: the time to the first byte stays.
        let at_us = if index == 0 { 0 } else { self.at_us };
        self.said.pieces.push((at_us, Piece::Start { index, kind }));
    }

    fn end(&mut self, block: Block) {
        let index = self.index;
        self.push(Piece::Chunk(Chunk::End { index, block }));
        self.index += 1;
    }

    fn whole(&mut self, block: Block) {
        let kind = match &block {
            Block::Other(block) if block.get("type").and_then(Json::as_str) == Some("image") => "image",
            _ => "tool-result",
        };
        self.start(kind);
        self.end(block);
    }

    fn reason(&mut self, call: &Call) -> Result<Reason, String> {
        if let Some(boundary) = &call.boundary {
            if self.finish.is_some() {
                self.left_out("its finish reason, because it failed behind it");
            }
            return self.failed(call, boundary);
        }
        match self.finish.as_deref() {
            Some("stop") => Ok(Reason::Stop),
            Some("tool_calls") => Ok(Reason::ToolCalls),
            Some("length") => Ok(Reason::MaxTokens),
            Some(other) => Err(format!(
                "it ended by `{other}`, and a log knows `stop`, `tool_calls` and `length`"
            )),
            None => {
                let (word, reason) = if self.tools {
                    ("tool-calls", Reason::ToolCalls)
                } else {
                    ("stop", Reason::Stop)
                };
                self.left_out(format!(
                    "that it gives no reason for its end: the log says `{word}`"
                ));
                Ok(reason)
            }
        }
    }

    fn failed(&mut self, call: &Call, boundary: &Boundary) -> Result<Reason, String> {
        let code = boundary.code.as_ref().unwrap_or(&boundary.error_type);
        plain(&boundary.message)?;
        plain(code)?;
        if *code != boundary.error_type {
            self.left_out(format!("the type of its error, `{}`", boundary.error_type));
        }
        // Replay answers by the status of the failure where nothing was said before it.
        let status = call.http.as_ref().map(|head| head.status);
        if let (Some(status @ ..400), true) = (status, self.said.pieces.is_empty()) {
            self.left_out(format!(
                "that its error came in an answer with the status {status}"
            ));
        }
        let failure = Failure {
            message: boundary.message.clone(),
            code: code.clone(),
            status: boundary.status,
            retry_after_ms: retry_after_ms(call),
        };
        match boundary.kind {
            BoundaryKind::Error | BoundaryKind::Http => Ok(Reason::Error(failure)),
            BoundaryKind::Cancelled => Ok(Reason::Aborted(failure)),
            BoundaryKind::Cutoff | BoundaryKind::Truncated => Err(format!(
                "it ended by `{}`, and a log has no call without a `finish`",
                boundary.kind.as_str()
            )),
        }
    }

    fn tokens(&mut self, usage: &Usage) -> Tokens {
        let mut rest = usage.details.clone();
        let cache_read = take(&mut rest, &CACHE_READ);
        let cache_write = take(&mut rest, &CACHE_WRITE);
        let reasoning = take(&mut rest, &REASONING);
        for name in said_in(&rest) {
            self.left_out(format!("`{name}` of its usage"));
        }
        let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let (prompt, output) = (usage.prompt_tokens, usage.completion_tokens);
        // A provider that counts the cached tokens beside the prompt would lose some of them.
        let (input, cache_read, cache_write) = match prompt.checked_sub(cached) {
            Some(input) => (input, cache_read, cache_write),
            None => {
                self.left_out("the cached tokens of its usage, which are more than those of its prompt");
                (prompt, None, None)
            }
        };
        Tokens {
            input,
            output,
            total: Some(usage.total_tokens).filter(|total| *total != prompt.saturating_add(output)),
            cache_read,
            cache_write,
            reasoning,
        }
    }
}

/// A log would fill in what stands between the braces.
fn plain(text: &str) -> Result<(), String> {
    match fill::placeholder(text) {
        Some(found) => Err(format!("it says `{found}`, which a log would fill in")),
        None => Ok(()),
    }
}

/// That none of the texts of a call would be filled in, those that came in pieces included.
fn check_blocks(said: &Said) -> Result<(), String> {
    let mut blocks = said.pieces.iter().filter_map(|(_, piece)| match piece {
        Piece::Chunk(Chunk::End { block, .. }) => Some(block),
        _ => None,
    });
    blocks.try_for_each(|block| match block {
        Block::Text(text) | Block::Reasoning(text) => plain(text),
        Block::Tool { id, name, arguments } => {
            [id, name, arguments].into_iter().try_for_each(|text| plain(text))
        }
        Block::Other(block) => plain(&compact(block)),
    })
}

/// Where providers count what a log counts.
const CACHE_READ: [&[&str]; 4] = [
    &["prompt_tokens_details", "cached_tokens"],
    &["input_tokens_details", "cached_tokens"],
    &["cache_read_input_tokens"],
    &["cachedContentTokenCount"],
];
const CACHE_WRITE: [&[&str]; 1] = [&["cache_creation_input_tokens"]];
const REASONING: [&[&str]; 4] = [
    &["completion_tokens_details", "reasoning_tokens"],
    &["output_tokens_details", "reasoning_tokens"],
    &["output_tokens_details", "thinking_tokens"],
    &["thoughtsTokenCount"],
];

/// Takes the first count that is there.
fn take(details: &mut Object, paths: &[&[&str]]) -> Option<u64> {
    paths.iter().find_map(|path| {
        let (last, parents) = path.split_last()?;
        let mut object = &mut *details;
        for name in parents {
            object = object.get_mut(name)?.as_object_mut()?;
        }
        let count = object.get(last)?.as_u64()?;
        object.remove(last);
        Some(count)
    })
}

/// The names of what says something: neither zero nor nothing.
fn said_in(details: &Object) -> Vec<String> {
    let mut names = Vec::new();
    for (name, value) in details.iter() {
        match value {
            Json::Null => {}
            Json::Object(inner) => {
                names.extend(said_in(inner).into_iter().map(|below| format!("{name}.{below}")));
            }
            value if value.as_f64() == Some(0.0) => {}
            _ => names.push(name.clone()),
        }
    }
    names
}

/// What the provider said about when to come again.
fn retry_after_ms(call: &Call) -> Option<u64> {
    let header = |wanted: &str| {
        let headers = &call.http.as_ref()?.headers;
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim())
    };
    let milliseconds = header("retry-after-ms").and_then(|value| value.parse().ok());
    milliseconds.or_else(|| header("retry-after")?.parse::<u64>().ok()?.checked_mul(1000))
}
