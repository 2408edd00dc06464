//! The project's own chores: `cargo xtask COMMAND`. One file a command.

mod attack;
mod clients;
mod conform;
mod coverage;
mod crash;
mod demo;
mod faults;
mod fix;
mod mcp_kit;
mod own;
mod record;
mod servers;
mod test;
mod tidy;
mod verify;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::own::Own;
use xtask::say::complain;
use xtask::step::StepFailed;

/// Build, check, test and measure Windlass
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check everything: format, lints, the project's own rules, tests, documentation
    Verify,
    /// Apply the fixes that clippy suggests, then format
    Fix,
    /// Check the project's own rules: dependencies between crates, files, links, language
    Tidy,
    /// Run the tests: all of them, or one tier
    ///
    /// Builds cargo-nextest below the target folder if it is missing.
    Test(test::Options),
    /// Run a turn of the demo model in a temporary folder, then read it back
    Demo,
    /// Measure the engine against bare loops on this machine, as ratios
    #[command(disable_help_flag = true)]
    Bench(Passed),
    /// Kill the command at every sync of a turn and of its recovery, and check the remains
    Crash {
        /// Sweep one store: file, sled, sqlite or memory (which is refused)
        store: Option<crash::Store>,
    },
    /// Fail or kill at every call of a store, under `run` and `serve`, and count what became of it
    Faults(faults::Options),
    /// Play the adversary: planted logs, escapes from the sandbox, hostile requests
    Attack,
    /// Run the conformance suites over one adapter or all of them
    Conform {
        /// Name of the adapter, for example `file` or `openai`
        name: Option<String>,
    },
    /// Find or fetch the programs that tests use: NATS, PostgreSQL, Chromium, Schemathesis
    Servers,
    /// Measure line coverage of the core; fails under 95 per cent
    Coverage,
    /// Generate the types of the Python and TypeScript clients, or compare them with `--check`
    Clients(clients::Options),
    /// Draw `docs/state-chart.md` from the reviewed table, or compare it with `--check`
    #[command(disable_help_flag = true)]
    Diagram(Passed),
    /// Search every state of the test kit's bounded worlds, as a release build
    #[command(disable_help_flag = true)]
    Explore(Passed),
    /// Check the laws in random worlds, as a release build: `--worlds N`
    #[command(disable_help_flag = true)]
    Laws(Passed),
    /// Check the golden logs (`--check`), or add one (`--add NAME FILE`)
    #[command(disable_help_flag = true)]
    Golden(Passed),
    /// Make the recording of a conversation in the README, in tmux
    Record,
    /// Show that each law kills a mutation of the core that no other law kills
    #[command(disable_help_flag = true)]
    Mutants(Passed),
    /// Walk a newcomer's way: a crate outside of the workspace with the quick start, an own store and an own
    /// provider runs the suites, then defects are seeded in both, and each must be found
    Newcomer,
    /// Simulate many sessions over a faulty log, as a release build: `--seeds N [--from SEED]`
    #[command(disable_help_flag = true)]
    Sim(Passed),
    /// Run a server under random clients and faults: `--minutes N [--store STORE] [--seed SEED]`
    #[command(disable_help_flag = true)]
    Soak(Passed),
}

#[derive(Debug, Args)]
struct Passed {
    /// Arguments for the program of the task; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Verify => verify::run(),
        Command::Fix => fix::run(),
        Command::Tidy => tidy::run(),
        Command::Test(options) => test::run(&options),
        Command::Demo => demo::run(),
        Command::Bench(passed) => Own::bench(&passed.arguments),
        Command::Crash { store } => crash::run(store),
        Command::Faults(options) => faults::run(&options),
        Command::Attack => attack::run(),
        Command::Conform { name } => conform::run(name.as_deref(), conform::Built::Package),
        Command::Servers => servers::fetch(),
        Command::Clients(options) => clients::run(&options),
        Command::Coverage => coverage::run(),
        Command::Diagram(passed) => Own::Kit.command("diagram", &passed.arguments),
        Command::Explore(passed) => Own::Kit.command("explore", &passed.arguments),
        Command::Laws(passed) => Own::Kit.command("laws", &passed.arguments),
        Command::Golden(passed) => Own::Kit.command("golden", &passed.arguments),
        Command::Mutants(passed) => Own::Mutants.run("mutants", &passed.arguments),
        Command::Record => record::run(),
        Command::Newcomer => newcomer(),
        Command::Sim(passed) => Own::Kit.command("sim", &passed.arguments),
        Command::Soak(passed) => Own::Soak.run("soak", &passed.arguments),
    };
    let Err(error) = done else {
        return ExitCode::SUCCESS;
    };
    complain(format_args!("xtask: {error:#}"));
    let code = error.downcast_ref::<StepFailed>().and_then(|failed| u8::try_from(failed.code).ok());
    ExitCode::from(code.unwrap_or(1).max(1))
}

/// Walks the way of a newcomer.
fn newcomer() -> anyhow::Result<()> {
    Own::Mutants.run("newcomer", &["--newcomer".to_owned()])
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parsed(words: &str) -> String {
        let words = std::iter::once("xtask").chain(words.split(' '));
        format!("{:?}", Arguments::try_parse_from(words).unwrap().command)
    }

    #[test]
    fn the_commands_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_tier_comes_before_the_arguments_for_nextest() {
        let fast = parsed("test --fast -p windlass-core --no-capture");
        let passed = r#"["-p", "windlass-core", "--no-capture"]"#;
        assert!(fast.contains("fast: true") && fast.contains(passed), "{fast}");
        let full = parsed("test -p windlass-core");
        assert!(full.contains("fast: false, nightly: false"), "{full}");
        assert!(Arguments::try_parse_from(["xtask", "test", "--fast", "--nightly"]).is_err());
    }

    #[test]
    fn options_of_another_program_reach_it() {
        for (words, passed) in [
            ("bench --help", r#"["--help"]"#),
            ("explore --jobs 2", r#"["--jobs", "2"]"#),
            ("mutants --general -- -f core/src/gate.rs", r#"["--general", "--", "-f""#),
        ] {
            assert!(parsed(words).contains(passed), "{}", parsed(words));
        }
    }
}
