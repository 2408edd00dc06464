//! Fails the N-th call of a store, or kills the process at it, under `windlass serve` with watchers and
//! under `windlass run`, and judges what became of what was acknowledged: each turn settles, without
//! a restart where the fault was transient, and after one restart where it was not.
//!
//! Three mechanisms: the kit's layer at the calls of the port, for every store, and for those in files
//! `strace` at the system calls, and the kit's library that has reads and writes move a part. This test program is also the program with the layer. A sample
//! runs here; `cargo xtask faults` (`WINDLASS_FAULTS=full`) sweeps all calls.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what was covered is to be read")]
#![allow(clippy::print_stderr, reason = "what was skipped is to be read")]

mod client;
mod life;
mod program;
mod short;
mod stores;
mod sweep;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::stores::Kept;

fn main() -> ExitCode {
    if program::plan().is_some() {
        return program::run();
    }
    let trials = [
        ("file_calls", (|| sweep::calls(&Kept::File)) as fn()),
        ("file_system_calls", || sweep::system_calls(&Kept::File)),
        ("sled_calls", || sweep::calls(&Kept::Sled)),
        ("sled_system_calls", || sweep::system_calls(&Kept::Sled)),
        ("sqlite_calls", || sweep::calls(&Kept::Sqlite)),
        ("sqlite_system_calls", || sweep::system_calls(&Kept::Sqlite)),
        ("file_short_counts", || short::swept(&Kept::File)),
        ("sled_short_counts", || short::swept(&Kept::Sled)),
        ("sqlite_short_counts", || short::swept(&Kept::Sqlite)),
        ("postgres_calls", sweep::postgres),
        ("nats_calls", sweep::nats),
    ];
    let trials = trials.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}
