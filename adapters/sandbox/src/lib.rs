#![doc = include_str!("../README.md")]

#[cfg(target_os = "linux")]
mod bubblewrap;
mod config;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod plan;
mod profile;
mod sandbox;
pub mod seatbelt;
mod temporary;

pub use config::{SandboxConfig, SandboxTier};
pub use profile::{PROFILES, ProfileScope};
pub use sandbox::SystemSandbox;

/// First argument of a program that is to act as the helper of the sandbox.
pub const HELPER: &str = "__sandbox";

/// Acts as the helper if the process was started as one, and returns its exit code. A program that uses
/// [`SystemSandbox`] calls this first in its `main`, while it has one thread.
#[must_use]
pub fn helper() -> Option<u8> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != HELPER {
        return None;
    }
    #[cfg(target_os = "linux")]
    return Some(helper::main(arguments));
    #[cfg(not(target_os = "linux"))]
    return Some(NOT_CONFINED);
}

/// Exit code of a helper that could not confine the program, which has not started.
pub const NOT_CONFINED: u8 = 125;
