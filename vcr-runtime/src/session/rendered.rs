//! The frames of a call rendered into the caller's protocol, as a stream.

use std::time::Duration;

use super::exchange::{Pieces, Written};
use super::stencil::Stencil;
use crate::model::{Call, Frame};
use crate::protocol::{Answer, Delivery, Wire};

/// Stands in for the texts of a run of frames. Private characters: no answer and no template has them.
const MARK: &str = "\u{e000}vcr\u{e001}";
/// Fewer frames are rendered one by one: finding out how they differ costs as much as a few of them.
const WORTH: usize = 4;
/// What a piece is expected to take.
const PIECE: usize = 192;

/// The pieces of an answer whose stream is rendered. It ended `total` after its call's start.
pub(super) fn pieces(call: &Call, delivery: Delivery<'_>, answer: &Answer<'_>, total: Duration) -> Pieces {
    let due = due(&call.frames);
    let mut pieces =
        runs_of_text(delivery, answer, &due).unwrap_or_else(|| one_by_one(delivery, answer, &due));
    let trailer = delivery.trailer(pieces.len(), answer.template);
    if answer.boundary.is_none() && !trailer.is_empty() {
        let last = due.last().copied().unwrap_or_default();
        pieces.push(last.max(total), trailer.as_bytes());
    }
    pieces
}

/// When each frame is due, from the call's start.
fn due(frames: &[Frame]) -> Vec<Duration> {
    let mut sum = 0;
    let deltas = frames.iter().map(|frame| {
        sum += frame.delta_us;
        Duration::from_micros(sum)
    });
    deltas.collect()
}

fn one_by_one(delivery: Delivery<'_>, answer: &Answer<'_>, due: &[Duration]) -> Pieces {
    let at = |index: usize| due.get(index).or(due.last()).copied().unwrap_or_default();
    let payloads = delivery.wire().render_stream(answer).into_iter().enumerate();
    payloads
        .map(|(place, (index, payload))| (at(index), delivery.piece(place, &payload, answer.template)))
        .collect()
}

/// The frames with which an SDK ends up with the same answer: a text in one of them is as good as in many. `None` where
/// that would be hardly fewer, or the protocol says otherwise.
pub(super) fn joined(wire: &dyn Wire, frames: &[Frame]) -> Option<Vec<Frame>> {
    if !wire.repeats_text() {
        return None;
    }
    let mut shortened = Shortened::of(frames)?;
    for (frame, range) in shortened.frames.iter_mut().zip(&shortened.stands_for) {
        for other in &frames[range.start + 1..range.end] {
            frame.chunk.push_str(&other.chunk);
        }
    }
    Some(shortened.frames)
}

/// Fewer frames in the place of all: of a run of frames that only continue a text the first two.
struct Shortened {
    frames: Vec<Frame>,
    /// The frames that each stands for, itself included, as a range of the answer's.
    stands_for: Vec<std::ops::Range<usize>>,
}

impl Shortened {
    /// `None` where it would be hardly shorter.
    fn of(frames: &[Frame]) -> Option<Self> {
        let continues = |index: usize| index > 0 && continues_text(&frames[index - 1], &frames[index]);
        let saved = |index: &usize| continues(*index) && continues(*index - 1);
        let count = (0..frames.len()).filter(saved).count();
        if count < WORTH {
            return None;
        }
        let mut shortened = Self {
            frames: Vec::with_capacity(frames.len() - count),
            stands_for: Vec::with_capacity(frames.len() - count),
        };
        for (index, frame) in frames.iter().enumerate() {
            match shortened.stands_for.last_mut() {
                Some(range) if saved(&index) => range.end = index + 1,
                _ => {
                    shortened.frames.push(frame.clone());
                    shortened.stands_for.push(index..index + 1);
                }
            }
        }
        Some(shortened)
    }

    /// Puts the mark into each frame that stands for others, and says how many there are.
    fn mark(&mut self) -> usize {
        let mut count = 0;
        for (frame, range) in self.frames.iter_mut().zip(&self.stands_for) {
            if range.len() > 1 {
                MARK.clone_into(&mut frame.chunk);
                count += 1;
            }
        }
        count
    }
}

/// Renders one frame of each run of text and writes the others by its pattern. `None` where that is not possible, or
/// not worth it.
fn runs_of_text(delivery: Delivery<'_>, answer: &Answer<'_>, due: &[Duration]) -> Option<Pieces> {
    if !delivery.wire().repeats_text() {
        return None;
    }
    let mut shortened = Shortened::of(answer.frames)?;
    let mut unwritten = shortened.mark();
    let short = Answer {
        frames: &shortened.frames,
        ..*answer
    };
    let count = answer.frames.len() + 4;
    let mut pieces = Written::with_capacity(count, count * PIECE);
    for (place, (index, payload)) in delivery.wire().render_stream(&short).into_iter().enumerate() {
        let piece = delivery.piece(place, &payload, answer.template);
        let range = shortened.stands_for.get(index)?.clone();
        let stencil = (range.len() > 1).then(|| Stencil::around(&piece, MARK));
        if let Some(stencil) = stencil.flatten() {
            unwritten = unwritten.checked_sub(1)?;
            for frame in range {
                let filling = &answer.frames[frame].chunk;
                pieces.push(due[frame], |out| stencil.write(filling, out));
            }
        } else {
            // What follows the last frame names it, though another one stands in for it.
            pieces.push(due[range.end - 1], |out| out.push_str(&piece));
        }
    }
    (unwritten == 0).then(|| pieces.into())
}

/// Whether a frame does nothing but continue the text of the one before, which does nothing but that either.
fn continues_text(before: &Frame, frame: &Frame) -> bool {
    before.choice == frame.choice && is_text(before) && is_text(frame)
}

fn is_text(frame: &Frame) -> bool {
    let Frame {
        delta_us: _,
        choice: _,
        chunk,
        reasoning,
        reasoning_signature,
        refusal,
        tool_calls,
        finish_reason,
        native_finish_reason,
        native,
    } = frame;
    !chunk.is_empty()
        && reasoning.is_none()
        && reasoning_signature.is_none()
        && refusal.is_none()
        && tool_calls.is_empty()
        && finish_reason.is_none()
        && native_finish_reason.is_none()
        && native.is_none()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::parse;
    use crate::model::{Boundary, BoundaryKind, Usage};
    use crate::protocol;

    fn frames(steps: &[(u8, u32, String)]) -> Vec<Frame> {
        let frames = steps.iter().enumerate().map(|(index, (kind, choice, word))| {
            let mut frame = Frame {
                delta_us: index as u64,
                choice: *choice,
                ..Frame::default()
            };
            match kind {
                0..=5 => frame.chunk.clone_from(word),
                6 => frame.reasoning = Some(word.clone()),
                7 => {
                    frame.chunk.clone_from(word);
                    frame.finish_reason = Some("stop".to_owned());
                }
                _ => frame.refusal = Some(word.clone()),
            }
            frame
        });
        frames.collect()
    }

    fn wires() -> Vec<&'static dyn Wire> {
        let wires: Vec<_> = protocol::wires().filter(|wire| wire.repeats_text()).collect();
        assert!(!wires.is_empty());
        wires
    }

    fn both(wire: &dyn Wire, answer: &Answer<'_>) -> (Option<Pieces>, Pieces) {
        let delivery = Delivery::of(wire, &crate::json::Object::new());
        let due = due(answer.frames);
        (
            runs_of_text(delivery, answer, &due),
            one_by_one(delivery, answer, &due),
        )
    }

    #[test]
    fn a_long_text_is_written_by_a_pattern() {
        let steps: Vec<_> = (0..20).map(|index| (0, 0, format!("\"{index}\""))).collect();
        let frames = frames(&steps);
        for wire in wires() {
            let answer = Answer {
                frames: &frames,
                usage: None,
                boundary: None,
                template: None,
                model: "m",
                id: "i",
            };
            let (short, long) = both(wire, &answer);
            let short = short.unwrap();
            assert!(short.len() >= 20, "{}", wire.name());
            assert_eq!(
                (short.bytes, short.cuts),
                (long.bytes, long.cuts),
                "{}",
                wire.name()
            );
        }
    }

    proptest! {
        #[test]
        fn the_short_way_gives_the_same_pieces(
            steps in prop::collection::vec((0_u8..9, 0_u32..2, "[a-z\"\\\\é🦀\n]{0,4}"), 0..40),
            usage in any::<bool>(),
            fails in any::<bool>(),
            template in any::<bool>(),
        ) {
            let frames = frames(&steps);
            let usage = usage.then(Usage::default);
            let boundary = fails.then(|| Boundary {
                kind: BoundaryKind::Error,
                error_type: "E".to_owned(),
                message: "m".to_owned(),
                status: None,
                code: None,
            });
            let json = parse(r#"{"chunk":{"id":"c","model":"m"},"open":{"delta":{"role":"assistant"}},
                "text":{"delta":{"x":null}},"tail":{},"usage_on":["tail"]}"#).unwrap();
            for wire in wires() {
                let answer = Answer {
                    frames: &frames,
                    usage: usage.as_ref(),
                    boundary: boundary.as_ref(),
                    template: Some(&json).filter(|_| template),
                    model: "m",
                    id: "i",
                };
                let (short, long) = both(wire, &answer);
                if let Some(joined) = joined(wire, &frames) {
                    let assembled = |answer: &Answer<'_>| {
                        let payloads = wire.render_stream(answer).into_iter();
                        wire.assemble(&payloads.map(|(_, payload)| payload).collect::<Vec<_>>())
                    };
                    let joined = Answer { frames: &joined, ..answer };
                    prop_assert_eq!(assembled(&joined), assembled(&answer));
                }
                if let Some(short) = short {
                    prop_assert_eq!(String::from_utf8(short.bytes), String::from_utf8(long.bytes));
                    prop_assert_eq!(short.cuts, long.cuts);
                }
            }
        }
    }
}
