//! The program `windlass`, which only calls its library.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Returns the memory of programs that have ended to the system. Other allocators keep most of it,
/// since the small texts of the log lie between.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    windlass_cli::Command::new().main()
}
