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
    let programs = recordings::rows(&folder, "cases.jsonl");
    let promised = match recordings::written_with(&programs) {
        true => judge::KNOWN,
        false => judge::ANY,
    };
    let wrong = board.short_of(promised);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_score_says_what_is_wrong_with_it() {
    let nowhere = judge::folder(std::path::Path::new("there/is/no/such/folder"));
    assert_eq!(nowhere.faults(), ["nothing could be scored"]);
    let mut board = judge::Board::default();
    for at in 0..100 {
        board.add("all without java", at < 90, at < 95);
        board.add("extract", true, true);
    }
    assert_eq!(board.faults(), [] as [&str; 0]);
    board.add("all without java", false, false);
    board.add("extract", false, true);
    assert_eq!(
        board.faults(),
        [
            "all without java: 95 of 101 loose, less than 95%",
            "all without java: 90 of 101 strict, less than 90%",
            "extract: 100 of 101 strict, less than 100%",
        ]
    );
    assert!(board.short_of(judge::KNOWN).contains(&"sessions: only 0 cases of 50".to_owned()));
}
