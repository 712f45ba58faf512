//! A cassette in a few lines, for people: what was asked and what came back, without the JSON around it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{Cassette, Chosen, outline, read};
use crate::error::Result;
use crate::json::Json;
use crate::model::{BoundaryKind, Call, ToolCall, Usage, texts};

/// Characters of a text that fit a line.
const EXCERPT: usize = 72;

/// What a cassette holds, in short; its `Display` is a small report.
///
/// ```
/// let cassette = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/fixture_real_model_smollm2_stream.json");
/// let summary = vcr_runtime::summary(cassette)?;
/// assert_eq!(summary.calls[0].model, "smollm2");
/// assert!(summary.calls[0].streamed);
/// println!("{summary}");
/// # Ok::<(), vcr_runtime::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The file.
    pub path: PathBuf,
    /// The scenario that it says it records.
    pub scenario: Option<String>,
    /// The test that recorded it.
    pub test: Option<String>,
    /// The trace ids of its takes, oldest first.
    pub takes: Vec<String>,
    /// The trace id of the take that is played unless another is pinned.
    pub latest: String,
    /// The calls of that take.
    pub calls: Vec<CallSummary>,
}

/// One call of a [`Summary`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallSummary {
    /// The wire format, such as `openai-chat`; empty where the file does not say.
    pub protocol: String,
    /// The model that was asked for, or method and path of a call that is none of a known protocol.
    pub model: String,
    /// How many messages the request had.
    pub messages: usize,
    /// The text of the last message.
    pub prompt: String,
    /// The whole text of the answer.
    pub text: String,
    /// The tools that the model asked for.
    pub tool_calls: Vec<ToolCall>,
    /// Whether the request asked for a stream.
    pub streamed: bool,
    /// Steps of the answer's timeline.
    pub frames: usize,
    /// Token counts, where the provider stated them.
    pub usage: Option<Usage>,
    /// From the request to the end of the answer; `None` in files written by hand.
    pub duration: Option<Duration>,
    /// How it ended, when it did not end well.
    pub failure: Option<String>,
    /// Whether the provider's own bytes are kept.
    pub raw: bool,
}

/// Reads a cassette and says what its latest take holds.
///
/// # Errors
/// As opening it for replay: [`CassetteMissing`](crate::ErrorKind::CassetteMissing),
/// [`CassetteBroken`](crate::ErrorKind::CassetteBroken), [`CassetteVersion`](crate::ErrorKind::CassetteVersion),
/// [`TakeMissing`](crate::ErrorKind::TakeMissing), [`Io`](crate::ErrorKind::Io).
pub fn summary(path: impl AsRef<Path>) -> Result<Summary> {
    let path = path.as_ref();
    let text = read(path)?;
    let head = outline(path, &text, None)?;
    let take = Cassette::from_text(path, &text, Chosen::Latest)?.take;
    let scenario = head.others.into_iter().find(|(name, _)| name == "scenario");
    Ok(Summary {
        path: path.to_owned(),
        scenario: scenario.and_then(|(_, value)| value.as_str().map(str::to_owned)),
        test: head.test,
        takes: head.takes.into_iter().map(|(id, _)| id).collect(),
        latest: take.trace_id,
        calls: take.calls.iter().map(CallSummary::of).collect(),
    })
}

impl CallSummary {
    fn of(call: &Call) -> Self {
        let request = &call.request;
        let parameter = |name: &str| request.parameters.as_ref()?.get(name);
        let word = |name: &str| parameter(name).and_then(Json::as_str);
        let messages = request.messages.as_deref().unwrap_or_default();
        Self {
            protocol: request.protocol.clone().unwrap_or_default(),
            model: match (word("method"), word("path")) {
                (Some(method), Some(path)) if messages.is_empty() => format!("{method} {path}"),
                _ => request.model.clone().unwrap_or_default(),
            },
            messages: messages.len(),
            prompt: messages
                .last()
                .map(|last| texts(last).concat())
                .unwrap_or_default(),
            text: call.frames.views().map(|frame| frame.chunk).collect(),
            tool_calls: call
                .frames
                .iter()
                .flat_map(|frame| frame.tool_calls.clone())
                .collect(),
            streamed: parameter("stream").and_then(Json::as_bool).unwrap_or(false),
            frames: call.frames.len(),
            usage: call.usage.clone(),
            duration: call
                .metrics
                .map(|metrics| Duration::from_micros(metrics.total_us)),
            failure: call.boundary.as_ref().map(|boundary| match boundary.kind {
                BoundaryKind::Http => format!("HTTP {}", boundary.status.unwrap_or_default()),
                kind => format!("{}: {}", kind.as_str(), boundary.message),
            }),
            raw: call.raw.is_some(),
        }
    }

    /// How it was answered: frames, time, tokens.
    fn figures(&self) -> String {
        let mut parts = vec![if self.streamed { "stream" } else { "unary" }.to_owned()];
        parts.push(count(self.frames, "frame"));
        if let Some(duration) = self.duration {
            parts.push(format!("{} ms", duration.as_millis()));
        }
        if let Some(usage) = &self.usage {
            parts.push(format!(
                "{} + {} tokens",
                usage.prompt_tokens, usage.completion_tokens
            ));
        }
        if self.raw {
            parts.push("raw kept".to_owned());
        }
        parts.join(", ")
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scenario = self.scenario.as_deref().unwrap_or("without a name");
        let latest = self.latest.get(..8).unwrap_or(&self.latest);
        let takes = count(self.takes.len(), "take");
        write!(formatter, "scenario {scenario}, {takes}, latest {latest}")?;
        for (index, call) in self.calls.iter().enumerate() {
            write!(formatter, "\n  call {}: {call}", index + 1)?;
        }
        Ok(())
    }
}

impl fmt::Display for CallSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = vec![self.protocol.as_str(), self.model.as_str()];
        head.retain(|part| !part.is_empty());
        write!(formatter, "{}", head.join(" "))?;
        if self.messages > 0 {
            write!(formatter, ", {}", count(self.messages, "message"))?;
        }
        write!(formatter, "; {}", self.figures())?;
        let mut line = |mark: &str, text: &str| write!(formatter, "\n    {mark} {}", excerpt(text));
        if !self.prompt.is_empty() {
            line(">", &self.prompt)?;
        }
        if !self.text.is_empty() {
            line("<", &self.text)?;
        }
        for call in &self.tool_calls {
            line(
                "<",
                &format!("{}({})", call.function.name, call.function.arguments),
            )?;
        }
        self.failure.iter().try_for_each(|failure| line("!", failure))
    }
}

/// One line of a text.
fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const FILE: &str = r#"{"scenario":"s","latest_trace_id":"abcdef0123","traces":{"old":7,"abcdef0123":{"calls":[
        {"protocol":"openai-chat","request_context":{"model":"m","messages":[{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"two\n  lines"}]}],"parameters":{"stream":true}},
         "network_metrics":{"ttfb_ms":1.0,"total_duration_ms":12.9},"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7},
         "response_timeline":[{"delta_ms":1.0,"chunk":"Hel"},{"delta_ms":2.0,"chunk":"lo","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]},
        {"protocol":"http","request_context":{"model":"","messages":[],"parameters":{"method":"GET","path":"/models"}},"response_timeline":[],
         "exception_boundary":{"occurred":true,"kind":"http","error_type":"HttpError","message":"m","status":404}}]}}}"#;

    #[test]
    fn a_report_of_every_call() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.json");
        std::fs::write(&path, FILE).unwrap();
        let summary = summary(&path).unwrap();
        assert_eq!(summary.takes, ["old", "abcdef0123"]);
        assert_eq!(summary.calls[0].text, "Hello");
        assert_eq!(summary.calls[0].duration, Some(Duration::from_micros(12_900)));
        let lines: Vec<String> = summary.to_string().lines().map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "scenario s, 2 takes, latest abcdef01",
                "  call 1: openai-chat m, 2 messages; stream, 2 frames, 12 ms, 3 + 4 tokens",
                "    > two lines",
                "    < Hello",
                "    < f({})",
                "  call 2: http GET /models; unary, 0 frames",
                "    ! HTTP 404",
            ]
        );
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(excerpt(&"é".repeat(EXCERPT)), "é".repeat(EXCERPT));
        assert_eq!(
            excerpt(&"é".repeat(EXCERPT + 1)),
            format!("{}…", "é".repeat(EXCERPT))
        );
    }

    #[test]
    fn what_is_no_cassette_is_an_error() {
        let error = summary("/nowhere/x.json").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CassetteMissing);
    }
}
