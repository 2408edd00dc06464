//! `cargo xtask conform [NAME]`: runs the conformance suites of an adapter's ports over
//! it, and prints the number of cases of each suite.
//!
//! Each suite's macro puts its cases in a module that is named after it, so a test's path says
//! which suite it belongs to. An adapter that serves a port and runs no suite fails here.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::mcp_kit;
use crate::servers::{Servers, Size};
use crate::test::nextest;
use xtask::say::say;
use xtask::step::{cargo, step};

/// Nextest filter that selects all cases of all suites.
const CASES: &str = "test(/(^|::)[a-z_]+_suite::/)";

/// Adapters of a port without a suite, with the tests that check them instead.
const WITHOUT: &[(&str, &str)] =
    &[("replay", "serves the wire, which has no suite; its own tests record and replay")];

/// What is built before the cases run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Built {
    /// The tests of the adapter's package alone.
    Package,
    /// The tests of all packages with all features, which `cargo xtask test` then finds built.
    Workspace,
}

/// Runs the suites of one crate, by the last part of its name, or of all adapters.
///
/// # Errors
/// When the crate does not exist or runs no suite, or when a case is ignored or fails.
pub(crate) fn run(name: Option<&str>, built: Built) -> anyhow::Result<()> {
    let members = Member::all()?;
    let wanted: Vec<&Member> = match name {
        Some(name) => members.iter().filter(|member| member.is(name)).collect(),
        None => members.iter().filter(|member| member.adapter).collect(),
    };
    if wanted.is_empty() {
        let adapters = members.iter().filter(|member| member.adapter);
        let known: Vec<&str> = adapters.map(Member::short).collect();
        bail!(
            "there is no crate windlass-{}: the adapters are {}",
            name.unwrap_or_default(),
            known.join(", ")
        );
    }
    let mut table = Vec::new();
    for member in wanted {
        let short = member.short();
        let without = WITHOUT.iter().find(|(adapter, _)| *adapter == short);
        let why = without.map(|(_, why)| *why);
        let why = why.or((!member.serves).then_some("serves no port"));
        if let (None, Some(why)) = (name, why) {
            table.push(format!("{short}: {why}"));
            continue;
        }
        let covered = covered(&listed(member, built)?).with_context(|| member.name.clone())?;
        let servers = Servers::start(Some(member.short()), Size::Cluster)?;
        let mut command = nextest()?;
        servers.tell(&mut command);
        let missing = tempfile_of(short)?;
        command.env(NOT_RUN, &missing);
        step(member.short(), command.args(["nextest", "run"]).args(member.cases(built)))?;
        let lines = covered.into_iter().map(|(place, cases)| {
            let skipped = match servers.has(around(&place)) {
                true => "",
                false => ": SKIPPED, as was said above",
            };
            format!("{short}: {cases} of {place}{skipped}")
        });
        table.extend(lines);
        table.extend(not_run(&missing).into_iter().map(|line| format!("{short}: {line}")));
    }
    if name.is_none_or(|name| name.trim_start_matches("windlass-") == "mcp") {
        table.extend(mcp_kit::run()?);
    }
    say(format_args!("\nconform: cases that passed"));
    for line in table {
        say(format_args!("  {line}"));
    }
    Ok(())
}

/// Variable that names the file of the cases that a suite did not run, as the test kit has it.
const NOT_RUN: &str = "WINDLASS_SUITE_NOT_RUN";

/// Returns the path of an absent file for the cases of a crate that are not run.
fn tempfile_of(short: &str) -> anyhow::Result<PathBuf> {
    let name = format!("windlass-conform-{}-{short}", std::process::id());
    let path = std::env::temp_dir().join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(path),
    }
}

/// Reads the cases that were not run, and removes their file.
fn not_run(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    lines.sort();
    lines.dedup();
    // A file in the folder for temporary files may stay.
    drop(fs::remove_file(path));
    lines
}

/// Crate of the workspace.
struct Member {
    name: String,
    /// Set for a crate below `adapters`.
    adapter: bool,
    /// Set for a crate that depends on the ports, so that a suite exists for it.
    serves: bool,
}

impl Member {
    fn all() -> anyhow::Result<Vec<Self>> {
        let output = cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("asking cargo for the workspace's crates")?;
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .context("asking cargo for the workspace's crates: the answer is not JSON")?;
        let packages = metadata.get("packages").and_then(Value::as_array);
        let packages = packages.context("cargo metadata names no packages")?;
        packages.iter().map(Self::read).collect()
    }

    fn read(package: &Value) -> anyhow::Result<Self> {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        let dependencies = package.get("dependencies").and_then(Value::as_array);
        let ports = |dependency: &Value| {
            dependency.get("name").and_then(Value::as_str) == Some("windlass-ports")
                && dependency.get("kind").is_none_or(Value::is_null)
        };
        Ok(Self {
            name: text("name").context("a package without a name")?.to_owned(),
            adapter: text("manifest_path").is_some_and(|path| path.contains("/adapters/")),
            serves: dependencies.is_some_and(|all| all.iter().any(ports)),
        })
    }

    fn short(&self) -> &str {
        self.name.strip_prefix("windlass-").unwrap_or(&self.name)
    }

    fn is(&self, name: &str) -> bool {
        self.short() == name || self.name == name
    }

    /// Arguments of nextest that select the cases of this crate.
    fn cases(&self, built: Built) -> Vec<String> {
        let all = match built {
            Built::Package => vec!["-p".to_owned(), self.name.clone()],
            Built::Workspace => vec!["--workspace".to_owned(), "--all-features".to_owned()],
        };
        let filter = format!("package(={}) & {CASES}", self.name);
        let rest = ["--ignore-default-filter", "-E", &filter].map(str::to_owned);
        all.into_iter().chain(rest).collect()
    }
}

/// Returns nextest's list of a crate's suite cases.
fn listed(member: &Member, built: Built) -> anyhow::Result<Value> {
    let mut command = nextest()?;
    command.args(["nextest", "list", "--message-format", "json"]);
    let output = command
        .args(member.cases(built))
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("listing the tests of {}", member.name))?;
    if !output.status.success() {
        bail!("the tests of {} do not build", member.name);
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("listing the tests of {}: not JSON", member.name))
}

/// Counts the cases of each suite by the place they run in.
///
/// # Errors
/// When there is no case, or one is ignored.
fn covered(list: &Value) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut covered = BTreeMap::new();
    let suites = list.get("rust-suites").and_then(Value::as_object);
    for suite in suites.into_iter().flat_map(|suites| suites.values()) {
        let tests = suite.get("testcases").and_then(Value::as_object);
        for (path, test) in tests.into_iter().flatten() {
            let status = test.pointer("/filter-match/status").and_then(Value::as_str);
            let Some(place) = place(path) else { continue };
            if test.get("ignored") == Some(&Value::Bool(true)) {
                bail!("the case {path} is told to be left out: make it run");
            }
            if status == Some("matches") {
                *covered.entry(place).or_default() += 1;
            }
        }
    }
    if covered.is_empty() {
        bail!("it runs no conformance suite: see testkit/README.md for how to run one");
    }
    Ok(covered)
}

/// Returns the suite of a test and the module around it: `log_store_suite`, or
/// `provider_suite (chat)`.
fn place(path: &str) -> Option<String> {
    let (modules, _) = path.rsplit_once("::")?;
    let (around, suite) = modules.rsplit_once("::").unwrap_or(("", modules));
    suite.strip_suffix("_suite")?;
    if around.is_empty() { Some(suite.to_owned()) } else { Some(format!("{suite} ({around})")) }
}

/// Extracts the module around a suite from [`place`]; empty for the adapter itself.
fn around(place: &str) -> &str {
    let (_, around) = place.split_once(" (").unwrap_or((place, ""));
    around.trim_end_matches(')')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(tests: Value) -> Value {
        json!({ "rust-suites": { "windlass-file::it": { "testcases": tests } } })
    }

    fn test(ignored: bool, status: &str) -> Value {
        json!({ "ignored": ignored, "filter-match": { "status": status } })
    }

    #[test]
    fn cases_are_counted_by_suite_and_place() {
        let list = list(json!({
            "log_store_suite::one": test(false, "matches"),
            "log_store_suite::two": test(false, "matches"),
            "chat::provider_suite::one": test(false, "matches"),
            "suite_tests::one": test(false, "mismatch"),
        }));
        let covered = covered(&list).unwrap();
        let expected = [("log_store_suite".to_owned(), 2), ("provider_suite (chat)".to_owned(), 1)];
        assert_eq!(covered, BTreeMap::from(expected));
        let around: Vec<&str> = covered.keys().map(|place| around(place)).collect();
        assert_eq!(around, ["", "chat"]);
    }

    #[test]
    fn a_crate_without_a_case_fails() {
        for tests in [json!({}), json!({ "it::one": test(false, "mismatch") })] {
            let error = covered(&list(tests)).unwrap_err();
            assert!(error.to_string().contains("no conformance suite"), "{error}");
        }
    }

    #[test]
    fn a_case_that_is_left_out_fails() {
        let left_out = json!({ "log_store_suite::one": test(true, "mismatch") });
        let error = covered(&list(left_out)).unwrap_err();
        assert!(error.to_string().contains("left out"), "{error}");
    }
}
