//! Calls by the fingerprint of their request.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// Calls that wait to be taken, by fingerprint, in recorded order. A fingerprint that one call has, as nearly all do, needs
/// no memory beside the table's.
#[derive(Debug, Default)]
pub(super) struct ByPrint(HashMap<u64, Waiting, BuildHasherDefault<Printed>>);

#[derive(Debug)]
enum Waiting {
    One(usize),
    Several(VecDeque<usize>),
}

impl ByPrint {
    pub(super) fn with_capacity(calls: usize) -> Self {
        Self(HashMap::with_capacity_and_hasher(
            calls,
            BuildHasherDefault::default(),
        ))
    }

    /// Appends a call; `index` is larger than all before.
    pub(super) fn push(&mut self, print: u64, index: usize) {
        let waiting = self
            .0
            .entry(print)
            .or_insert_with(|| Waiting::Several(VecDeque::new()));
        match waiting {
            Waiting::One(first) => *waiting = Waiting::Several(VecDeque::from([*first, index])),
            Waiting::Several(queue) if queue.is_empty() => *waiting = Waiting::One(index),
            Waiting::Several(queue) => queue.push_back(index),
        }
    }

    /// The calls with that fingerprint, in recorded order.
    pub(super) fn of(&self, print: u64) -> impl Iterator<Item = usize> + '_ {
        let (one, several) = match self.0.get(&print) {
            None => (None, None),
            Some(Waiting::One(index)) => (Some(*index), None),
            Some(Waiting::Several(queue)) => (None, Some(queue)),
        };
        one.into_iter().chain(several.into_iter().flatten().copied())
    }

    /// Takes a call out; false where it was not waiting.
    pub(super) fn remove(&mut self, print: u64, index: usize) -> bool {
        match self.0.get_mut(&print) {
            Some(Waiting::One(only)) if *only == index => self.0.remove(&print).is_some(),
            Some(Waiting::Several(queue)) => {
                // The first of equal calls almost always, so this is no search.
                let position = queue.iter().position(|other| *other == index);
                position.and_then(|position| queue.remove(position)).is_some()
            }
            _ => false,
        }
    }

    /// A call that waits does so under another fingerprint from here on.
    pub(super) fn rename(&mut self, before: u64, print: u64, index: usize) {
        if !self.remove(before, index) {
            return;
        }
        let mut queue: VecDeque<usize> = self.of(print).collect();
        queue.insert(queue.partition_point(|other| *other < index), index);
        self.0.insert(print, Waiting::Several(queue));
    }
}

/// A fingerprint is mixed already, and a match is compared by value behind it.
#[derive(Default)]
struct Printed(u64);

impl Hasher for Printed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, print: u64) {
        self.0 = print;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(calls: &ByPrint, print: u64) -> Vec<usize> {
        calls.of(print).collect()
    }

    #[test]
    fn equal_prints_keep_their_order_whichever_goes() {
        let mut calls = ByPrint::with_capacity(4);
        for (print, index) in [(7, 0), (9, 1), (7, 2), (7, 3)] {
            calls.push(print, index);
        }
        assert_eq!(
            (of(&calls, 7), of(&calls, 9), of(&calls, 8)),
            (vec![0, 2, 3], vec![1], vec![])
        );
        calls.remove(7, 2);
        calls.remove(9, 5);
        assert_eq!((of(&calls, 7), of(&calls, 9)), (vec![0, 3], vec![1]));
        calls.remove(9, 1);
        calls.remove(7, 0);
        calls.remove(7, 3);
        assert_eq!((of(&calls, 7), of(&calls, 9)), (vec![], vec![]));
        calls.push(7, 4);
        assert_eq!(of(&calls, 7), [4]);
    }

    #[test]
    fn a_renamed_call_waits_in_its_place() {
        let mut calls = ByPrint::with_capacity(4);
        for (print, index) in [(7, 0), (9, 1), (7, 2), (8, 3)] {
            calls.push(print, index);
        }
        calls.rename(9, 7, 1);
        calls.rename(8, 5, 3);
        calls.rename(8, 7, 3);
        assert_eq!((of(&calls, 7), of(&calls, 5)), (vec![0, 1, 2], vec![3]));
        assert!(of(&calls, 9).is_empty() && of(&calls, 8).is_empty());
    }
}
