//! `bench-peer`: runs Windlass for a bench outside this repository. See `xtask_bench::peer`.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask_bench::peer::main(std::env::args().skip(1))
}
