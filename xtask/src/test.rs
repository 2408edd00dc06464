//! `cargo xtask test`: the tests in three tiers, on a machine that has nothing but cargo.
//!
//! The tests run under cargo-nextest, which gives each test a process of its own: tests here kill
//! processes and fill disks. The profiles in `.config/nextest.toml` define the tiers.

use std::process::Command;

use anyhow::Context as _;
use clap::Args;

use crate::conform;
use crate::own::Own;
use crate::servers::{Servers, Size};
use xtask::say::say;
use xtask::step::{cargo, program, step};
use xtask::tools::Tool;

const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    version: "0.9.143",
    pinned: false,
    instead: "install cargo-nextest by hand, or run `cargo test --workspace` instead",
};

/// All crates with all their features.
const EVERYTHING: &[&str] = &["--workspace", "--all-features"];

/// Arguments that choose packages, and those that choose features.
const PACKAGES: &[&str] =
    &["-p", "--package", "--workspace", "--exclude", "--manifest-path", "--archive-file"];
const FEATURES: &[&str] = &["--features", "-F", "--all-features", "--no-default-features"];

/// Folders of the code that the suites over the kit's own fakes look at.
const KIT: &[&str] = &["ports", "testkit"];

/// Branches that a change is compared with, in the order of preference.
const BASES: &[&str] = &["origin/main", "main", "origin/master", "master"];

/// Random cases of each property in the fast tier, where the full one has 256.
const FEW_CASES: &str = "64";

/// Variable of nextest: number of tests at a time.
const THREADS: &str = "NEXTEST_TEST_THREADS";

/// Variables that widen the sweeps of the nightly tier.
const WIDE: &[(&str, &str)] = &[
    ("PROPTEST_CASES", "4096"),
    ("WINDLASS_CHAOS_SEEDS", "2000"),
    ("WINDLASS_CRASH", "full"),
    ("WINDLASS_FAULTS", "full"),
    ("WINDLASS_POWER_IMAGES", "1000"),
    ("WINDLASS_READING", "full"),
    ("WINDLASS_SOAK_MINUTES", "20"),
];

/// Tier of tests and arguments for nextest.
#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Run the tests that need no server and no sweep: about four minutes once built.
    #[arg(long, conflicts_with = "nightly")]
    fast: bool,
    /// Run all tests with their widest sweeps, then searches, simulations and mutations.
    #[arg(long)]
    nightly: bool,
    /// Arguments for `cargo nextest run`, for example `-p windlass-core`. Without a choice of packages
    /// or features they apply to all.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs a tier of the tests. Arguments for nextest narrow it to one nextest run.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    match (options.fast, options.nightly) {
        (true, _) => fast(&options.arguments),
        (false, true) => nightly(&options.arguments),
        (false, false) => full(&options.arguments),
    }
}

/// Runs the tests that need no server, and the suites over the kit's fakes if the kit changed.
fn fast(arguments: &[String]) -> anyhow::Result<()> {
    let mut tests = nextest_run("fast")?;
    tests.env("PROPTEST_CASES", FEW_CASES);
    if !arguments.is_empty() {
        return step("tests", tests.args(selected(arguments)));
    }
    if changed(KIT).unwrap_or(true) {
        say("the test kit or the ports changed: the suites over the kit's own fakes run first");
        let mut suites = nextest_run("fast-kit")?;
        step("suites", suites.args(["-p", "windlass-testkit"]))?;
    }
    step("tests", tests.args(EVERYTHING))
}

/// Runs the examples in the documentation, then all tests. The summary comes last.
fn full(arguments: &[String]) -> anyhow::Result<()> {
    if arguments.is_empty() {
        examples()?;
    }
    with_servers(&mut nextest_run("default")?, arguments)
}

/// Runs all tests with the widest sweeps, then the searches, the simulation and the mutations.
fn nightly(arguments: &[String]) -> anyhow::Result<()> {
    let mut tests = nextest_run("nightly")?;
    tests.envs(WIDE.iter().copied());
    if !arguments.is_empty() {
        return with_servers(&mut tests, arguments);
    }
    examples()?;
    with_servers(&mut tests, &[])?;
    // As a cluster of three, whose cases the run before had on one server.
    conform::run(Some("nats"), conform::Built::Workspace)?;
    crate::mcp_kit::run()?;
    Own::Kit.command("explore", &[])?;
    Own::Kit.command("laws", &words(&["--worlds", "100000"]))?;
    Own::Kit.command("sim", &words(&["--seeds", "20000"]))?;
    Own::Mutants.run("mutants", &[])?;
    crate::newcomer()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn examples() -> anyhow::Result<()> {
    let mut examples = cargo();
    examples.arg("test").args(EVERYTHING);
    step("examples", examples.args(["--doc", "--quiet"]))
}

/// Runs nextest beside the servers that tests need.
fn with_servers(tests: &mut Command, arguments: &[String]) -> anyhow::Result<()> {
    let servers = Servers::start(None, Size::One)?;
    servers.tell(tests);
    step("tests", tests.args(selected(arguments)))
}

/// Returns the arguments with all packages and all features, unless they choose among them.
fn selected(arguments: &[String]) -> Vec<String> {
    let chosen = |options: &[&str]| {
        arguments.iter().any(|argument| {
            options.iter().any(|option| match argument.strip_prefix(option) {
                Some("") => true,
                Some(rest) => rest.starts_with('=') || !option.starts_with("--"),
                None => false,
            })
        })
    };
    let missing = EVERYTHING.iter().zip([PACKAGES, FEATURES]);
    let added = missing.filter(|(_, options)| !chosen(options)).map(|(word, _)| (*word).to_owned());
    added.chain(arguments.iter().cloned()).collect()
}

fn nextest_run(profile: &str) -> anyhow::Result<Command> {
    let mut tests = nextest()?;
    tests.args(["nextest", "run", "--profile", profile]);
    // Many tests wait, for servers, deadlines and processes. So there are three for two processors, unless
    // the variable says otherwise.
    if std::env::var_os(THREADS).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        tests.env(THREADS, (processors + processors.div_ceil(2)).to_string());
    }
    Ok(tests)
}

/// Returns true if the working tree differs below `folders` from the branch that it started from.
///
/// # Errors
/// When git does not answer, or knows none of the usual branches.
fn changed(folders: &[&str]) -> anyhow::Result<bool> {
    let base = BASES
        .iter()
        .find_map(|base| git(&["merge-base", "HEAD", base]).ok())
        .context("there is no branch to compare with")?;
    let tracked = [&["diff", "--name-only", base.trim(), "--"], folders].concat();
    let new = [&["ls-files", "--others", "--exclude-standard", "--"], folders].concat();
    Ok(!git(&tracked)?.is_empty() || !git(&new)?.is_empty())
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output = program("git").args(arguments).output();
    let output = output.with_context(|| format!("cannot start git {}", arguments.join(" ")))?;
    anyhow::ensure!(
        output.status.success(),
        "git {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Command for cargo-nextest, which is built first where it is missing.
///
/// # Errors
/// When it is missing and cannot be built.
pub(crate) fn nextest() -> anyhow::Result<Command> {
    NEXTEST.command()
}

#[cfg(test)]
mod tests {
    use super::{selected, words};

    #[test]
    fn arguments_that_choose_no_package_or_feature_run_over_all() {
        let all = |of: &[&str]| selected(&words(of)).join(" ");
        assert_eq!(all(&[]), "--workspace --all-features");
        assert_eq!(all(&["-E", "test(a)"]), "--workspace --all-features -E test(a)");
        assert_eq!(all(&["-p", "a"]), "--all-features -p a");
        assert_eq!(all(&["-pa", "--features=b"]), "-pa --features=b");
        assert_eq!(
            all(&["--package=a", "--profile", "b"]),
            "--all-features --package=a --profile b"
        );
    }
}
