//! `cargo xtask bench`: the measuring program, as a release build.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask_bench::main()
}
