//! Numbers that look random and come again with their seed.

use std::time::Duration;

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

    /// The sequence of a seed and a text.
    pub(crate) fn of(seed: u64, text: &str) -> Self {
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        Self::new(seed, text.bytes().fold(0xCBF2_9CE4_8422_2325, fold))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, and 0 below 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A time between two others.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from(most.saturating_sub(least).as_millis()).unwrap_or(u64::MAX);
        least + Duration::from_millis(self.below(span.saturating_add(1)))
    }

    /// One of these, each with its weight. `None` if nothing weighs anything.
    pub(crate) fn weighted<T: Copy>(&mut self, of: &[(u64, T)]) -> Option<T> {
        let mut left = self.below(of.iter().map(|(weight, _)| weight).sum());
        of.iter().find_map(|(weight, one)| match left.checked_sub(*weight) {
            Some(rest) => {
                left = rest;
                None
            }
            None => Some(*one),
        })
    }
}
