//! The general run: every mutation that cargo-mutants makes of the core, against the tests.
//!
//! What the tests let live is listed with a reason in `testkit/mutants/survivors.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::each::{self, Fate};
use super::list::{self, Mutation};
use super::programs;
use super::switch::Numbered;
use super::tree::Copy;
use xtask::say::say;
use xtask::step::{cargo, program, root};
use xtask::tools::{Tool, target};

/// Other versions make other mutations.
const MUTANTS: Tool = Tool {
    name: "cargo-mutants",
    version: "27.1.0",
    pinned: true,
    instead: "install this version of cargo-mutants by hand",
};

/// Folders that the tests of the core need.
const ROOMS: &[&str] = &["core", "ports", "testkit", "docs"];

/// The tests that look at the core, for the mutations that have no switch.
const TESTS: &[&str] = &[
    "--lib",
    "--test",
    "turns",
    "--test",
    "assembler",
    "--test",
    "laws",
    "--test",
    "replay",
    "--test",
    "golden",
    "--test",
    "snapshots",
];

/// Seconds of the processor that one process may take over these: a build or a test program. Time of
/// the clock would make a busy machine look like a mutation without an end.
const CPU_SECS: u32 = 600;

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
    /// Name by cargo-mutants, without the position in the file.
    mutant: String,
    /// Number of survivors with this name.
    #[serde(default = "one")]
    times: usize,
    /// Reason that no test can kill it.
    why: String,
}

fn one() -> usize {
    1
}

/// Results of the mutations by name, without their positions.
#[derive(Debug, Default)]
struct Outcome {
    missed: BTreeMap<String, usize>,
    /// Mutations that a test killed, that timed out, or that do not build.
    gone: BTreeMap<String, usize>,
    /// Number of mutations killed by a test.
    killed: usize,
    /// Number of mutations that timed out or ended a test's process.
    ended: usize,
    /// Number of mutations that do not build.
    unviable: usize,
}

/// Runs the tests over each mutation that cargo-mutants makes of the core, `jobs` at a time, and
/// holds what survives against the reasons. Most mutations are built in together, each behind a
/// switch; the rest are left to cargo-mutants, which builds each by itself.
///
/// # Errors
/// When a mutation survives that has no reason.
pub(super) fn run(arguments: &[String], jobs: usize) -> anyhow::Result<()> {
    let reasons = read(&root())?;
    let folder = target()?.join("mutants-general");
    let copy = Copy::make(&root(), &folder, Some(ROOMS))?;
    let mutations = list::list(MUTANTS.command()?, &copy.root, arguments)?;
    let numbered: Vec<Numbered<'_>> = (1..).zip(&mutations).collect();
    let built = programs::build(&copy, &folder.join("switched"), &numbered)?;
    let fates = each::run(&built, &numbered, jobs, &folder)?;
    built.restore(&copy)?;
    let mut outcome = Outcome::default();
    let mut rest = Vec::new();
    for (number, mutation) in numbered {
        match fates.get(&number) {
            Some(fate) => outcome.add(mutation, fate),
            None => rest.push(mutation),
        }
    }
    if !rest.is_empty() {
        say(format_args!(
            "{} mutations have no switch: cargo-mutants builds each by itself",
            rest.len()
        ));
        one_by_one(&copy, &folder, &rest)?;
        outcome.read(&folder.join("mutants.out"))?;
    }
    outcome.judge(&reasons)
}

/// Has cargo-mutants look at these mutations.
fn one_by_one(copy: &Copy, folder: &Path, rest: &[&Mutation]) -> anyhow::Result<()> {
    sound(copy, folder)?;
    let results = folder.join("mutants.out");
    if results.exists() {
        fs::remove_dir_all(&results).with_context(|| format!("removing {}", results.display()))?;
    }
    let mutants = MUTANTS.command()?;
    let limited = format!("ulimit -t {CPU_SECS}; exec \"$0\" \"$@\"");
    let mut command = program("sh");
    command
        .current_dir(&copy.root)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("PROPTEST_CASES", "96")
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .args(["-c", &limited])
        .arg(mutants.get_program())
        .args(["mutants", "--in-place", "--package", "windlass-core"])
        .args(["--test-workspace=true", "--baseline=skip"])
        .args(["--timeout", "7200", "--build-timeout", "7200"])
        .args(["--colors", "never", "--output"])
        .arg(folder);
    for mutation in rest {
        command.arg("--re").arg(format!("^{}$", escaped(&mutation.name)));
    }
    let status = command.arg("--").args(TESTS).status();
    let status = status.context("starting cargo-mutants")?;
    // 2: some survive. 3: some ran into the time limit.
    match status.code() {
        Some(0 | 2 | 3) => Ok(()),
        Some(_) | None => bail!("cargo-mutants ends with {status}"),
    }
}

/// A name as a regular expression.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
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
    fn add(&mut self, mutation: &Mutation, fate: &Fate) {
        let of = match fate {
            Fate::Survived => &mut self.missed,
            Fate::Killed { .. } | Fate::Ended { .. } => &mut self.gone,
        };
        *of.entry(name(&mutation.name)).or_default() += 1;
        match fate {
            Fate::Survived => {}
            Fate::Killed { .. } => self.killed += 1,
            Fate::Ended { .. } => self.ended += 1,
        }
    }

    /// Adds the results of cargo-mutants.
    fn read(&mut self, folder: &Path) -> anyhow::Result<()> {
        for file in ["missed.txt", "caught.txt", "timeout.txt", "unviable.txt"] {
            let path = folder.join(file);
            let text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            let of = match file {
                "missed.txt" => &mut self.missed,
                _ => &mut self.gone,
            };
            for line in text.lines() {
                *of.entry(name(line)).or_default() += 1;
            }
            let many = text.lines().count();
            match file {
                "caught.txt" => self.killed += many,
                "timeout.txt" => self.ended += many,
                "unviable.txt" => self.unviable += many,
                _ => {}
            }
        }
        Ok(())
    }

    /// Holds it against the reasons.
    fn judge(&self, reasons: &[Survivor]) -> anyhow::Result<()> {
        let Self { killed, ended, unviable, .. } = self;
        let missed: usize = self.missed.values().sum();
        say(format_args!(
            "{} mutations: {killed} are killed, {ended} come to no end, {unviable} do not build, \
             {missed} survive",
            killed + ended + unviable + missed
        ));
        ensure!(
            killed + missed > 0,
            "that shows nothing: none of these mutations was run to its end"
        );
        for name in self.stale(reasons) {
            say(format_args!("{SURVIVORS} has a reason for what no longer survives: {name}"));
        }
        let unexplained = self.unexplained(reasons);
        ensure!(
            unexplained.is_empty(),
            "no test kills these mutations: write one, or a reason into {SURVIVORS}:\n{}",
            unexplained.join("\n")
        );
        say("each survivor has its reason");
        Ok(())
    }

    /// Survivors that are more than there are reasons for.
    fn unexplained(&self, reasons: &[Survivor]) -> Vec<String> {
        let missed = self.missed.iter();
        let without = missed.filter(|(name, times)| {
            let named = reasons.iter().filter(|reason| reason.mutant == **name);
            named.map(|reason| reason.times).sum::<usize>() < **times
        });
        without.map(|(name, times)| format!("{name} ({times} times)")).collect()
    }

    /// Returns reasons for mutations that this run killed.
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
    fn a_name_is_no_pattern() {
        assert_eq!(
            escaped("a.rs:1:2: replace <T>::a -> Option<(u8)>"),
            r"a\.rs:1:2: replace <T>::a \-> Option<\(u8\)>"
        );
    }

    #[test]
    fn a_survivor_needs_a_reason_and_a_reason_a_survivor() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        write("missed.txt", "core/src/a.rs:1:2: replace a\ncore/src/a.rs:3:2: replace a\n");
        write("caught.txt", "core/src/a.rs:9:9: replace b\n");
        write("timeout.txt", "");
        write("unviable.txt", "");
        let mut outcome = Outcome::default();
        outcome.read(folder.path()).unwrap();
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
