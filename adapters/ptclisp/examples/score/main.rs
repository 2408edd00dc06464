//! Scores the crate against recorded behaviour: `score [FOLDER] [--failing GROUP]`.
//!
//! Without a folder it reads the one that `WINDLASS_PTC_LISP` names, or `shared/ptc_lisp` beside the
//! checkout. The folder holds `cases.jsonl`, `sessions.jsonl`, `response_extract.jsonl` and `signatures.jsonl`. It
//! exits with 1 where none of them is there, where one cannot be read, and where a group is short of what is
//! promised of any recordings; each is said on standard error. A file that is not there is said to be
//! missing. Whole turns are not its business.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "recorded values are told apart from all others"
)]

mod contract;
mod judge;
mod tools;
mod typed;

#[path = "../../tests/support/recordings.rs"]
mod recordings;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (mut folder, mut failing) = (None, None);
    while let Some(arg) = args.next() {
        if arg == "--failing" {
            failing = args.next();
        } else {
            folder = Some(arg);
        }
    }
    let Some(folder) = folder.map(PathBuf::from).or_else(recordings::folder) else {
        eprintln!("usage: score [FOLDER] [--failing GROUP]");
        return ExitCode::FAILURE;
    };
    let board = judge::folder(&folder);
    if let Some(group) = failing {
        board.print_failing(&group);
    }
    board.print();
    println!(
        "Whole turns are tested with the command: cargo test -p windlass-cli --test recorded_turns"
    );
    for (file, why) in &board.missing {
        eprintln!("{file}: not scored: {why}");
    }
    let faults = board.faults();
    for fault in &faults {
        eprintln!("{fault}");
    }
    match faults.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
