//! The project's own chores: `cargo xtask COMMAND`. One file a command.

mod bench_command;
mod conform;
mod coverage;
mod crash;
mod demo;
mod fix;
mod kit_command;
mod mutants;
mod servers;
mod step;
mod test;
mod tidy;
mod tools;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::step::StepFailed;
use xtask::say::complain;

/// Builds, checks and measures Windlass.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks everything: format, lints, the project's own rules, tests, documentation.
    Verify,
    /// Formats, and applies what clippy can mend by itself.
    Fix,
    /// Checks the project's own rules: who may depend on whom, and what files look like.
    Tidy,
    /// Runs all tests; installs cargo-nextest below the target folder where it is missing.
    Test {
        /// Handed to `cargo nextest run`, for example `-p windlass-core`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Runs a turn of the demo model in a temporary folder, then reads it back.
    Demo,
    /// Measures the engine against bare loops on this machine, as ratios.
    Bench {
        /// Handed to the measuring program; `--help` tells what it takes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Kills the command at every sync of a turn, and again in its recovery, and judges what is left.
    Crash {
        /// One store: file, sled or memory (which is refused); all when left out.
        store: Option<crash::Store>,
    },
    /// Holds an adapter, or all of them, to the conformance suites of its ports.
    Conform {
        /// The adapter, for example `file` or `openai`.
        name: Option<String>,
    },
    /// Finds what tests run against or with (NATS, PostgreSQL, Chromium, Playwright, Schemathesis), or fetches it.
    Servers,
    /// Measures how many lines of the core its tests run through; fails under 95 per cent.
    Coverage,
    /// Draws `docs/state-chart.md` from the reviewed table; `--check` only looks.
    Diagram {
        /// Handed to the kit; `--help` tells what it takes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Goes through every state of the test kit's bounded worlds, as a release.
    Explore {
        /// Handed to the kit; `--help` tells what it takes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Checks the laws in random worlds, as a release: `--worlds N`.
    Laws {
        /// Handed to the kit; `--help` tells what it takes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Checks the golden logs (`--check`), or adds one (`--add NAME FILE`), as a release.
    Golden {
        /// Handed to the kit; `--help` tells what it takes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Shows that each law kills a mutation of the core that no other law kills.
    Mutants(mutants::Options),
    /// Simulates many sessions over a faulty log, as a release: `--seeds N [--from SEED]`.
    Sim {
        /// Handed to the kit; `--help` tells what it takes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Verify => verify::run(),
        Command::Fix => fix::run(),
        Command::Tidy => tidy::run(),
        Command::Test { arguments } => test::run(&arguments),
        Command::Demo => demo::run(),
        Command::Bench { arguments } => bench_command::run(&arguments),
        Command::Crash { store } => crash::run(store),
        Command::Conform { name } => conform::run(name.as_deref()),
        Command::Servers => servers::fetch(),
        Command::Coverage => coverage::run(),
        Command::Diagram { arguments } => kit_command::run("diagram", &arguments),
        Command::Explore { arguments } => kit_command::run("explore", &arguments),
        Command::Laws { arguments } => kit_command::run("laws", &arguments),
        Command::Golden { arguments } => kit_command::run("golden", &arguments),
        Command::Mutants(options) => mutants::run(&options),
        Command::Sim { arguments } => kit_command::run("sim", &arguments),
    };
    let Err(error) = done else {
        return ExitCode::SUCCESS;
    };
    complain(format_args!("xtask: {error:#}"));
    let code = error
        .downcast_ref::<StepFailed>()
        .and_then(|failed| u8::try_from(failed.code).ok());
    ExitCode::from(code.unwrap_or(1).max(1))
}
