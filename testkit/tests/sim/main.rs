//! The simulation: seeds in which all holds, the same run for the same seed, and wrong stores,
//! drivers and cores that it finds.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "it is all test code, also what its tests share"
)]

mod bites;

use windlass_testkit::laws;
use windlass_testkit::sim::{Covered, Plan, simulate};

/// Enough seeds for each kind of fault to occur.
const SEEDS: u64 = 500;

#[test]
fn all_laws_and_promises_hold_and_every_fault_occurs() {
    let mut covered = Covered::default();
    for seed in 0..SEEDS {
        match simulate(&Plan::default(), laws::ALL, seed) {
            Ok(ran) => covered.add(&ran.covered),
            Err(failure) => panic!("{failure}"),
        }
    }
    assert_eq!(covered.missing(), Vec::<String>::new());
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_byte() {
    for seed in [1, 7, 1 << 40] {
        let run = || simulate(&Plan::default(), laws::ALL, seed).unwrap();
        let (one, two) = (run(), run());
        assert_eq!(one.lines, two.lines);
        assert_eq!(one, two);
        assert!(one.lines.iter().map(Vec::len).sum::<usize>() > 20);
    }
    let lines = |seed| simulate(&Plan::default(), laws::ALL, seed).unwrap().lines;
    assert_ne!(lines(1), lines(2), "and another seed another");
}
