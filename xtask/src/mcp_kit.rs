//! The conformance kit of MCP: both frozen sets of requirements, over a small client that uses our adapter,
//! and over a server with the tools that the kit asks for.
//!
//! `xtask/tools/mcp/baseline.json` and `server.json` name the scenarios that are expected to fail, each with its
//! reason. A scenario that fails without being named is an error, and so is a named one that passes or is not
//! run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::servers::mcp_kit;
use xtask::say::say;
use xtask::step::{cargo, program, root, step};
use xtask::tools::target;

/// Files of expected failures, by the set of requirements.
const BASELINE: &str = "xtask/tools/mcp/baseline.json";
const SERVER_BASELINE: &str = "xtask/tools/mcp/server.json";
/// Example of the adapter that is the client.
const CLIENT: &str = "conformance_client";
/// Example of the server crate that is the server.
const FIXTURE: &str = "mcp_fixture";
/// Time limit of one set of requirements, in seconds.
const LIMIT_S: &str = "300";

/// Runs the kit. Returns a line about each set of requirements.
///
/// # Errors
/// When the kit cannot be fetched or run, or its result is not what the baseline says.
pub(crate) fn run() -> anyhow::Result<Vec<String>> {
    let (node, kit) = mcp_kit()?;
    let build = ["build", "-p", "windlass-mcp", "--features", "oauth", "--example", CLIENT];
    step("client", cargo().args(build))?;
    let mut fixture = cargo();
    fixture.args(["build", "-p", "windlass-server", "--features", "mcp", "--example", FIXTURE]);
    step("server", &mut fixture)?;
    let client = target()?.join("debug/examples").join(CLIENT);
    let kit_of = |mode: &str| {
        let mut command = program("timeout");
        command.arg(LIMIT_S).arg(&node).arg(&kit).arg(mode);
        command
    };
    let mut lines = sets("client", BASELINE, || {
        let mut command = kit_of("client");
        command.arg("--command").arg(&client);
        command
    })?;
    let server = FixtureServer::start()?;
    lines.extend(sets("server", SERVER_BASELINE, || {
        let mut command = kit_of("server");
        command.args(["--url", &server.url]);
        command
    })?);
    Ok(lines)
}

/// Server that runs until it is dropped.
struct FixtureServer {
    child: Child,
    url: String,
}

impl FixtureServer {
    fn start() -> anyhow::Result<Self> {
        let path = target()?.join("debug/examples").join(FIXTURE);
        let child = Command::new(&path).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("starting {}", path.display()))?;
        let mut url = String::new();
        let output = child.stdout.take().context("the server has no output")?;
        BufReader::new(output).read_line(&mut url).context("reading the server's address")?;
        Ok(Self { child, url: url.trim().to_owned() })
    }
}

impl Drop for FixtureServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the sets of requirements of a baseline, each by a command of the kit.
fn sets(mode: &str, file: &str, kit: impl Fn() -> Command) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(root().join(file)).context(file.to_owned())?;
    let baseline: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(&text).context(file.to_owned())?;
    let mut lines = Vec::new();
    for (revision, expected) in &baseline {
        let results = tempfile::tempdir().context("making a folder for results")?;
        say(format_args!("\nmcp: the requirements of {revision}, {mode}"));
        let mut command = kit();
        command.args(["--requirements", revision]);
        let output = command.arg("-o").arg(results.path()).output().context("running the kit")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let ran = scenarios(&printed);
        ensure!(!ran.is_empty(), "the kit ran no scenario of {revision}: {printed}");
        let wrong = differences(&ran, expected);
        if !wrong.is_empty() {
            bail!("{revision}, {mode}: {}; see {file}\n{printed}", wrong.join("; "));
        }
        let passed = ran.values().filter(|passed| **passed).count();
        let rest = if passed < ran.len() { "; the others are expected to fail" } else { "" };
        let all = ran.len();
        lines.push(format!("mcp: {passed} of {all} scenarios of {revision}, {mode}{rest}"));
    }
    Ok(lines)
}

/// Reads the scenarios that count from the summary of the kit, each with true if it passed.
fn scenarios(printed: &str) -> BTreeMap<String, bool> {
    let mut ran = BTreeMap::new();
    for line in printed.lines() {
        let marked = |passed: char, failed: char| {
            let mut rest = line.chars();
            let mark = rest.next().filter(|mark| [passed, failed].contains(mark))?;
            Some((mark == passed, rest.as_str().trim()))
        };
        if let Some((passed, rest)) = marked('\u{2713}', '\u{2717}')
            && let Some((name, _)) = rest.split_once(": ")
        {
            ran.insert(name.to_owned(), passed);
        }
        // Scenarios of extensions, and those that are newer than the set.
        let uncounted =
            line.strip_prefix("  \u{2717} ").or_else(|| line.strip_prefix("  \u{2713} "));
        if let Some((name, _)) = uncounted.and_then(|rest| rest.split_once(" (")) {
            ran.remove(name);
        }
    }
    ran
}

/// Describes what is not as the baseline says.
fn differences(ran: &BTreeMap<String, bool>, expected: &BTreeMap<String, String>) -> Vec<String> {
    let failed = ran.iter().filter(|(name, passed)| !**passed && !expected.contains_key(*name));
    let failed = failed.map(|(name, _)| format!("{name} fails and is not named"));
    let stale = expected.iter().filter_map(|(name, reason)| match ran.get(name) {
        None => Some(format!("{name} is named and was not run")),
        Some(true) => Some(format!("{name} is named and passes")),
        Some(false) if reason.trim().is_empty() => {
            Some(format!("{name} is named without a reason"))
        }
        Some(false) => None,
    });
    failed.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\u{2713} one: 2 passed, 0 failed\n\u{2717} auth/two: 1 passed, 3 failed\n\
        \u{2717} three: 0 passed, 1 failed\n\nTotal: 3 passed\n\nNot scored:\n  \u{2717} three (extension)\n";

    #[test]
    fn the_summary_is_read_without_what_does_not_count() {
        let ran = BTreeMap::from([("one".into(), true), ("auth/two".into(), false)]);
        assert_eq!(scenarios(PRINTED), ran);
    }

    #[test]
    fn the_baseline_names_each_failure_and_nothing_else() {
        let ran = scenarios(PRINTED);
        let named = |names: &[(&str, &str)]| {
            let all = names.iter().map(|(name, why)| ((*name).to_owned(), (*why).to_owned()));
            differences(&ran, &all.collect())
        };
        assert!(named(&[("auth/two", "no OAuth")]).is_empty());
        assert_eq!(named(&[]), ["auth/two fails and is not named"]);
        let stale = named(&[("auth/two", " "), ("one", "x"), ("gone", "x")]);
        assert_eq!(stale.len(), 3, "{stale:?}");
    }
}
