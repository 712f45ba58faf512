use super::difference::{DifferenceKind, Findings};
use super::files::quoted;
use crate::canon::equivalent;
use crate::json::{Json, compact};
use crate::model::{Boundary, BoundaryKind, Call, Frame, TRANSPORT, ToolCall, Usage};
use crate::protocol::{Told, WireError};

/// Characters of a text that a difference shows.
const SHOWN: usize = 40;

type Texts = (&'static str, fn(&Frame) -> &str);

/// The texts that a choice says piece by piece.
const TEXTS: [Texts; 3] = [
    ("chunk", |frame| &frame.chunk),
    ("reasoning", |frame| {
        frame.reasoning.as_deref().unwrap_or_default()
    }),
    ("refusal", |frame| frame.refusal.as_deref().unwrap_or_default()),
];

/// Whether blocks without a canonical form are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Natives {
    Compared,
    Skipped,
}

/// What a call has against what its raw layer told.
pub(super) fn compare(call: &Call, told: &Told, natives: Natives, findings: &mut Findings<'_>) {
    let mut choices: Vec<u32> = told
        .frames
        .iter()
        .chain(&call.frames)
        .map(|frame| frame.choice)
        .collect();
    choices.sort_unstable();
    choices.dedup();
    for choice in choices {
        let has = Choice::of(&call.frames, choice);
        let said = Choice::of(&told.frames, choice);
        has.compare(&said, natives, findings);
    }
    usage(call.usage.as_ref(), told.usage.as_ref(), findings);
    ending(call.boundary.as_ref(), told.error.as_ref(), findings);
}

/// The frames of one choice, with their numbers in the timeline.
struct Choice<'a> {
    number: u32,
    frames: Vec<(usize, &'a Frame)>,
}

impl<'a> Choice<'a> {
    fn of(frames: &'a [Frame], number: u32) -> Self {
        let frames = frames.iter().enumerate();
        Self {
            number,
            frames: frames.filter(|(_, frame)| frame.choice == number).collect(),
        }
    }

    /// `self` is what the file has, `said` what the raw layer told.
    fn compare(&self, said: &Self, natives: Natives, findings: &mut Findings<'_>) {
        for text in TEXTS {
            self.text(said, text, findings);
        }
        self.list(
            said,
            "reasoning_signature",
            |frame| frame.reasoning_signature.iter().cloned().collect(),
            findings,
        );
        if natives == Natives::Compared {
            self.list(
                said,
                "native",
                |frame| frame.native.iter().map(canonical).collect(),
                findings,
            );
        }
        self.list(
            said,
            "tool_calls",
            |frame| frame.tool_calls.iter().map(tool).collect(),
            findings,
        );
        self.list(
            said,
            "finish_reason",
            |frame| frame.finish_reason.iter().cloned().collect(),
            findings,
        );
        self.list(
            said,
            "native_finish_reason",
            |frame| frame.native_finish_reason.iter().cloned().collect(),
            findings,
        );
    }

    fn text(&self, said: &Self, (member, of): Texts, findings: &mut Findings<'_>) {
        // Answers may be large: they are joined only where there is something to show.
        if self.bytes(of).eq(said.bytes(of)) {
            return;
        }
        let joined = |choice: &Self| -> String { choice.frames.iter().map(|(_, frame)| of(frame)).collect() };
        let (found, expected) = (joined(self), joined(said));
        let same = found
            .chars()
            .zip(expected.chars())
            .take_while(|(a, b)| a == b)
            .count();
        let mut before = 0;
        let frame = self.frames.iter().find(|(_, frame)| {
            before += of(frame).chars().count();
            before > same
        });
        let place = self.place(frame.map(|(index, _)| *index), member);
        findings.add(
            DifferenceKind::Timeline,
            &place,
            excerpt(&expected, same),
            excerpt(&found, same),
        );
    }

    fn bytes(&self, of: fn(&Frame) -> &str) -> impl Iterator<Item = u8> {
        self.frames.iter().flat_map(move |(_, frame)| of(frame).bytes())
    }

    /// Things that frames have whole, in their order.
    fn list(&self, said: &Self, member: &str, of: fn(&Frame) -> Vec<String>, findings: &mut Findings<'_>) {
        let all = |choice: &Self| -> Vec<(usize, String)> {
            let frames = choice.frames.iter();
            frames
                .flat_map(|(index, frame)| of(frame).into_iter().map(|item| (*index, item)))
                .collect()
        };
        let (found, expected) = (all(self), all(said));
        for number in 0..found.len().max(expected.len()) {
            let (found, expected) = (found.get(number), expected.get(number));
            if found.map(|(_, item)| item) == expected.map(|(_, item)| item) {
                continue;
            }
            let place = self.place(found.map(|(index, _)| *index), member);
            let show = |item: Option<&(usize, String)>| {
                item.map_or_else(|| "nothing".to_owned(), |(_, item)| quoted(item))
            };
            findings.add(DifferenceKind::Timeline, &place, show(expected), show(found));
            // What follows is mostly shifted by this one.
            return;
        }
    }

    /// The frame's place, or that of the last frame of the choice.
    fn place(&self, frame: Option<usize>, member: &str) -> String {
        let last = self.frames.last().map(|(index, _)| *index);
        match frame.or(last) {
            Some(index) => format!("response_timeline[{index}].{member}"),
            None => format!("response_timeline (choice {}).{member}", self.number),
        }
    }
}

/// The rest of a text from where it differs, with a little before.
fn excerpt(text: &str, same: usize) -> String {
    let start = same.saturating_sub(SHOWN / 4);
    let shown: String = text.chars().skip(start).take(SHOWN).collect();
    let (head, tail) = (start > 0, text.chars().count() > start + SHOWN);
    let (head, tail) = (if head { "…" } else { "" }, if tail { "…" } else { "" });
    format!("{head}{}{tail}", quoted(&shown))
}

fn tool(call: &ToolCall) -> String {
    format!("{} {}({})", call.id, call.function.name, call.function.arguments)
}

/// Equal documents as equal texts.
fn canonical(document: &Json) -> String {
    let mut sorted = document.clone();
    sorted.sort();
    compact(&sorted)
}

fn usage(found: Option<&Usage>, expected: Option<&Usage>, findings: &mut Findings<'_>) {
    let (found, expected) = match (found, expected) {
        (None, None) => return,
        (Some(found), Some(expected)) => (found, expected),
        (None, Some(expected)) => {
            return findings.add(DifferenceKind::Usage, "usage", counts(expected), "nothing");
        }
        (Some(found), None) => {
            return findings.add(DifferenceKind::Usage, "usage", "nothing", counts(found));
        }
    };
    for (member, found, expected) in [
        ("usage.prompt_tokens", found.prompt_tokens, expected.prompt_tokens),
        (
            "usage.completion_tokens",
            found.completion_tokens,
            expected.completion_tokens,
        ),
        ("usage.total_tokens", found.total_tokens, expected.total_tokens),
    ] {
        if found != expected {
            findings.add(
                DifferenceKind::Usage,
                member,
                expected.to_string(),
                found.to_string(),
            );
        }
    }
    let (found, expected) = (
        Json::Object(found.details.clone()),
        Json::Object(expected.details.clone()),
    );
    if !equivalent(&found, &expected) {
        findings.add(
            DifferenceKind::Usage,
            "usage.details",
            compact(&expected),
            compact(&found),
        );
    }
}

fn counts(usage: &Usage) -> String {
    let Usage {
        prompt_tokens,
        completion_tokens,
        total_tokens,
        ..
    } = usage;
    format!("{prompt_tokens} + {completion_tokens} = {total_tokens} tokens")
}

/// An error that the provider reported must be in the boundary, and one that it did not report must not be there as its.
fn ending(found: Option<&Boundary>, expected: Option<&WireError>, findings: &mut Findings<'_>) {
    let Some(error) = expected else {
        if let Some(boundary) = found.filter(|boundary| is_the_providers(boundary)) {
            let found = format!(
                "the error {} ({})",
                quoted(&boundary.message),
                boundary.error_type
            );
            findings.add(DifferenceKind::Timeline, "exception_boundary", "nothing", found);
        }
        return;
    };
    match found {
        // Our own cut came first; what the provider said after it does not count.
        Some(boundary) if boundary.kind == BoundaryKind::Cutoff => {}
        Some(boundary) => {
            for (member, found, expected) in [
                ("error_type", &boundary.error_type, &error.error_type),
                ("message", &boundary.message, &error.message),
            ] {
                if found != expected {
                    let place = format!("exception_boundary.{member}");
                    findings.add(DifferenceKind::Timeline, &place, quoted(expected), quoted(found));
                }
            }
        }
        None => {
            let expected = format!("the error {} ({})", quoted(&error.message), error.error_type);
            findings.add(
                DifferenceKind::Timeline,
                "exception_boundary",
                expected,
                "nothing",
            );
        }
    }
}

/// Whether the boundary tells of an error that the answer itself must have told.
fn is_the_providers(boundary: &Boundary) -> bool {
    let is_error = matches!(boundary.kind, BoundaryKind::Error | BoundaryKind::Http);
    is_error && boundary.code.as_deref() != Some(TRANSPORT)
}
