//! `cargo xtask attack`: the tests that play an adversary, one run for each kind of attack.
//!
//! They are ordinary tests of their crates, so `cargo xtask test` runs them too. Each attack on the
//! sandbox is made on every tier that works here; a test names the tiers that do not.

use xtask::step::step;

use crate::test::nextest;

/// Kinds of attacks, each with the nextest filter of its tests.
const ATTACKS: &[(&str, &str)] = &[
    ("planted and linked stores", "package(windlass-cli) and binary(user_state)"),
    ("logs that allow more than this process", "package(windlass-cli) and binary(ceilings)"),
    ("addresses of a log, and keys in the environment", "package(windlass-cli) and binary(keys)"),
    ("instructions of a repository", "package(windlass-cli) and binary(trust)"),
    (
        "approvals that are stretched or planted, calls that leave the sandbox",
        "package(windlass-cli) and (binary(grants) or binary(escalation))",
    ),
    (
        "sparse files, hostile streams and broken configurations",
        "package(windlass-cli) and binary(bad_input)",
    ),
    (
        "commands that leave the sandbox",
        "package(windlass-sandbox) or (package(windlass-cli) and binary(sandbox))",
    ),
    (
        "spellings of commands, hidden characters",
        "package(windlass-ports) and test(shell::) or (package(windlass-core) and test(shown::))",
    ),
    (
        "sessions that steer a terminal, paths through links, commands in disguise",
        "package(windlass-cli) and (binary(hostile_session) or binary(denials))",
    ),
    ("requests to the server", "package(windlass-server) and binary(abuse)"),
    (
        "forks that fill a store",
        "package(windlass-server) and test(a_fork_that_would_copy_too_much_is_refused)",
    ),
    ("programs that exhaust memory and time", "package(windlass-cli) and binary(program_load)"),
];

/// Runs the attacks. All of them are made, also after one that succeeded.
///
/// # Errors
/// The first kind of which one was not refused.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut first = Ok(());
    for (kind, filter) in ATTACKS {
        let mut tests = nextest()?;
        tests.args(["nextest", "run", "--workspace", "--all-features", "--no-tests", "fail"]);
        let done = step(kind, tests.args(["--status-level", "fail", "-E", filter]));
        first = first.and(done);
    }
    first
}
