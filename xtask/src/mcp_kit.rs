//! The conformance kit of MCP in client mode: both frozen sets of requirements, over a small client that
//! uses our adapter.
//!
//! `xtask/tools/mcp/baseline.json` names the scenarios that are expected to fail, each with its reason. A
//! scenario that fails without being named is an error, and so is a named one that passes or is not run.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, bail, ensure};

use crate::servers::mcp_kit;
use xtask::say::say;
use xtask::step::{cargo, program, root, step};
use xtask::tools::target;

/// File of expected failures, by the set of requirements.
const BASELINE: &str = "xtask/tools/mcp/baseline.json";
/// Example of the adapter that is the client.
const CLIENT: &str = "conformance_client";
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
    let client = target()?.join("debug/examples").join(CLIENT);
    let text = fs::read_to_string(root().join(BASELINE)).context(BASELINE)?;
    let baseline: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(&text).context(BASELINE)?;
    let mut lines = Vec::new();
    for (revision, expected) in &baseline {
        let results = tempfile::tempdir().context("making a folder for results")?;
        say(format_args!("\nmcp: the requirements of {revision}"));
        let mut command = program("timeout");
        command.arg(LIMIT_S).arg(&node).arg(&kit).arg("client");
        command.arg("--command").arg(&client).args(["--requirements", revision]);
        let output = command.arg("-o").arg(results.path()).output().context("running the kit")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let ran = scenarios(&printed);
        ensure!(!ran.is_empty(), "the kit ran no scenario of {revision}: {printed}");
        let wrong = differences(&ran, expected);
        if !wrong.is_empty() {
            bail!("{revision}: {}; see {BASELINE}\n{printed}", wrong.join("; "));
        }
        let passed = ran.values().filter(|passed| **passed).count();
        lines.push(format!(
            "mcp: {passed} of {} scenarios of {revision}; the others are expected to fail",
            ran.len()
        ));
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
