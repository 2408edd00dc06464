//! `cargo xtask coverage`: line coverage of the core, by cargo-tarpaulin.
//!
//! Counts the core's own tests and those of the test kit that look at the core. Code that is
//! only built for tests is left out.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use xtask::say::say;
use xtask::step::{root, step};
use xtask::tools::{Tool, target};

/// Pinned tool: other versions count other lines.
const TARPAULIN: Tool = Tool {
    name: "cargo-tarpaulin",
    version: "0.37.5",
    pinned: true,
    instead: "install this version of cargo-tarpaulin by hand",
};

/// Least share of the lines, in percent.
const LEAST: u64 = 95;

/// Fewest lines that a plausible report counts.
const LINES: u64 = 2_000;

/// Tests of the kit that look at the core.
const TESTS: &[&str] = &["turns", "assembler", "laws", "golden"];

/// File that an interrupted build by cargo-tarpaulin leaves in the workspace's folder.
const LEFT: &str = "build_rs_cov.profraw";

/// Line counts from the report of cargo-tarpaulin.
#[derive(Debug, Deserialize)]
struct Report {
    covered: u64,
    coverable: u64,
}

/// Prints the covered share and the lines that no test reaches.
///
/// # Errors
/// When a test fails, or coverage is below [`LEAST`].
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = target()?.join("coverage");
    let path = folder.join("tarpaulin-report.json");
    // A report from before must not speak for this run.
    remove(&path)?;
    let mut command = TARPAULIN.command()?;
    command
        .args(["tarpaulin", "--engine", "llvm", "--locked"])
        .args(["-p", "windlass-core", "-p", "windlass-testkit", "--lib"])
        .args(TESTS.iter().flat_map(|test| ["--test", test]))
        .args(["--include-files", "core/src/*", "--exclude-files"])
        .args(["*_tests.rs", "*/tests.rs"])
        .args(["--skip-clean", "--timeout", "600"])
        .args(["--out", "Stdout", "Json", "--output-dir"])
        .arg(&folder)
        .arg("--target-dir")
        .arg(&folder);
    let ran = step("coverage", &mut command);
    remove(&root().join(LEFT))?;
    ran?;
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let report: Report =
        serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
    say(report.judge()?);
    Ok(())
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}

impl Report {
    /// Returns the covered share as a sentence, or an error if it is too low.
    fn judge(&self) -> anyhow::Result<String> {
        let Self { covered, coverable } = *self;
        ensure!(
            coverable >= LINES,
            "that shows nothing: cargo-tarpaulin counted {coverable} lines, and the core has more \
             than {LINES}"
        );
        // Rounded down: 94.99 per cent are not 95.
        let share = covered.saturating_mul(10_000) / coverable;
        let (whole, rest) = (share / 100, share % 100);
        let said =
            format!("{whole}.{rest:02} per cent of the core's lines: {covered} of {coverable}");
        ensure!(
            whole >= LEAST,
            "{said}, and it must be {LEAST} at least: the table above has the lines that no test \
             runs through"
        );
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(covered: u64, coverable: u64) -> Result<String, String> {
        let report = Report { covered, coverable };
        report.judge().map_err(|error| error.to_string())
    }

    #[test]
    fn less_than_is_wanted_fails_and_so_does_a_report_of_nothing() {
        let said = judged(9_500, 10_000).unwrap();
        assert_eq!(said, "95.00 per cent of the core's lines: 9500 of 10000");
        let said = judged(9_499, 10_000).unwrap_err();
        assert!(said.starts_with("94.99 per cent"), "{said}");
        for few in [0, 1_999] {
            let said = judged(few, few).unwrap_err();
            assert!(said.starts_with("that shows nothing"), "{said}");
        }
        assert!(judged(2_000, 2_000).is_ok());
    }

    #[test]
    fn what_is_gone_already_need_not_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LEFT);
        fs::write(&path, "").unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
        remove(&path).unwrap();
        assert!(remove(folder.path()).is_err());
    }
}
