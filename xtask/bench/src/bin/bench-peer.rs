//! `bench-peer`: runs Windlass for a bench outside this repository. See `xtask_bench::peer`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// As in the command `windlass`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    xtask_bench::peer::main(std::env::args().skip(1))
}
