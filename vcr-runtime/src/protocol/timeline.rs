//! Events with arrival times to frames: coalescing by tick, tool calls assembled, no time lost.

use super::common::append;
use super::{Event, WireError};
use crate::model::{Frame, ToolCall, Usage};

/// Builds the response timeline of one call.
///
/// The first chunk is a frame of its own, so that the time to the first byte stays visible. Later ones are merged until
/// `tick` microseconds have passed since the frame before, or their choice ends. Chunks that say nothing (a role, a
/// fragment of a tool call) leave their time to the next frame.
#[derive(Debug)]
pub(crate) struct Timeline {
    tick_us: u64,
    frames: Vec<Frame>,
    /// Whether a frame was ever written; `frames` may have been drained.
    begun: bool,
    /// The time that the frames so far account for.
    written_us: u64,
    /// One open frame a choice, in order of first appearance.
    open: Vec<Frame>,
    open_at_us: u64,
    tools: Vec<Tool>,
    usage: Option<Usage>,
    error: Option<WireError>,
    ended: bool,
}

#[derive(Debug)]
struct Tool {
    choice: u32,
    index: u32,
    at_us: u64,
    call: ToolCall,
}

/// What a finished timeline holds.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) frames: Vec<Frame>,
    pub(crate) usage: Option<Usage>,
    pub(crate) error: Option<WireError>,
}

impl Timeline {
    pub(crate) fn new(tick_us: u64) -> Self {
        Self {
            tick_us,
            frames: Vec::new(),
            begun: false,
            written_us: 0,
            open: Vec::new(),
            open_at_us: 0,
            tools: Vec::new(),
            usage: None,
            error: None,
            ended: false,
        }
    }

    /// For a unary answer: one frame (one a choice), `delta_ms` 0.
    pub(crate) fn unary() -> Self {
        Self::new(u64::MAX)
    }

    /// Whether the protocol's end marker has come.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Takes the frames that are complete.
    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, Frame> {
        self.frames.drain(..)
    }

    /// Takes what one chunk said; `at_us` is its arrival, counted from the call's start.
    pub(crate) fn push(&mut self, at_us: u64, events: impl IntoIterator<Item = Event>) {
        let mut finished = false;
        for event in events {
            finished |= matches!(event, Event::Finish { .. });
            self.take(at_us, event);
        }
        if self.open.is_empty() {
            return;
        }
        let first = !self.begun && self.tick_us != u64::MAX;
        if first || (finished && self.tick_us != u64::MAX) || at_us - self.written_us >= self.tick_us {
            self.flush();
        }
    }

    /// After the last chunk: tool calls of choices that never ended stand on a last frame.
    pub(crate) fn finish(mut self) -> Told {
        while let Some(choice) = self.tools.first().map(|tool| tool.choice) {
            let at_us = self.tools.iter().map(|tool| tool.at_us).max().unwrap_or_default();
            let tool_calls = self.tools_of(choice);
            self.frame(choice, at_us, |frame| {
                !frame.tool_calls.is_empty() || frame.finish_reason.is_some()
            })
            .tool_calls = tool_calls;
        }
        self.flush();
        Told {
            frames: self.frames,
            usage: self.usage,
            error: self.error,
        }
    }

    fn take(&mut self, at_us: u64, event: Event) {
        match event {
            Event::Text { choice, text } => {
                if !text.is_empty() {
                    let frame = self.frame(choice, at_us, |frame| {
                        later_than_text(frame) || frame.refusal.is_some()
                    });
                    take_text(&mut frame.chunk, text);
                }
            }
            Event::Refusal { choice, text } => {
                if !text.is_empty() {
                    let frame = self.frame(choice, at_us, |frame| {
                        later_than_text(frame) || !frame.chunk.is_empty()
                    });
                    take_text(frame.refusal.get_or_insert_default(), text);
                }
            }
            Event::Reasoning { choice, text } => {
                if !text.is_empty() {
                    let frame = self.frame(choice, at_us, later_than_reasoning);
                    take_text(frame.reasoning.get_or_insert_default(), text);
                }
            }
            Event::Signature { choice, text } => {
                self.frame(choice, at_us, later_than_reasoning)
                    .reasoning_signature = Some(text);
            }
            Event::Native { choice, block } => {
                self.frame(choice, at_us, |frame| !frame.is_blank()).native = Some(block);
            }
            Event::Tool {
                choice,
                index,
                id,
                name,
                arguments,
            } => {
                self.tool(at_us, choice, index, id, name, &arguments);
            }
            Event::Finish {
                choice,
                reason,
                native,
            } => {
                let tool_calls = self.tools_of(choice);
                let frame = self.frame(choice, at_us, |frame| frame.finish_reason.is_some());
                frame.tool_calls.extend(tool_calls);
                frame.finish_reason = Some(reason);
                frame.native_finish_reason = native;
            }
            Event::Usage(usage) => self.usage = Some(usage),
            Event::Error(error) => self.error = Some(self.error.take().unwrap_or(error)),
            Event::End => self.ended = true,
        }
    }

    fn tool(
        &mut self,
        at_us: u64,
        choice: u32,
        index: u32,
        id: Option<String>,
        name: Option<String>,
        more: &str,
    ) {
        let known = self
            .tools
            .iter_mut()
            .find(|tool| tool.choice == choice && tool.index == index);
        let tool = match known {
            Some(tool) => tool,
            None => {
                self.tools.push(Tool {
                    choice,
                    index,
                    at_us,
                    call: ToolCall::default(),
                });
                let last = self.tools.len() - 1;
                &mut self.tools[last]
            }
        };
        tool.at_us = at_us;
        if let Some(id) = id {
            tool.call.id = id;
        }
        if let Some(name) = name {
            tool.call.function.name = name;
        }
        tool.call.function.arguments.push_str(more);
    }

    fn tools_of(&mut self, choice: u32) -> Vec<ToolCall> {
        let mut tools: Vec<Tool> = self.tools.extract_if(.., |tool| tool.choice == choice).collect();
        tools.sort_by_key(|tool| tool.index);
        tools.into_iter().map(|tool| tool.call).collect()
    }

    /// The open frame of a choice, a new one where the open one is already `past` what is to be added.
    fn frame(&mut self, choice: u32, at_us: u64, past: impl Fn(&Frame) -> bool) -> &mut Frame {
        if self
            .open
            .iter()
            .any(|frame| frame.choice == choice && past(frame))
        {
            self.flush();
        }
        // Tool calls of a choice that never ended may have come before frames that are written already.
        self.open_at_us = self.open_at_us.max(at_us);
        let index = self
            .open
            .iter()
            .position(|frame| frame.choice == choice)
            .unwrap_or_else(|| {
                self.open.push(Frame {
                    choice,
                    ..Frame::default()
                });
                self.open.len() - 1
            });
        &mut self.open[index]
    }

    fn flush(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut delta_us = self.open_at_us - self.written_us;
        self.written_us = self.open_at_us;
        self.begun = true;
        for mut frame in self.open.drain(..) {
            frame.delta_us = std::mem::take(&mut delta_us);
            self.frames.push(frame);
        }
    }
}

/// Appends a text, which may be large: the first is taken as it is.
fn take_text(to: &mut String, text: String) {
    if to.is_empty() {
        *to = text;
    } else {
        append(to, &text);
    }
}

/// Inside a frame the order is reasoning, signature, text or refusal, tool calls, finish reason.
fn later_than_text(frame: &Frame) -> bool {
    !frame.tool_calls.is_empty() || frame.finish_reason.is_some() || frame.native.is_some()
}

fn later_than_reasoning(frame: &Frame) -> bool {
    later_than_text(frame)
        || !frame.chunk.is_empty()
        || frame.refusal.is_some()
        || frame.reasoning_signature.is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Event {
        Event::Text {
            choice: 0,
            text: text.to_owned(),
        }
    }

    fn finish(reason: &str) -> Event {
        Event::Finish {
            choice: 0,
            reason: reason.to_owned(),
            native: None,
        }
    }

    fn tool(index: u32, id: Option<&str>, arguments: &str) -> Event {
        Event::Tool {
            choice: 0,
            index,
            id: id.map(str::to_owned),
            name: id.map(|_| "f".to_owned()),
            arguments: arguments.to_owned(),
        }
    }

    fn shape(frames: &[Frame]) -> Vec<(u64, &str, Option<&str>)> {
        frames
            .iter()
            .map(|frame| {
                (
                    frame.delta_us,
                    frame.chunk.as_str(),
                    frame.finish_reason.as_deref(),
                )
            })
            .collect()
    }

    #[test]
    fn chunks_within_a_tick_merge_and_the_first_stands_alone() {
        let mut timeline = Timeline::new(100);
        for (at, word) in [(40, "a"), (60, "b"), (90, "c"), (150, "d"), (160, "e")] {
            timeline.push(at, [text(word)]);
        }
        timeline.push(170, [finish("stop")]);
        let told = timeline.finish();
        assert_eq!(
            shape(&told.frames),
            [(40, "a", None), (110, "bcd", None), (20, "e", Some("stop"))]
        );
    }

    #[test]
    fn tick_zero_keeps_every_chunk() {
        let mut timeline = Timeline::new(0);
        timeline.push(1, [text("a")]);
        timeline.push(1, [text("b")]);
        timeline.push(5, [text("c")]);
        assert_eq!(
            shape(&timeline.finish().frames),
            [(1, "a", None), (0, "b", None), (4, "c", None)]
        );
    }

    #[test]
    fn silent_chunks_leave_their_time_to_the_next_frame() {
        let mut timeline = Timeline::new(10);
        timeline.push(500, []);
        timeline.push(700, [text("a")]);
        timeline.push(900, [tool(0, Some("x"), "{")]);
        timeline.push(1200, [tool(0, None, "}"), finish("tool_calls")]);
        let told = timeline.finish();
        assert_eq!(
            shape(&told.frames),
            [(700, "a", None), (500, "", Some("tool_calls"))]
        );
        assert_eq!(told.frames[1].tool_calls, [ToolCall::new("x", "f", "{}")]);
    }

    #[test]
    fn tool_calls_stand_in_index_order_and_survive_a_cut() {
        let mut timeline = Timeline::new(0);
        timeline.push(1, [tool(1, Some("b"), "{\"z\""), tool(0, Some("a"), "")]);
        timeline.push(2, [tool(0, None, "{}"), tool(1, None, ":1}")]);
        let frames = timeline.finish().frames;
        assert_eq!(frames.len(), 1);
        assert_eq!(
            frames[0].tool_calls,
            [
                ToolCall::new("a", "f", "{}"),
                ToolCall::new("b", "f", "{\"z\":1}")
            ]
        );
        assert_eq!(
            (frames[0].delta_us, frames[0].finish_reason.as_deref()),
            (2, None)
        );
    }

    #[test]
    fn tool_calls_that_were_cut_stand_after_what_came_later() {
        let mut timeline = Timeline::new(0);
        timeline.push(10, [tool(0, Some("x"), "{")]);
        timeline.push(30, [text("a")]);
        assert_eq!(shape(&timeline.finish().frames), [(30, "a", None), (0, "", None)]);
    }

    #[test]
    fn reasoning_after_text_opens_a_new_frame() {
        let reasoning = |text: &str| Event::Reasoning {
            choice: 0,
            text: text.to_owned(),
        };
        let mut timeline = Timeline::new(1_000_000);
        timeline.push(1, [text("first")]);
        timeline.push(2, [reasoning("r"), text("a"), reasoning("s")]);
        let frames = timeline.finish().frames;
        let parts: Vec<_> = frames
            .iter()
            .map(|frame| (frame.reasoning.as_deref(), frame.chunk.as_str()))
            .collect();
        assert_eq!(parts, [(None, "first"), (Some("r"), "a"), (Some("s"), "")]);
    }

    #[test]
    fn a_unary_answer_is_one_frame_a_choice() {
        let mut timeline = Timeline::unary();
        timeline.push(
            0,
            [
                text("a"),
                finish("stop"),
                Event::Text {
                    choice: 1,
                    text: "b".to_owned(),
                },
            ],
        );
        let frames = timeline.finish().frames;
        assert_eq!(shape(&frames), [(0, "a", Some("stop")), (0, "b", None)]);
        assert_eq!(frames[1].choice, 1);
    }

    proptest! {
        #[test]
        fn deltas_add_up_and_no_text_is_lost(
            tick in 0_u64..300,
            steps in prop::collection::vec((0_u64..200, 0_u32..3, 0_u8..4, "[a-zé🦀]{0,3}"), 0..60),
        ) {
            let mut timeline = Timeline::new(tick);
            let mut at = 0;
            let mut last_said = 0;
            let mut expected = [String::new(), String::new(), String::new()];
            for (gap, choice, kind, word) in steps {
                at += gap;
                if kind == 0 {
                    timeline.push(at, []);
                    continue;
                }
                expected[choice as usize].push_str(&word);
                if !word.is_empty() {
                    last_said = at;
                }
                timeline.push(at, [Event::Text { choice, text: word }]);
            }
            let frames = timeline.finish().frames;
            prop_assert_eq!(frames.iter().map(|frame| frame.delta_us).sum::<u64>(), last_said);
            for (choice, text) in expected.iter().enumerate() {
                let joined: String = frames.iter().filter(|frame| frame.choice as usize == choice).map(|frame| frame.chunk.as_str()).collect();
                prop_assert_eq!(&joined, text);
            }
        }
    }
}
