//! The frames of a call, packed until somebody looks at one.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use super::Frame;

/// The frames of a call.
///
/// A long stream is hundreds of frames of a few bytes each, and a cassette has thousands of them that no test looks at
/// one by one. What is read from a file is therefore packed: the texts lie behind one another, and only what few frames have
/// is kept as a frame. It reads as a slice of frames, which are made when it is first used so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    packed: Packed,
    /// Once it is made it is what counts.
    list: OnceLock<Vec<Frame>>,
}

#[derive(Clone, Debug, Default)]
struct Packed {
    text: String,
    steps: Vec<Step>,
    /// Frames with more than a text, less that.
    rest: Vec<Frame>,
}

/// A frame: the length of its text, and its time unless there is more to it.
#[derive(Clone, Copy, Debug)]
struct Step {
    length: u32,
    /// Microseconds since the frame before, or [`MORE`]: then the next of `rest` has it.
    delta_us: u32,
}

const MORE: u32 = u32::MAX;

/// A frame as it lies there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameRef<'a> {
    pub(crate) chunk: &'a str,
    /// Everything else; absent where the frame is a text of the first choice and no more.
    pub(crate) rest: Option<&'a Frame>,
}

impl<'a> From<&'a Frame> for FrameRef<'a> {
    fn from(frame: &'a Frame) -> Self {
        Self {
            chunk: &frame.chunk,
            rest: Some(frame),
        }
    }
}

impl Frames {
    pub(crate) fn len(&self) -> usize {
        self.list.get().map_or(self.packed.steps.len(), Vec::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a frame. Its text, where it is not in the frame already, is `chunk`.
    pub(crate) fn push_text(&mut self, mut frame: Frame, chunk: &str) {
        let delta_us = u32::try_from(frame.delta_us).unwrap_or(MORE);
        match (u32::try_from(chunk.len()), self.list.get_mut()) {
            (Ok(length), None) => {
                let plain = frame.is_text_alone() && delta_us != MORE;
                self.packed.text.push_str(chunk);
                self.packed.steps.push(Step {
                    length,
                    delta_us: if plain { delta_us } else { MORE },
                });
                if !plain {
                    self.packed.rest.push(frame);
                }
            }
            _ => {
                chunk.clone_into(&mut frame.chunk);
                self.push(frame);
            }
        }
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.make();
        if let Some(list) = self.list.get_mut() {
            list.push(frame);
        }
    }

    /// The frames in order, without making any.
    pub(crate) fn views(&self) -> impl Iterator<Item = FrameRef<'_>> {
        let list = self.list.get();
        let made = list.into_iter().flatten().map(FrameRef::from);
        let (mut at, mut rest) = (0, self.packed.rest.iter());
        let steps = if list.is_some() {
            &[][..]
        } else {
            &self.packed.steps
        };
        made.chain(steps.iter().map(move |step| {
            let from = at;
            at += step.length as usize;
            FrameRef {
                chunk: &self.packed.text[from..at],
                rest: (step.delta_us == MORE).then(|| rest.next()).flatten(),
            }
        }))
    }

    /// Makes the frames, so that they can be changed.
    fn make(&mut self) {
        if self.list.get().is_none() {
            let made: Vec<Frame> = std::mem::take(&mut self.packed).into_frames().collect();
            self.list = OnceLock::from(made);
        }
    }
}

impl Packed {
    fn into_frames(self) -> FrameIter {
        FrameIter {
            list: Vec::new().into_iter(),
            text: self.text,
            at: 0,
            steps: self.steps.into_iter(),
            rest: self.rest.into_iter(),
        }
    }
}

/// Frames one by one, each made when it is asked for.
#[derive(Debug)]
pub(crate) struct FrameIter {
    list: std::vec::IntoIter<Frame>,
    text: String,
    at: usize,
    steps: std::vec::IntoIter<Step>,
    rest: std::vec::IntoIter<Frame>,
}

impl FrameIter {
    /// The time of the next frame, in microseconds since the one before.
    pub(crate) fn next_delta_us(&self) -> Option<u64> {
        match self.steps.as_slice().first() {
            Some(step) if step.delta_us == MORE => self.rest.as_slice().first().map(|frame| frame.delta_us),
            Some(step) => Some(u64::from(step.delta_us)),
            None => self.list.as_slice().first().map(|frame| frame.delta_us),
        }
    }
}

impl Iterator for FrameIter {
    type Item = Frame;

    #[inline]
    fn next(&mut self) -> Option<Frame> {
        let Some(step) = self.steps.next() else {
            return self.list.next();
        };
        let from = self.at;
        self.at += step.length as usize;
        let chunk = self.text[from..self.at].to_owned();
        if step.delta_us == MORE {
            let mut frame = self.rest.next()?;
            frame.chunk = chunk;
            return Some(frame);
        }
        Some(Frame {
            delta_us: u64::from(step.delta_us),
            chunk,
            ..Frame::default()
        })
    }
}

impl IntoIterator for Frames {
    type Item = Frame;
    type IntoIter = FrameIter;

    fn into_iter(self) -> FrameIter {
        match self.list.into_inner() {
            Some(list) => FrameIter {
                list: list.into_iter(),
                ..Packed::default().into_frames()
            },
            None => self.packed.into_frames(),
        }
    }
}

impl<'a> IntoIterator for &'a Frames {
    type Item = &'a Frame;
    type IntoIter = std::slice::Iter<'a, Frame>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Frames {
    type Item = &'a mut Frame;
    type IntoIter = std::slice::IterMut<'a, Frame>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl Deref for Frames {
    type Target = [Frame];

    fn deref(&self) -> &[Frame] {
        self.list
            .get_or_init(|| self.packed.clone().into_frames().collect())
    }
}

impl DerefMut for Frames {
    fn deref_mut(&mut self) -> &mut [Frame] {
        self.make();
        self.list.get_mut().map_or(&mut [], Vec::as_mut_slice)
    }
}

impl From<Vec<Frame>> for Frames {
    fn from(list: Vec<Frame>) -> Self {
        Self {
            packed: Packed::default(),
            list: OnceLock::from(list),
        }
    }
}

impl FromIterator<Frame> for Frames {
    fn from_iter<I: IntoIterator<Item = Frame>>(frames: I) -> Self {
        frames.into_iter().collect::<Vec<_>>().into()
    }
}

impl PartialEq for Frames {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(delta_us: u64, chunk: &str) -> Frame {
        Frame {
            delta_us,
            chunk: chunk.to_owned(),
            ..Frame::default()
        }
    }

    fn several() -> Vec<Frame> {
        vec![
            text(7, "Häl"),
            text(u64::from(u32::MAX), "lo"),
            text(0, ""),
            Frame {
                choice: 1,
                finish_reason: Some("stop".to_owned()),
                ..text(3, "!")
            },
            text(u64::from(u32::MAX) + 5, "late"),
        ]
    }

    fn packed() -> Frames {
        let mut frames = Frames::default();
        for mut frame in several() {
            let chunk = std::mem::take(&mut frame.chunk);
            frames.push_text(frame, &chunk);
        }
        frames
    }

    #[test]
    fn packing_loses_nothing() {
        assert_eq!(packed()[..], several()[..]);
        assert_eq!(packed().into_iter().collect::<Vec<_>>(), several());
        assert_eq!((packed().len(), packed().is_empty()), (5, false));
        assert_eq!(packed().packed.rest.len(), 3, "a text alone takes no frame");
        let views: String = packed().views().map(|frame| frame.chunk).collect();
        assert_eq!(views, "Hällo!late");
        let made = Frames::from(several());
        assert_eq!(made.views().map(|frame| frame.chunk).collect::<String>(), views);
    }

    #[test]
    fn the_time_of_the_next_frame_is_known_before_it_is_made() {
        for frames in [packed(), Frames::from(several())] {
            let mut frames = frames.into_iter();
            for frame in several() {
                assert_eq!(frames.next_delta_us(), Some(frame.delta_us));
                assert_eq!(frames.next(), Some(frame));
            }
            assert_eq!((frames.next_delta_us(), frames.next()), (None, None));
        }
    }

    #[test]
    fn what_is_changed_counts() {
        let mut frames = packed();
        frames[0].chunk.push('x');
        frames.push(text(1, "end"));
        frames.push_text(text(2, ""), "more");
        assert_eq!((frames.len(), frames[0].chunk.as_str()), (7, "Hälx"));
        assert_eq!(frames.into_iter().last(), Some(text(2, "more")));
    }
}
