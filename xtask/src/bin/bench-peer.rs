//! `bench-peer`: runs Windlass for a bench outside this repository. See `xtask::bench::peer`.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::bench::peer::main(std::env::args().skip(1))
}
