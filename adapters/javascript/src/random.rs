//! Random numbers of a program, which follow from its seed.

use std::sync::atomic::{AtomicU64, Ordering};

/// Sequence of random numbers: SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct RandomNumbers(AtomicU64);

impl RandomNumbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns the next number, at least 0 and below 1.
    pub(crate) fn next(&self) -> f64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        // A double holds 53 bits.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}
