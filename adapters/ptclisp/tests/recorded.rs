//! The share of recorded programs, answers and signatures that come to the same here. The recordings are
//! not part of this project: `WINDLASS_PTC_LISP` names their folder, or they are at `shared/ptc_lisp`
//! beside the checkout. Where they are not, nothing is compared, and the test says so.

#![allow(
    dead_code,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::wildcard_enum_match_arm,
    reason = "the modules are those of a program for a terminal"
)]

#[path = "../examples/score/contract.rs"]
mod contract;
#[path = "../examples/score/judge.rs"]
mod judge;
#[path = "support/recordings.rs"]
mod recordings;
#[path = "../examples/score/tools.rs"]
mod tools;
#[path = "../examples/score/typed.rs"]
mod typed;

#[test]
fn what_was_recorded_comes_to_the_same() {
    let Some(folder) = recordings::folder() else {
        return;
    };
    let board = judge::folder(&folder);
    assert!(board.missing.is_empty(), "{:?}", board.missing);
    for (group, least, least_loose, least_strict) in [
        ("all without java", 50, 0.99, 0.99),
        ("sessions", 50, 0.95, 0.95),
        ("extract", 20, 1.0, 1.0),
        ("signatures", 20, 1.0, 1.0),
    ] {
        let score = board.groups[group];
        let share = |part: u32| f64::from(part) / f64::from(score.all);
        assert!(score.all > least, "{group} has only {} cases", score.all);
        assert!(
            share(score.loose) >= least_loose,
            "{group}: {} loose",
            share(score.loose)
        );
        assert!(
            share(score.strict) >= least_strict,
            "{group}: {} strict",
            share(score.strict)
        );
    }
}
