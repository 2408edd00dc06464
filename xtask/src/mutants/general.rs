//! The general run: every mutation that cargo-mutants makes of the core, against the tests.
//!
//! What the tests let live is listed with a reason in `testkit/mutants/survivors.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::tree::Copy;
use crate::step::{cargo, root};
use crate::tools::{Tool, target};
use xtask::say::say;

/// Other versions make other mutations.
const MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
    pinned: true,
    instead: "install this version of cargo-mutants by hand",
};

/// What the tests of the core need; each mutation builds it anew.
const ROOMS: &[&str] = &["core", "ports", "testkit"];

/// The tests that look at the core.
const TESTS: &[&str] = &[
    "--lib",
    "--test",
    "turns",
    "--test",
    "assembler",
    "--test",
    "laws",
    "--test",
    "snapshots",
];

/// Mutations that the tests let live, each with its reason.
const SURVIVORS: &str = "testkit/mutants/survivors.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    survivor: Vec<Survivor>,
}

/// A mutation that changes nothing that anybody could see.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    /// What cargo-mutants calls it, without the place in the file.
    mutant: String,
    /// How many there are of this name.
    #[serde(default = "one")]
    times: usize,
    /// Why no test can tell.
    why: String,
}

fn one() -> usize {
    1
}

/// What became of the mutations, by name, without their places.
#[derive(Debug, Default)]
struct Outcome {
    missed: BTreeMap<String, usize>,
    /// Those that a test killed, that ran into the time limit, or that do not build.
    gone: BTreeMap<String, usize>,
    /// How many a test killed, or the time limit.
    killed: usize,
    /// How many do not build.
    unviable: usize,
}

/// Runs cargo-mutants over the core and holds what survives against the reasons.
///
/// # Errors
/// When a mutation survives that has no reason.
pub(super) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let reasons = read(&root())?;
    let folder = target()?.join("mutants-general");
    let copy = Copy::make(&root(), &folder, Some(ROOMS))?;
    sound(&copy, &folder)?;
    let results = folder.join("mutants.out");
    if results.exists() {
        fs::remove_dir_all(&results).with_context(|| format!("removing {}", results.display()))?;
    }
    let mut command = MUTANTS.command()?;
    command
        .current_dir(&copy.root)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("PROPTEST_CASES", "96")
        .args(["mutants", "--in-place", "--package", "windlass-core"])
        .args(["--test-workspace=true", "--baseline=skip"])
        .args(["--timeout", "240", "--build-timeout", "900"])
        .args(["--colors", "never", "--output"])
        .arg(&folder)
        .args(arguments)
        .arg("--")
        .args(TESTS);
    let status = command.status().context("starting cargo-mutants")?;
    // 2: some survive. 3: some ran into the time limit.
    match status.code() {
        Some(0 | 2 | 3) => {}
        Some(_) | None => bail!("cargo-mutants ends with {status}"),
    }
    let outcome = Outcome::read(&results)?;
    let Outcome {
        killed, unviable, ..
    } = outcome;
    let missed: usize = outcome.missed.values().sum();
    say(format_args!(
        "{} mutations: {killed} are killed or run into the time limit, {unviable} do not build, \
         {missed} survive",
        killed + unviable + missed
    ));
    ensure!(
        killed > unviable,
        "that shows nothing: more mutations must be killed than do not build"
    );
    for name in outcome.stale(&reasons) {
        say(format_args!(
            "{SURVIVORS} has a reason for what no longer survives: {name}"
        ));
    }
    let unexplained = outcome.unexplained(&reasons);
    ensure!(
        unexplained.is_empty(),
        "no test kills these mutations: write one, or a reason into {SURVIVORS}:\n{}",
        unexplained.join("\n")
    );
    say("each survivor has its reason");
    Ok(())
}

/// Runs the tests over the copy as it is: where they fail by themselves, or do not build, no
/// mutation is killed by them. (The baseline of cargo-mutants leaves the other rooms' tests out.)
fn sound(copy: &Copy, folder: &Path) -> anyhow::Result<()> {
    let status = cargo()
        .current_dir(&copy.root)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("PROPTEST_CASES", "96")
        .args(["test", "--quiet", "--workspace"])
        .args(TESTS)
        .status()
        .context("running the tests over the copy")?;
    ensure!(
        status.success(),
        "the tests fail over the core as it is, so they show nothing of a mutation: mend them first"
    );
    Ok(())
}

fn read(root: &Path) -> anyhow::Result<Vec<Survivor>> {
    let path = root.join(SURVIVORS);
    let shown = path.display();
    let text = fs::read_to_string(&path).with_context(|| format!("reading {shown}"))?;
    let file: File = toml::from_str(&text).with_context(|| format!("reading {shown}"))?;
    Ok(file.survivor)
}

impl Outcome {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut outcome = Self::default();
        for (file, survives) in [
            ("missed.txt", true),
            ("caught.txt", false),
            ("timeout.txt", false),
            ("unviable.txt", false),
        ] {
            let path = folder.join(file);
            let text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            let of = match survives {
                true => &mut outcome.missed,
                false => &mut outcome.gone,
            };
            let many = text.lines().count();
            match file {
                "caught.txt" | "timeout.txt" => outcome.killed += many,
                "unviable.txt" => outcome.unviable += many,
                _ => {}
            }
            for line in text.lines() {
                *of.entry(name(line)).or_default() += 1;
            }
        }
        Ok(outcome)
    }

    /// Survivors that are more than there are reasons for.
    fn unexplained(&self, reasons: &[Survivor]) -> Vec<String> {
        let missed = self.missed.iter();
        let without = missed.filter(|(name, times)| {
            let named = reasons.iter().filter(|reason| reason.mutant == **name);
            named.map(|reason| reason.times).sum::<usize>() < **times
        });
        without
            .map(|(name, times)| format!("{name} ({times} times)"))
            .collect()
    }

    /// Reasons for what this run has looked at and killed.
    fn stale<'a>(&self, reasons: &'a [Survivor]) -> Vec<&'a str> {
        let stale = reasons.iter().filter(|reason| {
            let alive = self.missed.get(&reason.mutant).copied().unwrap_or(0);
            alive < reason.times && self.gone.contains_key(&reason.mutant)
        });
        stale.map(|reason| reason.mutant.as_str()).collect()
    }
}

/// A mutation without its place, which moves with each line above it: of `file:line:column: what`
/// the file and what.
fn name(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_written_out_and_speak_of_the_core_of_today() {
        for Survivor { mutant, times, why } in read(&root()).unwrap() {
            let (file, what) = mutant.split_once(": ").unwrap();
            assert!(root().join(file).is_file(), "{mutant}: there is no {file}");
            assert!(!what.is_empty() && times > 0, "{mutant}");
            assert!(why.ends_with('.') && why.len() > 30, "{mutant}: {why}");
        }
    }

    #[test]
    fn a_survivor_needs_a_reason_and_a_reason_a_survivor() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        write(
            "missed.txt",
            "core/src/a.rs:1:2: replace a\ncore/src/a.rs:3:2: replace a\n",
        );
        write("caught.txt", "core/src/a.rs:9:9: replace b\n");
        write("timeout.txt", "");
        write("unviable.txt", "");
        let outcome = Outcome::read(folder.path()).unwrap();
        let reason = |mutant: &str, times| Survivor {
            mutant: mutant.to_owned(),
            times,
            why: String::from("nobody can tell"),
        };
        let (a, b) = ("core/src/a.rs: replace a", "core/src/a.rs: replace b");
        assert_eq!(outcome.unexplained(&[reason(a, 2)]), Vec::<String>::new());
        assert_eq!(outcome.unexplained(&[reason(a, 1)]).len(), 1);
        assert_eq!(outcome.unexplained(&[]).len(), 1);
        let other = reason("core/src/c.rs: replace c", 1);
        assert_eq!(outcome.stale(&[reason(a, 2), reason(b, 1), other]), [b]);
    }
}
