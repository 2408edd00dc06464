//! Runs the searches and simulations of the test kit for longer than tests may take.
//!
//! A program of its own, because it is built as a release and without the rest of the workspace.

mod diagram;
mod explore;
mod golden;
mod laws;
mod sim;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use xtask::say::complain;

/// Run the test kit's searches and simulations
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Task of the kit.
#[derive(Debug, Subcommand)]
enum Command {
    /// Draw the state chart
    Diagram(diagram::Plan),
    /// Search every state of the bounded worlds
    Explore(explore::Plan),
    /// Check the laws in random worlds
    Laws(laws::Plan),
    /// Check the golden logs, or add one
    Golden(golden::Plan),
    /// Simulate many sessions over a faulty log
    Sim(sim::Plan),
}

/// Runs the program. It ends with 0 when all holds, 1 when something is broken, 2 when it could
/// not be found out.
fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Diagram(plan) => diagram::run(&plan),
        Command::Explore(plan) => explore::run(&plan),
        Command::Laws(plan) => laws::run(&plan),
        Command::Golden(plan) => golden::run(&plan),
        Command::Sim(plan) => Ok(sim::run(&plan)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(format_args!("kit: {error:#}"));
            ExitCode::from(2)
        }
    }
}
