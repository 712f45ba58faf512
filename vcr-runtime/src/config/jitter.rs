use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Seeded random latencies: the SplitMix64 generator, so that a seed means the same times on every machine and in
/// every release, which the generators of a crate do not promise.
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    state: u64,
}

impl Jitter {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A seed for a run that names none; the report prints it.
    pub(crate) fn fresh_seed() -> u64 {
        // The standard library seeds its hashers from the system. 32 bits are enough, and easy to type again.
        RandomState::new().hash_one(0_u8) >> 32
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A time from `lo` to `hi`, both included, in whole microseconds.
    pub(crate) fn next_between(&mut self, lo: Duration, hi: Duration) -> Duration {
        let span = u64::try_from(hi.saturating_sub(lo).as_micros()).unwrap_or(u64::MAX);
        let scaled = u128::from(self.next()) * (u128::from(span) + 1);
        lo + Duration::from_micros((scaled >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_splitmix64() {
        // The published vector of the generator for seed 1234567.
        let mut jitter = Jitter::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| jitter.next()).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn stays_in_its_range_and_reaches_both_ends() {
        let (lo, hi) = (Duration::from_micros(5), Duration::from_micros(8));
        let mut jitter = Jitter::new(7);
        let mut seen = [0; 4];
        for _ in 0..1000 {
            let drawn = jitter.next_between(lo, hi);
            assert!((lo..=hi).contains(&drawn), "{drawn:?}");
            seen[usize::try_from((drawn - lo).as_micros()).unwrap()] += 1;
        }
        assert!(seen.iter().all(|count| *count > 150), "{seen:?}");
        assert_eq!(jitter.next_between(hi, hi), hi);
    }
}
