//! Scores the crate against recorded behaviour: `score FOLDER [--failing GROUP]`.
//!
//! The folder holds `cases.jsonl`, `sessions.jsonl`, `response_extract.jsonl` and `signatures.jsonl`; a
//! file that is not there is said to be missing.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "recorded values are told apart from all others"
)]

mod contract;
mod judge;
mod tools;
mod typed;

use std::path::Path;
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
    let Some(folder) = folder else {
        eprintln!("usage: score FOLDER [--failing GROUP]");
        return ExitCode::FAILURE;
    };
    let board = judge::folder(Path::new(&folder));
    for (file, why) in &board.missing {
        println!("{file}: not scored: {why}");
    }
    if let Some(group) = failing {
        board.print_failing(&group);
    }
    board.print();
    ExitCode::SUCCESS
}
