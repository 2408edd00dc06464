//! The program behind `cargo xtask sim` and its like, as a release build.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::kit::main()
}
