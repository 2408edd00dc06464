//! The helper: the same program, started again with one thread. It confines itself, and runs the
//! requested program in its place or as its child.

mod bound;
mod capabilities;
mod confine;
mod descriptors;
mod filter;
mod handing;
mod left;
mod limits;
mod loopback;
mod mounts;
mod proxy;
mod rules;
mod signals;
mod supervise;

use std::ffi::OsString;
use std::fmt::Display;
use std::process::ExitStatus;

use std::os::unix::process::ExitStatusExt as _;

use crate::NOT_CONFINED;
use crate::plan::{HelperPlan, HelperStage};

/// Failure of a step, in words.
type Step<T> = Result<T, String>;

/// Does the helper's work, and returns its exit code.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> u8 {
    let done = match HelperPlan::read(arguments) {
        None => Err(String::from("the arguments are no plan of this version")),
        Some(plan) => match plan.stage {
            HelperStage::Supervise | HelperStage::Guard => supervise::run(plan),
            HelperStage::Confine => confine::run(plan),
            HelperStage::Proxy => proxy::run(plan),
        },
    };
    match done {
        Ok(code) => code,
        Err(words) => {
            use std::io::Write as _;
            // Nobody may read it.
            let _ = writeln!(std::io::stderr(), "windlass sandbox: {words}");
            NOT_CONFINED
        }
    }
}

/// Adds the failed step to an error.
fn step<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("cannot {what}: {error}")
}

/// Returns the exit code of a process as shells do: 128 and the number of the signal that ended it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| signal.saturating_add(128)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_CONFINED)
}
