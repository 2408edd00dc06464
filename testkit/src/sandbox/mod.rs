//! The conformance suite of the sandbox port: one case for each promise in [`Sandbox`]'s documentation.
//!
//! An adapter's test program gives the suite a [`SandboxFixture`] and runs [`CASES`]. A sandbox that
//! starts its own program as a helper needs a `main` of its own, so there is no macro.
//!
//! Each case starts real programs: `sh`, and `bash` where a connection is made. What is particular to
//! one technology (system calls, namespaces) is not here: the adapter tests it beside the suite.
//! [`ModelSandbox`] is a sandbox that passes, by judging what a program declares; its faults show that
//! the cases bite.

mod bounds;
mod ending;
mod files;
mod model;
mod place;
mod said;
#[cfg(test)]
mod suite_tests;

use std::sync::Arc;

use windlass_ports::Sandbox;

pub use bounds::*;
pub use ending::*;
pub use files::*;
pub use model::{ModelSandbox, SandboxFault};
pub use said::*;

pub use crate::store::{Checked, Violation};

/// A sandbox to hold to the suite.
pub trait SandboxFixture: Send + Sync {
    /// Opens a sandbox.
    fn open(&self) -> Arc<dyn Sandbox>;
}

/// One case of the suite: holds a sandbox to one promise.
pub type Case = fn(&dyn SandboxFixture) -> Checked;

crate::suite::table! { []
    a_program_gets_what_its_launch_says,
    writable_roots_are_written,
    nothing_else_is_written,
    protected_paths_are_only_read,
    hidden_paths_are_not_read,
    other_roots_are_not_read,
    temporary_files_have_a_folder,
    the_network_is_off_unless_granted,
    processes_outside_are_not_signalled,
    files_stay_within_their_limit,
    nothing_outlives_the_program,
    nothing_outlives_the_killed_launch,
    a_contradiction_starts_nothing,
    the_strength_is_stated,
}
