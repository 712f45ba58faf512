//! One line of a session log: the header, events, and rows that pack several events.

use super::chunk::{Block, Chunk, Reason, Timed, Tokens};
use super::fields::{Fields, SAFE, shown, whole};
use crate::json::{Json, JsonError, Limits, Parser};

/// What a line may hold; it is untrusted.
pub(super) const STRICT: Limits = Limits {
    depth: 64,
    nodes: 100_000,
    unique_keys: true,
    finite_numbers: true,
};

/// The version of the log that is understood.
const VERSION: u64 = 0;

/// What the first line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) id: String,
    pub(super) created_at: u64,
    /// How many events a child has inherited.
    pub(super) seed_length: u64,
    /// The id of the session that started it.
    pub(super) parent: Option<String>,
    /// How many sessions stand above it.
    pub(super) depth: Option<u64>,
    /// The hash of the request that it began with. A member of ours, for sessions that ran side by side.
    pub(super) first_request: Option<String>,
}

/// Which call of its session an event belongs to; calls that were tried again share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) turn: u64,
    pub(super) step: u64,
}

/// What one line holds, as far as a script is made of it.
#[derive(Debug, PartialEq)]
pub(super) enum Row {
    /// One or several chunks with their times in milliseconds.
    Chunks(Step, Timed),
    /// A summary of the conversation: what the model said, where it is marked as a call of a model.
    Summary(Option<Timed>),
    /// An event that says nothing about a call.
    Other,
}

impl Row {
    /// How many events it stands for.
    pub(super) fn events(&self) -> u64 {
        match self {
            Self::Chunks(_, chunks) => chunks.len() as u64,
            Self::Summary(_) | Self::Other => 1,
        }
    }
}

/// Whether the events of a file have their numbers and times. All are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Full,
    Projected,
}

/// Lines with their numbers, counted from 1, and their places in the text. Blank ones are counted and left out.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut at = 0;
    text.split('\n').enumerate().filter_map(move |(index, line)| {
        let start = at;
        at += line.len() + 1;
        (!line.trim().is_empty()).then_some((index + 1, start, line))
    })
}

/// The header. What is wrong is told as a predicate of the line.
pub(super) fn header(line: &str) -> Result<Header, String> {
    let document = document(line)?;
    let fields = Fields::of(&document)?;
    if fields.text("type") != Ok("session") {
        return Err("is no header, an object with the type `session`".to_owned());
    }
    if let Some(version) = fields.get("version")
        && whole(version) != Some(VERSION)
    {
        let version = shown(&crate::json::compact(version));
        return Err(format!(
            "is the header of version {version}, and version {VERSION} is understood"
        ));
    }
    Ok(Header {
        id: fields.maybe_text("id")?.unwrap_or_default().to_owned(),
        created_at: fields.maybe_whole("createdAt")?.unwrap_or(0),
        seed_length: fields.maybe_whole("seedLength")?.unwrap_or(0),
        parent: fields.maybe_text("parentSession")?.map(str::to_owned),
        depth: fields.maybe_whole("delegationDepth")?,
        first_request: first_request(&fields)?,
    })
}

fn first_request(fields: &Fields<'_>) -> Result<Option<String>, String> {
    let name = "firstRequestHash";
    let Some(hash) = fields.maybe_text(name)? else {
        return Ok(None);
    };
    let digits = hash.strip_prefix("sha256:").unwrap_or_default();
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    match digits.len() == 64 && digits.bytes().all(is_digit) {
        true => Ok(Some(hash.to_owned())),
        false => Err(format!(
            "has a `{name}` that is no `sha256:` with 64 digits in lower case"
        )),
    }
}

/// The members of a line, each as it is written.
#[derive(Debug, Default)]
struct Members<'a> {
    kind: Option<String>,
    seq: Option<&'a str>,
    time: Option<&'a str>,
    seq0: Option<&'a str>,
    time0: Option<&'a str>,
    data: Option<&'a str>,
    sources: Option<&'a str>,
    other: Option<String>,
}

/// A line behind the header. What is wrong is told as a predicate of the line.
pub(super) fn row(line: &str) -> Result<(Form, Row), String> {
    let mut parser = Parser::new(line, STRICT);
    parser.skip().and_then(|_| parser.end()).map_err(unreadable)?;
    let members = members(line)?;
    let kind = members.kind.as_deref().ok_or("has no text `type`")?;
    if let Some(sources) = members.sources {
        source_seqs(&document(sources)?)?;
    }
    let packed = matches!(kind, "text-chunks" | "reasoning-chunks" | "tool-call-chunks");
    let (names, seq, time) = match packed {
        true => (["seq0", "time0"], members.seq0, members.time0),
        false => (["seq", "time"], members.seq, members.time),
    };
    let form = match (seq, time) {
        (Some(_), Some(_)) => Form::Full,
        (None, None) => Form::Projected,
        (Some(_), None) => return Err(format!("has `{}` and no `{}`", names[0], names[1])),
        (None, Some(_)) => return Err(format!("has `{}` and no `{}`", names[1], names[0])),
    };
    let number = |name: &str, text: Option<&str>| match text {
        None => Ok(0),
        Some(text) => document(text)
            .ok()
            .and_then(|value| whole(&value))
            .ok_or_else(|| format!("has a `{name}` that is no whole number in its range")),
    };
    number(names[0], seq)?;
    let time = number(names[1], time)?;
    let data = || document(members.data.ok_or("has no `data`")?);
    let row = match kind {
        "assistant/chunk" => chunk(&data()?, time)?,
        "compaction/summary" => Row::Summary(summary(&data()?, time)?),
        _ if packed => {
            let extra = members.other.as_deref();
            let extra = extra
                .or(members.seq.and(Some("seq")))
                .or(members.time.and(Some("time")));
            if let Some(extra) = extra {
                return Err(format!(
                    "has the member `{}`, which has no place there",
                    shown(extra)
                ));
            }
            packed_chunks(kind, &data()?, time)?
        }
        _ => Row::Other,
    };
    Ok((form, row))
}

fn unreadable(error: JsonError) -> String {
    format!("is no JSON document: {} (column {})", error.message, error.column)
}

/// A whole value.
pub(super) fn document(text: &str) -> Result<Json, String> {
    let mut parser = Parser::new(text, STRICT);
    let value = parser.value().map_err(unreadable)?;
    parser.end().map_err(unreadable)?;
    Ok(value)
}

fn members(line: &str) -> Result<Members<'_>, String> {
    if !line.trim_start().starts_with('{') {
        return Err("is no object".to_owned());
    }
    let mut found = Members::default();
    let mut parser = Parser::new(line, Limits::default());
    let walked = parser.members(|parser, name| {
        let place = match name.as_ref() {
            "type" => {
                found.kind = parser.value()?.as_str().map(str::to_owned);
                return Ok::<_, JsonError>(());
            }
            "seq" => &mut found.seq,
            "time" => &mut found.time,
            "seq0" => &mut found.seq0,
            "time0" => &mut found.time0,
            "data" => &mut found.data,
            "sourceEventSeqs" => &mut found.sources,
            _ => {
                parser.skip()?;
                found.other = Some(name.into_owned());
                return Ok(());
            }
        };
        *place = Some(parser.skip()?);
        Ok(())
    });
    walked.map_err(unreadable)?;
    Ok(found)
}

/// Numbers, or pairs of a first and a last one. With a pair among them they grow.
fn source_seqs(value: &Json) -> Result<(), String> {
    let wrong =
        || "has `sourceEventSeqs` that are no growing list of numbers and `[first, last]` pairs".to_owned();
    let list = value.as_array().ok_or_else(wrong)?;
    let mut ranges = Vec::with_capacity(list.len());
    let mut pairs = false;
    for item in list {
        let range = match item.as_array() {
            Some([first, last]) => {
                pairs = true;
                whole(first)
                    .zip(whole(last))
                    .filter(|(first, last)| first <= last)
            }
            Some(_) => None,
            None => whole(item).map(|number| (number, number)),
        };
        ranges.push(range.ok_or_else(wrong)?);
    }
    let grow = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
    if pairs && !grow { Err(wrong()) } else { Ok(()) }
}

fn step(fields: &Fields<'_>) -> Result<Step, String> {
    Ok(Step {
        turn: fields.whole("turn")?,
        step: fields.whole("step")?,
    })
}

fn chunk(data: &Json, time: u64) -> Result<Row, String> {
    let within = |problem: String| format!("has `data` that {problem}");
    let fields = Fields::of(data).map_err(within)?;
    fields.only(&["turn", "step", "chunk"]).map_err(within)?;
    let chunk = Chunk::read(fields.must("chunk").map_err(within)?);
    let chunk = chunk.map_err(|problem| format!("has a chunk that {problem}"))?;
    Ok(Row::Chunks(step(&fields).map_err(within)?, vec![(time, chunk)]))
}

fn packed_chunks(kind: &str, data: &Json, time: u64) -> Result<Row, String> {
    let read = || {
        let fields = Fields::of(data)?;
        let texts = match kind {
            "tool-call-chunks" => {
                fields.only(&["turn", "step", "index", "id", "name", "dt", "args"])?;
                "args"
            }
            _ => {
                fields.only(&["turn", "step", "index", "dt", "texts"])?;
                "texts"
            }
        };
        let (texts, gaps) = (fields.list(texts)?, fields.list("dt")?);
        if texts.is_empty() || gaps.len() != texts.len() - 1 {
            return Err("packs no chunk, or has not one `dt` less than chunks".to_owned());
        }
        let index: u32 = fields.whole("index")?;
        let (id, name) = match kind {
            "tool-call-chunks" => (fields.text("id")?, fields.maybe_text("name")?),
            _ => ("", None),
        };
        let mut times = vec![time];
        for gap in gaps {
            let last = times.last().copied().unwrap_or(time);
            times.push(later(last, gap).ok_or("has a `dt` that is no whole number in its range")?);
        }
        let mut chunks = Vec::with_capacity(texts.len());
        for (time, text) in times.into_iter().zip(texts) {
            let text = text.as_str().ok_or("packs a chunk that is no text")?.to_owned();
            let chunk = match kind {
                "text-chunks" => Chunk::Text { index, text },
                "reasoning-chunks" => Chunk::Reasoning { index, text },
                _ => Chunk::Tool {
                    index,
                    id: id.to_owned(),
                    name: name.map(str::to_owned),
                    arguments: text,
                },
            };
            chunks.push((time, chunk));
        }
        Ok(Row::Chunks(step(&fields)?, chunks))
    };
    read().map_err(|problem: String| format!("has `data` that {problem}"))
}

/// A time and how much later it gets; clocks are set back at times.
fn later(time: u64, gap: &Json) -> Option<u64> {
    match gap.as_f64() {
        Some(gap) if gap < 0.0 && gap.fract() == 0.0 && gap >= -(SAFE as f64) => {
            Some(time.saturating_sub(gap.abs() as u64))
        }
        _ => whole(gap).map(|gap| time.saturating_add(gap)),
    }
}

/// What the model said when it was asked for a summary, as the stream that it would have been.
fn summary(data: &Json, time: u64) -> Result<Option<Timed>, String> {
    let within = |problem: String| format!("has `data` that {problem}");
    let fields = Fields::of(data).map_err(within)?;
    if fields.get("llmStreamCall").and_then(Json::as_bool) != Some(true) {
        return Ok(None);
    }
    if fields.get("rawOutput").is_none() {
        return Err("marks a call of a model and has no `rawOutput`".to_owned());
    }
    let mut chunks = Vec::new();
    for (index, block) in (0..).zip(fields.list("rawOutput").map_err(within)?) {
        let block = Block::read(block)?;
        chunks.push((time, Chunk::Start));
        chunks.push((time, Chunk::End { index, block }));
    }
    if let Some(usage) = fields.get("usage") {
        chunks.push((time, Chunk::Usage(Tokens::read(usage)?)));
    }
    chunks.push((time, Chunk::Finish(Reason::Stop)));
    Ok(Some(chunks))
}
