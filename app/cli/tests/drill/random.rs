//! Numbers that look random and come again with their seed.

/// The variable that names another seed.
const SEED: &str = "WINDLASS_DRILL_SEED";

/// The seed where none is named.
const USUAL: u64 = 1;

/// The seed of this run.
pub(crate) fn seed() -> u64 {
    match std::env::var(SEED) {
        Ok(seed) => seed.parse().expect("WINDLASS_DRILL_SEED is a number"),
        Err(_) => USUAL,
    }
}

/// A sequence (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed; `which` tells several of one seed apart.
    pub(crate) fn new(seed: u64, which: u64) -> Self {
        let mut random = Self(seed ^ which.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of these.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// These in another order.
    pub(crate) fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
        all
    }
}
