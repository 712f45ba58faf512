//! Which element of a recorded array an element of the live one stands for.

use super::compare::equivalent;
use super::fingerprint;
use crate::json::{Json, Object};

/// Beyond so many pairs of elements the arrays are compared index by index.
const MAX_PAIRS: usize = 1 << 16;

/// What became of an element, in the order of both arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The recorded element became the live one; they may be equal.
    Pair(usize, usize),
    Removed(usize),
    Added(usize),
}

/// The steps from `before` to `after` between their equal starts and equal ends.
///
/// An element that was put in front must not make every later one look changed, so equal elements are matched first
/// and then those of one role, type or name.
pub(super) fn align(before: &[Json], after: &[Json]) -> Vec<Step> {
    let start = before
        .iter()
        .zip(after)
        .take_while(|(a, b)| equivalent(a, b))
        .count();
    let (before, after) = (&before[start..], &after[start..]);
    let end = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(|(a, b)| equivalent(a, b))
        .count();
    let (before, after) = (&before[..before.len() - end], &after[..after.len() - end]);
    let steps = if before.len().saturating_mul(after.len()) > MAX_PAIRS {
        by_index(before.len(), after.len())
    } else {
        by_likeness(&marks(before), &marks(after))
    };
    steps.into_iter().map(|step| step.shifted(start)).collect()
}

impl Step {
    fn shifted(self, by: usize) -> Self {
        match self {
            Self::Pair(before, after) => Self::Pair(before + by, after + by),
            Self::Removed(before) => Self::Removed(before + by),
            Self::Added(after) => Self::Added(after + by),
        }
    }
}

fn by_index(before: usize, after: usize) -> Vec<Step> {
    let both = before.min(after);
    let pairs = (0..both).map(|index| Step::Pair(index, index));
    let removed = (both..before).map(Step::Removed);
    pairs
        .chain(removed)
        .chain((both..after).map(Step::Added))
        .collect()
}

/// What is compared of an element while aligning.
#[derive(Clone, Copy)]
struct Mark {
    value: u64,
    identity: u64,
}

fn marks(items: &[Json]) -> Vec<Mark> {
    items
        .iter()
        .map(|item| Mark {
            value: fingerprint::value(item),
            identity: identity(item),
        })
        .collect()
}

/// What an element is called: the role of a message, the name of a tool, the type of a block, else its kind.
fn identity(item: &Json) -> u64 {
    let Some(object) = item.as_object() else {
        return fingerprint::value(&item.kind().into());
    };
    let function = object.get("function").and_then(|function| function.get("name"));
    let named: Object = ["role", "type", "name"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), object.get(key)?.clone())))
        .chain(function.map(|name| ("function".to_owned(), name.clone())))
        .collect();
    fingerprint::value(&Json::Object(named))
}

/// How much is gained when one stands for the other.
fn gain(before: Mark, after: Mark) -> u32 {
    if before.value == after.value {
        8
    } else if before.identity == after.identity {
        3
    } else {
        1
    }
}

/// The alignment with the greatest gain; of equals the one that pairs early.
fn by_likeness(before: &[Mark], after: &[Mark]) -> Vec<Step> {
    let width = after.len() + 1;
    // best[i * width + j]: the gain that is left when i and j elements are done with.
    let mut best = vec![0_u32; (before.len() + 1) * width];
    for (i, one) in before.iter().enumerate().rev() {
        for (j, other) in after.iter().enumerate().rev() {
            let pair = best[(i + 1) * width + j + 1] + gain(*one, *other);
            best[i * width + j] = pair.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < before.len() && j < after.len() {
        let here = best[i * width + j];
        if here == best[(i + 1) * width + j + 1] + gain(before[i], after[j]) {
            steps.push(Step::Pair(i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            steps.push(Step::Removed(i));
            i += 1;
        } else {
            steps.push(Step::Added(j));
            j += 1;
        }
    }
    steps.extend((i..before.len()).map(Step::Removed));
    steps.extend((j..after.len()).map(Step::Added));
    steps
}

#[cfg(test)]
mod tests {
    use super::Step::{Added, Pair, Removed};
    use super::*;
    use crate::canon::testing::{any_json, json};

    #[test]
    fn elements_are_followed_over_insertions_and_removals() {
        const S: &str = r#"{"role":"system","content":"s"}"#;
        const U1: &str = r#"{"role":"user","content":"1"}"#;
        const U2: &str = r#"{"role":"user","content":"2"}"#;
        const A: &str = r#"{"role":"assistant","content":"a"}"#;
        const F: &str = r#"{"type":"function","function":{"name":"f","strict":true}}"#;
        const F2: &str = r#"{"type":"function","function":{"name":"f","strict":false}}"#;
        const G: &str = r#"{"type":"function","function":{"name":"g"}}"#;
        let list = |items: &[&str]| items.iter().map(|item| json(item)).collect::<Vec<_>>();
        for (before, after, steps) in [
            (&[U1, A][..], &[U1, A][..], &[][..]),
            (&[U1, A], &[S, U1, A], &[Added(0)]),
            (&[S, U1, A], &[U1, A], &[Removed(0)]),
            (&[U1], &[S, U2], &[Added(0), Pair(0, 1)]),
            (&[S, U1], &[S, U2], &[Pair(1, 1)]),
            (
                &[S, U1, A, U2],
                &[U1, A, U1],
                &[Removed(0), Pair(1, 0), Pair(2, 1), Pair(3, 2)],
            ),
            (&[F], &[G, F2], &[Added(0), Pair(0, 1)]),
            (&["1", "2"], &["3", "\"x\""], &[Pair(0, 0), Pair(1, 1)]),
            (&["1"], &["2", "3"], &[Pair(0, 0), Added(1)]),
        ] {
            assert_eq!(align(&list(before), &list(after)), steps, "{before:?} {after:?}");
        }
    }

    #[test]
    fn great_arrays_are_compared_by_index() {
        let numbers = |range: std::ops::Range<u64>| range.map(Json::from).collect::<Vec<_>>();
        let steps = align(&numbers(0..400), &numbers(1..402));
        assert_eq!((steps.len(), steps[0], steps[400]), (401, Pair(0, 0), Added(400)));
    }

    proptest::proptest! {
        #[test]
        fn every_element_is_accounted_for(
            before in proptest::collection::vec(any_json(), 0..6), after in proptest::collection::vec(any_json(), 0..6)
        ) {
            let steps = align(&before, &after);
            let (mut removed, mut added, mut last) = (0, 0, None);
            for step in &steps {
                match *step {
                    Pair(i, j) => {
                        proptest::prop_assert!(last < Some((i, j)));
                        last = Some((i, j));
                    }
                    Removed(_) => removed += 1,
                    Added(_) => added += 1,
                }
            }
            proptest::prop_assert_eq!(before.len() + added, after.len() + removed);
            if steps.is_empty() {
                proptest::prop_assert!(equivalent(&Json::Array(before), &Json::Array(after)));
            }
        }
    }
}
