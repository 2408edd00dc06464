//! Dice: all that is random in a simulation, from one number.

use proptest::prelude::{RngExt as _, Strategy};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::breach::Breach;

/// What is random in one run. The same seed throws the same.
#[derive(Debug)]
pub(super) struct Dice {
    runner: TestRunner,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        for (to, from) in bytes.iter_mut().zip(seed.to_le_bytes()) {
            *to = from;
        }
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let config = Config { failure_persistence: None, ..Config::default() };
        Self { runner: TestRunner::new_with_rng(config, rng) }
    }

    /// A number below `count`; 0 where there is none.
    pub(super) fn below(&mut self, count: usize) -> usize {
        match count {
            0 => 0,
            count => self.runner.rng().random_range(0..count),
        }
    }

    /// A number from `least` to `most`.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.runner.rng().random_range(least..=most)
    }

    /// Sixty-four bits.
    pub(super) fn word(&mut self) -> u64 {
        self.runner.rng().random()
    }

    /// Returns true if something happens that does so many times in a thousand.
    pub(super) fn chance(&mut self, in_thousand: u32) -> bool {
        self.runner.rng().random_range(0..1_000) < in_thousand
    }

    /// One of some things.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }

    /// One of some things, each as often as its weight says.
    pub(super) fn weigh<T: Copy>(&mut self, all: &[(usize, T)]) -> Option<T> {
        let total = all.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(total);
        for (weight, one) in all {
            match left.checked_sub(*weight) {
                None => return Some(*one),
                Some(rest) => left = rest,
            }
        }
        None
    }

    /// A value of a strategy.
    pub(super) fn draw<S: Strategy>(&mut self, strategy: &S) -> Result<S::Value, Breach> {
        let tree = strategy.new_tree(&mut self.runner);
        tree.map(|tree| tree.current())
            .map_err(|reason| Breach::Simulation(format!("no random value: {reason}")))
    }
}
