//! Which interaction answers a request, each one once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// In which order interactions are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they were recorded.
    Strict,
    /// By their hash; those of one hash as they were recorded.
    Keyed,
}

/// Gives the interactions of a cassette out.
#[derive(Debug)]
pub(crate) struct Matcher {
    order: Order,
    /// Begin again at the end instead of refusing.
    repeat: bool,
    hashes: Vec<String>,
    by_hash: HashMap<String, Vec<usize>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The next one in strict order.
    next: usize,
    /// How many of a hash were given out.
    taken: HashMap<String, usize>,
    used: Vec<bool>,
}

/// Why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// Another one is next.
    Expected(usize),
    /// All `0` were given out.
    Exhausted(usize),
    /// Of `0` interactions none has the hash.
    Unknown(usize),
    /// All `of_hash` with the hash were given out, of `count` in all.
    Used { count: usize, of_hash: usize },
}

/// What came of an attempt: the value that was made of the interaction, or the refusal that leaves it where it was.
pub(crate) type Took<T, E> = Result<Result<T, E>, Miss>;

impl Matcher {
    pub(crate) fn new(order: Order, repeat: bool, hashes: Vec<String>) -> Self {
        let mut by_hash: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, hash) in hashes.iter().enumerate() {
            by_hash.entry(hash.clone()).or_default().push(index);
        }
        let state = State {
            next: 0,
            taken: HashMap::new(),
            used: vec![false; hashes.len()],
        };
        Self {
            order,
            repeat,
            hashes,
            by_hash,
            state: Mutex::new(state),
        }
    }

    /// The hash of interaction `index`.
    pub(crate) fn hash(&self, index: usize) -> &str {
        self.hashes.get(index).map_or("", String::as_str)
    }

    /// Takes the interaction that answers a request with `hash`, when `make` makes something of it: look, then commit, under
    /// one lock.
    pub(crate) fn take<T, E>(&self, hash: &str, make: impl FnOnce(usize) -> Result<T, E>) -> Took<T, E> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let index = match self.order {
            Order::Strict => self.strict(&state, hash)?,
            Order::Keyed => self.keyed(&state, hash)?,
        };
        let made = make(index);
        if made.is_ok() {
            match self.order {
                Order::Strict => state.next = index + 1,
                Order::Keyed => *state.taken.entry(hash.to_owned()).or_default() += 1,
            }
            state.used[index] = true;
        }
        Ok(made)
    }

    fn strict(&self, state: &State, hash: &str) -> Result<usize, Miss> {
        let count = self.hashes.len();
        let next = if self.repeat && state.next == count {
            0
        } else {
            state.next
        };
        match self.hashes.get(next) {
            None => Err(Miss::Exhausted(count)),
            Some(expected) if expected == hash => Ok(next),
            Some(_) => Err(Miss::Expected(next)),
        }
    }

    fn keyed(&self, state: &State, hash: &str) -> Result<usize, Miss> {
        let count = self.hashes.len();
        let indexes = self.by_hash.get(hash).ok_or(Miss::Unknown(count))?;
        let taken = state.taken.get(hash).copied().unwrap_or_default();
        let place = if self.repeat { taken % indexes.len() } else { taken };
        indexes.get(place).copied().ok_or(Miss::Used {
            count,
            of_hash: indexes.len(),
        })
    }

    /// The interactions that nobody asked for.
    pub(crate) fn leftovers(&self) -> Vec<usize> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = state.used.iter().enumerate().filter(|(_, used)| !**used);
        unused.map(|(index, _)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(order: Order, repeat: bool) -> Matcher {
        Matcher::new(order, repeat, ["a", "b", "a"].map(str::to_owned).to_vec())
    }

    fn take(matcher: &Matcher, hash: &str) -> Result<usize, Miss> {
        matcher.take(hash, Ok::<_, ()>).map(Result::unwrap)
    }

    #[test]
    fn strict_order_waits_for_the_next_one() {
        let matcher = matcher(Order::Strict, false);
        assert_eq!(take(&matcher, "b"), Err(Miss::Expected(0)));
        assert_eq!(take(&matcher, "a"), Ok(0));
        assert_eq!(take(&matcher, "a"), Err(Miss::Expected(1)));
        assert_eq!(matcher.hash(1), "b");
        assert_eq!(matcher.leftovers(), [1, 2]);
        assert_eq!((take(&matcher, "b"), take(&matcher, "a")), (Ok(1), Ok(2)));
        assert_eq!(take(&matcher, "a"), Err(Miss::Exhausted(3)));
        assert!(matcher.leftovers().is_empty());
    }

    #[test]
    fn keyed_order_gives_equal_ones_out_as_recorded() {
        let matcher = matcher(Order::Keyed, false);
        assert_eq!((take(&matcher, "b"), take(&matcher, "a")), (Ok(1), Ok(0)));
        assert_eq!(matcher.leftovers(), [2]);
        assert_eq!(take(&matcher, "a"), Ok(2));
        let used = |of_hash| Err(Miss::Used { count: 3, of_hash });
        assert_eq!((take(&matcher, "a"), take(&matcher, "b")), (used(2), used(1)));
        assert_eq!(take(&matcher, "c"), Err(Miss::Unknown(3)));
    }

    #[test]
    fn what_is_refused_stays_where_it_was() {
        for order in [Order::Strict, Order::Keyed] {
            let matcher = matcher(order, false);
            assert_eq!(matcher.take("a", |_| Err::<(), _>("no")), Ok(Err("no")));
            assert_eq!(matcher.leftovers(), [0, 1, 2]);
            assert_eq!(take(&matcher, "a"), Ok(0));
        }
    }

    #[test]
    fn repeats_begin_again() {
        let strict = matcher(Order::Strict, true);
        let served: Vec<_> = ["a", "b", "a", "a"]
            .iter()
            .map(|hash| take(&strict, hash).unwrap())
            .collect();
        assert_eq!(served, [0, 1, 2, 0]);
        let keyed = matcher(Order::Keyed, true);
        let served: Vec<_> = (0..4).map(|_| take(&keyed, "a").unwrap()).collect();
        assert_eq!(served, [0, 2, 0, 2]);
        assert_eq!(
            take(&Matcher::new(Order::Strict, true, vec![]), "a"),
            Err(Miss::Exhausted(0))
        );
    }

    #[test]
    fn concurrent_takes_get_each_one_once() {
        let matcher = Matcher::new(Order::Keyed, false, vec!["a".to_owned(); 200]);
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..30 {
                        taken.lock().unwrap().push(take(&matcher, "a"));
                    }
                });
            }
        });
        let taken = taken.into_inner().unwrap();
        let mut served: Vec<_> = taken.iter().filter_map(|taken| taken.clone().ok()).collect();
        served.sort_unstable();
        assert_eq!(served, (0..200).collect::<Vec<_>>());
        assert_eq!(taken.len() - served.len(), 40);
    }
}
