//! The bench: the engine against bare loops, in one run on one machine, as ratios.
//!
//! Each contestant runs in a process of its own against one loopback model server, which is a
//! process too, so that `getrusage` counts the contestant alone. Contestants take turns in going
//! first, round by round, and what counts is the median of the rounds' ratios: a machine that is
//! slow, or grows slow during the run, slows both sides. Absent on purpose: absolute times as
//! targets, and tests that take the time.

mod bare;
mod clients;
mod confined;
mod contest;
mod echo;
mod engine;
mod kit;
mod marked;
mod measures;
mod meter;
pub mod peer;
mod resume;
mod rounds;
mod script;
mod scripted;
mod server;
mod socket;
mod stores;
mod terminal;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::contest::Course;
use crate::measures::Plan;
use xtask::say::complain;

/// Measure the engine against bare loops on this machine, as ratios
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Arguments {
    #[command(flatten)]
    plan: Plan,
    #[command(subcommand)]
    role: Option<Role>,
}

/// Role of a process that this program starts.
#[derive(Debug, Subcommand)]
enum Role {
    /// Serve scripted answers until its standard input ends.
    #[command(hide = true)]
    Scripts,
    /// Measure the server: idle sessions, subscribers, a subscriber that stops reading
    Server(clients::Plan),
    /// Serve sessions until its standard input ends.
    #[command(hide = true)]
    Serving(clients::Serving),
    /// Write scripted text at a pace until its standard input ends.
    #[command(hide = true)]
    Speaking,
    /// Run one contestant over one course and print the cost
    #[command(hide = true)]
    Contest(Course),
    /// Run as `bench-peer` does.
    #[command(hide = true)]
    Peer {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measure stores against bare loops over the same medium.
    Stores(stores::Plan),
    /// Measure starts of confined commands against bare ones.
    Sandbox(confined::Plan),
    /// Measure the conversation at a terminal: processor time, start, echo of keys.
    Terminal(terminal::Plan),
    /// Append to sessions in a store or a bare loop.
    #[command(hide = true)]
    Appends(stores::Course),
    /// Open a session once.
    #[command(hide = true)]
    Opening(stores::Opening),
    /// Read a whole store once.
    #[command(hide = true)]
    Reading(stores::Reading),
    /// Open many sessions and leave them idle.
    #[command(hide = true)]
    Idle(stores::Idle),
}

/// Runs the program and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(code) = windlass_sandbox::helper() {
        return ExitCode::from(code);
    }
    let arguments = Arguments::parse();
    let done = match arguments.role {
        None => measures::run(&arguments.plan),
        Some(Role::Scripts) => server::run().map(|()| true),
        Some(Role::Server(plan)) => clients::measure(&plan),
        Some(Role::Serving(serving)) => clients::serve(&serving).map(|()| true),
        Some(Role::Speaking) => clients::speak().map(|()| true),
        Some(Role::Contest(course)) => contest::run(&course).map(|()| true),
        Some(Role::Peer { arguments }) => return peer::main(arguments.into_iter()),
        Some(Role::Stores(plan)) => stores::measure(&plan),
        Some(Role::Sandbox(plan)) => confined::measure(&plan),
        Some(Role::Terminal(plan)) => terminal::measure(&plan),
        Some(Role::Appends(course)) => stores::append(&course).map(|()| true),
        Some(Role::Opening(opening)) => stores::open(&opening).map(|()| true),
        Some(Role::Reading(reading)) => stores::read(&reading).map(|()| true),
        Some(Role::Idle(idle)) => stores::idle(&idle).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(format_args!("bench: {error:#}"));
            ExitCode::from(2)
        }
    }
}
