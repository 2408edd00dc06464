//! `cargo xtask bench`: the measuring program, as a release build.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// As in the command `windlass`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    xtask_bench::main()
}
