use crate::json::{Json, Object, compact};
use crate::model::{Boundary, Frame, ToolCall};
use crate::protocol::Answer;
use crate::protocol::common::is_told;

use super::shape::{Kind, Shapes};
use super::template::Template;
use super::words::{block, delta, event, native_reason};
use super::{assemble, error};

/// Block types of this protocol. A native block of another means nothing to this one's clients.
const BLOCKS: [&str; 9] = [
    block::TEXT,
    block::THINKING,
    block::TOOL,
    delta::CITATION,
    "redacted_thinking",
    "server_tool_use",
    "mcp_tool_use",
    "container_upload",
    "compaction",
];

/// The events of an answer, each with the frame that it belongs to.
pub(super) fn stream(answer: &Answer<'_>) -> Vec<(usize, Json)> {
    let template = Template::of(answer);
    let mut painter = Painter::new(answer.frames, template.json, template.is_own());
    if let Some(message) = start_message(answer, template) {
        painter.event(event::MESSAGE_START, [("message", message)]);
    }
    painter.frames();
    let ended = match template.is_stream() {
        true => template.end().is_some(),
        // An answer that failed has no end, unless it says so.
        false => answer.boundary.is_none() || answer.frames.iter().any(|frame| frame.finish_reason.is_some()),
    };
    let done = template.flag("done", template.is_stream() || answer.boundary.is_none());
    if ended || done || template.flag("closed", false) {
        painter.close();
    }
    if let Some(block) = template.members("open").filter(|_| template.is_stream()) {
        painter.broken(block.clone());
    }
    if ended {
        painter.out.push((painter.at, end(answer, template)));
    }
    if done {
        painter.event(event::MESSAGE_STOP, []);
    }
    if let Some(payload) = answer
        .boundary
        .and_then(|boundary| error_event(boundary, template))
    {
        painter.out.push((painter.at, payload));
    }
    painter.out
}

/// The content blocks of a unary answer. `template` may hold the shapes of blocks; `own` tells whether the frames were
/// recorded with these block types.
pub(crate) fn content(frames: &[Frame], template: Option<&Json>, own: bool) -> Vec<Json> {
    let mut painter = Painter::new(frames, template, own);
    painter.frames();
    painter.close();
    let payloads: Vec<Json> = painter.out.into_iter().map(|(_, payload)| payload).collect();
    match assemble::message(&payloads).remove("content") {
        Some(Json::Array(blocks)) => blocks,
        _ => Vec::new(),
    }
}

fn start_message(answer: &Answer<'_>, template: Template<'_>) -> Option<Json> {
    let usage = template.start_usage(answer.usage);
    if template.is_stream() {
        let mut message = template.message()?;
        if message
            .get("usage")
            .is_some_and(|usage| usage.as_object().is_some())
        {
            message.set("usage", usage);
        }
        return Some(Json::Object(message));
    }
    let mut message = match template.members("body") {
        Some(body) => body.clone(),
        None => {
            let members = [
                ("id", answer.id),
                ("type", "message"),
                ("role", "assistant"),
                ("model", answer.model),
            ];
            members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect()
        }
    };
    message.set("content", Vec::new());
    message.set("stop_reason", Json::Null);
    message.set("stop_sequence", Json::Null);
    message.set("usage", usage);
    Some(Json::Object(message))
}

/// The event that ends the message.
fn end(answer: &Answer<'_>, template: Template<'_>) -> Json {
    let reason = answer
        .frames
        .iter()
        .rev()
        .find_map(|frame| native_reason(frame, template.is_own()));
    let mut own = template.end();
    let mut members = Object::new();
    members.push("type", event::MESSAGE_DELTA);
    let mut delta = Object::new();
    delta.push("stop_reason", reason);
    match own.as_mut().map(|own| own.remove("delta")) {
        Some(Some(Json::Object(rest))) => delta.0.extend(rest),
        Some(_) => {}
        None => {
            let body = template.members("body");
            delta.push(
                "stop_sequence",
                body.and_then(|body| body.get("stop_sequence")).cloned(),
            );
        }
    }
    members.push("delta", delta);
    if let Some(usage) = template.end_usage(answer.usage) {
        members.push("usage", usage);
    }
    members
        .0
        .extend(own.into_iter().flatten().filter(|(name, _)| name != "usage"));
    Json::Object(members)
}

fn error_event(boundary: &Boundary, template: Template<'_>) -> Option<Json> {
    match template.get("error") {
        Some(payload) => Some(error::with_message(payload.clone(), boundary)),
        None if template.is_own() || !is_told(boundary) => None,
        None => Some(error::write(boundary)),
    }
}

struct Painter<'a> {
    frames: &'a [Frame],
    template: Option<&'a Json>,
    own: bool,
    tools: Vec<&'a ToolCall>,
    /// The number of tool calls that have been written.
    told: usize,
    index: u64,
    open: Option<Kind>,
    at: usize,
    out: Vec<(usize, Json)>,
}

impl<'a> Painter<'a> {
    fn new(frames: &'a [Frame], template: Option<&'a Json>, own: bool) -> Self {
        Self {
            frames,
            template,
            own,
            tools: Vec::new(),
            told: 0,
            index: 0,
            open: None,
            at: 0,
            out: Vec::new(),
        }
    }

    /// The blocks of all frames. An answer of several choices is told by its first: messages have one.
    fn frames(&mut self) {
        let first = self.frames.iter().map(|frame| frame.choice).min().unwrap_or(0);
        let ours = move |frame: &&'a Frame| frame.choice == first;
        self.tools = self
            .frames
            .iter()
            .filter(ours)
            .flat_map(|frame| &frame.tool_calls)
            .collect();
        let mut until = 0;
        for (number, frame) in self.frames.iter().enumerate() {
            self.at = number;
            if ours(&frame) {
                until += frame.tool_calls.len();
                self.frame(frame, until);
            }
        }
    }

    /// `until` is how many tool calls have come with this frame and those before.
    fn frame(&mut self, frame: &Frame, until: usize) {
        if let Some(text) = frame.reasoning.as_deref().filter(|text| !text.is_empty()) {
            self.text(Kind::Thinking, text);
        }
        if let Some(signature) = frame.reasoning_signature.as_deref() {
            self.ensure(Kind::Thinking);
            self.delta([("type", delta::SIGNATURE.into()), ("signature", signature.into())]);
            self.close();
        }
        let refusal = frame.refusal.as_deref().unwrap_or_default();
        for text in [frame.chunk.as_str(), refusal]
            .into_iter()
            .filter(|text| !text.is_empty())
        {
            self.text(Kind::Text, text);
        }
        if let Some(native) = &frame.native {
            self.native(native);
        }
        while self.told < until {
            self.tool(&Shapes::read(self.template, Kind::Tool));
        }
    }

    fn native(&mut self, native: &Json) {
        let word = native.get("type").and_then(Json::as_str).unwrap_or_default();
        let is_known = BLOCKS.contains(&word) || word.ends_with("_tool_result");
        let Some(members) = native.as_object().filter(|_| self.own || is_known) else {
            return;
        };
        match (Kind::of(members), word) {
            (_, delta::CITATION) => {
                self.ensure(Kind::Text);
                self.block_delta(native.clone());
            }
            (kind @ (Kind::Text | Kind::Thinking), _) => self.start(kind, &kind.rest(members)),
            (Kind::Tool, _) => self.tool(&Kind::Tool.rest(members)),
            (Kind::Native, _) => self.whole(members.clone()),
        }
    }

    /// A block that is known whole.
    fn whole(&mut self, members: Object) {
        self.broken(members);
        self.close();
    }

    /// A block without its end; input that came in pieces comes in one now.
    fn broken(&mut self, mut members: Object) {
        let word = members.get("type").and_then(Json::as_str).unwrap_or_default();
        let pieces = match members.get("input") {
            Some(Json::Object(input)) if input.is_empty() => None,
            Some(Json::String(cut)) => Some(cut.clone()),
            Some(input) => Some(compact(input)),
            None => None,
        };
        let pieces = pieces.filter(|_| word.ends_with(block::TOOL));
        if pieces.is_some() {
            members.set("input", Object::new());
        }
        self.begin(Kind::Native, members);
        if let Some(pieces) = pieces {
            self.delta([("type", delta::JSON.into()), ("partial_json", pieces.into())]);
        }
    }

    /// The next tool call.
    fn tool(&mut self, rest: &Object) {
        let Some(call) = self.tools.get(self.told).copied() else {
            return;
        };
        self.told += 1;
        let mut members = Object::new();
        members.push("type", block::TOOL);
        members.push("id", call.id.as_str());
        members.push("name", call.function.name.as_str());
        members.push("input", Object::new());
        members.0.extend(rest.iter().cloned());
        self.begin(Kind::Tool, members);
        if !call.function.arguments.is_empty() {
            let arguments = call.function.arguments.as_str();
            self.delta([("type", delta::JSON.into()), ("partial_json", arguments.into())]);
        }
    }

    fn text(&mut self, kind: Kind, text: &str) {
        self.ensure(kind);
        let (word, member) = match kind {
            Kind::Thinking => (delta::THINKING, "thinking"),
            _ => (delta::TEXT, "text"),
        };
        self.delta([("type", word.into()), (member, text.into())]);
    }

    /// Continues a block, or begins one.
    fn ensure(&mut self, kind: Kind) {
        if self.open != Some(kind) {
            self.start(kind, &Shapes::read(self.template, kind));
        }
    }

    fn start(&mut self, kind: Kind, rest: &Object) {
        let word = match kind {
            Kind::Thinking => block::THINKING,
            _ => block::TEXT,
        };
        let mut members = Object::new();
        members.push("type", word);
        members.push(word, "");
        members.0.extend(rest.iter().cloned());
        self.begin(kind, members);
    }

    fn begin(&mut self, kind: Kind, members: Object) {
        self.close();
        let index = self.index;
        self.open = Some(kind);
        self.event(
            event::BLOCK_START,
            [("index", index.into()), ("content_block", members.into())],
        );
    }

    fn delta(&mut self, members: [(&str, Json); 2]) {
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        self.block_delta(Json::Object(members.collect()));
    }

    fn block_delta(&mut self, delta: Json) {
        let index = self.index;
        self.event(event::BLOCK_DELTA, [("index", index.into()), ("delta", delta)]);
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            let index = self.index;
            self.index += 1;
            self.event(event::BLOCK_STOP, [("index", index.into())]);
        }
    }

    fn event<const N: usize>(&mut self, word: &str, members: [(&str, Json); N]) {
        let mut payload = Object::new();
        payload.push("type", word);
        for (name, value) in members {
            payload.push(name, value);
        }
        self.out.push((self.at, Json::Object(payload)));
    }
}
