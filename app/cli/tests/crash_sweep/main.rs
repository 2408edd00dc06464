//! Kills the command at every sync of a turn, fails its disk at every write, and judges what is left.
//! One turn is three calls of its model; another is one program that makes six, killed before, within
//! and between them. Maintenance commands are killed too, and run again.
//!
//! This test program is also the program that dies: started with a plan in its environment, it is
//! `windlass` with a layer of faults over its store. `WINDLASS_CRASH=full` has it sweep all pairs of
//! a kill and a kill while it recovers, of which it otherwise takes a sample.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::wildcard_enum_match_arm, reason = "it looks for a few kinds of fact in a log")]
#![allow(clippy::print_stdout, reason = "what was covered is to be read")]
#![allow(clippy::print_stderr, reason = "what was skipped is to be read")]

mod chores;
mod layer;
mod maintenance;
mod program;
mod strace;
mod task;
mod turn;
mod watching;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(plan) = program::plan() {
        return program::run(&plan);
    }
    let whole = layer::is_full().then_some(("layer_sqlite", layer::sqlite as fn()));
    let trials = [
        ("layer_file", layer::file as fn()),
        ("layer_sled", layer::sled),
        ("strace_file", strace::file),
        ("strace_sled", strace::sled),
        ("strace_sqlite", strace::sqlite),
        ("layer_memory_is_refused", layer::memory_is_refused),
        ("resume_from_memory_is_a_clear_error", layer::resume_from_memory),
        ("a_store_that_lags_is_caught", layer::a_store_that_lags_is_caught),
        ("notes_that_do_not_read_are_no_fewer_effects", task::notes_that_do_not_read),
        ("layer_file_program_ptclisp", layer::program_ptclisp),
        ("layer_file_program_javascript", layer::program_javascript),
        ("strace_file_program", strace::program_ptclisp),
        ("maintenance_file_sled_sqlite", maintenance::swept),
        ("a_read_that_fails_leaves_the_turn_open", watching::a_read_that_fails),
    ];
    let trials = trials.into_iter().chain(whole).map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
