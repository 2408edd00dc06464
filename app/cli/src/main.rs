//! The program `windlass`, which only calls its library.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_cli::main(|store| store)
}
