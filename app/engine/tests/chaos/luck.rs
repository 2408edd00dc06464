//! Luck: all chance in a seed comes from here.

use std::sync::{Arc, Mutex};

/// A source of chance. Clones draw from the same source.
#[derive(Clone)]
pub(crate) struct Luck(Arc<Mutex<u64>>);

impl Luck {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(
            seed.wrapping_mul(0x2545_f491_4f6c_dd1d),
        )))
    }

    /// The finaliser of SplitMix64 over a counter.
    pub(crate) fn draw(&self) -> u64 {
        let mut counter = self.0.lock().unwrap();
        *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *counter;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }

    /// Whether something happens that happens so many times of 100.
    pub(crate) fn percent(&self, of_100: u64) -> bool {
        self.below(100) < of_100
    }
}
