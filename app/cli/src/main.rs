//! The program `windlass`: nothing but its library.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_cli::main(|store| store)
}
