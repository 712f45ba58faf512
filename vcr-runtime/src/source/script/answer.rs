//! Chunks to the canonical timeline of a call.

use std::collections::BTreeSet;

use super::chunk::{Block, Chunk, Failure, Reason, Tokens};
use super::overrides::Thrown;
use crate::json::Object;
use crate::model::{Boundary, BoundaryKind, Call, HttpHead, Metrics, Usage};
use crate::protocol::{Event, Timeline};
use crate::source::Hang;
use crate::source::miss::count;

/// How a call ends behind its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// As the last chunk says.
    Said,
    Throws(Thrown),
    /// The connection breaks.
    Breaks,
    /// Not at all, until whoever made it leaves.
    Never(Hang),
}

/// The class of a failure whose connection breaks off.
pub(super) const BROKEN: &str = "ConnectionReset";

/// What answers a call. The times of the chunks are microseconds from the call's start.
pub(super) fn call(chunks: impl IntoIterator<Item = (u64, Chunk)>, ending: Ending) -> Call {
    let mut call = Call::default();
    let mut timeline = Timeline::new(0);
    let mut told = BTreeSet::new();
    let (mut last, mut reason) = (0, None);
    for (at_us, chunk) in chunks {
        // Clocks are set back at times; a timeline only goes on.
        last = at_us.max(last);
        match chunk {
            Chunk::Usage(tokens) => call.usage = Some(usage(tokens)),
            Chunk::Finish(why) => {
                timeline.push(last, finish(&why));
                reason = Some(why);
            }
            chunk => timeline.push(last, event(chunk, &mut told)),
        }
    }
    call.frames = timeline.finish().frames.into();
    call.metrics = Some(Metrics {
        ttfb_us: call.frames.first().map_or(last, |frame| frame.delta_us),
        total_us: last,
    });
    match ending {
        Ending::Said => end(&mut call, reason),
        ending => close(&mut call, ending),
    }
    call
}

/// Ends a call as it is written.
pub(super) fn close(call: &mut Call, ending: Ending) {
    call.boundary = Some(match ending {
        Ending::Said => return,
        Ending::Never(_) => boundary(BoundaryKind::Cancelled, "Cancelled", "the call does not end"),
        Ending::Throws(thrown) => fail(call, thrown),
        Ending::Breaks => {
            let frames = count(call.frames.len(), "frame");
            let message = format!("the connection broke off behind {frames}, as the override file says");
            boundary(BoundaryKind::Cancelled, BROKEN, &message)
        }
    });
}

fn fail(call: &mut Call, thrown: Thrown) -> Boundary {
    let Thrown {
        message,
        code,
        status,
        retry_after_ms,
        accepted,
    } = thrown;
    // Behind the head the status is one of the provider's words.
    call.http = match status {
        _ if accepted => Some(HttpHead {
            status: 200,
            headers: Vec::new(),
        }),
        Some(status) => Some(HttpHead {
            status,
            headers: retry_after_ms.map(retry_after).into_iter().flatten().collect(),
        }),
        None => None,
    };
    let kind = match accepted {
        true => BoundaryKind::Error,
        false => BoundaryKind::Http,
    };
    let mut boundary = boundary(kind, &code, &message);
    boundary.status = status;
    boundary.code = Some(code);
    boundary
}

/// The wait as clients look for it, in milliseconds and in whole seconds.
fn retry_after(wait: u64) -> [(String, String); 2] {
    [
        ("retry-after-ms".to_owned(), wait.to_string()),
        ("retry-after".to_owned(), wait.div_ceil(1000).to_string()),
    ]
}

fn boundary(kind: BoundaryKind, error_type: &str, message: &str) -> Boundary {
    Boundary {
        kind,
        error_type: error_type.to_owned(),
        message: message.to_owned(),
        status: None,
        code: None,
    }
}

/// The end by the reason of the `finish`, or by its absence.
fn end(call: &mut Call, reason: Option<Reason>) {
    let (kind, failure) = match reason {
        Some(Reason::Stop | Reason::ToolCalls | Reason::MaxTokens) => return,
        Some(Reason::Aborted(failure)) => (BoundaryKind::Cancelled, failure),
        Some(Reason::Error(failure)) => (BoundaryKind::Error, failure),
        None => {
            let message = "the entry has no `finish`: the stream ended before its end";
            call.boundary = Some(boundary(BoundaryKind::Truncated, "Truncated", message));
            return;
        }
    };
    let Failure {
        message,
        code,
        status,
        retry_after_ms,
    } = failure;
    let mut ended = boundary(kind, &code, &message);
    ended.status = status;
    ended.code = Some(code);
    // Nothing was said: the provider answered with the status alone.
    if let Some(status) = status.filter(|status| *status >= 400 && call.frames.is_empty()) {
        call.http = Some(HttpHead {
            status,
            headers: retry_after_ms.map(retry_after).into_iter().flatten().collect(),
        });
    }
    call.boundary = Some(ended);
}

fn finish(reason: &Reason) -> Option<Event> {
    let reason = match reason {
        Reason::Stop => "stop",
        Reason::ToolCalls => "tool_calls",
        Reason::MaxTokens => "length",
        Reason::Aborted(_) | Reason::Error(_) => return None,
    };
    Some(Event::Finish {
        choice: 0,
        reason: reason.to_owned(),
        native: None,
    })
}

/// `told` has the blocks that came piece by piece; the others are said by their end.
fn event(chunk: Chunk, told: &mut BTreeSet<u32>) -> Option<Event> {
    let choice = 0;
    let (index, event) = match chunk {
        Chunk::Text { index, text } => (index, Event::Text { choice, text }),
        Chunk::Reasoning { index, text } => (index, Event::Reasoning { choice, text }),
        Chunk::Tool {
            index,
            id,
            name,
            arguments,
        } => {
            let id = Some(id);
            let event = Event::Tool {
                choice,
                index,
                id,
                name,
                arguments,
            };
            (index, event)
        }
        Chunk::End { index, .. } if told.contains(&index) => return None,
        Chunk::End { index, block } => (index, whole(index, block)),
        Chunk::Start | Chunk::Usage(_) | Chunk::Finish(_) => return None,
    };
    told.insert(index);
    Some(event)
}

fn whole(index: u32, block: Block) -> Event {
    let choice = 0;
    match block {
        Block::Text(text) => Event::Text { choice, text },
        Block::Reasoning(text) => Event::Reasoning { choice, text },
        Block::Tool { id, name, arguments } => Event::Tool {
            choice,
            index,
            id: Some(id),
            name: Some(name),
            arguments,
        },
        Block::Other(block) => Event::Native { choice, block },
    }
}

fn usage(tokens: Tokens) -> Usage {
    let cached = tokens
        .cache_read
        .unwrap_or(0)
        .saturating_add(tokens.cache_write.unwrap_or(0));
    let mut usage = Usage::new(tokens.input.saturating_add(cached), tokens.output);
    if let Some(total) = tokens.total {
        usage.total_tokens = total;
    }
    let mut detail = |name: &str, member: &str, count: Option<u64>| {
        if let Some(count) = count {
            let mut object = Object::new();
            object.push(member, count);
            usage.details.push(name, object);
        }
    };
    detail("prompt_tokens_details", "cached_tokens", tokens.cache_read);
    detail("completion_tokens_details", "reasoning_tokens", tokens.reasoning);
    usage
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn answer(chunks: &[&str], ending: Ending) -> Call {
        let read = |text: &&str| Chunk::read(&parse(text).unwrap()).unwrap();
        call((0..).step_by(10).zip(chunks.iter().map(read)), ending)
    }

    const ENDED: &str = r#"{"type":"finish","reason":{"kind":"error","failure":{"message":"slow down","code":"rate_limit","status":429,"providerRetryAfterMs":70}}}"#;
    const TEXT: &str = r#"{"type":"text-delta","index":0,"text":"a"}"#;

    #[test]
    fn a_block_is_said_once_whether_in_pieces_or_whole() {
        let call = answer(
            &[
                TEXT,
                r#"{"type":"block-end","index":0,"block":{"type":"text","text":"a"}}"#,
                r#"{"type":"block-end","index":1,"block":{"type":"reasoning","text":"r"}}"#,
                r#"{"type":"block-end","index":2,"block":{"type":"image","attachment":{"id":1}}}"#,
                r#"{"type":"tool-call-delta","index":3,"id":"t","name":"f","argumentsDelta":"{"}"#,
                r#"{"type":"tool-call-delta","index":3,"id":"t","argumentsDelta":"}"}"#,
                r#"{"type":"block-end","index":3,"block":{"type":"tool-call","id":"t","name":"f","arguments":"{}"}}"#,
                r#"{"type":"usage","usage":{"inputTokens":2,"outputTokens":3,"cacheReadTokens":4,"cacheWriteTokens":5,"reasoningTokens":1}}"#,
                r#"{"type":"finish","reason":{"kind":"max-tokens"}}"#,
            ],
            Ending::Said,
        );
        let text: String = call.frames.iter().map(|frame| frame.chunk.as_str()).collect();
        let reasoning: String = call
            .frames
            .iter()
            .filter_map(|frame| frame.reasoning.as_deref())
            .collect();
        assert_eq!((text.as_str(), reasoning.as_str()), ("a", "r"));
        assert_eq!(
            call.frames.iter().filter(|frame| frame.native.is_some()).count(),
            1
        );
        let last = call.frames.last().unwrap();
        assert_eq!(
            (last.finish_reason.as_deref(), last.tool_calls.len()),
            (Some("length"), 1)
        );
        assert_eq!(
            (
                last.tool_calls[0].function.name.as_str(),
                last.tool_calls[0].function.arguments.as_str()
            ),
            ("f", "{}")
        );
        let usage = call.usage.unwrap();
        assert_eq!(
            (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
            (11, 3, 14)
        );
        assert_eq!(usage.details()["prompt_tokens_details"]["cached_tokens"], 4);
        let deltas: u64 = call.frames.iter().map(|frame| frame.delta_us).sum();
        assert_eq!(
            (deltas, call.metrics.unwrap().total_us, call.boundary),
            (80, 80, None)
        );
    }

    #[test]
    fn a_recorded_error_is_a_status_where_nothing_was_said() {
        let silent = answer(&[ENDED], Ending::Said);
        let head = silent.http.unwrap();
        assert_eq!((head.status, head.headers), (429, retry_after(70).to_vec()));
        let spoken = answer(&[TEXT, ENDED], Ending::Said);
        let boundary = spoken.boundary.unwrap();
        assert_eq!(
            (spoken.http, boundary.kind, boundary.status),
            (None, BoundaryKind::Error, Some(429))
        );
        assert_eq!(
            (boundary.error_type.as_str(), boundary.message.as_str()),
            ("rate_limit", "slow down")
        );
    }

    #[test]
    fn an_abort_and_a_missing_end_are_what_they_were() {
        let aborted = r#"{"type":"finish","reason":{"kind":"aborted","failure":{"message":"m","code":"c"}}}"#;
        for (chunks, kind) in [
            (&[TEXT, aborted][..], BoundaryKind::Cancelled),
            (&[TEXT], BoundaryKind::Truncated),
        ] {
            let call = answer(chunks, Ending::Said);
            assert_eq!(call.boundary.unwrap().kind, kind);
            assert_eq!(call.frames[0].chunk, "a");
        }
    }
}
