use super::excerpt::{common_prefix, common_suffix};
use super::number;
use crate::json::{Json, Object};
use crate::model::{CanonicalRequest, RecordedRequest};

/// The likeness of equal values.
const FULL: u32 = 100;
/// What may be looked at, in values and in pieces of 64 bytes: in one candidate, in all of them, and in one
/// candidate after that. It bounds the time however many and however large the candidates are.
const FUEL: u32 = 2_000;
const TOTAL_FUEL: u32 = 2_000_000;
const LAST_FUEL: u32 = 64;
/// Bytes looked at at either end of a string.
const ENDS: usize = 512;
/// Elements looked at in one array.
const ITEMS: usize = 64;

/// Which candidate the live request is most like; the first of equals. `None` without candidates.
///
/// The likeness is an estimate that leaves out the middle of long strings, so it serves reports and never matching.
pub(crate) fn nearest<'a>(
    candidates: impl Iterator<Item = &'a RecordedRequest>,
    live: &CanonicalRequest,
) -> Option<usize> {
    let mut best: Option<(u32, usize)> = None;
    let mut total = TOTAL_FUEL;
    for (index, candidate) in candidates.enumerate() {
        let fuel = total.clamp(LAST_FUEL, FUEL);
        let mut scale = Scale { fuel };
        let likeness = likeness(&mut scale, candidate, live);
        total = total.saturating_sub(fuel - scale.fuel);
        if best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, index));
        }
    }
    best.map(|(_, index)| index)
}

/// Messages weigh most, then the parameters; a member that the record leaves open agrees.
fn likeness(scale: &mut Scale, recorded: &RecordedRequest, live: &CanonicalRequest) -> u32 {
    let text = |recorded: &Option<String>, live: &str| match recorded {
        Some(recorded) if recorded != live => 0,
        _ => FULL,
    };
    let messages = recorded
        .messages
        .as_deref()
        .map_or(FULL, |messages| scale.items(messages, &live.messages));
    let parameters = recorded
        .parameters
        .as_ref()
        .map_or(FULL, |named| scale.members(named, &live.parameters));
    6 * messages
        + 2 * parameters
        + text(&recorded.model, &live.model)
        + text(&recorded.protocol, &live.protocol)
}

/// Estimates likenesses from 0 to [`FULL`] while the fuel lasts.
struct Scale {
    fuel: u32,
}

impl Scale {
    fn values(&mut self, a: &Json, b: &Json) -> u32 {
        let Some(rest) = self.fuel.checked_sub(1) else {
            return 0;
        };
        self.fuel = rest;
        match (a, b) {
            (Json::String(a), Json::String(b)) => {
                let pieces = a.len().max(b.len()).min(2 * ENDS) / 64;
                self.fuel = self
                    .fuel
                    .saturating_sub(u32::try_from(pieces).unwrap_or(u32::MAX));
                texts(a, b)
            }
            (Json::Number(a), Json::Number(b)) => full_if(number::same(a, b)),
            (Json::Array(a), Json::Array(b)) => self.items(a, b),
            (Json::Object(a), Json::Object(b)) => self.members(a, b),
            (a, b) => full_if(a == b),
        }
    }

    /// The better of the two alignments: from the start, and from the end in case something was put in front.
    fn items(&mut self, a: &[Json], b: &[Json]) -> u32 {
        let longer = a.len().max(b.len()).min(ITEMS);
        if longer == 0 {
            return FULL;
        }
        let front: u32 = a.iter().zip(b).take(ITEMS).map(|(a, b)| self.values(a, b)).sum();
        let back: u32 = if a.len() == b.len() && a.len() <= ITEMS {
            front
        } else {
            a.iter()
                .rev()
                .zip(b.iter().rev())
                .take(ITEMS)
                .map(|(a, b)| self.values(a, b))
                .sum()
        };
        let share = front.max(back) / u32::try_from(longer).unwrap_or(u32::MAX);
        // The same elements in another number are like, not equal.
        if a.len() == b.len() {
            share
        } else {
            share.min(FULL - 1)
        }
    }

    /// Of repeated keys the last counts, which suffices for an estimate.
    fn members(&mut self, a: &Object, b: &Object) -> u32 {
        let (mut sum, mut count) = (0, 0);
        for (key, value) in a.iter().take(ITEMS) {
            count += 1;
            sum += b
                .get(key)
                .map_or_else(|| full_if(value.is_null()), |other| self.values(value, other));
        }
        for (key, value) in b.iter().take(ITEMS) {
            if !value.is_null() && a.get(key).is_none() {
                count += 1;
            }
        }
        u32::checked_div(sum, count).unwrap_or(FULL)
    }
}

fn full_if(same: bool) -> u32 {
    if same { FULL } else { 0 }
}

/// The share that both ends have in common.
fn texts(a: &str, b: &str) -> u32 {
    let longer = a.len().max(b.len());
    if longer == 0 {
        return FULL;
    }
    if a.len() == b.len() && a.len() <= 2 * ENDS && a == b {
        return FULL;
    }
    let shorter = a.len().min(b.len());
    let start = common_prefix(head(a), head(b));
    let end = common_suffix(tail(a), tail(b)).min(shorter - start);
    let looked_at = longer.min(2 * ENDS);
    let share = u32::try_from((start + end) * FULL as usize / looked_at)
        .unwrap_or(FULL)
        .min(FULL);
    if a.len() == b.len() {
        share
    } else {
        share.min(FULL - 1)
    }
}

/// About the first [`ENDS`] bytes. (`str::floor_char_boundary` is younger than our MSRV.)
fn head(text: &str) -> &str {
    let end = (0..=ENDS.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// About the last [`ENDS`] bytes.
fn tail(text: &str) -> &str {
    let start = (text.len().saturating_sub(ENDS)..text.len()).find(|start| text.is_char_boundary(*start));
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::testing::{recorded, request};

    fn pick(candidates: &[RecordedRequest], live: &CanonicalRequest) -> Option<usize> {
        nearest(candidates.iter(), live)
    }

    #[test]
    fn the_most_similar_question_is_found() {
        let ask = |model: &str, text: &str, parameters: &str| {
            let messages = format!(
                r#"[{{"role":"system","content":"Be brief."}},{{"role":"user","content":"{text}"}}]"#
            );
            request(model, &messages, parameters)
        };
        let candidates = [
            ask("m", "Write a poem on the sea", "{}"),
            ask("m", "What is the capital of Norway?", r#"{"stream":true}"#),
            ask("m", "What is the capital of Norway?", "{}"),
            ask("m", "What is the capital of Norway?", "{}"),
            ask("n", "What is the capital of Sweden, and of Norway?", "{}"),
        ]
        .map(|live| recorded(&live));
        assert_eq!(
            pick(&candidates, &ask("m", "What is the capital of Sweden?", "{}")),
            Some(2)
        );
        assert_eq!(
            pick(
                &candidates,
                &ask("m", "What is the capital of Sweden?", r#"{"stream":true}"#)
            ),
            Some(1)
        );
        assert_eq!(
            pick(
                &candidates,
                &ask("n", "What is the capital of Sweden, and of Finland?", "{}")
            ),
            Some(4)
        );
        assert_eq!(
            pick(&candidates, &ask("m", "Write a poem on the lake", "{}")),
            Some(0)
        );
        assert_eq!(pick(&[], &ask("m", "", "{}")), None);
    }

    #[test]
    fn a_step_of_an_agent_is_like_the_same_step() {
        let history = |steps: usize, edit: &str| {
            let turns: Vec<String> = (0..steps)
                .map(|turn| {
                    format!(
                        r#"{{"role":"user","content":"Step {turn}{}"}}"#,
                        if turn == 1 { edit } else { "" }
                    )
                })
                .collect();
            request("m", &format!("[{}]", turns.join(",")), "{}")
        };
        let candidates: Vec<_> = (1..9).map(|steps| recorded(&history(steps, ""))).collect();
        assert_eq!(pick(&candidates, &history(5, "!")), Some(4));
        let mut longer = history(5, "");
        longer
            .messages
            .insert(0, crate::json::Json::from("a system prompt"));
        assert_eq!(pick(&candidates[4..], &longer), Some(0));
    }

    #[test]
    fn ten_thousand_huge_candidates_are_looked_at_in_bounds() {
        let words = "many words ".repeat(200);
        let turns = |first: &str| {
            let turns: Vec<String> = (0..200)
                .map(|turn| format!(r#""{first} {turn} {words}""#))
                .collect();
            request("m", &format!("[{}]", turns.join(",")), "{}")
        };
        let (other, alike) = (recorded(&turns("b")), recorded(&turns("a")));
        let mut seen = 0_usize;
        let candidates = (0..10_000)
            .map(|index| if index == 7 { &alike } else { &other })
            .inspect(|_| seen += 1);
        assert_eq!(nearest(candidates, &turns("a")), Some(7));
        assert_eq!(seen, 10_000);
    }

    #[test]
    fn records_written_by_hand_and_odd_characters_do_no_harm() {
        let mut open = RecordedRequest::default();
        let live = request("m", &format!(r#"["{}"]"#, "é🦀".repeat(400)), r#"{"a":null}"#);
        assert_eq!(pick(&[open.clone(), recorded(&live)], &live), Some(0));
        open.model = Some("other".to_owned());
        assert_eq!(pick(&[open, recorded(&live)], &live), Some(1));
        let other = request("m", &format!(r#"["x{}"]"#, "é🦀".repeat(400)), "{}");
        assert_eq!(pick(&[recorded(&other)], &live), Some(0));
    }
}
